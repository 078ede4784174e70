"""The records of the state topic: what a monitor must know to go on where another one stopped.

Input partition N keeps its state in partition N of the state topic, a compacted one, under these keys:

    N|position                              up to where input and control topic are in the state
    N|ids|SLOT                              a page of the memory of event ids
    N|KIND|METRIC|segment|SEGMENT           one stream
    N|KIND|METRIC|tallies                   what belongs to no single stream of the group
    0|references                            what the judge gave the reference set
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from worker.drift.group import Group
from worker.drift.recent import RecentIds
from worker.drift.snapshot import join_parts, read_stream, segment_of
from worker.drift.stream import Stream
from worker.events import Kind, Metric

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
    """What the latest records of one partition add up to; records of other partitions are passed over."""
    mine = f"{partition}|"
    pages: dict[str, str] = {}
    parts: dict[GroupName, dict[str, bytes]] = {}
    position = references = None
    for raw_key, value in records.items():
        key = raw_key.decode()
        if not key.startswith(mine):
            continue
        what, _, rest = key.removeprefix(mine).partition("|")
        if what == POSITION:
            position = _POSITION.validate_json(value)
        elif what == IDS:
            pages[rest] = value.decode()
        elif what == REFERENCES:
            references = value
        else:
            metric, _, part = rest.partition("|")
            parts.setdefault((Kind(what), Metric(metric)), {})[part] = value
    groups = {name: join_parts(*name, found) for name, found in parts.items()}
    ids = RecentIds.from_pages(pages) if pages else RecentIds()
    return StoredState(position, groups, ids, references)


def stream_in(key: bytes, value: bytes) -> Stream | None:
    """The stream that a record of the state topic holds; None for any other record."""
    names = key.decode().split("|", 3)
    if len(names) < 4 or segment_of(names[3]) is None:
        return None
    return read_stream(value)


def position_in(partition: int, records: Mapping[bytes, bytes]) -> Position | None:
    """How far a partition's monitor has come; None where there has been none."""
    value = records.get(f"{partition}|{POSITION}".encode())
    return _POSITION.validate_json(value) if value is not None else None
