"""Streams of scores for the tests of drift: drawn once with a fixed seed, or written out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np

from worker.drift.budget import Budget
from worker.drift.cusum import tilt, tilt_to
from worker.drift.grid import CELLS, PER_SCORE, Shares, mean_of, value_of
from worker.drift.group import Group
from worker.events import DriftChanged, KafkaSource, Kind, Metric, MetricScored

START = datetime(2026, 1, 1, tzinfo=UTC)
RUBRIC = "clarity@0123456789ab"
JUDGE = "judge-1"

#: Human ratings of product summaries: mean 3.59, SD 1.21; and mean 4.20, SD 1.06.
ASPECT_COVERAGE = (0.067, 0.140, 0.201, 0.316, 0.276)
COHERENCE = (0.031, 0.054, 0.131, 0.255, 0.529)

#: Small baselines and short runs between false alarms: quick tests.
SMALL = Budget(baseline_size=300, streams=15, max_segments=3)


def whole(levels: Iterable[float]) -> Shares:
    """Shares of the five whole scores, on the grid."""
    shares = np.zeros(CELLS)
    shares[::PER_SCORE] = list(levels)
    shares /= shares.sum()
    return shares


def shifted(shares: Shares, drop: float) -> Shares:
    """The same scores with a lower mean."""
    return tilt(shares, tilt_to(shares, mean_of(shares) - drop))


def draw(shares: Shares, count: int, seed: int) -> list[float]:
    """Independent scores."""
    rng = np.random.default_rng(seed)
    return [value_of(int(cell)) for cell in rng.choice(CELLS, count, p=shares)]


def metric_scored(
    number: int,
    value: float,
    segment: str = "phones",
    *,
    judge_model: str = JUDGE,
    rubric: str = RUBRIC,
    minutes: float = 5.0,
) -> MetricScored:
    """One score as the topic carries it."""
    return MetricScored(
        event_id=f"e{number}:clarity",
        summary_id=f"s{number}",
        kind=Kind.OPINION,
        metric=Metric.CLARITY,
        segment=segment,
        score=min(5, max(1, int(value + 0.5))),
        expected=value,
        native=False,
        rubric=rubric,
        judge_model=judge_model,
        scored_at=START + timedelta(minutes=minutes * number),
        source=KafkaSource(topic="summaries.generated", partition=0, offset=number),
    )


def new_group() -> Group:
    """A group that has seen nothing."""
    return Group(Kind.OPINION, Metric.CLARITY)


def feed(
    group: Group, values: Iterable[float], *, start: int = 0, segment: str = "phones", budget: Budget = SMALL
) -> list[DriftChanged]:
    """Scores one after the other, and everything they changed."""
    events = []
    for number, value in enumerate(values, start):
        events += group.observe(metric_scored(number, value, segment), budget)
    return events
