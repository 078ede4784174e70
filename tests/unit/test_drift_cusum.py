"""The tilt and the walk between two tilts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.drift_scores import ASPECT_COVERAGE, COHERENCE, whole
from worker.drift.cusum import tilt, tilt_to, walk_between
from worker.drift.grid import CELLS, VALUES, cell_of, deviation_of, mean_of, value_of


def test_the_grid_has_every_twentieth_from_one_to_five() -> None:
    assert CELLS == 81
    assert [cell_of(score) for score in (1, 1.02, 1.03, 4.2, 5)] == [0, 0, 1, 64, 80]
    assert value_of(64) == pytest.approx(4.2)


def test_the_known_distributions_have_their_known_moments() -> None:
    assert mean_of(whole(ASPECT_COVERAGE)) == pytest.approx(3.59, abs=0.01)
    assert deviation_of(whole(ASPECT_COVERAGE)) == pytest.approx(1.21, abs=0.01)
    assert mean_of(whole(COHERENCE)) == pytest.approx(4.20, abs=0.01)


@pytest.mark.parametrize("drop", [0.05, 0.3, 1.0, -0.4])
def test_a_tilt_has_the_mean_it_was_made_for(drop: float) -> None:
    shares = whole(COHERENCE)
    tilted = tilt(shares, tilt_to(shares, mean_of(shares) - drop))
    assert mean_of(tilted) == pytest.approx(mean_of(shares) - drop)
    assert tilted.sum() == pytest.approx(1)


def test_the_walk_is_the_likelihood_ratio() -> None:
    # Given the two tilts themselves
    shares, mean = whole(ASPECT_COVERAGE), 3.594
    usual, changed = (tilt(shares, tilt_to(shares, mean - drop)) for drop in (0.1, 0.4))
    walk = walk_between(shares, mean - 0.1, mean - 0.4)

    # Then each step is their log-likelihood ratio, but for the rounding onto the lattice
    for cell in np.flatnonzero(shares):
        ratio = np.log(changed[cell] / usual[cell])
        assert walk.step(int(cell)) * walk.unit == pytest.approx(
            ratio, abs=0.0084 * walk.unit * abs(walk.slope) * 20 + 1e-9
        )


def test_the_walk_climbs_below_its_turning_point_and_falls_above() -> None:
    shares, mean = whole(ASPECT_COVERAGE), 3.594
    walk = walk_between(shares, mean - 0.1, mean - 0.4)
    steps = np.array([walk.step(cell) for cell in range(CELLS)])
    assert steps @ tilt(shares, tilt_to(shares, mean - 0.4)) > 0
    assert steps @ tilt(shares, tilt_to(shares, mean - 0.1)) < 0
    assert VALUES[np.argmin(np.abs(steps))] == pytest.approx(mean - 0.25, abs=0.05)


def test_a_rise_never_climbs() -> None:
    walk = walk_between(whole(COHERENCE), 4.1, 3.8)
    assert walk.step(cell_of(5)) < 0
