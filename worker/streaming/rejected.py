"""Rejected records: what is wrong with them, and the way back to the input topic.

What was sent back is remembered in the committed offsets of a group of its own, with the worker's
ledger: the lowest record that was not sent back, and a mask of those above it that were.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from worker.settings import Settings
from worker.streaming.ledger import Ledger, Partition
from worker.streaming.records import ERROR_PREFIX, OMITTED, REPLAYS, Header, replays, without_errors
from worker.streaming.tools import TopicReader, producer, reader

#: How often a record is sent back before somebody has to insist.
MAX_REPLAYS = 3
#: Records between two notes of what was sent back.
BATCH = 200
_GENERATION = 1


@dataclass(frozen=True)
class RejectedRecord:
    """A record of the rejected topic."""

    partition: Partition
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[Header]

    def error(self, name: str) -> str:
        """One of the headers that say what was wrong; empty if it is not there."""
        found = [value for header, value in self.headers if header == ERROR_PREFIX + name]
        return found[-1].decode("utf-8", "replace") if found and found[-1] else ""

    @property
    def replays(self) -> int:
        """How often it was sent back before."""
        return replays(self.headers)

    @property
    def failed_at(self) -> datetime | None:
        """When it was rejected."""
        try:
            moment = datetime.fromisoformat(self.error("failed_at"))
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def is_whole(self) -> bool:
        """Whether its bytes are all there."""
        return all(name != OMITTED for name, _ in self.headers)


@dataclass(frozen=True)
class Selection:
    """Which rejected records are meant."""

    reason: str | None = None
    before: datetime | None = None

    def __contains__(self, record: RejectedRecord) -> bool:
        if self.reason is not None and record.error("reason") != self.reason:
            return False
        failed_at = record.failed_at
        return self.before is None or (failed_at is not None and failed_at < self.before)


@dataclass
class Replayed:
    """What a replay did."""

    sent: int = 0
    #: Sent back too often already.
    refused: int = 0
    #: Too large to be kept whole: the bytes are only in the input topic.
    incomplete: int = 0
    #: Too far above records that were never sent back to be remembered.
    out_of_reach: int = 0
    by_reason: dict[str, int] = field(default_factory=dict)
    #: Somebody pressed Ctrl-C; what was sent until then is remembered.
    interrupted: bool = False

    def count(self, record: RejectedRecord) -> None:
        """One more was sent."""
        self.sent += 1
        reason = record.error("reason")
        self.by_reason[reason] = self.by_reason.get(reason, 0) + 1


def read_all(settings: Settings) -> Iterator[tuple[RejectedRecord, bool]]:
    """Every rejected record up to now, and whether it was sent back."""
    with _opened(settings) as (source, ledger):
        source.from_beginning()
        for raw in source.until_now():
            record = _record(raw)
            committed = ledger.starts[record.partition]
            sent = record.offset < committed or ledger[record.partition].knows(record.offset)
            yield record, sent


def replay(
    settings: Settings,
    selection: Selection,
    *,
    dry_run: bool = False,
    max_replays: int | None = MAX_REPLAYS,
    rate: float | None = None,
    progress: Callable[[RejectedRecord], None] = lambda record: None,
) -> Replayed:
    """Send the selected records back to the input topic, each once."""
    done = Replayed()
    with _opened(settings) as (source, ledger), producer(settings) as sink:
        courier = _Courier(sink, settings.topic_generated, _Pace(rate))
        for batch in _batches(_unsent(source, ledger), BATCH):
            chosen = [record for record in batch if record in selection]
            chosen = [record for record in chosen if _may_go(record, ledger, max_replays, done)]
            for record in chosen:
                progress(record)
            sent = chosen if dry_run else courier.send(chosen)
            for record in sent:
                done.count(record)
            if not dry_run:
                _remember(source, ledger, batch, sent)
            if courier.interrupted:
                done.interrupted = True
                break
    return done


class _Pace:
    """No more than so many a second."""

    def __init__(self, rate: float | None) -> None:
        self._pause = 1 / rate if rate else 0.0
        self._next = time.monotonic()

    def wait(self) -> None:
        """Until the next may go."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = max(self._next, time.monotonic()) + self._pause


class _ReplayLedger(Ledger):
    """The worker's ledger, and where each partition's story begins."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[Partition, int] = {}


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[TopicReader, _ReplayLedger]]:
    """A reader at the first record that was not sent back, and what is known of those after it."""
    with reader(settings, settings.topic_rejected, f"{settings.group}-replay") as source:
        ledger = _ReplayLedger()
        beginnings = source.client.beginning_offsets(source.partitions)
        for tp in source.partitions:
            kept = source.client.committed(tp, metadata=True)
            start = kept.offset if kept else beginnings[tp]
            ledger.starts[Partition(*tp)] = start
            ledger[Partition(*tp)].assign(_GENERATION, start, kept.metadata if kept else "")
            source.client.seek(tp, max(start, beginnings[tp]))
        yield source, ledger


def _unsent(source: TopicReader, ledger: Ledger) -> Iterator[RejectedRecord]:
    for raw in source.until_now():
        record = _record(raw)
        ledger[record.partition].read([record.offset], record.offset + 1)
        if not ledger[record.partition].knows(record.offset):
            yield record


def _may_go(record: RejectedRecord, ledger: Ledger, most: int | None, done: Replayed) -> bool:
    if not record.is_whole:
        done.incomplete += 1
        return False
    if most is not None and record.replays >= most:
        done.refused += 1
        return False
    if ledger[record.partition].is_too_far(record.offset):
        done.out_of_reach += 1
        return False
    return True


class _Courier:
    """Takes records back to the input topic."""

    def __init__(self, sink: KafkaProducer, topic: str, pace: _Pace) -> None:
        self._sink = sink
        self._topic = topic
        self._pace = pace
        self.interrupted = False

    def send(self, records: Iterable[RejectedRecord]) -> list[RejectedRecord]:
        """Those that the broker has; fewer than were given after a Ctrl-C, which must not send any twice."""
        under_way = []
        try:
            for record in records:
                self._pace.wait()
                under_way.append((record, self._start(record)))
        except KeyboardInterrupt:
            self.interrupted = True
        for _, delivery in under_way:
            delivery.get(timeout=60)
        return [record for record, _ in under_way]

    def _start(self, record: RejectedRecord) -> Any:
        # This client knows no header without a value; an empty one comes nearest.
        own = [(name, content or b"") for name, content in without_errors(record.headers)]
        headers = [*own, (REPLAYS, str(record.replays + 1).encode())]
        value = b"" if record.key is None and record.value is None else record.value
        return self._sink.send(self._topic, value, record.key, headers)


def _remember(
    source: TopicReader, ledger: Ledger, looked_at: Iterable[RejectedRecord], sent: Iterable[RejectedRecord]
) -> None:
    for record in sent:
        ledger[record.partition].finish(record.offset)
    commits = {}
    for partition in {record.partition for record in looked_at}:
        commit = ledger[partition].next_commit()
        if commit is not None:
            commits[TopicPartition(*partition)] = OffsetAndMetadata(commit.offset, commit.metadata, -1)
            ledger[partition].confirm(commit)
    if commits:
        source.client.commit(commits)


def _batches(records: Iterator[RejectedRecord], size: int) -> Iterator[list[RejectedRecord]]:
    batch: list[RejectedRecord] = []
    for record in records:
        batch.append(record)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def _record(raw: Any) -> RejectedRecord:
    return RejectedRecord(
        Partition(raw.topic, raw.partition), raw.offset, raw.key, raw.value, list(raw.headers or ())
    )
