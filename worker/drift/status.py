"""What there is to look at: means, PSI, the statistic, and how soon a drop would be found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import log

from worker.drift.baseline import delay_of
from worker.drift.detector import Detector
from worker.drift.grid import PER_SCORE
from worker.drift.stream import Stream
from worker.events import DriftState, DriftVerdict, Kind, Metric

#: The drops that "how soon" is told for.
DROPS = (0.2, 0.3, 0.5)

#: Beyond this many scores, "practically never" is the plain word.
NEVER = 100_000

_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Status:
    """One stream as its gravest live detector sees it."""

    kind: Kind
    metric: Metric
    segment: str
    state: DriftState
    verdict: DriftVerdict | None
    rubric: str
    judge_model: str
    learned: int
    baseline_mean: float | None
    current_mean: float | None
    window_mean: float | None
    psi: float | None
    statistic: float | None
    threshold: float | None
    per_day: float | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Delay:
    """Mean scores until a drop is found, by warning and by alarm; None where scores can't fall so far."""

    drop: float
    warning: float | None
    alarm: float | None
    per_day: float

    def __str__(self) -> str:
        if self.warning is None or self.alarm is None:
            return f"a drop of {self.drop:.1f}: scores can't fall so far"
        warned, alarmed = self._in_words(self.warning), self._in_words(self.alarm)
        return f"a drop of {self.drop:.1f}: warning after {warned}, alarm after {alarmed}"

    def _in_words(self, scores: float) -> str:
        if scores > NEVER:
            return "more scores than it is worth waiting for"
        return f"about {round(scores, -1):.0f} scores ({_span(scores / self.per_day)})"


def status_of(stream: Stream) -> Status | None:
    """One stream in figures; None before its first score."""
    detector = stream.shown
    if detector is None:
        return None
    level, climb, baseline = detector.level, detector.standing_climb, detector.baseline
    window = detector.window
    return Status(
        kind=stream.kind,
        metric=stream.metric,
        segment=stream.segment,
        state=detector.state,
        verdict=detector.verdict,
        rubric=detector.rubric,
        judge_model=detector.judge_model,
        learned=len(detector.learning.cells) if detector.learning else baseline.size if baseline else 0,
        baseline_mean=baseline.mean if baseline else None,
        current_mean=detector.current_mean,
        window_mean=1 + sum(window) / len(window) / PER_SCORE if window else None,
        psi=psi_of(detector),
        statistic=detector.height * level.walk.unit if level else None,
        threshold=level.threshold * level.walk.unit if level else None,
        per_day=baseline.per_day if baseline else None,
        since=climb.since if climb else None,
    )


def delays_of(detector: Detector) -> list[Delay]:
    """How soon drops would be found at this stream's traffic; empty while it is not watched."""
    baseline = detector.baseline
    if baseline is None or baseline.warning is None or baseline.alarm is None:
        return []
    return [
        Delay(
            drop,
            delay_of(baseline, baseline.warning, drop),
            delay_of(baseline, baseline.alarm, drop),
            baseline.per_day,
        )
        for drop in DROPS
    ]


def psi_of(detector: Detector) -> float | None:
    """The population stability index of the latest scores against the baseline, over the whole scores."""
    if detector.baseline is None or not detector.window:
        return None
    usual, latest = [0.5] * _LEVELS, [0.5] * _LEVELS
    for cell, count in detector.baseline.counts.items():
        usual[_whole(cell)] += count
    for cell in detector.window:
        latest[_whole(cell)] += 1
    shares = [(a / sum(latest), b / sum(usual)) for a, b in zip(latest, usual, strict=True)]
    return sum((now - then) * log(now / then) for now, then in shares)


def _whole(cell: int) -> int:
    return (cell + PER_SCORE // 2) // PER_SCORE


def _span(days: float) -> str:
    if days >= 2:
        return f"{days:.0f} days"
    hours = days * 24
    if hours >= 2:
        return f"{hours:.0f} hours"
    minutes = max(round(hours * 60), 1)
    return f"{minutes} minutes" if minutes > 1 else "1 minute"
