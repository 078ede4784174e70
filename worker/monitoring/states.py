"""The records of the state topic: what a monitor must know to go on where another one stopped.

Input partition N keeps its state in partition N of the state topic, a compacted one, under these keys:

    N|position                              up to where input and control topic are in the state
    N|ids|SLOT                              a page of the memory of event ids
    N|KIND|METRIC|segment|SEGMENT           one stream
    N|KIND|METRIC|tallies                   what belongs to no single stream of the group
    0|references                            what the judge gave the reference set
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from worker.drift.group import Group
from worker.drift.recent import RecentIds
from worker.drift.snapshot import join_parts, read_stream, segment_of
from worker.drift.stream import Stream
from worker.events import Kind, Metric

log = logging.getLogger(__name__)

POSITION, IDS, REFERENCES = "position", "ids", "references"

GroupName = tuple[Kind, Metric]


@dataclass(slots=True)
class Position:
    """The next offset to read: of the input partition, and of each partition of the control topic."""

    offset: int = 0
    control: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class StoredState:
    """All that one input partition's records say."""

    position: Position | None
    groups: dict[GroupName, Group]
    ids: RecentIds
    references: bytes | None


_POSITION = TypeAdapter(Position)


def position_record(partition: int, position: Position) -> tuple[bytes, bytes]:
    """The record that says what the others include."""
    return f"{partition}|{POSITION}".encode(), _POSITION.dump_json(position)


def group_record(partition: int, name: GroupName, part: str, value: bytes) -> tuple[bytes, bytes]:
    """The record of a part of a group."""
    kind, metric = name
    return f"{partition}|{kind}|{metric}|{part}".encode(), value


def ids_record(partition: int, slot: str, page: str) -> tuple[bytes, bytes]:
    """The record of a page of ids."""
    return f"{partition}|{IDS}|{slot}".encode(), page.encode()


def references_record(partition: int, value: bytes) -> tuple[bytes, bytes]:
    """The record of the reference set's memory."""
    return f"{partition}|{REFERENCES}".encode(), value


def stored_state(partition: int, records: Mapping[bytes, bytes]) -> StoredState:
    """What the latest records of one partition add up to; records of other partitions are passed over.

    What can't be read, say another version's, is left out with a line in the log: that stream learns anew.
    Without a position nobody knows what the others include, so all begins anew.
    """
    pages: dict[str, str] = {}
    parts: dict[GroupName, dict[str, bytes]] = {}
    references = None
    for number, name, value in _named(records):
        what, _, rest = name.partition("|")
        if number != partition or what == POSITION:
            continue
        if what == IDS:
            pages[rest] = value.decode(errors="replace")
        elif what == REFERENCES:
            references = value
        elif (group := _group_name(what, rest)) is not None:
            parts.setdefault(group, {})[rest.partition("|")[2]] = value
        else:
            _left_out(partition, name)
    position = position_in(partition, records)
    if position is None:
        return StoredState(None, {}, RecentIds(), references)
    groups = {name: _joined(partition, name, found) for name, found in parts.items()}
    return StoredState(position, groups, _ids_on(partition, pages), references)


def stream_in(key: bytes, value: bytes) -> tuple[int, Stream] | None:
    """The stream that a record of the state topic holds, and whose it is; None for any other record."""
    for number, name, _ in _named({key: value}):
        names = name.split("|", 2)
        if len(names) == 3 and segment_of(names[2]) is not None:
            with suppress(ValidationError):
                return number, read_stream(value)
    return None


def position_in(partition: int, records: Mapping[bytes, bytes]) -> Position | None:
    """How far a partition's monitor has come; None where there has been none that we can read."""
    value = records.get(f"{partition}|{POSITION}".encode())
    try:
        return _POSITION.validate_json(value) if value is not None else None
    except ValidationError:
        _left_out(partition, POSITION)
        return None


def _named(records: Mapping[bytes, bytes]) -> Iterator[tuple[int, str, bytes]]:
    """Partition, name and value of each record whose key is one of ours."""
    for key, value in records.items():
        number, _, name = key.decode(errors="replace").partition("|")
        if number.isdecimal():
            yield int(number), name, value


def _group_name(kind: str, rest: str) -> GroupName | None:
    try:
        return Kind(kind), Metric(rest.partition("|")[0])
    except ValueError:
        return None


def _joined(partition: int, name: GroupName, parts: Mapping[str, bytes]) -> Group:
    with suppress(ValidationError):
        return join_parts(*name, parts)
    readable = {part: value for part, value in parts.items() if _is_readable(partition, name, part, value)}
    return join_parts(*name, readable)


def _is_readable(partition: int, name: GroupName, part: str, value: bytes) -> bool:
    try:
        join_parts(*name, {part: value})
    except ValidationError:
        _left_out(partition, "|".join((*name, part)))
        return False
    return True


def _ids_on(partition: int, pages: Mapping[str, str]) -> RecentIds:
    try:
        return RecentIds.from_pages(pages)
    except ValueError:
        _left_out(partition, IDS)
        return RecentIds()


def _left_out(partition: int, name: str) -> None:
    log.warning("partition %d: the stored %r can't be read; it is left out and begins anew", partition, name)
