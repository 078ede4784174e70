"""Every Prometheus name, in one place; seconds, totals, and labels from closed or capped sets."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from worker.drift.group import Group
from worker.drift.status import Status, status_of
from worker.drift.verdict import JudgeShift
from worker.errors import OutageReason, RejectionReason
from worker.events import DriftChanged, DriftState, DriftVerdict, Kind, Metric
from worker.judging.judge import Observer
from worker.pipeline import Outcome, Rejected, SampledOut, Scored

#: Seconds; a judge call may take as long as a deadline.
DURATION_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
#: Seconds; what we add to the judge's own time should be far below one.
OVERHEAD_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300)
#: Seconds; a summary may have waited for days in its topic.
AGE_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 7 * 24 * 3600)

# A time stamp beside every counter doubles the scrape and says little.
disable_created_metrics()  # type: ignore[no-untyped-call]

UNKNOWN_KIND = "unknown"
OTHER_SEGMENTS = "other"
PROBE = "probe"


class Segments:
    """Lets the first few segments of each kind and metric through; the rest is one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[tuple[str, str], set[str]] = defaultdict(set)

    def label(self, kind: str, metric: str, segment: str) -> str:
        """The segment as a label value."""
        seen = self._seen[kind, metric]
        if segment not in seen:
            if len(seen) >= self._most:
                return OTHER_SEGMENTS
            seen.add(segment)
        return segment


class WorkerTelemetry(Observer):
    """What the stream worker tells Prometheus."""

    def __init__(self, max_segments: int) -> None:
        self.registry = CollectorRegistry()
        self._segments = Segments(max_segments)
        self._monitor: MonitorTelemetry | None = None
        self._summaries = self._counter("summaries", "Summaries by outcome", "kind", "outcome")
        self._rejected = self._counter("rejected", "Rejected records by reason", "reason")
        self._scores = self._counter("scores", "Scores given", "kind", "metric", "segment", "score")
        self._request_duration = self._histogram(
            "judge_request_duration",
            "Seconds of one request to the judge",
            DURATION_BUCKETS,
            "metric",
            "outcome",
        )
        self._requests = self._counter("judge_requests", "Requests to the judge", "metric", "outcome")
        self._tokens = self._counter("judge_tokens", "Tokens billed: input, cached, output", "direction")
        self._cost = self._counter("judge_cost_usd", "What the judge cost")
        self._breaker = self._gauge("judge_breaker_open", "1 while the judge is out of reach", "reason")
        self._duration = self._histogram(
            "summary_duration", "Seconds from received to published", DURATION_BUCKETS, "kind"
        )
        self._age = self._histogram("summary_age", "Seconds from generated to published", AGE_BUCKETS, "kind")
        self._overhead = self._histogram(
            "overhead", "Seconds of a summary beside its slowest judge call", OVERHEAD_BUCKETS
        )
        self._in_flight = self._gauge("in_flight", "Summaries under way")
        self._limit = self._gauge("concurrency_limit", "Requests to the judge that may be under way at once")
        self._lag = self._gauge("consumer_lag", "Records not yet finished", "topic", "partition")
        self._last_scored = self._gauge("last_scored_timestamp_seconds", "When a summary was last scored")
        self._cache_hits = self._counter("cache_hits", "Verdicts that cost no call")
        self._info = Info("quintet", "What is running", registry=self.registry)
        ProcessCollector(registry=self.registry)
        self._known_lags: set[tuple[str, int]] = set()
        self._show_zeros()

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"quintet_{name}_total", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"quintet_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"quintet_{name}_seconds", about, labels, buckets=buckets, registry=self.registry)

    def _show_zeros(self) -> None:
        """A series that is there from the start can be alerted on when it first moves."""
        for kind in Kind:
            for outcome in ("scored", "rejected", "sampled_out"):
                self._summaries.labels(kind, outcome)
        for reason in RejectionReason:
            self._rejected.labels(reason)
        for outage in OutageReason:
            self._breaker.labels(outage)

    def describe(self, *, version: str, judge: str, model: str, pack: str) -> None:
        """What is running."""
        self._info.info({"version": version, "judge": judge, "model": model, "pack": pack})

    def watch_in_flight(self, count: Callable[[], int]) -> None:
        """Where to look for the number of summaries under way."""
        self._in_flight.set_function(count)

    def published(self, outcome: Outcome, received_at: datetime) -> None:
        """The broker has the outcome of one record."""
        match outcome:
            case Scored():
                self._count_scored(outcome, received_at)
            case Rejected():
                self._summaries.labels(outcome.kind or UNKNOWN_KIND, "rejected").inc()
                self._rejected.labels(outcome.rejection.reason).inc()
            case SampledOut():
                self._summaries.labels(outcome.kind, "sampled_out").inc()

    def _count_scored(self, outcome: Scored, received_at: datetime) -> None:
        event, now = outcome.event, datetime.now(UTC)
        self._summaries.labels(event.kind, "scored").inc()
        for scored in outcome.by_metric:
            segment = self._segments.label(scored.kind, scored.metric, scored.segment)
            self._scores.labels(scored.kind, scored.metric, segment, scored.score).inc()
        seconds = max(0.0, (now - received_at).total_seconds())
        self._duration.labels(event.kind).observe(seconds)
        self._overhead.observe(max(0.0, seconds - outcome.slowest_call_seconds))
        if event.generated_at is not None:
            self._age.labels(event.kind).observe(max(0.0, (now - event.generated_at).total_seconds()))
        self._last_scored.set(time.time())

    def lags(self, rows: Iterable[tuple[str, int, int]]) -> None:
        """Topic, partition and lag of all this worker has; what it no longer has is dropped."""
        known = set()
        for topic, partition, lag in rows:
            self._lag.labels(topic, partition).set(lag)
            known.add((topic, partition))
        for topic, partition in self._known_lags - known:
            self._lag.remove(topic, partition)
        self._known_lags = known

    def request_finished(self, metric: Metric | None, outcome: str, seconds: float) -> None:
        """One HTTP request ended; `metric` is None for a probe."""
        self._requests.labels(metric or PROBE, outcome).inc()
        self._request_duration.labels(metric or PROBE, outcome).observe(seconds)

    def tokens_used(self, prompt: int, cached: int, completion: int) -> None:
        """What one reply was billed for; the three directions add up to all tokens."""
        self._tokens.labels("input").inc(max(0, prompt - cached))
        self._tokens.labels("cached").inc(cached)
        self._tokens.labels("output").inc(completion)

    def cost_incurred(self, usd: float) -> None:
        """What one reply cost."""
        self._cost.inc(usd)

    def cache_hit(self, metric: Metric) -> None:
        """A verdict came from the cache instead of a call."""
        self._cache_hits.inc()

    def breaker_changed(self, reason: OutageReason | None) -> None:
        """The judge went out of reach, for this reason, or came back (None)."""
        for outage in OutageReason:
            self._breaker.labels(outage).set(outage is reason)

    def concurrency_changed(self, limit: int) -> None:
        """So many calls may now be under way at once."""
        self._limit.set(limit)

    def render(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry) + (self._monitor.render() if self._monitor else b"")

    def with_monitor(self) -> MonitorTelemetry:
        """A drift monitor's telemetry, on the same page."""
        self._monitor = MonitorTelemetry(self.registry)
        return self._monitor


