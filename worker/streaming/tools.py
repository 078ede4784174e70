"""Synchronous Kafka for commands run by hand: a producer, and readers of whole topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from worker.errors import UserError
from worker.settings import Settings
from worker.streaming.connection import admin, client_options, knock, out_of_reach
from worker.streaming.topics import INPUT_MESSAGE_BYTES, missing

#: Seconds to find a broker before giving up.
CONNECT_TIMEOUT = 10.0
_POLL_MS = 500


@contextmanager
def producer(settings: Settings) -> Iterator[KafkaProducer]:
    """A producer that waits for all in-sync replicas; everything sent is delivered before it closes."""
    require_topic(settings, settings.topic_generated)
    client = _connected(
        settings,
        lambda **options: KafkaProducer(
            **options, max_request_size=INPUT_MESSAGE_BYTES, linger_ms=5, max_block_ms=10_000
        ),
    )
    try:
        yield client
    finally:
        client.close(timeout=10)


def require_topic(settings: Settings, topic: str) -> None:
    """Say at once that a topic is missing: a producer would look for it for ten seconds with every record."""
    with admin(settings) as client:
        if missing(client, [topic]):
            raise no_topic(topic)


def no_topic(topic: str) -> UserError:
    """One line for a topic that is not there."""
    return UserError(f"there is no topic {topic}; run: quintet topics create")


@contextmanager
def reader(settings: Settings, topic: str, group: str | None = None) -> Iterator[TopicReader]:
    """A reader of all partitions of a topic, outside of any group's rebalancing."""
    client = _connected(
        settings,
        lambda **options: KafkaConsumer(
            **options,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ),
    )
    try:
        yield TopicReader(client, topic)
    finally:
        client.close(autocommit=False)


def _connected(settings: Settings, make: Callable[..., Any]) -> Any:
    try:
        knock(settings)
        return make(**client_options(settings), bootstrap_timeout_ms=int(CONNECT_TIMEOUT * 1000))
    except (KafkaError, OSError) as error:
        raise out_of_reach(settings, error) from None


class TopicReader:
    """Reads a topic's records, up to its present end or for ever."""

    def __init__(self, client: KafkaConsumer, topic: str) -> None:
        self._client = client
        numbers = client.partitions_for_topic(topic)
        if not numbers:
            raise no_topic(topic)
        self.partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        client.assign(self.partitions)

    @property
    def client(self) -> KafkaConsumer:
        """The consumer itself, to commit with."""
        return self._client

    def from_beginning(self) -> None:
        """Start with the oldest records."""
        self._client.seek_to_beginning(*self.partitions)

    def from_end(self) -> None:
        """Start with what comes next."""
        self._client.seek_to_end(*self.partitions)
        for partition in self.partitions:
            self._client.position(partition)  # now, and not at the first poll

    def until_now(self) -> Iterator[Any]:
        """Records up to the end as it is at this moment; what is written meanwhile is not read."""
        ends = self._client.end_offsets(self.partitions)
        while any(self._client.position(partition) < ends[partition] for partition in self.partitions):
            for record in self._poll():
                if record.offset < ends[TopicPartition(record.topic, record.partition)]:
                    yield record

    def for_ever(self) -> Iterator[Any]:
        """Records as they come."""
        while True:
            yield from self._poll()

    def _poll(self) -> list[Any]:
        polled = self._client.poll(timeout_ms=_POLL_MS)
        return [record for records in polled.values() for record in records]
