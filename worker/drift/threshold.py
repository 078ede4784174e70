"""How high a walk must climb: from the mean distance between false alarms to a threshold, exactly.

The walk below a threshold of H is a Markov chain on 0..H−1, and its mean time to reach H from 0 is the first
entry of (I − Q_H)⁻¹·1. Q_H is the leading block of one infinite band matrix, and elimination without row
exchanges works through leading blocks: after H states it holds the answer for H. So thresholds are tried one
after the other for the price of one solution, and the work ends where the asked-for distance is reached. The
matrix is dominated by its diagonal, so no exchanges are needed.

It is written with whole rows of numpy and without a library for linear algebra on purpose: those start
threads of their own, which wait for each other on a machine that is busy judging.
"""

from __future__ import annotations

from math import gcd, log

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from worker.drift.cusum import Walk
from worker.drift.grid import Shares

#: The logarithm of the mean time grows like the threshold; what is added for the constant in front.
_HEADROOM = 3.0

#: The chance that a walk ends of itself at each step: it keeps the matrix regular where an alarm is all but
#: impossible, and no run length that is ever asked for comes near its inverse.
_STOPPING = 1e-12

#: A chain larger than this is no real stream: some twenty times the largest one met.
MAX_STATES = 100_000


def threshold_for(shares: Shares, walk: Walk, run_length: float) -> int:
    """The lowest threshold that keeps false alarms at least `run_length` scores apart on average."""
    pitch = _pitch(shares, walk)
    states = max(64, int((log(run_length) + _HEADROOM) / (walk.unit * pitch)))
    while states <= MAX_STATES:
        lengths = _eliminate(shares, walk, pitch, states, run_length)
        if lengths[-1] >= run_length:
            return len(lengths) * pitch
        states *= 2
    raise ArithmeticError("no threshold is high enough for so rare an alarm")


def expected_delay(shares: Shares, walk: Walk, threshold: int) -> float:
    """Mean number of scores, drawn from `shares`, until the walk reaches its threshold from zero."""
    return float(run_lengths(shares, walk, threshold)[-1])


def run_lengths(shares: Shares, walk: Walk, threshold: int) -> NDArray[np.float64]:
    """Mean number of scores until each height that the walk can take, up to the first at the threshold."""
    pitch = _pitch(shares, walk)
    return _eliminate(shares, walk, pitch, -(-threshold // pitch), np.inf)


def _steps(shares: Shares, walk: Walk) -> NDArray[np.int64]:
    return walk.offset + walk.slope * np.flatnonzero(shares)


def _pitch(shares: Shares, walk: Walk) -> int:
    """The greatest common divisor of all steps: the walk only ever stands on its multiples."""
    return gcd(*_steps(shares, walk).tolist()) or 1


def _eliminate(shares: Shares, walk: Walk, pitch: int, states: int, enough: float) -> NDArray[np.float64]:
    """Mean times to reach 1, 2, … states of the chain, ending early once one is `enough`."""
    steps = _steps(shares, walk) // pitch
    up, down = max(int(steps.max()), 1), max(int(-steps.min()), 1)
    matrix = _band_matrix(steps, shares[shares > 0], states, up, down)
    # A = L·U, solved as it arises: times = Σ z·y with L·y = 1 and Uᵀ·z = e₀.
    y, z = np.ones(states + down), np.zeros(states + up)
    z[0] = 1.0
    lengths, total = np.empty(states), 0.0
    for state in range(states):
        right = matrix[state, state + 1 : state + up + 1]
        pivot = matrix[state, state]
        z[state] /= pivot
        total += z[state] * y[state]
        lengths[state] = total
        if total >= enough:
            return lengths[: state + 1]
        factors = matrix[state + 1 : state + down + 1, state] / pivot
        matrix[state + 1 : state + down + 1, state + 1 : state + up + 1] -= factors[:, None] * right
        y[state + 1 : state + down + 1] -= factors * y[state]
        z[state + 1 : state + up + 1] -= right * z[state]
    return lengths


def _band_matrix(
    steps: NDArray[np.int64], chances: Shares, states: int, up: int, down: int
) -> NDArray[np.float64]:
    """I − Q with the usual indices, of which only the band along the diagonal exists."""
    # With room for the rows and columns that elimination touches beyond the last state.
    rows, width = states + down, up + down + 1
    band = np.zeros((rows + 1, width))
    band[:, down] = 1.0
    moving = chances * (1.0 - _STOPPING)
    for step, chance in zip(steps.tolist(), moving.tolist(), strict=True):
        band[:, down + step] -= chance
    # What would fall below zero stays at zero.
    low = np.arange(min(down, states))
    for state in low.tolist():
        band[state, down - state] -= moving[steps < -state].sum()
        band[state, : down - state] = 0.0
    # Entry (i, j) lies at i·width + (j − i + down): one step along a row is one place, one row is width − 1.
    place = band.itemsize
    flat = band.reshape(-1)[down:]
    return as_strided(flat, (rows, rows + up), ((width - 1) * place, place))
