"""The worker's two Kafka clients with every option, and the few things aiokafka does not give openly."""

from __future__ import annotations

from collections.abc import Collection

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.structs import OffsetAndMetadata

from worker.settings import Settings
from worker.streaming.connection import client_options
from worker.streaming.ledger import Partition
from worker.streaming.topics import OUTPUT_MESSAGE_BYTES

#: Seconds without a heartbeat after which the group gives a worker up; a spare takes over soon after.
SESSION_TIMEOUT, HEARTBEAT_INTERVAL = 8, 1
#: Seconds that members have to rejoin in a rebalance: more than a drain takes.
REBALANCE_TIMEOUT = 60
REQUEST_TIMEOUT = 60
#: Seconds after which a publish that was never sent is reported as failed, and tried again by us.
PRODUCE_TIMEOUT = 30
#: Records are slow here and their pull is bounded by our own limits, so nobody is expelled for not polling.
NEVER_MS = 365 * 24 * 3600 * 1000

#: Seconds after which topics are looked at anew: new partitions, or a topic that was made again, are then noticed.
METADATA_AGE = 10

NOTHING_COMMITTED = OffsetAndMetadata(-1, "")


def consumer(settings: Settings, group: str | None = None) -> AIOKafkaConsumer:
    """Reads only committed transactions, from the earliest record on, and commits nothing by itself."""
    return AIOKafkaConsumer(
        **client_options(settings),
        group_id=group or settings.group,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=[StickyPartitionAssignor],
        metadata_max_age_ms=METADATA_AGE * 1000,
        max_poll_records=500,
        max_poll_interval_ms=NEVER_MS,
        session_timeout_ms=SESSION_TIMEOUT * 1000,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL * 1000,
        rebalance_timeout_ms=REBALANCE_TIMEOUT * 1000,
        request_timeout_ms=REQUEST_TIMEOUT * 1000,
    )


def reader(settings: Settings) -> AIOKafkaConsumer:
    """Reads whatever it is told to, outside of any group."""
    return AIOKafkaConsumer(
        **client_options(settings),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        request_timeout_ms=REQUEST_TIMEOUT * 1000,
    )


def producer(settings: Settings, transactional_id: str | None = None) -> AIOKafkaProducer:
    """Idempotent, and content only when all in-sync replicas have a record."""
    return AIOKafkaProducer(
        **client_options(settings),
        transactional_id=transactional_id,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        max_batch_size=128 * 1024,
        max_request_size=OUTPUT_MESSAGE_BYTES,
        request_timeout_ms=PRODUCE_TIMEOUT * 1000,
    )


def generation(consumer: AIOKafkaConsumer) -> int:
    """The group's generation that the consumer belongs to."""
    return int(consumer._coordinator.generation)


def positions(consumer: AIOKafkaConsumer) -> dict[Partition, int]:
    """Up to where each assigned partition was given out: past control records, which are never given out."""
    subscription = consumer._subscription.subscription
    assignment = subscription.assignment if subscription else None
    if assignment is None or not assignment.active:
        return {}
    states = {Partition(*tp): assignment.state_value(tp) for tp in assignment.tps}
    return {partition: state.position for partition, state in states.items() if state.has_valid_position}


async def seek_to_committed(consumer: AIOKafkaConsumer) -> dict[Partition, OffsetAndMetadata]:
    """Go to what is committed, or to the very beginning; return it with its metadata."""
    partitions = list(consumer.assignment())
    found = await consumer._coordinator.fetch_committed_offsets(partitions)
    committed = {Partition(*tp): found.get(tp, NOTHING_COMMITTED) for tp in partitions}
    for partition in partitions:
        offset = committed[Partition(*partition)].offset
        if offset >= 0:
            consumer.seek(partition, offset)
        else:
            await consumer.seek_to_beginning(partition)
    return committed


async def existing_topics(settings: Settings) -> set[str]:
    """The names of all topics; a KafkaError where no broker answers."""
    client = AIOKafkaAdminClient(**client_options(settings), request_timeout_ms=5000)
    try:
        await client.start()
        return set(await client.list_topics())
    finally:
        await client.close()


async def partition_counts(settings: Settings, topics: Collection[str]) -> dict[str, int]:
    """How many partitions each topic has; 0 where it does not exist."""
    client = AIOKafkaAdminClient(**client_options(settings), request_timeout_ms=5000)
    try:
        await client.start()
        described = await client.describe_topics(list(topics))
        return {topic["topic"]: len(topic["partitions"]) for topic in described}
    finally:
        await client.close()
