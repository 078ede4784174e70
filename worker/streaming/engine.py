"""Reads, publishes and commits; whoever uses it never sees Faust."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from worker.settings import Settings
from worker.streaming.app import build_app, thread_is_left
from worker.streaming.flow import Flow
from worker.streaming.ledger import Ledger, Partition
from worker.streaming.records import Incoming, Outgoing

log = logging.getLogger(__name__)

#: Seconds that records under way get when their partition is taken away.
REVOKE_DRAIN = 10.0
#: Seconds that a commit may take while something waits for it.
COMMIT_TIMEOUT = 10.0


class Engine:
    """The way in and the way out."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self._settings = settings
        self._ledger = ledger
        self._app = build_app(settings, ledger)
        self._begun = False

    async def start(self, flow: Flow) -> None:
        """Join the group and hand every record to the flow; after a failure it may be tried again."""
        app = self._app
        topic = app.topic(self._settings.topic_generated, key_type=bytes, value_type=bytes, allow_empty=True)

        async def intake(stream: Any) -> None:
            try:
                async for event in stream.noack().events():
                    await flow.admit(incoming(event.message))
            except Exception as error:
                # Faust would start another agent, and the record at hand would be nobody's.
                flow.die(error)
                raise

        async def on_revoked(sender: Any, revoked: Iterable[Any], **_: Any) -> None:
            await flow.settle(REVOKE_DRAIN)
            await self.commit()
            flow.revoked({Partition(*tp) for tp in revoked})

        async def on_assigned(sender: Any, assigned: Iterable[Any], **_: Any) -> None:
            flow.keep_only({Partition(*tp) for tp in assigned})

        app.agent(topic, name="intake", concurrency=1)(intake)
        app.on_partitions_revoked.connect(on_revoked, weak=False)
        app.on_partitions_assigned.connect(on_assigned, weak=False)
        self._begun = True
        try:
            await app.start()
        except Exception:
            with suppress(Exception):
                await app.stop()
            self._app = build_app(self._settings, self._ledger)  # a service starts only once
            raise

    async def stop(self) -> None:
        """Leave the group; nothing is read or committed afterwards."""
        if self._begun:
            await self._app.stop()

    @property
    def thread_is_left(self) -> bool:
        """Whether the consumer's thread outlived its stop: so it does where that met a rebalance."""
        return thread_is_left()

    @property
    def crash_reason(self) -> BaseException | None:
        """Why Faust gave up, if it did."""
        if not self._app.crashed:
            return None
        return self._app.crash_reason or RuntimeError("the stream engine stopped by itself")

    async def commit(self) -> None:
        """Commit what is finished now, within a few seconds or not at all."""
        try:
            async with asyncio.timeout(COMMIT_TIMEOUT):
                await self._app.consumer.force_commit()
        except TimeoutError:
            log.warning("the broker did not answer a commit; finished records may come again")

    async def publish(self, record: Outgoing) -> None:
        """Return once all in-sync replicas have the record."""
        await self._app.producer.publish(record)

    def misses_its_topic(self) -> bool:
        """Whether the input topic is gone, as far as is known."""
        consumer = self._app.consumer._thread._ensure_consumer()
        return not consumer.partitions_for_topic(self._settings.topic_generated)

    async def lags(self) -> dict[Partition, int]:
        """Records from the watermark to the end, for each partition of this worker."""
        thread = self._app.consumer._thread
        consumer = thread._ensure_consumer()
        partitions = list(consumer.assignment())
        if not partitions:
            return {}
        ends = await thread.run(consumer.end_offsets, partitions)
        found = {Partition(*tp): end for tp, end in ends.items()}
        return {partition: max(0, end - self._ledger[partition].progress) for partition, end in found.items()}


def incoming(message: Any) -> Incoming:
    """A Faust message with all that the record had: headers as a list, time in whole milliseconds."""
    timestamp = message.timestamp
    return Incoming(
        partition=Partition(message.topic, message.partition),
        offset=message.offset,
        generation=message.generation_id,
        key=message.key,
        value=message.value,
        headers=list(message.headers or ()),
        timestamp_ms=round(timestamp * 1000) if timestamp is not None and timestamp >= 0 else None,
        received_at=datetime.now(UTC),
    )
