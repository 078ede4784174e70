"""A day in minutes: sums in a ring that never grows, however long it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Minutes that are held: 24 hours.
MINUTES = 1440

Sums = NDArray[np.int32]


class Day:
    """Sums of several columns, minute by minute, over the latest 24 hours."""

    def __init__(self, columns: int) -> None:
        self._sums: Sums = np.zeros((columns, MINUTES), np.int32)
        self._newest = 0

    def add(self, minute: int, amounts: Sequence[int]) -> None:
        """Add to a minute; one that is more than a day behind is past."""
        self._advance(minute)
        if minute > self._newest - MINUTES:
            self._sums[:, minute % MINUTES] += amounts

    def until(self, minute: int) -> Sums:
        """Columns × minutes, oldest first, the last one being `minute`."""
        self._advance(minute)
        return np.roll(self._sums, -((self._newest + 1) % MINUTES), axis=1)

    def _advance(self, minute: int) -> None:
        """Make room up to a minute: what stood in those places is a day old."""
        passed = min(minute - self._newest, MINUTES)
        if passed <= 0:
            return
        places = np.arange(minute - passed + 1, minute + 1) % MINUTES
        self._sums[:, places] = 0
        self._newest = minute


def in_buckets(sums: Sums, size: int) -> Sums:
    """The latest minutes, `size` of them added up in each bucket."""
    columns, minutes = sums.shape
    whole = minutes - minutes % size
    added: Sums = sums[:, minutes - whole :].reshape(columns, -1, size).sum(axis=2, dtype=np.int32)
    return added
