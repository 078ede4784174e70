"""From signals between 0 and 1 to the scale of 1 to 5."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

LOWEST, HIGHEST = 1.0, 5.0
#: Names listed in an explanation, and the characters of each.
_LISTED, _NAME_LENGTH = 5, 40


class Opinion(NamedTuple):
    """What the judge thinks of one quality of a summary, and why."""

    expected: float
    explanation: str


class Curve(NamedTuple):
    """Where on a signal the middle of the scale lies, and how steep it is there."""

    centre: float
    slope: float

    def grade(self, level: float) -> float:
        """The level on the scale: S-shaped, because a hard limit would hide what changes beyond it."""
        steepness = max(-60.0, min(60.0, self.slope * (level - self.centre)))
        return LOWEST + (HIGHEST - LOWEST) / (1.0 + math.exp(-steepness))


def blend(*parts: tuple[float, float]) -> float:
    """The mean of (weight, signal) pairs."""
    total = sum(weight for weight, _ in parts)
    return sum(weight * signal for weight, signal in parts) / total if total else 0.0


def approach(amount: float, half: float) -> float:
    """0 for nothing, one half at `half`, towards 1 without ever arriving: more is better, ever less so."""
    return amount / (amount + half)


def share(part: float, whole: float) -> float:
    """A part of a whole; nothing of nothing is nothing."""
    return part / whole if whole else 0.0


def mean(values: Iterable[float]) -> float:
    """The plain mean; 0 of nothing."""
    found = list(values)
    return share(sum(found), len(found))


def listed(names: Iterable[str]) -> str:
    """A few names for an explanation."""
    found = [name[:_NAME_LENGTH] for name in names]
    more = len(found) - _LISTED
    return ", ".join(found[:_LISTED]) + (f" and {more} more" if more > 0 else "")
