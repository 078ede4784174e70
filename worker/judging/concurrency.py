"""How many requests may be under way at once: one more after a good round, a third less after a bad one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: What an overload leaves of the limit.
SHRINK = 0.7


class Slots:
    """A queue with a limit that follows what the endpoint bears; first come, first served."""

    def __init__(self, initial: int, maximum: int, changed: Callable[[int], None]) -> None:
        self._maximum = max(1, maximum)
        self._limit = float(min(max(1, initial), self._maximum))
        self._in_use = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._shrunk_at = float("-inf")
        self._changed = changed
        changed(self.limit)

    @property
    def limit(self) -> int:
        """Requests that may be under way now."""
        return int(self._limit)

    @property
    def in_use(self) -> int:
        """Requests that are under way."""
        return self._in_use

    async def __aenter__(self) -> None:
        if self._in_use < self.limit and not self._queue:
            self._in_use += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the slot was handed over in the same moment
            else:
                self._queue.remove(turn)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def grow(self) -> None:
        """A request succeeded: one more after as many as the limit, if the limit was in use at all."""
        if self._in_use >= self.limit:
            self._set(min(float(self._maximum), self._limit + 1 / self._limit))

    def shrink(self, sent_at: float, now: float) -> None:
        """A request met an overload; those sent before the last step down tell nothing new."""
        if sent_at >= self._shrunk_at:
            self._shrunk_at = now
            self._set(max(1.0, self._limit * SHRINK))

    def _leave(self) -> None:
        self._in_use -= 1
        self._admit()

    def _set(self, limit: float) -> None:
        before, self._limit = self.limit, limit
        if self.limit != before:
            self._changed(self.limit)
        self._admit()

    def _admit(self) -> None:
        while self._queue and self._in_use < self.limit:
            turn = self._queue.popleft()
            if not turn.done():
                self._in_use += 1
                turn.set_result(None)
