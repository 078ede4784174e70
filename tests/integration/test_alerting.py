"""From a scrape to the pager: the shipped rules and routes in a real Prometheus and a real Alertmanager.

Two hours and a half of Prometheus take a minute; Alertmanager's half-hours take five seconds.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.alerting import alerting as watching
from tests.alertmanager import Notification, Webhook
from tests.exporter import Exporter
from tests.prometheus import Prometheus
from tests.streams import eventually
from worker.errors import OutageReason
from worker.events import DriftState, Kind, Metric

FACTOR = 150.0
#: Seconds of nothing that are enough: longer than any group waits, or any alert is held, but for a late verdict.
QUIET = 6.0
KIND = Kind.OPINION.value
SEGMENTS = ("all", "laptops", "phones", "tablets")
STREAMS = list(itertools.product([metric.value for metric in Metric], SEGMENTS))


@dataclass
class Alerting:
    """The whole way, with a worker and a monitor that say what they are told to."""

    worker: Exporter
    monitor: Exporter
    prometheus: Prometheus
    webhook: Webhook

    def set_state(self, metric: str, segment: str, state: str, verdict: str | None = None) -> None:
        """What the monitor says of one stream."""
        _set_state(self.monitor, metric, segment, state, verdict)

    def set_all(self, state: str, verdict: str | None = None) -> None:
        """All streams are in this state."""
        for metric, segment in STREAMS:
            self.set_state(metric, segment, state, verdict)

    def told(self, receiver: str, count: int = 1, seconds: float = 30) -> list[Notification]:
        """What a receiver was told, once it was told so often."""
        return eventually(
            lambda: found if len(found := self.webhook.to(receiver)) >= count else None, seconds
        )


def _be_well(worker: Exporter) -> None:
    """A worker with nothing to do."""
    for reason in OutageReason:
        worker.set("quintet_judge_breaker_open", 0, reason=reason.value)
    worker.set("quintet_consumer_lag", 0, topic="summaries.generated", partition="0")
    worker.set("quintet_summaries_total", 1000, kind=KIND, outcome="scored")
    worker.set("quintet_summaries_total", 10, kind=KIND, outcome="rejected")


def _set_state(monitor: Exporter, metric: str, segment: str, state: str, verdict: str | None) -> None:
    stream = {"kind": KIND, "metric": metric, "segment": segment}
    monitor.drop("quintet_drift_verdict", **stream)
    if verdict is not None:
        monitor.set("quintet_drift_verdict", 1, **stream, verdict=verdict)
    for known in DriftState:
        monitor.set("quintet_drift_state", float(known == state), **stream, state=known.value)


@pytest.fixture
def alerting(tmp_path: Path) -> Iterator[Alerting]:
    """All well, and scraped for a while."""
    with Exporter() as worker, Exporter() as monitor:
        _be_well(worker)
        for metric, segment in STREAMS:
            _set_state(monitor, metric, segment, "ok", None)
        targets = {"quintet-worker": [worker.address], "quintet-monitor": [monitor.address]}
        with watching(tmp_path, targets, FACTOR) as (prometheus, webhook):
            yield Alerting(worker, monitor, prometheus, webhook)


def test_a_bad_release_is_one_page_that_resolves(alerting: Alerting) -> None:
    # Given a stable time, in which nobody hears anything
    time.sleep(4)
    assert alerting.prometheus.firing() == []
    assert alerting.webhook.notifications == []

    # When five metrics fall in all segments at once
    alerting.set_all("alarm", "generator")

    # Then there is one page, and for the time in which a second could have come, no other
    (page,) = alerting.told("pager")
    time.sleep(QUIET)
    assert alerting.webhook.notifications == [page]
    assert page.status == "firing"
    assert page.values("alertname") == {"QuintetScoreDrift"}
    assert page.values("metric") == {metric.value for metric in Metric}
    assert page.values("segment") == {"all"}, "the pool speaks for its segments"
    assert page.annotations("segments") == {", ".join(SEGMENTS)}
    assert page.annotations("verdict") == {"generator"}
    assert len(alerting.prometheus.firing()) == len(STREAMS)

    # When the scores are back
    alerting.set_all("ok")

    # Then the page resolves, and that is all
    _, resolved = alerting.told("pager", 2)
    assert resolved.status == "resolved"
    assert resolved.values("metric") == page.values("metric")
    assert alerting.webhook.to("judge-owner") == alerting.webhook.to("tickets") == []


def test_each_verdict_finds_its_own_and_a_late_one_pages_only_once(alerting: Alerting) -> None:
    # Given a drop that is the judge's, one of the mix, and one for which there is no verdict yet
    alerting.set_state("clarity", "all", "alarm", "judge")
    alerting.set_state("conciseness", "all", "alarm", "mix")
    alerting.set_state("informativeness", "phones", "alarm")
    begun = time.monotonic()

    # When the last one has been held for long enough
    (page,) = alerting.told("pager")
    held = time.monotonic() - begun

    # Then it is paged as undecided, the judge's owner has a ticket, and nobody hears of the mix
    assert held > 15 * 60 / FACTOR
    assert page.values("metric") == {"informativeness"}
    assert page.values("segment") == {"phones"}
    assert page.annotations("verdict") == {"pending"}
    (ticket,) = alerting.told("judge-owner")
    assert ticket.values("metric") == {"clarity"}
    assert ticket.annotations("verdict") == {"judge"}
    assert "QuintetDriftMix" in {alert["alertname"] for alert in alerting.prometheus.firing()}

    # When its verdict arrives
    alerting.set_state("informativeness", "phones", "alarm", "generator")
    eventually(lambda: alerting.prometheus.query('quintet:drift_verdict{verdict="generator"}'), 10)
    time.sleep(QUIET)

    # Then the same alert goes on, and nobody is called again
    assert len(alerting.webhook.notifications) == 2
    assert "QuintetScoreDrift" in {alert["alertname"] for alert in alerting.prometheus.firing()}


def test_an_outage_of_the_judge_is_told_once(alerting: Alerting) -> None:
    # Given records that wait, while the judge is out of reach
    alerting.worker.set("quintet_consumer_lag", 40, topic="summaries.generated", partition="0")
    alerting.worker.set("quintet_judge_breaker_open", 1, reason="network")

    # When "nothing scored" fires as well
    wanted = {"QuintetBreakerOpen", "QuintetNothingScored"}
    eventually(lambda: wanted <= {alert["alertname"] for alert in alerting.prometheus.firing()}, 30)
    time.sleep(3)

    # Then only the cause was told
    (page,) = alerting.webhook.notifications
    assert page.receiver == "pager"
    assert page.values("alertname") == {"QuintetBreakerOpen"}
    assert "network" in page.alerts[0]["annotations"]["description"]
