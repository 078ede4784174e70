"""From a worse summary to the pager: worker, monitor, Prometheus and Alertmanager, all of them real, on one machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alerting import alerting
from tests.alertmanager import Notification, Webhook
from tests.monitors import drift_events, start_monitor
from tests.streams import Stage, Workers, eventually
from worker.demo.generator import WORSE_CATEGORY, SampleStream
from worker.events import Kind

pytestmark = pytest.mark.broker

LEXICAL = {"QUINTET_JUDGE": "lexical"}
WORKER = ["-c", "from worker.cli import main; main()", "worker", "--no-monitor"]
#: Small, so that the story takes a minute; the statistics are those of production.
SMALL = {"QUINTET_BASELINE_SIZE": "150", "QUINTET_EXPECTED_STREAMS": "20"}
#: A quarter of an hour takes ten seconds.
FACTOR = 90.0
CATEGORIES = {WORSE_CATEGORY, "kitchen"}


class Generator:
    """Recommendations in two categories; its new version is worse in one of them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._stream = SampleStream(7)
        self.published = 0

    def publish(self, count: int, *, worse: bool = False) -> None:
        """So many summaries, and wait until they are scored."""
        self._stage.publish(self._draw(count, worse=worse))
        self.published += count
        self._stage.wait_for("scored", self.published, 120)

    def _draw(self, count: int, *, worse: bool) -> Iterator[tuple[bytes, bytes]]:
        while count:
            key, value = self._stream.next(worse=worse)
            event = json.loads(value)
            if event["kind"] == Kind.RECOMMENDATION and event["category"] in CATEGORIES:
                count -= 1
                yield key, value


def test_a_worse_generator_is_one_page_that_resolves_when_it_is_mended(
    stage: Stage, workers: Workers, tmp_path: Path
) -> None:
    # Given a worker and a monitor, baselines, and a while in which all is well
    stage.env |= SMALL
    worker = workers.start(WORKER, **LEXICAL)
    monitor = start_monitor(workers, QUINTET_REFERENCE_SET="")
    worker.wait_ready()
    generator = Generator(stage)
    generator.publish(380)
    eventually(lambda: "pass 5 of 5" in monitor.log.read_text(), 90)
    targets = {
        "quintet-worker": [f"127.0.0.1:{worker.port}"],
        "quintet-monitor": [f"127.0.0.1:{monitor.port}"],
    }
    with alerting(tmp_path, targets, FACTOR) as (prometheus, webhook):
        for _ in range(5):
            generator.publish(30)
            time.sleep(1)
        assert prometheus.firing() == []
        assert webhook.notifications == []

        # When the generator gets worse in one category
        generator.publish(200, worse=True)

        # Then one page says so, with verdict and segment, for all metrics that fell
        page = eventually(lambda: _pages(webhook, "firing"), 60)[0]
        assert {alert["labels"]["alertname"] for alert in page.alerts} >= {"QuintetScoreDrift"}
        assert page.annotations("verdict") == {"generator"}
        assert any(WORSE_CATEGORY in segments for segments in page.annotations("segments"))
        assert "kitchen" not in page.values("segment")
        assert len(page.values("metric")) > 1
        assert len({_group(found) for found in webhook.to("pager")}) == 1
        fallen = {event["segment"] for event in drift_events(stage) if event["state"] == "alarm"}
        assert "kitchen" not in fallen

        # When it is mended, then the page resolves as soon as no stream is in alarm any more
        for _ in range(40):
            if not _in_alarm(stage):
                break
            generator.publish(60)
        assert not _in_alarm(stage)
        eventually(lambda: _pages(webhook, "resolved"), 60)
        assert webhook.to("judge-owner") == []


def _in_alarm(stage: Stage) -> set[tuple[str, str]]:
    latest = {(event["metric"], event["segment"]): event["state"] for event in drift_events(stage)}
    return {stream for stream, state in latest.items() if state == "alarm"}


def _pages(webhook: Webhook, status: str) -> list[Notification]:
    return [found for found in webhook.to("pager") if found.status == status]


def _group(page: Notification) -> tuple[str, ...]:
    return tuple(sorted(page.values("severity") | page.values("area")))
