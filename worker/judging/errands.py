"""Who is asking at the gate, and who got an answer."""

from __future__ import annotations

from dataclasses import dataclass


class Record:
    """One summary on its way through the gate: only its identity counts."""


@dataclass(eq=False)
class Errand:
    """Requests of one record that follow each other, and what they used of its deadline."""

    record: Record
    #: When its deadline began.
    started: float
    #: Seconds used, without those in the queue and those while the breaker was open.
    spent: float = 0.0
    requests: int = 0
    failures: int = 0
    #: Seconds of the last request.
    last_seconds: float = 0.0


class Successes:
    """Remembers just enough to say whether somebody else succeeded since a moment."""

    def __init__(self) -> None:
        self._last: tuple[Record | None, float] = (None, float("-inf"))
        self._last_by_another: tuple[Record | None, float] = (None, float("-inf"))

    def note(self, record: Record, now: float) -> None:
        """A request of this record succeeded."""
        if record is not self._last[0]:
            self._last_by_another = self._last
        self._last = (record, now)

    def by_another(self, record: Record, since: float) -> bool:
        """Whether a request of any other record succeeded since then."""
        last = self._last_by_another if self._last[0] is record else self._last
        return last[1] >= since

    def since(self, moment: float) -> bool:
        """Whether any request succeeded since then."""
        return self._last[1] >= moment
