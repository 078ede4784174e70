"""Fetches texts from the input topic: just those whose scores have come, and up to there.

A backlog in the input topic would otherwise push out the very texts that are to be shown.
"""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.console.board import Board
from worker.console.shelf import Place
from worker.streaming.clients import positions
from worker.streaming.ledger import Partition

#: Records taken at once.
BATCH = 200
POLL_MS = 300
#: A wanted record this far ahead is jumped to.
FAR = 1_000
#: Bytes kept of texts that were read on the way, before their scores came: workers finish out of order.
MAX_UNCLAIMED = 16 * 1024 * 1024

Wanted = dict[TopicPartition, list[int]]


class Texts:
    """Brings the board the texts it waits for."""

    def __init__(self, consumer: AIOKafkaConsumer, inputs: list[TopicPartition], board: Board) -> None:
        self._consumer = consumer
        self._inputs = inputs
        self._board = board
        self._unclaimed: dict[Place, bytes] = {}
        self._bytes = 0
        consumer.pause(*inputs)

    async def fetch(self) -> bool:
        """One round; whether there was anything to do."""
        self._claim()
        wanted = await self._wanted()
        if not wanted:
            return False
        self._aim(wanted)
        polled = await self._consumer.getmany(*wanted, timeout_ms=POLL_MS, max_records=BATCH)
        for records in polled.values():
            for record in records:
                self._keep((record.partition, record.offset), record.value or b"")
        self._claim()
        self._give_up_what_was_passed(wanted)
        return True

    async def _wanted(self) -> Wanted:
        """Offsets by partition, lowest first; what can't be in the topic is given up."""
        waiting = self._board.shelf.waiting()
        ends = await self._consumer.end_offsets(self._inputs) if waiting else {}
        found: Wanted = {}
        for partition, offset in sorted(waiting):
            tp = next((tp for tp in self._inputs if tp.partition == partition), None)
            if tp is not None and 0 <= offset < ends[tp]:
                found.setdefault(tp, []).append(offset)
            else:
                self._board.shelf.give_up((partition, offset))
        return found

    def _aim(self, wanted: Wanted) -> None:
        """Stand at or shortly before the first wanted record of each partition, and fetch no other."""
        at = positions(self._consumer)
        self._consumer.pause(*(tp for tp in self._inputs if tp not in wanted))
        for tp, offsets in wanted.items():
            position = at.get(Partition(*tp))
            if position is None or not position <= offsets[0] <= position + FAR:
                self._consumer.seek(tp, offsets[0])
        self._consumer.resume(*wanted)

    def _keep(self, place: Place, value: bytes) -> None:
        if place in self._unclaimed:
            return
        self._unclaimed[place] = value
        self._bytes += len(value)
        while self._bytes > MAX_UNCLAIMED and len(self._unclaimed) > 1:
            self._bytes -= len(self._unclaimed.pop(next(iter(self._unclaimed))))

    def _claim(self) -> None:
        for place in self._board.shelf.waiting():
            value = self._unclaimed.pop(place, None)
            if value is not None:
                self._bytes -= len(value)
                self._board.take_text(place, value)

    def _give_up_what_was_passed(self, wanted: Wanted) -> None:
        """Read past and not found: expired, or never committed."""
        at, waiting = positions(self._consumer), set(self._board.shelf.waiting())
        for tp, offsets in wanted.items():
            position = at.get(Partition(*tp), 0)
            for offset in offsets:
                if offset < position and (tp.partition, offset) in waiting:
                    self._board.shelf.give_up((tp.partition, offset))
