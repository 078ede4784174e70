"""Agreement with people on a real broker: labels and scores in any order, one monitor that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from tests.labelled import label, scored
from tests.streams import Stage, Worker, Workers, eventually, producer

pytestmark = pytest.mark.broker

#: `quintet monitor`, with minutes of patience made seconds.
HASTY = [
    "-c",
    "import worker.monitoring.agreement as a; a.SCAN_INTERVAL = a.COMPUTE_INTERVAL = 0.5; a.TRY_AGAIN = 1;"
    "from worker.cli import main; main()",
    "monitor",
]


def _start(workers: Workers) -> Worker:
    return workers.start(HASTY, QUINTET_JUDGE="lexical", QUINTET_REFERENCE_SET="off")


def _send(stage: Stage, topic: str, values: Iterable[bytes | None]) -> None:
    sink = producer(stage.address)
    for number, value in enumerate(values):
        sink.send(topic, value, str(number).encode())
    sink.close()


def _scored(stage: Stage, numbers: Iterable[int], **changes: Any) -> None:
    _send(stage, stage.settings.topic_scored, (scored(n, 1.5 + n % 30 / 10, **changes) for n in numbers))


def _labelled(stage: Stage, numbers: Iterable[int], annotator: str = "ada") -> None:
    _send(stage, stage.settings.topic_labels, (label(n, 1 + n % 30 / 10, annotator) for n in numbers))


def _figures(worker: Worker) -> dict[str, float]:
    text = worker.get("/metrics")[1]
    found = re.findall(r'^quintet_judge_agreement\{metric="clarity",statistic="(\w+)"\} (\S+)$', text, re.M)
    return {statistic: float(value) for statistic, value in found}


def _counts(worker: Worker, labelled: int) -> dict[str, float] | None:
    figures = _figures(worker)
    return figures if figures.get("labelled") == labelled else None


def test_labels_are_joined_with_scores_of_before_and_after(stage: Stage, workers: Workers) -> None:
    # Given scores of 300 summaries, labels of 20 of them, and records that are no labels
    _scored(stage, range(300))
    _send(stage, stage.settings.topic_labels, [b"", None, b"{}", b"\xff", b'{"summary_id": "s-1"}'])
    _labelled(stage, range(0, 280, 14))
    monitor = _start(workers)

    # Then the monitor shows how far they agree
    figures = eventually(lambda: _counts(monitor, 20), 60)
    assert figures["spearman"] == figures["kendall"] == 1.0
    assert 0 < figures["weighted_kappa"] < 1
    # All 300 are half a point above what people give, and those 20 a fair sample of them.
    assert figures["ppi_mean"] == pytest.approx(sum(1 + n % 30 / 10 for n in range(300)) / 300, abs=0.03)
    assert figures["ppi_mean_low"] < figures["ppi_mean"] < figures["ppi_mean_high"]

    # When a label comes for an old summary, and others before their scores
    _labelled(stage, [200])
    assert eventually(lambda: _counts(monitor, 21), 30)
    _labelled(stage, range(1000, 1005))
    _scored(stage, range(1000, 1005))
    assert eventually(lambda: _counts(monitor, 26), 30)
    assert monitor.process.poll() is None and "Traceback" not in monitor.log.read_text()


def test_one_of_two_monitors_shows_it_and_the_other_takes_over(stage: Stage, workers: Workers) -> None:
    _scored(stage, range(30))
    _labelled(stage, range(30))
    first, second = _start(workers), _start(workers)
    for monitor in (first, second):
        monitor.wait_ready()
    eventually(lambda: _counts(first, 30) or _counts(second, 30), 60)
    leader, other = (first, second) if _figures(first) else (second, first)
    assert not _figures(other)
    leader.kill()
    assert eventually(lambda: _counts(other, 30), 60)


def test_without_labels_nothing_is_shown_and_nothing_is_read(stage: Stage, workers: Workers) -> None:
    _scored(stage, range(30))
    monitor = _start(workers)
    monitor.wait_ready()
    with pytest.raises(AssertionError):
        eventually(lambda: _figures(monitor), 5)
    missing = workers.start(
        HASTY, QUINTET_JUDGE="lexical", QUINTET_REFERENCE_SET="off", QUINTET_TOPIC_LABELS=f"{stage.name}.no-such"
    )  # fmt: skip
    missing.wait_ready()
    monitor.terminate()
    assert monitor.wait(15) == 0
    eventually(lambda: missing.readyz()[1]["checks"]["monitor"]["detail"].startswith("6 partitions"), 30)
    for worker in (monitor, missing):
        assert "labels" not in worker.log.read_text()
    missing.terminate()
    assert missing.wait(15) == 0
