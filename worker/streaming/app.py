"""A Faust app with the ledger in place of Faust's own bookkeeping of offsets.

The only module that knows Faust. Faust commits past records that are still under way as soon as work
finishes out of order; each class below overrides one thing to prevent that. ARCHITECTURE.md lists the
hooks and why each is there.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import faust
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import (
    IllegalStateError,
    KafkaError,
    MessageSizeTooLargeError,
    OffsetMetadataTooLargeError,
)
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.exceptions import NotReady
from faust.transport.drivers import aiokafka as driver
from mode.threads import WorkerThread

from worker.settings import Settings
from worker.streaming import clients, header_names
from worker.streaming.connection import first_line
from worker.streaming.ledger import Commit, Ledger, Partition
from worker.streaming.records import Outgoing, PublishFailed, TooLargeToPublish

log = logging.getLogger(__name__)
#: Faust names its services' logs after the module they are in; theirs are to be told from ours.
faust_log = logging.getLogger("faust.quintet")

T = TypeVar("T")

#: Seconds between two commits: at most so much comes again after a crash.
COMMIT_INTERVAL = 0.5
#: Of a fetch that nothing came of.
NO_GENERATION = -1


class Fetched(dict[TopicPartition, list[Any]]):
    """Records as the fetcher gave them out, their generation, and the positions after them."""

    def __init__(
        self, records: Mapping[Any, list[Any]], generation: int, positions: Mapping[Partition, int]
    ) -> None:
        super().__init__(records)
        self.generation = generation
        self.positions = positions


class LedgerThread(driver.AIOKafkaConsumerThread):
    """The thread that the Kafka consumer lives in."""

    logger = faust_log

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:
        """Faust's own consumer would read aborted transactions."""
        return clients.consumer(self.app.settings)

    async def run(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Call a coroutine function in this thread, past Faust's queue: nothing waits behind a fetch."""

        async def call() -> T:
            return await function(*args)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self.thread_loop))

    async def _fetch_records(self, consumer: AIOKafkaConsumer, *args: Any, **kwargs: Any) -> Fetched:
        """Note generation and positions in the same breath as the fetch: a moment later they may differ."""
        try:
            records = await super()._fetch_records(consumer, *args, **kwargs)
        except UnicodeDecodeError:
            log.warning("a record has a header whose name is no text; reading more slowly from now on")
            header_names.accept_any()
            return Fetched({}, NO_GENERATION, {})  # of no use to anybody, so everything is read again
        return Fetched(records, clients.generation(consumer), clients.positions(consumer))


class LedgerConsumer(driver.Consumer):
    """The main loop's view of the consumer."""

    logger = faust_log

    def _new_consumer_thread(self) -> LedgerThread:
        return LedgerThread(self, loop=self.loop, beacon=self.beacon)

    def ack(self, message: Any) -> bool:
        """Faust's own bookkeeping is off; it would grow without end."""
        return False

    async def _add_gap(self, tp: Any, offset_from: int, offset_to: int) -> None:
        """The ledger needs no list of gaps."""

    async def perform_seek(self) -> None:
        """After every assignment, before records flow: start where the group stopped, with what it knew."""
        generation = self.app.consumer_generation_id
        committed = await self._thread.run(clients.seek_to_committed, self._thread._ensure_consumer())
        for partition, (offset, metadata) in committed.items():
            self._read_offset[partition] = offset if offset > 0 else None
            self.app.ledger[partition].assign(generation, offset if offset >= 0 else None, metadata)

    async def _getmany(self, active_partitions: Any, timeout: float) -> Mapping[Any, list[Any]]:  # noqa: ASYNC109
        """Enter what was read into the ledger before anybody can lose it on the way."""
        fetched: Fetched = await super()._getmany(active_partitions, timeout)
        if not isinstance(fetched, Fetched) or not self.flow_active:
            return {}  # a rebalance is under way: Faust seeks back by itself
        if self._is_current(fetched):
            for partition, position in fetched.positions.items():
                offsets = [record.offset for record in fetched.get(partition, ())]
                self.app.ledger[partition].read(offsets, position)
            return fetched
        await self.perform_seek()
        return {}

    def _is_current(self, fetched: Fetched) -> bool:
        generation = self.app.consumer_generation_id
        return fetched.generation == generation and all(
            self.app.ledger[partition].generation == generation for partition in fetched.positions
        )

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Commit the ledger's watermarks and nothing else."""
        if self._thread._consumer is None:
            return False  # never started
        async with self.app.commit_lock:
            commits = self._next_commits()
            if not commits or not await self._commit_or_not(commits):
                return False
            for partition, commit in commits.items():
                self.app.ledger[partition].confirm(commit)
            return True

    def _next_commits(self) -> dict[Partition, Commit]:
        ledgers = {Partition(*tp): self.app.ledger[Partition(*tp)] for tp in self.assignment()}
        generation = self.app.consumer_generation_id
        current = {tp: ledger for tp, ledger in ledgers.items() if ledger.generation == generation}
        commits = {tp: ledger.next_commit() for tp, ledger in current.items()}
        return {tp: commit for tp, commit in commits.items() if commit is not None}

    async def _commit_or_not(self, commits: Mapping[Partition, Commit]) -> bool:
        """A refused commit means that records come again, and is no reason to crash."""
        consumer = self._thread._ensure_consumer()
        whole = {TopicPartition(*tp): OffsetAndMetadata(*commit) for tp, commit in commits.items()}
        bare = {tp: OffsetAndMetadata(kept.offset, "") for tp, kept in whole.items()}
        try:
            try:
                await self._thread.run(consumer.commit, whole)
            except OffsetMetadataTooLargeError:
                await self._thread.run(consumer.commit, bare)
        except (KafkaError, IllegalStateError, ValueError) as error:
            log.info("commit refused, records may come again: %s", first_line(error))
            return False
        return True


