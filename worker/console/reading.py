"""Reads the topics into the board with consumers of its own: in no group, so nobody's work is disturbed.

Scores are read back for a day. Of the drift topic the latest events are read whatever their age, since an
alarm may stand for weeks; of the state topic everything, since it is compacted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from worker.console.board import Board
from worker.console.texts import Texts
from worker.errors import QuintetError
from worker.settings import Settings
from worker.streaming.clients import positions
from worker.streaming.connection import client_options, first_line
from worker.streaming.ledger import Partition
from worker.streaming.rejected import RejectedRecord

log = logging.getLogger(__name__)

#: Seconds of scores that are read back at the start.
BACK = 24 * 3600
#: Records of each topic that are read back at most.
MOST_SCORED, MOST_REJECTED, MOST_EVENTS = 100_000, 20_000, 5_000
#: Records taken at once: the page is served between two takes.
BATCH = 200
POLL_MS = 300
FETCH_BYTES = 256 * 1024
#: Seconds between two looks: for a broker that is away, for texts, around.
LOOK_AGAIN, TEXTS_EVERY, LOOK_AROUND = 1.0, 0.3, 5.0
#: Seconds between two lines about the same wait.
SAY_AGAIN = 10.0
REQUEST_MS = 5_000

#: Topic → number of partitions.
Layout = dict[str, int]
Ends = dict[Partition, int]


class TopicsChanged(QuintetError):  # noqa: N818 - news, not a fault
    """A topic or a partition came or went: read everything anew."""


class Reading:
    """Keeps the board up to date until it is cancelled."""

    def __init__(self, settings: Settings, board: Board) -> None:
        self._settings = settings
        self._board = board
        self._takers = {
            settings.topic_scored: self._scored,
            settings.topic_rejected: self._rejected,
            settings.topic_drift: self._drift,
            settings.topic_state: self._state,
        }

    async def run(self) -> None:
        """Read for ever; a broker that is away is waited for."""
        said = ""
        while True:
            problem = await self._attempt()
            self._board.say(problem=problem, catching_up=True)
            if problem != said:
                log.warning("waiting: %s", problem)
                said = problem
            await asyncio.sleep(LOOK_AGAIN)

    async def _attempt(self) -> str:
        """Read as long as it goes well; then why it did not."""
        try:
            async with _admin(self._settings) as admin:
                layout = await self._layout(admin)
                if problem := self._lacking(layout):
                    return problem
                await self._follow(admin, layout)
        except (KafkaError, OSError, TimeoutError) as error:
            return self._nobody_answers(error)
        except TopicsChanged as news:
            return first_line(news)

    async def _layout(self, admin: AIOKafkaAdminClient) -> Layout:
        known = {*self._takers, self._settings.topic_generated}
        there = sorted(known & set(await admin.list_topics()))
        described = await admin.describe_topics(there) if there else []
        return {topic["topic"]: len(topic["partitions"]) for topic in described}

    def _lacking(self, layout: Layout) -> str | None:
        """What must be there at least; the monitor's topics may come later."""
        s = self._settings
        needed = (s.topic_generated, s.topic_scored, s.topic_rejected)
        missing = [name for name in needed if name not in layout]
        return f"there is no topic {', '.join(missing)}; run: quintet topics create" if missing else None

    def _nobody_answers(self, error: BaseException) -> str:
        return f"no broker answers at {','.join(self._settings.brokers)} ({first_line(error)})"

    async def _follow(self, admin: AIOKafkaAdminClient, layout: Layout) -> NoReturn:
        """Read side by side until something changes or breaks."""
        s = self._settings
        inputs = _partitions(layout, [s.topic_generated])
        partitions = _partitions(layout, self._takers)
        async with _consumer(s, partitions) as records, _consumer(s, inputs) as texts:
            ends = await self._go_back(records, partitions)
            self._board.clear()
            self._board.say(problem=None, catching_up=True)
            log.info("reading %s", ", ".join(sorted(layout)))
            try:
                async with asyncio.TaskGroup() as side_by_side:
                    side_by_side.create_task(self._read_records(records, ends))
                    side_by_side.create_task(self._read_texts(Texts(texts, inputs, self._board)))
                    side_by_side.create_task(self._look_around(admin, layout, texts, inputs))
            except BaseExceptionGroup as errors:
                # One broker fails all three in the same way.
                raise errors.exceptions[0] from None
        raise AssertionError("reading ends only by an error")

    async def _go_back(self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> Ends:
        """To where each partition is read from: a day, so many records, or the beginning; where it ends now."""
        s = self._settings
        most = {s.topic_scored: MOST_SCORED, s.topic_rejected: MOST_REJECTED, s.topic_drift: MOST_EVENTS}
        first, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        scored = [tp for tp in partitions if tp.topic == s.topic_scored]
        day_ago = int((self._board.now - BACK) * 1000)
        in_time = await consumer.offsets_for_times(dict.fromkeys(scored, day_ago))
        for tp in partitions:
            start = first[tp]
            if tp.topic in most:
                share = most[tp.topic] // sum(1 for other in partitions if other.topic == tp.topic)
                start = max(start, ends[tp] - share)
            if tp in in_time:
                start = max(start, in_time[tp].offset if in_time[tp] else ends[tp])
            consumer.seek(tp, start)
        return {Partition(*tp): end for tp, end in ends.items()}

    async def _read_records(self, consumer: AIOKafkaConsumer, ends: Ends) -> None:
        while True:
            polled = await consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH)
            for partition, records in polled.items():
                take = self._takers[partition.topic]
                for record in records:
                    take(record)
            if self._board.catching_up and (not polled or _are_reached(ends, positions(consumer))):
                self._board.say(problem=self._board.problem, catching_up=False)
            await asyncio.sleep(0)  # the page is served here, even in the middle of a day's records

    async def _read_texts(self, texts: Texts) -> None:
        while True:
            # While scores are caught up with, most of what is wanted will not be held in the end.
            if self._board.catching_up or not await texts.fetch():
                await asyncio.sleep(TEXTS_EVERY)

    async def _look_around(
        self,
        admin: AIOKafkaAdminClient,
        layout: Layout,
        consumer: AIOKafkaConsumer,
        inputs: list[TopicPartition],
    ) -> None:
        """The workers' lag, and whether broker and topics are still the same."""
        said = None
        while True:
            problem = None
            try:
                async with asyncio.timeout(LOOK_AROUND):
                    if await self._layout(admin) != layout:
                        raise TopicsChanged("topics or partitions have changed; reading anew")
                    self._board.measure(await self._lag(admin, consumer, inputs))
            except (KafkaError, OSError, TimeoutError) as error:
                problem = self._nobody_answers(error)
                if problem != said:
                    log.warning("waiting: %s", problem)
            said = problem
            self._board.say(problem=problem)
            await asyncio.sleep(LOOK_AGAIN if problem else LOOK_AROUND)

    async def _lag(
        self, admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer, inputs: list[TopicPartition]
    ) -> int | None:
        """Records between what the workers' group has committed and the end; None where it has nothing."""
        committed = await admin.list_consumer_group_offsets(self._settings.group)
        if not any(tp in committed for tp in inputs):
            return None
        first, ends = await consumer.beginning_offsets(inputs), await consumer.end_offsets(inputs)
        done = {tp: max(committed[tp].offset if tp in committed else 0, first[tp]) for tp in inputs}
        waiting: int = sum(max(0, ends[tp] - done[tp]) for tp in inputs)
        return waiting

    def _scored(self, record: Any) -> None:
        self._board.take_scored(record.value)

    def _rejected(self, record: Any) -> None:
        where, headers = Partition(record.topic, record.partition), list(record.headers or ())
        self._board.take_rejected(RejectedRecord(where, record.offset, record.key, record.value, headers))

    def _drift(self, record: Any) -> None:
        self._board.take_drift(record.value, record.timestamp)

    def _state(self, record: Any) -> None:
        self._board.take_state(record.key, record.value, record.timestamp)


@asynccontextmanager
async def _consumer(settings: Settings, partitions: list[TopicPartition]) -> AsyncIterator[AIOKafkaConsumer]:
    """Reads only committed transactions, in no group."""
    consumer = AIOKafkaConsumer(
        **client_options(settings),
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=FETCH_BYTES,
    )
    try:
        await consumer.start()
        consumer.assign(partitions)
        yield consumer
    finally:
        await consumer.stop()


@asynccontextmanager
async def _admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client_options(settings), request_timeout_ms=REQUEST_MS)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


def _partitions(layout: Layout, topics: Any) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic in topics for number in range(layout.get(topic, 0))]


def _are_reached(ends: Ends, reached: Ends) -> bool:
    return all(reached.get(partition, 0) >= end for partition, end in ends.items())
