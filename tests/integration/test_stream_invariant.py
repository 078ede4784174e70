"""Every record ends scored or rejected, whatever happens to the worker."""

from __future__ import annotations

import json
from collections import Counter

from tests.streams import Stage, Workers, eventually


def test_every_summary_is_scored_once_on_all_five_metrics(stage: Stage, workers: Workers) -> None:
    # Given
    ids = [f"s-{number}" for number in range(300)]
    stage.publish_summaries(ids)

    # When
    worker = workers.stub(STUB_DELAY="0.05")
    stage.wait_for("scored", len(ids))
    stage.wait_for("metric_scores", 5 * len(ids))
    eventually(lambda: sum(offset for offset, _ in stage.committed().values()) == len(ids), 20)
    worker.terminate()

    # Then
    assert worker.wait() == 0
    assert Counter(event["summary_id"] for event in stage.scored()) == Counter(ids)
    by_metric = Counter(json.loads(record.value)["summary_id"] for record in stage.read("metric_scores"))
    assert by_metric == Counter(dict.fromkeys(ids, 5))
    assert "300 scored, 0 rejected, 0 repeated, 0 in flight" in worker.log.read_text()
