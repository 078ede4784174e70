"""Thresholds come out as known, as simulated, and as asked for."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

from tests.drift_scores import ASPECT_COVERAGE, COHERENCE, shifted, whole
from worker.drift.cusum import tilt, tilt_to, walk_between
from worker.drift.grid import CELLS, Shares, mean_of
from worker.drift.threshold import expected_delay, run_lengths, threshold_for


@pytest.mark.parametrize(("run_length", "known"), [(10_000, 4.68), (100_000, 6.91), (1_500_000, 9.57)])
def test_known_thresholds(run_length: float, known: float) -> None:
    # Given aspect coverage without a dead-band, looking for a drop of 0.2
    shares = whole(ASPECT_COVERAGE)
    walk = walk_between(shares, mean_of(shares), mean_of(shares) - 0.2, tolerance=0.0002, finest=40)

    # Then the threshold is the known one (which was found with increments rounded to .002)
    assert threshold_for(shares, walk, run_length) * walk.unit == pytest.approx(known, rel=0.015)


def _random_baseline(rng: np.random.Generator, number: int) -> Shares:
    if number % 2:
        return whole(rng.dirichlet((1, 1, 1.5, 2.5, 3)))
    centre = rng.uniform(2.5, 4.5)
    scores = np.clip(rng.normal(centre, rng.uniform(0.3, 1.0), 3000), 1, 5)
    counts = np.bincount(((scores - 1) * 20 + 0.5).astype(int), minlength=CELLS)
    return np.asarray(counts / counts.sum())


def _simulate(shares: Shares, offset: int, slope: int, threshold: int, rng: np.random.Generator) -> float:
    cumulative, height = np.cumsum(shares), np.zeros(3000, dtype=np.int64)
    total = place = 0
    while len(height):
        place += 1
        cells = np.minimum(np.searchsorted(cumulative, rng.random(len(height))), CELLS - 1)
        height = np.maximum(0, height + offset + slope * cells)
        total += place * int((height >= threshold).sum())
        height = height[height < threshold]
    return total / 3000


@pytest.mark.parametrize("number", range(20))
def test_solved_run_lengths_agree_with_simulation(number: int) -> None:
    # Given a random baseline, whole scores or decimals, at the edge of the alarm's dead-band
    rng = np.random.default_rng(number)
    shares = _random_baseline(rng, number)
    edge = shifted(shares, 0.1)
    walk = walk_between(shares, mean_of(shares) - 0.1, mean_of(shares) - 0.4)

    # When a threshold is solved for a mean of 600 scores
    threshold = threshold_for(edge, walk, 600)

    # Then walks really take so long (the simulation itself is good to 2 %)
    simulated = _simulate(edge, walk.offset, walk.slope, threshold, rng)
    assert simulated == pytest.approx(expected_delay(edge, walk, threshold), rel=0.1)


def test_the_running_sum_agrees_with_solving_each_chain_by_itself() -> None:
    shares = whole(COHERENCE)
    walk = walk_between(shares, mean_of(shares) - 0.1, mean_of(shares) - 0.4)
    for threshold in (1, 7, 60, 300):
        lengths = run_lengths(shares, walk, threshold)
        states = threshold
        matrix = np.eye(states)
        for cell in np.flatnonzero(shares):
            for state in range(states):
                target = max(0, state + walk.step(int(cell)))
                if target < states:
                    matrix[state, target] -= shares[cell]
        alone = np.linalg.solve(matrix, np.ones(states))[0]
        assert lengths[-1] == pytest.approx(alone, rel=1e-8)


def test_a_walk_upwards_is_solved_alike() -> None:
    shares = whole(ASPECT_COVERAGE)
    low = shifted(shares, 0.3)
    walk = walk_between(shares, mean_of(shares) - 0.3, mean_of(shares))
    threshold = threshold_for(low, walk, 500)
    simulated = _simulate(low, walk.offset, walk.slope, threshold, np.random.default_rng(1))
    assert walk.slope > 0
    assert simulated == pytest.approx(500, rel=0.1)


def test_a_baseline_is_solved_in_a_fraction_of_a_second() -> None:
    shares = whole(ASPECT_COVERAGE)
    started = perf_counter()
    for dead_band, design in ((0.05, 0.3), (0.1, 0.4)):
        mean = mean_of(shares)
        walk = walk_between(shares, mean - dead_band, mean - design)
        threshold_for(tilt(shares, tilt_to(shares, mean - dead_band)), walk, 1e7)
    assert perf_counter() - started < 1.0


def test_what_is_practically_never_found_is_still_a_number() -> None:
    shares = whole((0.0005, 0.0005, 0.0005, 0.0005, 0.998))
    walk = walk_between(shares, mean_of(shares) - 0.1, mean_of(shares) - 0.4)
    threshold = threshold_for(shifted(shares, 0.1), walk, 1e9)
    assert expected_delay(shares, walk, threshold) > 1e10
