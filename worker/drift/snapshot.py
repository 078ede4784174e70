"""A group as JSON and back, exactly: whole, or in parts so that only streams that changed are written."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter

from worker.drift.group import Group, Tally
from worker.drift.stream import Stream
from worker.events import Kind, Metric

#: The part with what belongs to no single stream.
TALLIES = "tallies"
_SEGMENT = "segment|"

_GROUP = TypeAdapter(Group)
_STREAM = TypeAdapter(Stream)
_TALLIES = TypeAdapter(dict[str, Tally])


def write_group(group: Group) -> bytes:
    """The whole group."""
    return _GROUP.dump_json(group)


def read_group(raw: bytes) -> Group:
    """The group that was written."""
    return _GROUP.validate_json(raw)


def take_changed(group: Group) -> dict[str, bytes]:
    """The parts that changed since the last call, by name."""
    if not group.changed:
        return {}
    parts = {_SEGMENT + name: _STREAM.dump_json(group.streams[name]) for name in sorted(group.changed)}
    parts[TALLIES] = _TALLIES.dump_json(group.tallies)
    group.changed.clear()
    return parts


def join_parts(kind: Kind, metric: Metric, parts: Mapping[str, bytes]) -> Group:
    """The group whose latest parts these are."""
    group = Group(kind, metric)
    for name in sorted(parts):
        if (segment := segment_of(name)) is not None:
            group.streams[segment] = read_stream(parts[name])
    if TALLIES in parts:
        group.tallies = _TALLIES.validate_json(parts[TALLIES])
    return group


def segment_of(part: str) -> str | None:
    """The segment whose stream a part holds; None for a part that holds none."""
    return part.removeprefix(_SEGMENT) if part.startswith(_SEGMENT) else None


def read_stream(raw: bytes) -> Stream:
    """One stream that was written as a part."""
    return _STREAM.validate_json(raw)
