"""What is usual: scores are learned, then frozen together with the thresholds that follow from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil, sqrt

import numpy as np

from worker.drift.budget import WARNING_SHARE, Budget
from worker.drift.cusum import Walk, tilt, tilt_to, walk_between
from worker.drift.grid import CELLS, LOWEST, PER_SCORE, Cells, Shares, deviation_of, mean_of
from worker.drift.inflation import inflation_of
from worker.drift.threshold import expected_delay, threshold_for

#: Standard errors of the baseline's mean that the dead-band is at least wide.
ERRORS_IN_DEAD_BAND = 2.0

#: A design drop lies at least this far beyond the dead-band, however wide that had to be.
MIN_GAP = 0.2

#: A level closer to the lowest score than this can't be tilted to.
FLOOR = LOWEST + 1 / PER_SCORE


#: A score so far in time from all before it is not believed, until so many in a row say the same: one wrong
#: clock would make the traffic look like nothing, and the threshold that follows from it would page at random.
LEAP, CONFIRMED = timedelta(days=30), 10


@dataclass(frozen=True, slots=True)
class Aim:
    """What a level takes for usual and what it looks for, in scores below the baseline's mean."""

    dead_band: float
    design: float


WARNING = Aim(dead_band=0.05, design=0.3)
ALARM = Aim(dead_band=0.1, design=0.4)


@dataclass(frozen=True, slots=True)
class Level:
    """A walk with its threshold, in the walk's units."""

    walk: Walk
    threshold: int
    dead_band: float
    design: float
    run_length: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is usual in one stream, and the two levels that watch it; frozen once it is learned."""

    counts: dict[int, int]
    size: int
    mean: float
    deviation: float
    inflation: float
    per_day: float
    learned_until: datetime
    #: Both missing where the usual level is too low to fall: the stream is unwatchable.
    warning: Level | None
    alarm: Level | None

    def shares(self) -> Shares:
        """The distribution that was learned."""
        return smoothed(self.counts)


@dataclass(slots=True)
class Learning:
    """Scores on their way to a baseline."""

    cells: Cells = field(default_factory=bytearray)
    #: Scores counted for the traffic; more than `cells` where only the latest were kept.
    count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    #: Scores in a row that are far in time from all before them, and the time of the first.
    leaps: int = 0
    leapt_to: datetime | None = None

    def add(self, cell: int, at: datetime) -> None:
        """One more score."""
        self.cells.append(cell)
        self.count += 1
        if self.first_at is None or self.last_at is None:
            self.first_at = self.last_at = at
        elif self.first_at - at <= LEAP and at - self.last_at <= LEAP:
            self._stretch(at)
            self.leaps = 0
        else:
            self._doubt(at)

    def _stretch(self, at: datetime) -> None:
        assert self.first_at is not None and self.last_at is not None
        self.first_at, self.last_at = min(self.first_at, at), max(self.last_at, at)

    def _doubt(self, at: datetime) -> None:
        """A leap in time: a wrong clock, unless the scores stay there."""
        if self.leaps == 0:
            self.leapt_to = at
        self.leaps += 1
        if self.leaps < CONFIRMED or self.leapt_to is None:
            return
        if self.first_at == self.last_at:  # then it was the first of all that was wrong
            self.first_at = self.last_at = self.leapt_to
        for believed in (self.leapt_to, at):
            self._stretch(believed)
        self.leaps = 0

    def ready(self, budget: Budget) -> bool:
        """Whether there is enough to freeze."""
        return self.first_at is not None and budget.enough(len(self.cells), self._span())

    def freeze(self, budget: Budget) -> Baseline:
        """The baseline with its thresholds: a matter of milliseconds, once per stream."""
        assert self.last_at is not None
        # A burst within a second says nothing about traffic except that it is high.
        seconds = max(self._span().total_seconds(), 1.0)
        counts = dict(sorted(Counter(self.cells).items()))
        return freeze(counts, inflation_of(self.cells), self.count / seconds * 86_400, self.last_at, budget)

    def _span(self) -> timedelta:
        assert self.first_at is not None and self.last_at is not None
        return self.last_at - self.first_at


def freeze(
    counts: dict[int, int], inflation: float, per_day: float, at: datetime, budget: Budget
) -> Baseline:
    """A baseline from a histogram of cells."""
    shares, size = smoothed(counts), sum(counts.values())
    error = deviation_of(shares) * sqrt(inflation / size)
    run_length = budget.run_length(per_day)
    warning = level_for(shares, WARNING, error, run_length / WARNING_SHARE, inflation)
    alarm = level_for(shares, ALARM, error, run_length, inflation)
    watchable = warning is not None and alarm is not None
    return Baseline(
        counts=counts,
        size=size,
        mean=mean_of(shares),
        deviation=deviation_of(shares),
        inflation=inflation,
        per_day=per_day,
        learned_until=at,
        warning=warning if watchable else None,
        alarm=alarm if watchable else None,
    )


def smoothed(counts: dict[int, int]) -> Shares:
    """Shares with half a count more for each whole score: one never seen is unlikely, not impossible."""
    shares = np.zeros(CELLS)
    shares[::PER_SCORE] = 0.5
    for cell, count in counts.items():
        shares[cell] += count
    shares /= shares.sum()
    return shares


def level_for(shares: Shares, aim: Aim, error: float, run_length: float, inflation: float) -> Level | None:
    """The level that follows an aim, or None where the scores can't fall so far.

    Solved at the edge of the dead-band: a baseline is an estimate, and at its mean a threshold would be
    kept only by streams whose true mean happens to lie above it. Clustered scores climb like `inflation`
    fewer, larger steps, so the threshold is that of as many fewer steps, so much higher.
    """
    dead_band = max(aim.dead_band, ERRORS_IN_DEAD_BAND * error)
    design = max(aim.design, dead_band + MIN_GAP)
    usual, changed = mean_of(shares) - dead_band, mean_of(shares) - design
    if changed < FLOOR:
        return None
    walk = walk_between(shares, usual, changed)
    threshold = _inflated_threshold(shares, usual, walk, run_length, inflation)
    return Level(walk, threshold, dead_band, design, run_length)


def recovery_for(baseline: Baseline, level: Level) -> tuple[Walk, int]:
    """The mirrored test: from as far below the baseline as the level's gap, back up to the baseline itself.

    It turns a dead-band higher than the level it mirrors, so that a mean which lingers between the two
    neither raises an alarm nor takes one back.
    """
    shares, gap = baseline.shares(), level.design - level.dead_band
    dropped = baseline.mean - gap
    walk = walk_between(shares, dropped, baseline.mean)
    return walk, _inflated_threshold(shares, dropped, walk, level.run_length, baseline.inflation)


def delay_of(baseline: Baseline, level: Level, drop: float) -> float | None:
    """Scores until a drop of this size is found, on average; None where scores can't drop so far."""
    if baseline.mean - drop < FLOOR:
        return None
    shares = baseline.shares()
    dropped = tilt(shares, tilt_to(shares, baseline.mean - drop))
    return expected_delay(dropped, level.walk, level.threshold)


def _inflated_threshold(shares: Shares, usual: float, walk: Walk, run_length: float, inflation: float) -> int:
    edge = tilt(shares, tilt_to(shares, usual))
    return ceil(threshold_for(edge, walk, run_length / inflation) * inflation)
