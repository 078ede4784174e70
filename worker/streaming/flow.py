"""How many records are under way, when the next may start, and what happens to them at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Protocol

from worker.errors import Outage, OutageReason
from worker.streaming.ledger import Ledger, Partition
from worker.streaming.records import Incoming

log = logging.getLogger(__name__)

#: Seconds before an impatient gate is looked at again.
IMPATIENCE = 0.5
#: Seconds to wait for records under way during an outage: enough to publish what is judged.
OUTAGE_DRAIN = 2.0


class Gate(Protocol):
    """Closed is good: requests to the judge may pass."""

    @property
    def open_reason(self) -> OutageReason | None: ...

    @property
    def message(self) -> str: ...

    async def wait_closed(self) -> None: ...


class AlwaysClosed:
    """The gate of a judge that is never out of reach."""

    open_reason: OutageReason | None = None
    message = ""

    async def wait_closed(self) -> None:
        """At once."""


class Flow:
    """Starts records, one task each, and never more than the limit at once."""

    def __init__(
        self,
        ledger: Ledger,
        handle: Callable[[Incoming], Coroutine[Any, Any, None]],
        *,
        limit: int,
        gate: Gate,
        on_death: Callable[[BaseException], None],
    ) -> None:
        self._ledger = ledger
        self._handle = handle
        self._limit = limit
        self._gate = gate
        self._on_death = on_death
        self._tasks: dict[tuple[Partition, int], asyncio.Task[None]] = {}
        self._something_changed = asyncio.Event()
        self._draining = False
        #: Records that ended, for whoever watches for progress.
        self.finished = 0
        #: Records that came again although they were finished or under way.
        self.repeated = 0
        #: The partitions of the last assignment; None before the first, or while they are being moved.
        self.assigned: frozenset[Partition] | None = None

    @property
    def in_flight(self) -> int:
        """Records under way."""
        return len(self._tasks)

    async def admit(self, incoming: Incoming) -> None:
        """Start a record as soon as it may; return then, not when it is finished."""
        while self._must_wait(incoming):
            await self._wait_for_a_change()
        ledger = self._ledger[incoming.partition]
        if ledger.start(incoming.offset, incoming.generation):
            self._start(incoming)
        elif ledger.knows(incoming.offset):
            self.repeated += 1

    def _must_wait(self, incoming: Incoming) -> bool:
        return (
            self._draining
            or len(self._tasks) >= self._limit
            or self._gate.open_reason is not None
            or self._ledger[incoming.partition].is_too_far(incoming.offset)
        )

    async def _wait_for_a_change(self) -> None:
        if self._gate.open_reason is not None and not self._draining:
            try:
                await self._gate.wait_closed()
            except Outage:
                await asyncio.sleep(IMPATIENCE)
            return
        self._something_changed.clear()
        await self._something_changed.wait()

    def _start(self, incoming: Incoming) -> None:
        key = incoming.partition, incoming.offset
        task = asyncio.create_task(self._handle(incoming))
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: tuple[Partition, int], task: asyncio.Task[None]) -> None:
        partition, offset = key
        del self._tasks[key]
        self._something_changed.set()
        if task.cancelled():
            self._ledger[partition].abandon(offset)
        elif error := task.exception():
            # The record would hold the watermark for ever: better a restart that somebody sees.
            self._ledger[partition].abandon(offset)
            self.die(error)
        else:
            self.finished += 1
            self._ledger[partition].finish(offset)

    def die(self, error: BaseException) -> None:
        """Something failed that no record may be lost over."""
        self._on_death(error)

    async def drain(self, seconds: float) -> None:
        """Start nothing more and wait for what is under way, so long at most."""
        self._draining = True
        self._something_changed.set()
        await self.settle(seconds)

    async def settle(self, seconds: float) -> None:
        """Wait for what is under way now, so long at most; hardly at all while no judge can be reached."""
        if self._gate.open_reason is not None:
            seconds = min(seconds, OUTAGE_DRAIN)
        if self._tasks and seconds > 0:
            await asyncio.wait(list(self._tasks.values()), timeout=seconds)

    def revoked(self, partitions: Collection[Partition]) -> None:
        """Nothing of these may be committed until they are assigned again."""
        for partition in partitions:
            self._ledger[partition].close()
        self.assigned = None
        self._something_changed.set()

    def keep_only(self, assigned: Collection[Partition]) -> None:
        """Give up records that are another worker's now."""
        self.assigned = frozenset(assigned)
        for (partition, _), task in list(self._tasks.items()):
            if partition not in assigned:
                task.cancel()
        self._something_changed.set()

    async def abandon_all(self) -> int:
        """Give up whatever is still under way; how much that was."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.5)
        return len(tasks)
