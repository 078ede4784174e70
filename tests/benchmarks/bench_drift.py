"""The drift detector beside what others use: false alarms, delays, mix shifts, verdicts, pace.

`--thorough` takes 2,000 baselines for each row of whole scores instead of 500.
"""

from __future__ import annotations

import sys
import time
from math import sqrt
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.drift_draws import (
    ASPECT_COVERAGE,
    COHERENCE,
    Draws,
    Shifts,
    Source,
    Walks,
    batch_effects,
    daily_rhythm,
    decimals,
    first_after,
    median,
    whole,
)
from tests.benchmarks.drift_rivals import Rival, river_detectors, rolling
from tests.benchmarks.drift_stories import mix_shift, throughput, verdicts
from worker.drift.baseline import ALARM, WARNING, Aim, Level, level_for, smoothed
from worker.drift.cusum import tilt, tilt_to, walk_between
from worker.drift.grid import Shares, deviation_of, mean_of
from worker.drift.inflation import inflation_of
from worker.drift.threshold import expected_delay, threshold_for

STREAMS, LENGTH, SETTLED = 300, 20_000, 1_000
DROPS = (0.2, 0.3, 0.5)
#: One false alarm in 30 days over 150 streams of 10,000 scores each in that time.
RUN_LENGTH = 150 * 10_000

NAMED = {"aspect coverage": ASPECT_COVERAGE, "coherence": COHERENCE}


def known_warning(shares: Shares, threshold: float = 7.7) -> Level:
    """The warning with a known baseline and a given threshold."""
    mean = mean_of(shares)
    walk = walk_between(shares, mean - WARNING.dead_band, mean - WARNING.design, tolerance=0.0002, finest=40)
    return Level(walk, round(threshold / walk.unit), WARNING.dead_band, WARNING.design, 0.0)


def beside_others() -> None:
    """The warning with a known baseline beside the rest, on the same draws."""
    rivals = river_detectors()
    print(f"\n## {STREAMS} streams of {LENGTH:,} scores, known baseline (median items until found)\n")
    if not rivals:
        print("river is not installed (pip install 'quintet[bench]'): Page-Hinkley and ADWIN left out\n")
    print("| scores | detector | false alarms per 10,000 | −0.2 | −0.3 | −0.5 |\n|---|---|---|---|---|---|")
    for name, levels in NAMED.items():
        source = Source(whole(levels))
        mean, deviation = mean_of(source.shares), deviation_of(source.shares)
        detectors: dict[str, Rival] = {
            "rolling z < −3, window 100": rolling(mean, 3 * deviation / 10),
            "rolling mean drop > 0.3, window 100": rolling(mean, 0.3),
            **rivals,
            "**warning, h 7.7**": Walks.of([known_warning(source.shares)] * STREAMS).alarms,
        }
        rng = np.random.default_rng(1)
        usual = source.constant(STREAMS, LENGTH, rng)
        dropped = [_changed(source, STREAMS, 6_000, drop, rng) for drop in DROPS]
        for detector, run in detectors.items():
            rate = run(usual).sum() / usual.size * 10_000
            delays = " | ".join(median(first_after(run(draws), SETTLED)) for draws in dropped)
            print(f"| {name} | {detector} | {rate:.3f} | {delays} |", flush=True)
        # A few alarms in six million scores scatter widely; the chain knows the rate itself.
        warning = known_warning(source.shares)
        exact = 10_000 / expected_delay(source.shares, warning.walk, warning.threshold)
        print(f"| {name} | the same, from the chain | {exact:.4f} | | | |", flush=True)


def _changed(source: Source, streams: int, length: int, drop: float, rng: np.random.Generator) -> Draws:
    """Usual for a while, then dropped."""
    return np.concatenate(
        (source.constant(streams, SETTLED, rng), source.constant(streams, length, rng, -drop)), axis=1
    )


def learned_level(cells: Draws, aim: Aim, run_length: float, correct: bool = True) -> Level:
    """The level that a stream learns from these scores."""
    counts = dict(zip(*(part.tolist() for part in np.unique(cells, return_counts=True)), strict=True))
    inflation = inflation_of(bytearray(cells.tobytes())) if correct else 1.0
    shares = smoothed(counts)
    error = deviation_of(shares) * sqrt(inflation / len(cells))
    level = level_for(shares, aim, error, run_length, inflation)
    assert level is not None
    return level


def learned_alarms(baselines: int) -> None:
    """The alarm with learned baselines: false alarms from the chain, delays from draws."""
    print(f"\n## Alarm with learned baselines, one false alarm per {RUN_LENGTH:,} scores allowed\n")
    print(
        "| scores | baselines | learned from | false alarms, of what is allowed | worst stream | −0.3 | −0.5 |"
    )
    print("|---|---|---|---|---|---|---|")
    total = []
    for kind, spread, count in (("whole", whole, baselines), ("decimals", decimals, 150)):
        for name, shape in NAMED.items():
            source = Source(spread(shape))
            for size in (500, 1000):
                rng = np.random.default_rng(size)
                learned = source.constant(count, size, rng)
                levels = [learned_level(cells, ALARM, RUN_LENGTH) for cells in learned]
                rates = _rates(source.shares, levels)
                total += rates if kind == "whole" else []
                some = levels[:500]
                delays = " | ".join(
                    median(
                        first_after(
                            Walks.of(some).alarms(_changed(source, len(some), 6_000, drop, rng)), SETTLED
                        )
                    )
                    for drop in (0.3, 0.5)
                )
                print(
                    f"| {name}, {kind} | {count:,} | {size} | {np.mean(rates):.2f} | {np.max(rates):.1f} | {delays} |",
                    flush=True,
                )
    print(f"\nWhole scores, all {len(total):,} baselines together: {np.mean(total):.2f} of the budget")


