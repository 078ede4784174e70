"""All that the console knows, taken from records as they come; bounded, so that it may run for months.

Per kind and segment: a day of per-minute sums and the latest scores. Beside them the latest summaries
(shelf), rejected records, and what the monitor says of each stream. At 50 segments that is some 5 MB of
sums, at most 64 MiB of packed texts, and the monitor's state.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from worker.console.minutes import MINUTES, Day, Sums
from worker.console.rejections import Rejections
from worker.console.shelf import METRICS, Place, Shelf
from worker.console.watched import StreamName, Watched
from worker.drift.detector import WINDOW
from worker.drift.grid import cell_of
from worker.drift.group import ALL, OTHER
from worker.drift.snapshot import segment_of as segment_in
from worker.events import DriftChanged, DriftState, JudgeIdentity, Kind, Metric, SummaryScored
from worker.pipeline import segment_of
from worker.settings import Settings
from worker.streaming.rejected import RejectedRecord

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Tape:
    """The scores of one kind and segment."""

    #: Column 0 counts summaries, the others add up cells, one for each metric.
    day: Day = field(default_factory=lambda: Day(1 + len(METRICS)))
    latest: deque[bytes] = field(default_factory=lambda: deque(maxlen=WINDOW))
    revision: int = 0

    def add(self, minute: int, cells: bytes, revision: int) -> None:
        """One summary's five scores."""
        self.day.add(minute, [1, *cells])
        self.latest.append(cells)
        self.revision = revision


