"""The drift monitor from start to stop: takes partitions over, reads, stores, and starts afresh after a fault."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from worker.drift.budget import Budget
from worker.drift.group import Group
from worker.drift.recent import CAPACITY
from worker.events import SummaryGenerated
from worker.judging.judge import Judge
from worker.monitoring.agreement import AgreementWatch
from worker.monitoring.commands import ReferencesJudged, WantReferences
from worker.monitoring.control import ControlReader, Sent
from worker.monitoring.partition import PartitionMonitor, Shifts
from worker.monitoring.references import ReferenceKeeper, load_references, read_memory
from worker.monitoring.states import Position
from worker.monitoring.storage import PartitionStore
from worker.settings import Settings
from worker.streaming import clients
from worker.streaming.connection import first_line
from worker.streaming.waiting import wait_for_broker
from worker.streaming.web import Check
from worker.telemetry import MonitorTelemetry

log = logging.getLogger(__name__)

#: Seconds between two checkpoints of a partition whose scores changed nothing that anybody waits for.
CHECKPOINT_INTERVAL = 2.0
#: Seconds between two commits of the group's offsets, and for one of them.
COMMIT_INTERVAL, COMMIT_TIMEOUT = 5.0, 2.0
#: Scores read at once; a checkpoint can't come in the middle of them.
BATCH = 2000
POLL_MS = 200
#: Seconds before another try after a fault, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
#: Seconds that the last checkpoint and leaving the group may take.
LEAVE = 3.0
#: The partition whose owner judges the reference set and reads people's labels.
LEADER = 0


@dataclass
class _Owned:
    """A partition that is ours: what it knows, where that is kept, and when it was last stored."""

    monitor: PartitionMonitor
    store: PartitionStore
    stored_at: float


class Monitor(ConsumerRebalanceListener):  # type: ignore[misc]
    """Watches all streams of the partitions that its group gives it."""

    def __init__(self, settings: Settings, judge: Judge, telemetry: MonitorTelemetry) -> None:
        self._settings = settings
        self._judge = judge
        self._telemetry = telemetry
        self._references: Sequence[SummaryGenerated] = load_references(settings)
        self._budget = Budget.of(settings)
        self._owned: dict[int, _Owned] = {}
        #: Partitions whose position the consumer may not have right yet: what it gives is not taken.
        self._unseeked: set[int] = set()
        self._keeper: ReferenceKeeper | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._problem: str | None = "starting"
        self._committed_at = 0.0
        self._agreement = AgreementWatch(settings)
        telemetry.watch(self.groups, self._shown_shifts)
        telemetry.watch_agreement(self._agreement.figures)

    def start(self) -> None:
        """Begin in the background; a fault is logged and mended there."""
        self._task = asyncio.create_task(self._live())

    async def stop(self) -> None:
        """Store what is not stored yet and leave, within a few seconds or not at all."""
        self._stopping = True
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=LEAVE)
            if not done:
                log.warning("the drift monitor did not leave in %.0f s; it will read a little again", LEAVE)
                self._task.cancel()
                with suppress(asyncio.CancelledError):
                    await self._task

    def groups(self) -> Iterator[Group]:
        """All that this monitor watches."""
        for owned in list(self._owned.values()):
            yield from list(owned.monitor.groups.values())

    def check(self) -> Check:
        """For /readyz."""
        if self._problem is not None:
            return Check(False, self._problem)
        numbers = sorted(self._owned)
        return Check(True, f"{len(numbers)} partitions: {numbers}" if numbers else "none: a spare monitor")

    async def _live(self) -> None:
        """Run until stopped; after a fault start afresh from what is stored, a little later each time."""
        pause = FIRST_PAUSE
        while not self._stopping:
            began = time.monotonic()
            try:
                await self._run()
            except (KafkaError, OSError, TimeoutError) as error:
                self._problem = f"the broker went away: {first_line(error)}"
                log.warning("drift monitor: %s", self._problem)
            except Exception as error:
                # Scoring goes on without us, so this must not end the process; but it must be seen.
                self._problem = f"failed: {first_line(error)}"
                log.exception("drift monitor: starting afresh in %.0f s", pause)
            if time.monotonic() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            if not self._stopping:
                await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run(self) -> None:
        s = self._settings
        await self._wait_for_topics()
        consumer = clients.consumer(s, f"{s.group}-monitor")
        control = ControlReader(s)
        try:
            await control.start()
            await consumer.start()
            consumer.subscribe([s.topic_metric_scores], listener=self)
            self._consumer, self._control = consumer, control
            log.info("watching: topic %s, group %s-monitor", s.topic_metric_scores, s.group)
            while not self._stopping:
                await self._step()
            await self._store_all()
        finally:
            await self._close(consumer, control)

    async def _wait_for_topics(self) -> None:
        s = self._settings

        def tell(problem: str) -> None:
            self._problem = problem

        await wait_for_broker(s, (s.topic_metric_scores, s.topic_drift, s.topic_control, s.topic_state), tell)
        while problem := await self._too_few_partitions():
            tell(problem)
            log.warning("drift monitor: waiting: %s", problem)
            await asyncio.sleep(LONGEST_PAUSE)

    async def _too_few_partitions(self) -> str | None:
        s = self._settings
        counts = await clients.partition_counts(s, (s.topic_metric_scores, s.topic_state))
        scores, state = counts[s.topic_metric_scores], counts[s.topic_state]
        if state >= scores:
            return None
        return (
            f"topic {s.topic_state} has {state} partitions, fewer than the {scores} of {s.topic_metric_scores};"
            f" add some with kafka-topics.sh --alter --topic {s.topic_state} --partitions {scores}"
        )

    async def _step(self) -> None:
        """One round: partitions, scores, commands, storing."""
        await self._take_over()
        polled = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH)
        commands = await self._control.read()
        async with self._lock:
            for partition, records in polled.items():
                await self._observe(partition.partition, records)
            self._obey(commands)
            await self._store_due()
        await self._commit()

    async def _take_over(self) -> None:
        """Load what is newly ours, let go of what is not, and read on where the state ends."""
        async with self._lock:
            assigned = {partition.partition for partition in self._consumer.assignment()}
            for number in sorted(set(self._owned) - assigned):
                await self._let_go(number)
            await self._load_all(assigned - set(self._owned))
            for number in sorted(self._unseeked & assigned):
                partition = TopicPartition(self._settings.topic_metric_scores, number)
                self._consumer.seek(partition, self._owned[number].monitor.position.offset)
                self._unseeked.discard(number)
            if self._consumer.assignment():
                self._problem = None

    async def _load_all(self, numbers: Iterable[int]) -> None:
        """At once; where one fails the others are waited for, so that none is left behind half loaded."""
        loads = await asyncio.gather(*map(self._load, numbers), return_exceptions=True)
        for failure in loads:
            if failure is not None:
                raise failure

    async def _load(self, number: int) -> None:
        store = PartitionStore(self._settings, number)
        try:
            monitor = await self._opened(number, store)
        except BaseException:
            await store.close()
            raise
        self._owned[number] = _Owned(monitor, store, time.monotonic())
        self._unseeked.add(number)
        for sent in self._control.commands:
            monitor.obey(sent.partition, sent.offset, sent.command)
        if number == LEADER:
            self._lead(monitor)
        log.info("drift monitor: took over partition %d at offset %d", number, monitor.position.offset)

    async def _opened(self, number: int, store: PartitionStore) -> PartitionMonitor:
        stored = await store.open()
        position = stored.position or Position(0, await self._control.ends())
        await self._mend(number, position)
        monitor = PartitionMonitor(number, stored, self._budget, position)
        if self._references:
            monitor.ask_again(datetime.now(UTC))
        return monitor

    async def _mend(self, number: int, position: Position) -> None:
        """Where the input ends before our position it was made anew, or lost its end: find a place in it.

        What may be read twice there is known by its ids, so no further back than the memory of them goes.
        """
        partition = TopicPartition(self._settings.topic_metric_scores, number)
        end = (await self._consumer.end_offsets([partition]))[partition]
        if position.offset <= end:
            return
        beginning = (await self._consumer.beginning_offsets([partition]))[partition]
        found = max(beginning, end - CAPACITY)
        log.warning(
            "drift monitor: partition %d ends at %d, before offset %d where the state does; reading on at %d",
            number,
            end,
            position.offset,
            found,
        )
        position.offset = found

    async def _let_go(self, number: int) -> None:
        owned = self._owned.pop(number)
        if number == LEADER:
            self._stop_leading()
        await owned.store.close()

    async def _observe(self, number: int, records: Sequence[Any]) -> None:
        owned = self._owned.get(number)
        if owned is None or number in self._unseeked:
            return  # read again after the seek
        monitor, shifts = owned.monitor, self._shifts
        if records[0].offset < monitor.position.offset:
            log.warning("drift monitor: partition %d was set back under us; it is loaded anew", number)
            await self._let_go(number)
            return
        for record in records:
            monitor.take(record.offset, record.value, shifts)

    def _obey(self, commands: Sequence[Sent]) -> None:
        for sent in commands:
            for owned in self._owned.values():
                owned.monitor.obey(sent.partition, sent.offset, sent.command)
        self._tell_keeper(commands)

    async def _store_due(self) -> None:
        now = time.monotonic()
        for number, owned in sorted(self._owned.items()):
            due = owned.monitor.dirty and now - owned.stored_at >= CHECKPOINT_INTERVAL
            if due or owned.monitor.urgent:
                await self._store(number, owned)

    async def _store_all(self) -> None:
        async with self._lock:
            for number, owned in sorted(self._owned.items()):
                if owned.monitor.dirty:
                    await self._store(number, owned)

    async def _store(self, number: int, owned: _Owned) -> None:
        """Store a partition; where that fails, what is in memory may be wrong, and it is loaded anew."""
        checkpoint = owned.monitor.checkpoint()
        owned.stored_at = time.monotonic()
        try:
            await owned.store.write(checkpoint)
        except (KafkaError, TimeoutError) as error:
            log.warning("drift monitor: partition %d is loaded anew: %s", number, first_line(error))
            await self._let_go(number)
            return
        for event in checkpoint.events:
            self._telemetry.changed(event)
            log.info(
                "%s|%s|%s: %s (%s): %s",
                event.kind,
                event.metric,
                event.segment,
                event.state,
                event.verdict or "no verdict",
                event.reason,
            )

    async def _commit(self) -> None:
        """Only for those who look at the group's lag: the state itself says where to read on."""
        now = time.monotonic()
        if now - self._committed_at < COMMIT_INTERVAL:
            return
        self._committed_at = now
        offsets = {
            TopicPartition(self._settings.topic_metric_scores, number): owned.monitor.position.offset
            for number, owned in self._owned.items()
            if number not in self._unseeked
        }
        if not offsets:
            return
        # In a rebalance it would wait for that to end, and that may be waiting for us.
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(COMMIT_TIMEOUT):
                await self._consumer.commit(offsets)

    def _lead(self, monitor: PartitionMonitor) -> None:
        """What one monitor does for the whole fleet."""
        self._agreement.start()
        if self._references:
            self._keep_references(monitor)

    def _stop_leading(self) -> None:
        self._agreement.stop()
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = self._keeper = None

    def _keep_references(self, monitor: PartitionMonitor) -> None:
        async def hand_on(memory: bytes, judged: ReferencesJudged) -> None:
            monitor.note_references(memory, judged)

        self._keeper = ReferenceKeeper(
            self._references, self._judge, read_memory(monitor.references), hand_on
        )
        self._tell_keeper(self._control.commands)
        self._keeping = asyncio.create_task(self._keeper.run())

    def _tell_keeper(self, commands: Iterable[Sent]) -> None:
        """What was wanted before this monitor came is told too: the keeper knows what it has answered."""
        if self._keeper is not None:
            for sent in commands:
                if isinstance(sent.command, WantReferences):
                    self._keeper.want(sent.at)

    @property
    def _shifts(self) -> Shifts:
        return self._control.shifts if self._references else None

    def _shown_shifts(self) -> Shifts:
        """The judge's shift is shown by one monitor only."""
        return self._shifts if LEADER in self._owned else None

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Store before another monitor may load."""
        if revoked:
            self._problem = "partitions are being moved"
            with suppress(KafkaError, TimeoutError):
                await self._store_all()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Until it has been told where to read on, the consumer gives what may be wrong."""
        self._unseeked |= {partition.partition for partition in assigned}
        self._problem = None

    async def _close(self, consumer: AIOKafkaConsumer, control: ControlReader) -> None:
        leaving = [*map(self._let_go, list(self._owned)), consumer.stop(), control.stop()]
        await asyncio.gather(*map(_in_time, leaving))


async def _in_time(closing: Awaitable[None]) -> None:
    """A broker that is away is not waited for."""
    with suppress(KafkaError, OSError, TimeoutError):
        async with asyncio.timeout(LEAVE):
            await closing
