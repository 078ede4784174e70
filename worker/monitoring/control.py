"""Reads the control topic, from its beginning and for ever, for all partitions of this monitor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.drift.verdict import JudgeShift
from worker.events import Metric
from worker.monitoring.commands import Command, ReferencesJudged, read_command
from worker.settings import Settings
from worker.streaming import clients


@dataclass(frozen=True, slots=True)
class Sent:
    """A command, where it stands in the topic, and when it was sent."""

    partition: int
    offset: int
    at: datetime
    command: Command


class ControlReader:
    """Keeps the commands that were read: a partition taken over later may not have taken them yet."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader: AIOKafkaConsumer = clients.reader(settings)
        self.commands: list[Sent] = []
        #: The judge's latest shift by metric.
        self.shifts: dict[Metric, JudgeShift] = {}

    async def start(self) -> None:
        """Join no group: every monitor reads everything, which is little."""
        topic = self._settings.topic_control
        counts = await clients.partition_counts(self._settings, (topic,))
        await self._reader.start()
        self._reader.assign([TopicPartition(topic, number) for number in range(counts[topic])])
        await self._reader.seek_to_beginning()

    async def stop(self) -> None:
        """Read no more."""
        await self._reader.stop()

    async def read(self) -> list[Sent]:
        """What has come since the last call, without waiting."""
        polled = await self._reader.getmany(timeout_ms=0)
        new = [
            Sent(record.partition, record.offset, _sent_at(record.timestamp), command)
            for records in polled.values()
            for record in records
            if (command := read_command(record.value)) is not None
        ]
        for sent in new:
            if isinstance(sent.command, ReferencesJudged):
                self.shifts |= sent.command.shifts
        self.commands += new
        return new

    async def ends(self) -> dict[int, int]:
        """Where the topic ends now, by partition: a partition without a state begins there."""
        ends = await self._reader.end_offsets(list(self._reader.assignment()))
        return {partition.partition: end for partition, end in ends.items()}


def _sent_at(milliseconds: int) -> datetime:
    """A time stamp is whatever the sender made it; nothing was sent later than now."""
    return datetime.fromtimestamp(min(max(milliseconds, 0) / 1000, time.time()), UTC)
