"""Follows people's labels, and looks up in the background what the judge gave the same summaries.

Labels usually come after the score, days later: a label whose score is not known makes the scored topic
be read again from its beginning, now and then, a little at a time. Without labels nothing of this happens.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from worker.monitoring.labels import Figures, LabelBook
from worker.settings import Settings
from worker.streaming import clients
from worker.streaming.connection import first_line

log = logging.getLogger(__name__)

#: Seconds between two looks for a topic that is not there, or two tries after a fault.
TRY_AGAIN = 60.0
#: Seconds between two readings of the scored topic, and between two computations of the figures.
SCAN_INTERVAL, COMPUTE_INTERVAL = 300.0, 15.0
#: What took long is done so much more seldom: at most a tenth of the time goes into it.
REST = 10
#: Records taken at once, and the seconds of rest after them: the monitor has its own work to do.
SLICE, PAUSE = 200, 0.01
POLL_MS = 500
#: Seconds without a record after which the end of a topic counts as reached.
PATIENCE = 10.0


class AgreementWatch:
    """The judge's agreement with people, kept up to date while it runs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._figures: Figures = {}
        self._task: asyncio.Task[None] | None = None

    def figures(self) -> Figures:
        """The latest figures; empty while it does not run."""
        return self._figures

    def start(self) -> None:
        """Begin in the background; a fault is logged and mended there."""
        self.stop()
        self._task = asyncio.create_task(self._live())

    def stop(self) -> None:
        """Another monitor does it now, or none."""
        if self._task is not None:
            self._task.cancel()
        self._task, self._figures = None, {}

    async def _live(self) -> None:
        while True:
            try:
                if await self._has_topics():
                    await self._follow()
            except (KafkaError, OSError, TimeoutError) as error:
                log.warning("labels: read again in %.0f s: %s", TRY_AGAIN, first_line(error))
            except Exception:
                # Drift is watched without labels too, so this must not end the monitor; but it must be seen.
                log.exception("labels: starting afresh in %.0f s", TRY_AGAIN)
            await asyncio.sleep(TRY_AGAIN)

    async def _has_topics(self) -> bool:
        s = self._settings
        return {s.topic_labels, s.topic_scored} <= await clients.existing_topics(s)

    async def _follow(self) -> None:
        """Read labels for ever; at the end of the topic see to the scores and the figures."""
        book, scan, computing = LabelBook(), _Scan(self._settings), _Pace(COMPUTE_INTERVAL)
        async with _whole_topic(self._settings, self._settings.topic_labels) as reader:
            while True:
                labels = await _slice(reader)
                for value in labels:
                    book.add_label(value)
                if labels or not len(book):
                    continue
                await scan.catch_up(book)
                if book.changed and computing.is_due():
                    book.changed = False
                    with computing:
                        self._figures = await asyncio.to_thread(book.figures)


class _Scan:
    """Reads the scored topic: what is new, or all of it where a label's score may lie anywhere."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pace = _Pace(SCAN_INTERVAL)
        self._read_to: dict[TopicPartition, int] = {}

    async def catch_up(self, book: LabelBook) -> None:
        """Unless it was done a moment ago."""
        if not self._pace.is_due():
            return
        with self._pace:
            start = {} if book.unsearched else self._read_to
            async with _whole_topic(self._settings, self._settings.topic_scored, start) as reader:
                await self._read(reader, book)
            book.searched()

    async def _read(self, reader: AIOKafkaConsumer, book: LabelBook) -> None:
        """Up to the end as it is now."""
        ends = await reader.end_offsets(list(reader.assignment()))
        heard = time.monotonic()
        while not await _has_read(reader, ends) and time.monotonic() - heard < PATIENCE:
            now = datetime.now(UTC)
            for value in await _slice(reader):
                book.add_scored(value, now)
                heard = time.monotonic()
        self._read_to = {partition: await reader.position(partition) for partition in ends}


class _Pace:
    """Lets something happen no more often than every so many seconds, and less often if it takes long."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._next = self._began = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self._interval, REST * (now - self._began))


@asynccontextmanager
async def _whole_topic(
    settings: Settings, topic: str, start: Mapping[TopicPartition, int] | None = None
) -> AsyncIterator[AIOKafkaConsumer]:
    """A reader of all partitions, from these positions or from the beginning, in no group."""
    count = (await clients.partition_counts(settings, (topic,)))[topic]
    reader = clients.reader(settings)
    try:
        await reader.start()
        reader.assign([TopicPartition(topic, number) for number in range(count)])
        await reader.seek_to_beginning()
        for partition, offset in (start or {}).items():
            reader.seek(partition, offset)
        yield reader
    finally:
        await reader.stop()


async def _slice(reader: AIOKafkaConsumer) -> list[bytes | None]:
    """A few values, and a rest."""
    polled = await reader.getmany(timeout_ms=POLL_MS, max_records=SLICE)
    values = [record.value for records in polled.values() for record in records]
    await asyncio.sleep(PAUSE if values else 0)
    return values


async def _has_read(reader: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> bool:
    for partition, end in ends.items():
        if await reader.position(partition) < end:
            return False
    return True
