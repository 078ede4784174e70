"""A look at the monitors' state from outside, with the synchronous client, for commands run by hand."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from worker.drift.stream import Stream
from worker.errors import UserError
from worker.events import Kind, Metric
from worker.monitoring.commands import Accept
from worker.monitoring.states import position_in, stream_in
from worker.settings import Settings
from worker.streaming.tools import producer, reader

#: Seconds to wait until a monitor has taken a command.
PATIENCE = 15.0
_LOOK_AGAIN = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A stream, and the input partition whose monitor watches it."""

    partition: int
    stream: Stream


class Look:
    """The state topic as it is now."""

    def __init__(self, settings: Settings) -> None:
        latest: dict[bytes, bytes] = {}
        with reader(settings, settings.topic_state) as source:
            source.from_beginning()
            for record in source.until_now():
                if record.value is None:
                    latest.pop(record.key, None)
                else:
                    latest[record.key] = record.value
        self._latest = latest

    def streams(self) -> list[Found]:
        """All streams, in a fixed order."""
        found = [
            Found(*held) for key, value in self._latest.items() if (held := stream_in(key, value)) is not None
        ]
        return sorted(found, key=lambda each: (each.stream.kind, each.stream.metric, each.stream.segment))

    def has_taken(self, partition: int, control: int, offset: int) -> bool:
        """Whether a partition's monitor has taken the command at an offset of the control topic."""
        position = position_in(partition, self._latest)
        return position is not None and position.control.get(control, 0) > offset


def send_accept(settings: Settings, command: Accept, partitions: Iterable[int]) -> bool:
    """Send a command; whether the monitors of these partitions took it within a few seconds."""
    with producer(settings) as sink:
        value = command.model_dump_json().encode()
        sent = sink.send(settings.topic_control, value, command.key).get(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    waiting = set(partitions)
    while waiting and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN)
        look = Look(settings)
        waiting = {number for number in waiting if not look.has_taken(number, sent.partition, sent.offset)}
    return not waiting


def find(streams: Iterable[Found], kind: Kind, metric: Metric, segment: str | None) -> list[Found]:
    """The streams that a command names; none is the user's mistake."""
    group = [found for found in streams if (found.stream.kind, found.stream.metric) == (kind, metric)]
    if not group:
        raise UserError(f"no scores of {kind} {metric} have been seen; look with: quintet drift status")
    chosen = [found for found in group if segment in {None, found.stream.segment}]
    if not chosen:
        known = ", ".join(found.stream.segment for found in group)
        raise UserError(f"{kind} {metric} has no segment {segment!r}; it has: {known}")
    return chosen