class Board:
    """Takes records, and can be looked at; every change gets a higher revision."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        # As many as the monitor may watch, and as many again that it no longer does.
        self._most_streams = 2 * len(Kind) * len(METRICS) * (settings.max_segments + 2)
        self.revision = 0
        #: Changes where everything is read anew, so that who follows starts anew as well.
        self.epoch = 0
        #: What is being waited for, in one line for people; None where all is well.
        self.problem: str | None = "connecting to the broker"
        self.catching_up = True
        self.lag: int | None = None
        self.clear()

    def clear(self) -> None:
        """Forget everything: it is about to be read anew."""
        self.shelf = Shelf()
        self.rejections = Rejections()
        self.tapes: dict[tuple[Kind, str], Tape] = {}
        self.watched: dict[StreamName, Watched] = {}
        self.changed: dict[StreamName, int] = {}
        self.rejected_revision = 0
        self.judge: JudgeIdentity | None = None
        self.last_scored: float | None = None
        self.epoch += 1
        self.touch()

    def touch(self) -> int:
        """Something changes: the new revision."""
        self.revision += 1
        return self.revision

    def say(self, *, problem: str | None, catching_up: bool | None = None) -> None:
        """How the reading goes."""
        behind = self.catching_up if catching_up is None else catching_up
        if (problem, behind) != (self.problem, self.catching_up):
            self.problem, self.catching_up = problem, behind
            self.touch()

    def measure(self, lag: int | None) -> None:
        """How many records wait for a worker."""
        if lag != self.lag:
            self.lag = lag
            self.touch()

    def take_scored(self, value: bytes | None) -> None:
        """A record of the scored topic; what is none of ours, or comes again, is passed over."""
        try:
            event = SummaryScored.model_validate_json(value or b"")
        except ValidationError:
            return
        if event.event_id in self.shelf or set(event.scores) != set(METRICS):
            return
        revision, now = self.touch(), self.now
        # A clock that runs ahead must not push the day out of the ring.
        at = min(event.scored_at.timestamp(), now)
        segment = self._room_for(event.kind, segment_of(event, self._settings.segment_by))
        cells = bytes(cell_of(event.scores[metric].expected) for metric in METRICS)
        for name in {segment, ALL}:
            self._tape(event.kind, name).add(int(at // 60), cells, revision)
        if at >= now - MINUTES * 60:
            self.shelf.put(event, value or b"", segment, self._settings.topic_generated, revision)
        if self.last_scored is None or at >= self.last_scored:
            self.last_scored, self.judge = at, event.judge

    def take_text(self, place: Place, value: bytes) -> None:
        """The record that a held summary was scored from."""
        self.shelf.add_text(place, value, self.touch())

    def take_rejected(self, record: RejectedRecord) -> None:
        """A record of the rejected topic."""
        self.rejected_revision = self.touch()
        self.rejections.take(record, self.now)

    def take_drift(self, value: bytes | None, at_ms: int) -> None:
        """A record of the drift topic."""
        try:
            event = DriftChanged.model_validate_json(value or b"")
        except ValidationError:
            return
        name = event.kind, event.metric, event.segment
        self._watched(name).take_event(event, at_ms)
        self._changed(name)

    def take_state(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """A record of the monitor's state."""
        name = _stream_name(key or b"")
        if name is None or key is None:
            return
        if value is None:
            self._forget(name)
            self.touch()
        else:
            self._watched(name).take_state(key, value, at_ms)
            self._changed(name)

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    def standing(self, state: DriftState) -> list[tuple[StreamName, Watched]]:
        """The streams in a state."""
        return [(name, watched) for name, watched in self.watched.items() if watched.state is state]

    def keep_the_worst(self) -> None:
        """Hold on to the summaries that standing alarms and warnings name."""
        told = self.standing(DriftState.ALARM) + self.standing(DriftState.WARNING)
        self.shelf.pinned = frozenset(summary_id for _, watched in told for summary_id in watched.worst)

    def streams(self) -> list[StreamName]:
        """Every stream that was scored or is watched, in an order that stays."""
        scored = {(kind, metric, segment) for kind, segment in self.tapes for metric in METRICS}
        return sorted(scored | set(self.watched), key=_order)

    def streams_since(self, revision: int) -> list[StreamName]:
        """Those with news."""
        return [name for name in self.streams() if self._revision_of(name) > revision]

    def minutes(self, kind: Kind, segment: str) -> Sums | None:
        """A day of sums up to now, oldest first; None where nothing was scored."""
        tape = self.tapes.get((kind, segment))
        return tape.day.until(int(self.now // 60)) if tape else None

    def latest_cells(self, name: StreamName) -> list[int]:
        """The latest scores of a stream, as cells."""
        kind, metric, segment = name
        tape = self.tapes.get((kind, segment))
        return [cells[METRICS.index(metric)] for cells in tape.latest] if tape else []

    def _revision_of(self, name: StreamName) -> int:
        tape = self.tapes.get((name[0], name[2]))
        return max(tape.revision if tape else 0, self.changed.get(name, 0))

    def _tape(self, kind: Kind, segment: str) -> Tape:
        tape = self.tapes.get((kind, segment))
        if tape is None:
            tape = self.tapes[kind, segment] = Tape()
        return tape

    def _room_for(self, kind: Kind, segment: str) -> str:
        """The segment, or `other` where there are as many as the monitor watches."""
        if (kind, segment) in self.tapes or segment in {ALL, OTHER}:
            return segment
        named = sum(1 for other, name in self.tapes if other is kind and name not in {ALL, OTHER})
        return segment if named < self._settings.max_segments else OTHER

    def _watched(self, name: StreamName) -> Watched:
        if name not in self.watched and len(self.watched) >= self._most_streams:
            self._forget(min(self.watched, key=lambda known: self.changed.get(known, 0)))
        return self.watched.setdefault(name, Watched())

    def _forget(self, name: StreamName) -> None:
        self.watched.pop(name, None)
        self.changed.pop(name, None)

    def _changed(self, name: StreamName) -> None:
        self.changed[name] = self.touch()


def _order(name: StreamName) -> tuple[int, bool, str, int]:
    kind, metric, segment = name
    return list(Kind).index(kind), segment != ALL, segment, METRICS.index(metric)


def _stream_name(key: bytes) -> StreamName | None:
    """The stream that a key of the state topic names; None for the monitor's other records."""
    try:
        _, kind, metric, part = key.decode().split("|", 3)
        segment = segment_in(part)
        return (Kind(kind), Metric(metric), segment) if segment is not None else None
    except ValueError:
        return None
