"""A walk on its way up, and what it has met since it last stood at zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from worker.drift.cusum import Walk
from worker.drift.grid import value_of

#: Summaries a person is given to read.
WORST = 5


@dataclass(slots=True)
class Climb:
    """The walk's height, and the scores since its last zero: the estimated change point.

    A change point only ever moves forward, to a new zero, and everything before it is then forgotten; so
    the worst since the change point are the worst since the last reset, and five places are enough.
    """

    height: int = 0
    count: int = 0
    total: int = 0
    since: datetime | None = None
    until: datetime | None = None
    worst: list[tuple[int, str]] = field(default_factory=list)

    def add(self, walk: Walk, cell: int, at: datetime, summary_id: str) -> int:
        """Take one step and give the new height; at zero the memory is empty."""
        height = self.height + walk.offset + walk.slope * cell
        if height > 0:
            self.height = height
            self._remember(cell, at, summary_id)
            return height
        if self.count:
            self.reset()
        return 0

    def hold(self, walk: Walk, cell: int, at: datetime, summary_id: str) -> None:
        """Take one step while what was found stands: the change point stays where it is."""
        self.height = max(0, self.height + walk.offset + walk.slope * cell)
        self._remember(cell, at, summary_id)

    def reset(self) -> None:
        """Back to zero, nothing remembered."""
        self.height = self.count = self.total = 0
        self.since = self.until = None
        self.worst = []

    @property
    def mean(self) -> float | None:
        """The mean score since the change point."""
        return value_of(self.total / self.count) if self.count else None

    def _remember(self, cell: int, at: datetime, summary_id: str) -> None:
        if self.count == 0:
            self.since = at
        self.count += 1
        self.total += cell
        self.until = at
        worst = self.worst
        if len(worst) < WORST or cell < worst[-1][0]:
            # Of equals the earlier one stays, so that a long spell of 1s doesn't shuffle the list.
            place = sum(1 for other, _ in worst if other <= cell)
            worst.insert(place, (cell, summary_id))
            del worst[WORST:]


@dataclass(slots=True)
class Recovery:
    """The mirrored walk, under way while a warning or an alarm stands."""

    walk: Walk
    threshold: int
    height: int = 0

    def add(self, cell: int) -> bool:
        """Take one step; whether the scores are back."""
        self.height = max(0, self.height + self.walk.step(cell))
        return self.height >= self.threshold
