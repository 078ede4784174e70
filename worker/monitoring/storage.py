"""Where one partition's state is kept, with one writer at a time.

Each input partition has a transactional id of its own. Whoever opens it last fences all earlier writers
off, and only then reads what they left; so a monitor that was given up for dead can no longer write, and
what is read is the last that was written. State, events and commands go out in one transaction, with the
position they include: after any crash the state says exactly where to read on.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from worker.monitoring.partition import Checkpoint
from worker.monitoring.states import StoredState, stored_state
from worker.settings import Settings
from worker.streaming import clients
from worker.streaming.records import Envelopes, Outgoing

#: Seconds that opening, or one transaction, may take; a broker that is away for longer means: load anew.
TIMEOUT = 30.0
_POLL_MS = 200


class PartitionStore:
    """The state of one input partition, in Kafka."""

    def __init__(self, settings: Settings, number: int) -> None:
        self._settings = settings
        self._number = number
        self._envelopes = Envelopes(settings)
        name = f"{settings.group}-monitor-{settings.topic_state}-{number}"
        self._producer = clients.producer(settings, transactional_id=name)

    async def open(self) -> StoredState:
        """Fence earlier writers off, and read what they left."""
        async with asyncio.timeout(TIMEOUT):
            await self._producer.start()
        reader = clients.reader(self._settings)
        try:
            await reader.start()
            return stored_state(self._number, await self._read_all(reader))
        finally:
            await reader.stop()

    async def write(self, checkpoint: Checkpoint) -> None:
        """All of it, or nothing; after an error nobody knows which: open a new store and look."""
        async with asyncio.timeout(TIMEOUT), self._producer.transaction():
            for key, value in checkpoint.state:
                await self._producer.send(self._settings.topic_state, value, key=key, partition=self._number)
            for event in checkpoint.events:
                await self._send(self._envelopes.drift(event))
            for command in checkpoint.commands:
                value = command.model_dump_json().encode()
                await self._producer.send(self._settings.topic_control, value, key=command.key)

    async def close(self) -> None:
        """Leave it to whoever opens it next."""
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(TIMEOUT):
                await self._producer.stop()

    async def _send(self, record: Outgoing) -> None:
        await self._producer.send(record.topic, record.value, key=record.key, headers=list(record.headers))

    async def _read_all(self, reader: AIOKafkaConsumer) -> dict[bytes, bytes]:
        """The latest value of every key; one without a value is gone."""
        partition = TopicPartition(self._settings.topic_state, self._number)
        reader.assign([partition])
        await reader.seek_to_beginning(partition)
        end = (await reader.end_offsets([partition]))[partition]
        latest: dict[bytes, bytes] = {}
        while await reader.position(partition) < end:
            for records in (await reader.getmany(timeout_ms=_POLL_MS)).values():
                for record in records:
                    if record.value is None:
                        latest.pop(record.key, None)
                    elif record.key is not None:
                        latest[record.key] = record.value
        return latest
