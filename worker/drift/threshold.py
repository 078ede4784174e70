"""How high a walk must climb: from the mean distance between false alarms to a threshold, exactly.

The walk below a threshold of H is a Markov chain on 0..H−1, and its mean time to reach H from 0 is the
first entry of (I − Q_H)⁻¹·1. Q_H is the leading block of one infinite band matrix. An LU factorisation
without row exchanges has the same property, so one factorisation of a large block holds the answer for
every H at once, as a running sum: the solver factorises once, and looks up.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from worker.drift.cusum import Walk
from worker.drift.grid import Shares

#: The logarithm of the mean time grows like the threshold; what is added for the constant in front.
_HEADROOM = 3.0

#: A chain larger than this is no real stream: some ten times the largest one met.
MAX_STATES = 200_000


def run_lengths(shares: Shares, walk: Walk, states: int) -> NDArray[np.float64]:
    """Mean number of scores until the walk reaches 1, 2, … `states`, when scores are drawn from `shares`."""
    steps, chances = _steps(shares, walk)
    up, down = max(int(steps.max()), 0), max(int(-steps.min()), 0)
    band = _transposed_band(steps, chances, states, up, down)
    factors, pivots, info = lapack.dgbtrf(band, up, down, overwrite_ab=True)
    # Columns of the transposed matrix are dominated by their diagonal, so partial pivoting never
    # exchanges rows.
    if info != 0 or not np.array_equal(pivots, np.arange(states)):
        raise ArithmeticError("the chain of a walk could not be factorised in order")
    return np.cumsum(_solve_lower(factors, states, up, down) * _solve_upper(factors, states, up, down))


def threshold_for(shares: Shares, walk: Walk, run_length: float) -> int:
    """The lowest threshold that keeps false alarms at least `run_length` scores apart on average."""
    states = max(64, int((log(run_length) + _HEADROOM) / walk.unit))
    while states <= MAX_STATES:
        lengths = run_lengths(shares, walk, states)
        if lengths[-1] >= run_length:
            return int(np.searchsorted(lengths, run_length)) + 1
        states *= 2
    raise ArithmeticError("no threshold is high enough for so rare an alarm")


def expected_delay(shares: Shares, walk: Walk, threshold: int) -> float:
    """Mean number of scores, drawn from `shares`, until the walk reaches its threshold from zero."""
    return float(run_lengths(shares, walk, threshold)[-1])


def _steps(shares: Shares, walk: Walk) -> tuple[NDArray[np.int64], Shares]:
    present = np.flatnonzero(shares)
    return walk.offset + walk.slope * present, shares[present]


def _transposed_band(
    steps: NDArray[np.int64], chances: Shares, states: int, up: int, down: int
) -> NDArray[np.float64]:
    """(I − Q)ᵀ in LAPACK's band storage, with room above for the factorisation."""
    # Transposed: entry (j, i) is the chance to go from i to j, so upward steps lie below the diagonal.
    band = np.zeros((2 * up + down + 1, states), order="F")
    diagonal = up + down
    band[diagonal, :] = 1.0
    for step, chance in zip(steps.tolist(), chances.tolist(), strict=True):
        first, last = max(0, -step), states - max(0, step)
        band[diagonal + step, first:last] -= chance
    # What would fall below zero stays at zero.
    low = np.arange(min(down, states))
    band[diagonal - low, low] -= (chances * (steps < -low[:, None])).sum(axis=1)
    return band


def _solve_lower(factors: NDArray[np.float64], states: int, up: int, down: int) -> NDArray[np.float64]:
    """z with L·z = e₀: its first H entries are the same for every H."""
    first = np.zeros((states, 1))
    first[0] = 1.0
    if up == 0:
        return first[:, 0]
    solution, info = lapack.dtbtrs(factors[up + down :, :], first, uplo="L", diag="U")
    assert info == 0
    return np.asarray(solution[:, 0])


def _solve_upper(factors: NDArray[np.float64], states: int, up: int, down: int) -> NDArray[np.float64]:
    """y with Uᵀ·y = 1: its first H entries are the same for every H."""
    # dgbtrf leaves U with up + down bands above the diagonal; the upper `up` of them stay empty without
    # exchanges.
    solution, info = lapack.dtbtrs(factors[up : up + down + 1, :], np.ones((states, 1)), uplo="U", trans="T")
    assert info == 0
    return np.asarray(solution[:, 0])