def _rates(shares: Shares, levels: list[Level]) -> list[float]:
    """False alarms over allowed ones, when scores come from `shares`."""
    return [RUN_LENGTH / expected_delay(shares, level.walk, level.threshold) for level in levels]


def clustered() -> None:
    """Batches and rhythms, with the correction for clustered scores and without it."""
    cases: dict[str, Shifts] = {
        "independent": lambda streams, length, rng: np.zeros((streams, length)),
        "batches of 50, SD .2": batch_effects,
        "rhythm ±.15, 200 a day": lambda s, n, rng: daily_rhythm(s, n, rng, 0.15, 200),
        "rhythm ±.15, 2,000 a day": lambda s, n, rng: daily_rhythm(s, n, rng, 0.15, 2000),
    }
    print("\n## Clustered scores, learned from 1,000, aspect coverage; false alarms per 10,000")
    print(f"(allowed: alarm {1e4 / RUN_LENGTH:.4f}, warning {1e5 / RUN_LENGTH:.3f})\n")
    print("| scores | corrected | inflation | warning | alarm | alarm −0.3 | alarm −0.5 |")
    print("|---|---|---|---|---|---|---|")
    source = Source(whole(ASPECT_COVERAGE))
    for name, shifts in cases.items():
        rng = np.random.default_rng(3)
        # One stretch: what is learned and what is watched share their phase.
        course = shifts(STREAMS, SETTLED + LENGTH, rng)
        draws = source.draw(course, rng)
        dropped = [
            source.draw(course[:150, : 2 * SETTLED + 6_000] - _from(2 * SETTLED, drop), rng)
            for drop in (0.3, 0.5)
        ]
        for correct in (False, True):
            _clustered_row(name, draws, dropped, correct)


def _from(start: int, drop: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(np.arange(start + 6_000) >= start, drop, 0.0)


def _clustered_row(name: str, draws: Draws, dropped: list[Draws], correct: bool) -> None:
    learned, watched = draws[:, :SETTLED], draws[:, SETTLED:]
    inflations = [inflation_of(bytearray(cells.tobytes())) for cells in learned]
    rates = []
    for aim, run_length in ((WARNING, RUN_LENGTH / 10), (ALARM, RUN_LENGTH)):
        walks = Walks.of([learned_level(cells, aim, run_length, correct) for cells in learned])
        rates.append(walks.alarms(watched).sum() / watched.size * 10_000)
    delays = []
    for changed in dropped:
        walks = Walks.of([learned_level(cells[:SETTLED], ALARM, RUN_LENGTH, correct) for cells in changed])
        delays.append(median(first_after(walks.alarms(changed[:, SETTLED:]), SETTLED)))
    print(
        f"| {name} | {'yes' if correct else 'no'} | {np.mean(inflations) if correct else 1:.2f}"
        f" | {rates[0]:.3f} | {rates[1]:.4f} | {delays[0]} | {delays[1]} |",
        flush=True,
    )


def solver(baselines: int = 24, walkers: int = 4_000, run_length: float = 3_000.0) -> None:
    """Solved thresholds against simulation, for random baselines of whole scores and decimals."""
    rng = np.random.default_rng(9)
    ratios: list[float] = []
    seconds: list[float] = []
    while len(ratios) < baselines:
        levels = tuple(rng.dirichlet((1, 1, 1.5, 2.5, 3)))
        shares = (whole if len(ratios) % 2 else decimals)(levels)
        mean = mean_of(shares)
        if mean < 1.8:
            continue
        started = time.perf_counter()
        walk = walk_between(shares, mean - 0.1, mean - 0.4)
        edge = tilt(shares, tilt_to(shares, mean - 0.1))
        threshold = threshold_for(edge, walk, run_length)
        threshold_for(edge, walk, RUN_LENGTH)
        seconds.append((time.perf_counter() - started) / 2)
        ratios.append(_simulated(edge, Level(walk, threshold, 0.1, 0.4, 0), walkers, rng) / run_length)
    print(
        f"\n## Solver: {baselines} random baselines, simulated over asked-for distance between false alarms\n"
    )
    print(
        f"lowest {min(ratios):.3f}, mean {np.mean(ratios):.3f}, highest {max(ratios):.3f};"
        f" {np.mean(seconds) * 1000:.0f} ms for a threshold, at most {max(seconds) * 1000:.0f} ms"
    )


def _simulated(edge: Shares, level: Level, walkers: int, rng: np.random.Generator) -> float:
    """Mean number of scores until the threshold, from draws alone."""
    cumulative, height = np.cumsum(edge), np.zeros(walkers, dtype=np.int64)
    total, place = 0, 0
    while len(height):
        place += 1
        cells = np.minimum(np.searchsorted(cumulative, rng.random(len(height))), len(edge) - 1)
        height = np.maximum(0, height + level.walk.offset + level.walk.slope * cells)
        reached = height >= level.threshold
        total += place * int(reached.sum())
        height = height[~reached]
    return total / walkers


def main() -> None:
    """All tables."""
    thorough = "--thorough" in sys.argv[1:]
    started = time.perf_counter()
    for table in (solver, beside_others, lambda: learned_alarms(2_000 if thorough else 500), clustered):
        table()
    mix_shift(100, 30)
    verdicts(200)
    throughput(200_000)
    print(f"\n{time.perf_counter() - started:.0f} seconds")


if __name__ == "__main__":
    main()
