"""What time it is for the brokers and in the records; nothing is written to find out."""

from __future__ import annotations

import time
from collections.abc import Iterable

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError
from kafka.protocol.consumer.offsets import OffsetSpec


def controller_offset(admin: KafkaAdminClient) -> float | None:
    """Seconds that the cluster's clock is ahead of ours; None where it can't be asked.

    A KRaft leader that describes its quorum gives its own present time as the time of its own last fetch.
    Older clusters do not, and it takes the right to describe the cluster.
    """
    before = time.time()
    try:
        described = admin.describe_metadata_quorum()
    except KafkaError:
        return None
    ours = (before + time.time()) / 2
    for topic in described["topics"]:
        for partition in topic["partitions"]:
            for voter in partition["current_voters"]:
                stamp = voter.get("last_fetch_timestamp") or -1
                if voter["replica_id"] == partition["leader_id"] and stamp > 0:
                    return float(stamp) / 1000 - ours
    return None


def newest_offset(admin: KafkaAdminClient, topic: str, partitions: Iterable[int]) -> float | None:
    """Seconds that the latest timestamp in a topic is ahead of our clock, usually below zero; None if unknown."""
    asked = {TopicPartition(topic, number): OffsetSpec.MAX_TIMESTAMP for number in partitions}
    try:
        found = admin.list_partition_offsets(asked)
    except KafkaError:
        return None
    stamps = [entry.timestamp for entry in found.values() if entry.timestamp > 0]
    return max(stamps) / 1000 - time.time() if stamps else None
