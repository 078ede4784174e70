"""The likelihood-ratio walk: a whole number that climbs while scores fit a changed level better.

Baseline shares p over the grid are tilted, p_θ(v) ∝ p(v)·e^(−θv), to the mean that still passes as usual
and to the mean of the change to be found. Between two tilts of one distribution the log-likelihood ratio
is affine in v, so S ← max(0, S + a − b·v). On a grid b·v moves in steps of b/20; only a lies off that
lattice. It is rounded to a fraction of the step, which moves the level where the walk turns from falling
to climbing by less than a hundredth of a score, and buys a walk on whole numbers: exact, the same on every
machine, with a threshold that is solved for this very walk and not for a neighbour of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from scipy.optimize import brentq

from worker.drift.grid import PER_SCORE, VALUES, Shares, mean_of

#: The lattice may be this many times finer than a cell; finer costs time in the solver and gains nothing.
MAX_SLOPE = 12

#: Rounding may move the level at which the walk turns by this much, in scores; thirds of a cell always do.
TOLERATED_SHIFT = 0.0084

#: Tilts are looked for between −this and this; beyond it even a stray count of one in a million dominates.
_STEEPEST = 60.0


@dataclass(frozen=True, slots=True)
class Walk:
    """S ← max(0, S + offset + slope·cell), in units of `unit` of log-likelihood."""

    offset: int
    slope: int
    unit: float

    def step(self, cell: int) -> int:
        """What one score adds."""
        return self.offset + self.slope * cell


def tilt(shares: Shares, theta: float) -> Shares:
    """The distribution p_θ(v) ∝ p(v)·e^(−θv)."""
    # Shifted by the largest exponent that has any share, so that no steep tilt overflows.
    exponents = np.where(shares > 0, -theta * VALUES, -np.inf)
    weights: Shares = shares * np.exp(exponents - exponents.max())
    weights /= weights.sum()
    return weights


def tilt_to(shares: Shares, mean: float) -> float:
    """The θ that gives the tilted distribution this mean."""
    return float(brentq(lambda theta: mean_of(tilt(shares, theta)) - mean, -_STEEPEST, _STEEPEST, xtol=1e-12))


def walk_between(
    shares: Shares,
    usual: float,
    changed: float,
    *,
    tolerance: float = TOLERATED_SHIFT,
    finest: int = MAX_SLOPE,
) -> Walk:
    """The walk that climbs once the mean has moved from `usual` to `changed`, in either direction."""
    theta_usual, theta_changed = tilt_to(shares, usual), tilt_to(shares, changed)
    per_cell = (theta_usual - theta_changed) / PER_SCORE
    # ln(p_changed / p_usual) at cell 0, where v = 1.
    start = _log_mass(shares, theta_usual) - _log_mass(shares, theta_changed) + per_cell * PER_SCORE
    pitch = gcd(*np.flatnonzero(shares).tolist())
    return _on_lattice(start, per_cell, pitch, tolerance, finest)


def _on_lattice(start: float, per_cell: float, pitch: int, tolerance: float, finest: int) -> Walk:
    """The walk with the fewest places to stand on that keeps its turning point, or the truest there is.

    `pitch` is the distance in cells that all scores are multiples of: whole scores need far fewer places.
    """
    tried = []
    for fineness in range(1, finest + 1):
        unit = abs(per_cell) / fineness
        offset = round(start / unit)
        shift = abs(offset * unit - start) / abs(per_cell) / PER_SCORE
        coarseness = gcd(offset, fineness * pitch) * unit
        tried.append((shift, coarseness, Walk(offset, fineness if per_cell > 0 else -fineness, unit)))
    true = [found for found in tried if found[0] <= tolerance]
    if true:
        return max(true, key=lambda found: (found[1], -found[0]))[2]
    return min(tried, key=lambda found: found[0])[2]


def _log_mass(shares: Shares, theta: float) -> float:
    """ln Z(θ), the logarithm of Σ p(v)·e^(−θv)."""
    exponents = -theta * VALUES[shares > 0]
    largest = float(exponents.max())
    return largest + float(np.log(np.sum(shares[shares > 0] * np.exp(exponents - largest))))
