"""The latest summaries with their verdicts and texts, bounded in number and in bytes.

Texts come from another topic than scores and are joined by the place they were read from. They are packed,
since most of them are never looked at.
"""

from __future__ import annotations

import heapq
import json
import zlib
from collections import deque
from dataclasses import dataclass
from typing import Any

from worker.errors import Rejection
from worker.events import KafkaSource, Kind, Metric, SummaryGenerated, SummaryScored, read_summary

#: Summaries held.
MAX_SUMMARIES = 10_000
#: Bytes of packed texts and verdicts held; beyond it the oldest summaries go.
MAX_BYTES = 64 * 1024 * 1024
#: Characters of one text, and entries of one list, that are shown.
MAX_CHARACTERS, MAX_ENTRIES = 4_000, 30
#: Characters of a summary that its row shows.
EXCERPT = 200
#: Changes remembered for those who follow; whoever is further behind takes the whole list.
JOURNAL = 1_000

METRICS = tuple(Metric)

#: Partition and offset in the input topic.
Place = tuple[int, int]


@dataclass(slots=True)
class Held:
    """One scored summary."""

    seq: int
    event_id: str
    summary_id: str
    kind: Kind
    segment: str
    at_ms: int
    scores: tuple[int, ...]
    place: Place | None
    verdicts: bytes
    excerpt: str = ""
    text: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes it weighs."""
        return len(self.verdicts) + len(self.text or b"")


class Shelf:
    """Holds the latest summaries, and those that somebody still points at."""

    def __init__(self, most: int = MAX_SUMMARIES, most_bytes: int = MAX_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._held: dict[int, Held] = {}
        self._oldest: list[tuple[int, int]] = []
        self._by_event: dict[str, int] = {}
        self._by_id: dict[str, int] = {}
        self._waiting: dict[Place, int] = {}
        self._journal: deque[tuple[int, int]] = deque(maxlen=JOURNAL)
        self._next = 1
        #: Ids that alarms name as their worst: not put away while they are named.
        self.pinned: frozenset[str] = frozenset()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._by_event

    def put(self, event: SummaryScored, raw: bytes, segment: str, topic: str, revision: int) -> None:
        """Hold a scored summary, as it was read; its text is to come."""
        held = Held(
            seq=self._next,
            event_id=event.event_id,
            summary_id=event.summary_id,
            kind=event.kind,
            segment=segment,
            at_ms=int(event.scored_at.timestamp() * 1000),
            scores=tuple(event.scores[metric].score for metric in METRICS),
            place=_place(event, topic),
            verdicts=zlib.compress(raw, 1),
        )
        self._next += 1
        self._held[held.seq] = held
        self._by_event[held.event_id] = self._by_id[held.summary_id] = held.seq
        heapq.heappush(self._oldest, (held.at_ms, held.seq))
        if held.place:
            self._waiting[held.place] = held.seq
        self.bytes += held.size
        self._journal.append((revision, held.seq))
        self._make_room()

    def add_text(self, place: Place, value: bytes, revision: int) -> None:
        """The text that a held summary was waiting for."""
        held = self._held.get(self._waiting.pop(place, 0))
        summary = _readable(value)
        if held is None or summary is None:
            return
        held.excerpt = excerpt_of(summary.summary)
        held.text = pack(clipped(summary.model_dump(mode="json", exclude_none=True)))
        self.bytes += len(held.text)
        self._journal.append((revision, held.seq))
        self._make_room()

    def waiting(self) -> list[Place]:
        """Places whose texts are wanted."""
        return list(self._waiting)

    def give_up(self, place: Place) -> None:
        """The text is not there any more."""
        self._waiting.pop(place, None)

    def newest_first(self) -> list[Held]:
        """All of them."""
        return sorted(self._held.values(), key=lambda held: (held.at_ms, held.seq), reverse=True)

    def changed_since(self, revision: int) -> list[Held] | None:
        """What came or changed after a revision; None where the journal does not reach back so far."""
        if len(self._journal) == JOURNAL and self._journal[0][0] > revision:
            return None
        changed = {seq for noted, seq in self._journal if noted > revision}
        return [self._held[seq] for seq in sorted(changed) if seq in self._held]

    def find(self, *, seq: int | None = None, summary_id: str | None = None) -> Held | None:
        """One summary, by number or by id (the latest with that id)."""
        if seq is None:
            seq = self._by_id.get(summary_id or "")
        return self._held.get(seq) if seq is not None else None

    def _make_room(self) -> None:
        spared = []
        while self._oldest and (len(self._held) > self._most or self.bytes > self._most_bytes):
            entry = heapq.heappop(self._oldest)
            held = self._held[entry[1]]
            if held.summary_id in self.pinned:
                spared.append(entry)
            else:
                self._remove(held)
        for entry in spared:
            heapq.heappush(self._oldest, entry)

    def _remove(self, held: Held) -> None:
        del self._held[held.seq]
        self.bytes -= held.size
        for index, key in ((self._by_event, held.event_id), (self._by_id, held.summary_id)):
            if index.get(key) == held.seq:
                del index[key]
        if held.place and self._waiting.get(held.place) == held.seq:
            del self._waiting[held.place]


def pack(value: Any) -> bytes:
    """As small JSON."""
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def unpack(packed: bytes) -> Any:
    """What was packed."""
    return json.loads(zlib.decompress(packed))


def clipped(value: Any) -> Any:
    """JSON with long texts and long lists cut, visibly."""
    if isinstance(value, str):
        more = len(value) - MAX_CHARACTERS
        return value if more <= 0 else f"{value[:MAX_CHARACTERS]}… ({more} more characters)"
    if isinstance(value, dict):
        return {key[:200]: clipped(inner) for key, inner in list(value.items())[:MAX_ENTRIES]}
    if isinstance(value, list):
        more = len(value) - MAX_ENTRIES
        return [clipped(inner) for inner in value[:MAX_ENTRIES]] + ([f"… ({more} more)"] if more > 0 else [])
    return value


def excerpt_of(text: str) -> str:
    """The beginning of a text in one line; prose, where a table stands before it."""
    lines = text.splitlines()
    prose = [line for line in lines if not line.lstrip().startswith("|")]
    return " ".join(" ".join(prose if any(map(str.strip, prose)) else lines).split())[:EXCERPT]


def _place(event: SummaryScored, topic: str) -> Place | None:
    source = event.source
    if isinstance(source, KafkaSource) and source.topic == topic:
        return source.partition, source.offset
    return None


def _readable(value: bytes) -> SummaryGenerated | None:
    try:
        return read_summary(value)
    except Rejection:
        return None
