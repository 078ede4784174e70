"""Scores to try detectors on: independent, in batches, with a daily rhythm; and many walks at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.drift.baseline import Level
from worker.drift.cusum import tilt, tilt_to
from worker.drift.grid import CELLS, PER_SCORE, Shares, mean_of

Draws = NDArray[np.uint8]

#: Human ratings of product summaries, 1 to 5.
ASPECT_COVERAGE = (0.067, 0.140, 0.201, 0.316, 0.276)
COHERENCE = (0.031, 0.054, 0.131, 0.255, 0.529)


def whole(levels: tuple[float, ...]) -> Shares:
    """Shares of the five whole scores, on the grid."""
    shares = np.zeros(CELLS)
    shares[::PER_SCORE] = levels
    shares /= shares.sum()
    return shares


def decimals(levels: tuple[float, ...], width: float = 0.5) -> Shares:
    """The same scores blurred, as token probabilities or several samples give them."""
    cells = np.arange(CELLS)
    shares = np.zeros(CELLS)
    for level, share in enumerate(levels):
        blur = np.exp(-0.5 * ((cells - level * PER_SCORE) / (width * PER_SCORE)) ** 2)
        shares += share * blur / blur.sum()
    shares /= shares.sum()
    return shares


@dataclass(frozen=True)
class Source:
    """A distribution of scores that can be shifted, score by score."""

    shares: Shares

    def __post_init__(self) -> None:
        shifts = np.round(np.arange(-150, 101) / 100, 2)
        lowest, highest = 1.06, float(np.flatnonzero(self.shares)[-1]) / PER_SCORE + 0.97
        means = np.clip(mean_of(self.shares) + shifts, lowest, highest)
        present = np.flatnonzero(self.shares)
        rows = [np.cumsum(tilt(self.shares, tilt_to(self.shares, mean))[present]) for mean in means]
        object.__setattr__(self, "present", present)
        object.__setattr__(self, "table", np.array(rows))

    present: NDArray[np.int64] = None  # type: ignore[assignment]
    table: NDArray[np.float64] = None  # type: ignore[assignment]

    def draw(self, shift: NDArray[np.float64], rng: np.random.Generator) -> Draws:
        """One score for each shift of the mean, to the nearest hundredth."""
        rows = np.clip(np.round(shift * 100).astype(int) + 150, 0, len(self.table) - 1)
        chosen = np.empty(shift.shape, dtype=np.uint8)
        chance = rng.random(shift.shape)
        for row in np.unique(rows):
            here = rows == row
            chosen[here] = self.present[np.searchsorted(self.table[row][:-1], chance[here])]
        return chosen

    def constant(self, streams: int, length: int, rng: np.random.Generator, shift: float = 0.0) -> Draws:
        """Independent scores."""
        return self.draw(np.full((streams, length), shift), rng)


def batch_effects(
    streams: int, length: int, rng: np.random.Generator, deviation: float = 0.2, batch: int = 50
) -> NDArray[np.float64]:
    """Shifts that whole batches share; batches don't begin where the stream does."""
    effects = rng.normal(0, deviation, (streams, length // batch + 2))
    places = (np.arange(length) + rng.integers(0, batch, (streams, 1))) // batch
    return np.take_along_axis(effects, places, axis=1)


def daily_rhythm(
    streams: int, length: int, rng: np.random.Generator, amplitude: float, per_day: int
) -> NDArray[np.float64]:
    """Shifts that come and go within a day."""
    phase = rng.random((streams, 1))
    wave = np.sin(2 * np.pi * (np.arange(length) / per_day + phase))
    return np.asarray(amplitude * wave)


Shifts = Callable[[int, int, np.random.Generator], NDArray[np.float64]]


@dataclass(frozen=True)
class Walks:
    """Many walks side by side, each with its own threshold."""

    offset: NDArray[np.int64]
    slope: NDArray[np.int64]
    threshold: NDArray[np.int64]

    @classmethod
    def of(cls, levels: list[Level]) -> Walks:
        """One walk for each level."""
        rows = [(level.walk.offset, level.walk.slope, level.threshold) for level in levels]
        return cls(*np.array(rows, dtype=np.int64).T)

    def alarms(self, draws: Draws) -> NDArray[np.bool_]:
        """Where each walk reaches its threshold; it starts again from zero."""
        height = np.zeros(len(draws), dtype=np.int64)
        found = np.zeros(draws.shape, dtype=bool)
        for place in range(draws.shape[1]):
            height = np.maximum(0, height + self.offset + self.slope * draws[:, place])
            hit = height >= self.threshold
            if hit.any():
                found[:, place] = hit
                height[hit] = 0
        return found


def first_after(found: NDArray[np.bool_], start: int) -> NDArray[np.float64]:
    """Scores from `start` until the first alarm; infinite where there is none."""
    after = found[:, start:]
    return np.where(after.any(axis=1), after.argmax(axis=1) + 1.0, np.inf)


def median(delays: NDArray[np.float64]) -> str:
    """The median, with the share found where it is not all of them."""
    found = float(np.isfinite(delays).mean())
    middle = float(np.median(delays))
    text = f"{middle:,.0f}" if np.isfinite(middle) else "–"
    return text if found > 0.995 else f"{text} ({found:.0%})"
