"""What the monitor says of each stream: its own state records, and the events it publishes.

Both come in one transaction but by two topics, so either may be seen first; and a state record tells more
(baseline, distribution, all judges) but only the events have the verdict's reason.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from worker.drift.detector import Detector
from worker.drift.status import Status, status_of
from worker.drift.stream import Stream
from worker.events import DriftChanged, DriftState, DriftVerdict, Kind, Metric
from worker.monitoring.states import stream_in

#: Events remembered of one stream.
HISTORY = 20
#: Milliseconds that an event has to be newer than the state record to be believed over it.
AHEAD = 1_000

StreamName = tuple[Kind, Metric, str]


@dataclass(slots=True)
class Watched:
    """One stream as the monitor sees it."""

    #: Decoded only when somebody looks: a busy monitor writes far more often than anybody can.
    raw: tuple[bytes, bytes] | None = None
    stated_ms: int = -1
    event_ms: int = -1
    history: deque[DriftChanged] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _stream: Stream | None = None
    _status: Status | None = None

    def take_state(self, key: bytes, value: bytes, at_ms: int) -> None:
        """A newer state record."""
        if at_ms >= self.stated_ms:
            self.raw, self.stated_ms = (key, value), at_ms

    def take_event(self, event: DriftChanged, at_ms: int) -> None:
        """One more event; a repeated one is none."""
        if any(known.event_id == event.event_id for known in self.history):
            return
        self.history.append(event)
        self.event_ms = max(self.event_ms, at_ms)

    @property
    def status(self) -> Status | None:
        """The figures of the latest state record."""
        self._decode()
        return self._status

    @property
    def detector(self) -> Detector | None:
        """The detector that those figures are of."""
        self._decode()
        return self._stream.shown if self._stream else None

    @property
    def latest(self) -> DriftChanged | None:
        """The latest event."""
        return self.history[-1] if self.history else None

    @property
    def leading_event(self) -> DriftChanged | None:
        """The latest event, where it is newer than the state record."""
        if self.status is None or self.event_ms > self.stated_ms + AHEAD:
            return self.latest
        return None

    @property
    def state(self) -> DriftState | None:
        """The state it is in, if anything is known."""
        if event := self.leading_event:
            return event.state
        return self.status.state if self.status else None

    @property
    def announcement(self) -> DriftChanged | None:
        """The event that tells of the alarm or warning which stands, with its verdict's reason if known."""
        told = next((event for event in reversed(self.history) if event.state is self.state), None)
        return told or (self.detector.standing if self.detector else None)

    @property
    def verdict(self) -> DriftVerdict | None:
        """Who changed."""
        if event := self.leading_event:
            return event.verdict
        return self.status.verdict if self.status else None

    @property
    def worst(self) -> list[str]:
        """Summaries to read first."""
        if event := self.leading_event:
            return event.worst
        climb = self.detector.standing_climb if self.detector else None
        return [summary_id for _, summary_id in climb.worst] if climb else []

    def _decode(self) -> None:
        if self.raw is None:
            return
        raw, self.raw = self.raw, None
        held = stream_in(*raw)
        # None was written by a later version; what was known before stands.
        if held is not None:
            _, self._stream = held
            self._status = status_of(self._stream)