class MonitorTelemetry:
    """What the drift monitor tells Prometheus: of the streams that are its own at the time of the scrape.

    The text is written here and not by the client library: a stream has a dozen series that share their
    labels, and with hundreds of streams the library's way takes ten times as long, in the worker's loop.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._groups: Callable[[], Iterable[Group]] = tuple
        self._shifts: Callable[[], Mapping[Metric, JudgeShift] | None] = lambda: None
        self._agreement: Callable[[], Mapping[tuple[Metric, str], float]] = dict
        self._alarms = Counter(
            "quintet_drift_alarms_total",
            "Alarms by the verdict found",
            ("kind", "metric", "verdict"),
            registry=registry,
        )
        for kind, metric, verdict in product(Kind, Metric, DriftVerdict):
            self._alarms.labels(kind, metric, verdict)

    def watch(
        self,
        groups: Callable[[], Iterable[Group]],
        shifts: Callable[[], Mapping[Metric, JudgeShift] | None],
    ) -> None:
        """Where to look at each scrape."""
        self._groups, self._shifts = groups, shifts

    def watch_agreement(self, agreement: Callable[[], Mapping[tuple[Metric, str], float]]) -> None:
        """Where to look for the agreement with people's labels, by metric and statistic."""
        self._agreement = agreement

    def changed(self, event: DriftChanged) -> None:
        """A drift event was published."""
        if event.state is DriftState.ALARM and event.verdict is not None:
            self._alarms.labels(event.kind, event.metric, event.verdict).inc()

    def render(self) -> bytes:
        """The text that Prometheus scrapes, beside what is in the registry."""
        families = {name: _Family(name, about) for name, about in MONITOR_GAUGES.items()}
        for group in self._groups():
            for stream in list(group.streams.values()):
                if (status := status_of(stream)) is not None:
                    _add_stream(families, status)
        for metric, shift in (self._shifts() or {}).items():
            families["judge_shift"].add(f'metric="{metric}"', shift.difference if shift.moved else 0.0)
        for (metric, statistic), value in self._agreement().items():
            families["judge_agreement"].add(f'metric="{metric}",statistic="{statistic}"', value)
        return "".join(family.text() for family in families.values()).encode()


#: The monitor's gauges and what they mean.
MONITOR_GAUGES = {
    "score_mean": "Mean score: of the baseline, and current",
    "drift_statistic": "The detector's statistic",
    "drift_threshold": "Where the detector speaks up",
    "drift_state": "1 for the state a stream is in",
    "drift_verdict": "1 while an alarm with this verdict stands",
    "score_psi": "Population stability index of the latest scores; to look at, never to alarm on",
    "judge_shift": "How far the judge has moved on the reference set; 0 within its own scatter",
    "judge_agreement": "Agreement of the judge with people's labels",
}


class _Family:
    """A gauge and its series, as text."""

    def __init__(self, name: str, about: str) -> None:
        self._name = f"quintet_{name}"
        self._lines = [f"# HELP {self._name} {about}\n# TYPE {self._name} gauge\n"]

    def add(self, labels: str, value: float | None) -> None:
        """One series, unless it has no value."""
        if value is not None:
            self._lines.append(f"{self._name}{{{labels}}} {float(value)!r}\n")

    def text(self) -> str:
        """All of it."""
        return "".join(self._lines)


def _add_stream(families: Mapping[str, _Family], status: Status) -> None:
    stream = f'kind="{status.kind}",metric="{status.metric}",segment="{_escaped(status.segment)}"'
    families["score_mean"].add(f'{stream},window="baseline"', status.baseline_mean)
    families["score_mean"].add(f'{stream},window="current"', status.current_mean)
    families["drift_statistic"].add(stream, status.statistic)
    families["drift_threshold"].add(stream, status.threshold)
    families["score_psi"].add(stream, status.psi)
    for state in DriftState:
        families["drift_state"].add(f'{stream},state="{state}"', status.state is state)
    if status.state is DriftState.ALARM and status.verdict is not None:
        families["drift_verdict"].add(f'{stream},verdict="{status.verdict}"', 1)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
