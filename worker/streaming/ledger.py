"""Which records of a partition are finished, and which offset may therefore be committed.

Records finish in any order. The ledger knows what was read since the partition was assigned (a
generation), and its watermark, the lowest offset that was read and is not finished, is the only offset
ever committed. What is finished above the watermark travels in the commit's metadata as a bit mask, so
that one slow record does not make everything after it come twice after a crash. Pure: no Kafka, no clock.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

#: Offsets above the watermark that the metadata can tell about. Even a mask that does not compress takes
#: 4,016 characters then, and a broker keeps 4,096.
SPAN = 24_000
#: No record is started so far above the watermark that the metadata could not tell about it.
MAX_DISTANCE = SPAN - 1_000

_FORMAT = "q1"


class Partition(NamedTuple):
    """A partition of a topic; equal to the tuples that Kafka clients use."""

    topic: str
    partition: int


class Commit(NamedTuple):
    """What to tell the broker: everything below `offset` is finished, and some above it."""

    offset: int
    metadata: str


class PartitionLedger:
    """The records of one partition, from the moment they are read until their outcome is published."""

    def __init__(self) -> None:
        self.generation: int | None = None
        #: Everything below it was read in this generation; None while nothing was.
        self._position: int | None = None
        self._open: set[int] = set()
        self._lowest: list[int] = []
        self._running: set[int] = set()
        #: Outlives a rebalance: what is published stays published.
        self._finished: set[int] = set()
        self._committed: Commit | None = None
        self._begin = 0

    def assign(self, generation: int, committed: int | None, metadata: str = "") -> None:
        """Begin a generation with what the broker remembers."""
        self.close()
        self.generation = generation
        self._begin = committed or 0
        rewound = self._committed is not None and (committed is None or committed < self._committed.offset)
        if committed is None or rewound:
            # A new topic of the same name, or somebody wants everything once more: old knowledge is wrong.
            self._finished = set()
        else:
            self._finished = {offset for offset in self._finished if offset >= committed}
            self._finished |= decode(committed, metadata)
        self._committed = None

    def close(self) -> None:
        """The partition may now be another worker's: nothing is committed until it is assigned again."""
        self.generation = None
        self._position = None
        self._open = set()
        self._lowest = []

    def read(self, offsets: Iterable[int], position: int) -> None:
        """Records were read, and everything below `position` with them (gaps never become records)."""
        for offset in offsets:
            if offset not in self._open:
                self._open.add(offset)
                heappush(self._lowest, offset)
        self._position = position

    def start(self, offset: int, generation: int) -> bool:
        """Whether a delivered record has to be worked on, which then is under way."""
        if generation != self.generation or offset not in self._open:
            return False  # from before a rebalance: if it is still ours, it will be read again
        if self.knows(offset):
            return False
        self._running.add(offset)
        return True

    def knows(self, offset: int) -> bool:
        """Whether a record is finished or under way."""
        return offset in self._finished or offset in self._running

    def finish(self, offset: int) -> None:
        """The record's outcome is published."""
        self._running.discard(offset)
        self._finished.add(offset)

    def abandon(self, offset: int) -> None:
        """Work on the record was given up; it is as if never started."""
        self._running.discard(offset)

    @property
    def watermark(self) -> int | None:
        """The lowest offset that was read and is not finished; None before anything was read."""
        while self._lowest and self._lowest[0] in self._finished:
            self._open.discard(heappop(self._lowest))
        return self._lowest[0] if self._lowest else self._position

    @property
    def progress(self) -> int:
        """Up to where everything is finished, as far as is known: the watermark, or where we began."""
        watermark = self.watermark
        return self._begin if watermark is None else watermark

    def is_too_far(self, offset: int) -> bool:
        """Whether a record lies further above the watermark than a commit could remember."""
        watermark = self.watermark
        return watermark is not None and offset - watermark >= MAX_DISTANCE

    def next_commit(self) -> Commit | None:
        """What to commit now; None if the broker knows it already."""
        watermark = self.watermark
        if watermark is None:
            return None
        # Records below it can't be asked about any more.
        self._finished = {offset for offset in self._finished if offset >= watermark}
        commit = Commit(watermark, encode(watermark, self._finished))
        return None if commit == self._committed else commit

    def confirm(self, commit: Commit) -> None:
        """The broker has taken a commit."""
        self._committed = commit


class Ledger(defaultdict[Partition, PartitionLedger]):
    """The ledgers of all partitions that this worker has ever had."""

    def __init__(self) -> None:
        super().__init__(PartitionLedger)


def encode(base: int, finished: Iterable[int]) -> str:
    """Finished offsets from `base` on, as text for a commit; empty if there are none."""
    mask = bytearray(SPAN // 8)
    for offset in finished:
        distance = offset - base
        if 0 <= distance < SPAN:
            mask[distance >> 3] |= 1 << (distance & 7)
    packed = bytes(mask).rstrip(b"\0")
    if not packed:
        return ""
    return f"{_FORMAT}:{base}:{base64.b64encode(zlib.compress(packed)).decode('ascii')}"


def decode(base: int, metadata: str) -> set[int]:
    """The finished offsets in a commit's metadata; text of anybody else's, or for another offset, is none."""
    try:
        form, noted_base, packed = metadata.split(":")
        if form != _FORMAT or int(noted_base) != base:
            return set()
        mask = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), SPAN // 8)
    except (ValueError, binascii.Error, zlib.error):
        return set()
    return {base + 8 * index + bit for index, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1}