class LedgerProducer(driver.Producer):
    """The one producer: idempotent, and done only when all in-sync replicas have a record."""

    logger = faust_log

    def _new_producer(self, transactional_id: str | None = None) -> AIOKafkaProducer:
        return clients.producer(self.app.settings)

    async def publish(self, record: Outgoing) -> None:
        """Send past Faust, which would make a mapping of the headers, and wait for the replicas."""
        # A record of nothing at all is not sent by the client; an empty value comes nearest to it.
        value = b"" if record.key is None and record.value is None else record.value
        try:
            delivery = await self._ensure_producer().send(
                record.topic,
                value,
                record.key,
                timestamp_ms=record.timestamp_ms,
                headers=list(record.headers),
            )
            await asyncio.shield(delivery)
        except MessageSizeTooLargeError as error:
            raise TooLargeToPublish(f"{record.topic}: {first_line(error)}") from None
        except (KafkaError, NotReady) as error:
            raise PublishFailed(first_line(error)) from None


class LedgerTransport(driver.Transport):
    """Kafka through the classes above."""

    Consumer, Producer = LedgerConsumer, LedgerProducer


class LedgerApp(faust.App):
    """A Faust app that carries what its consumer and producer need."""

    logger = faust_log

    settings: Settings
    ledger: Ledger
    commit_lock: asyncio.Lock

    def _create_directories(self) -> None:
        """No tables, so no files."""


def build_app(settings: Settings, ledger: Ledger) -> LedgerApp:
    """An app that reads bytes, commits what the ledger says, and does nothing else of what Faust can."""
    app = LedgerApp(
        settings.group,
        broker=[f"kafka://{broker}" for broker in settings.brokers],
        store="memory://",
        # Bytes as they are: a record that Faust could not decode would be acknowledged and dropped.
        key_serializer="raw",
        value_serializer="raw",
        processing_guarantee="at_least_once",
        stream_wait_empty=False,
        stream_buffer_maxsize=max(64, 2 * settings.concurrency),
        broker_commit_interval=COMMIT_INTERVAL,
        broker_request_timeout=clients.REQUEST_TIMEOUT,
        broker_session_timeout=clients.SESSION_TIMEOUT,
        # Faust's own warnings about slow records: ours are slow by nature.
        stream_processing_timeout=3600.0,
        broker_commit_livelock_soft_timeout=3600.0,
        topic_disable_leader=True,
        topic_allow_declare=False,
        table_standby_replicas=0,
        web_enabled=False,
        worker_redirect_stdouts=False,
        autodiscover=False,
    )
    app.settings, app.ledger, app.commit_lock = settings, ledger, asyncio.Lock()
    app.transport = LedgerTransport(app.conf.broker_consumer, app)
    return app


def thread_is_left() -> bool:
    """Whether a thread of Faust's is still alive."""
    return any(isinstance(thread, WorkerThread) for thread in threading.enumerate())
