"""All topics: which there are, how they are made, and what is wrong with those that exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from worker.settings import MAX_RECORD_BYTES, Settings

DEFAULT_PARTITIONS = 6
#: The broker's own default.
DEFAULT_REPLICATION = -1

#: A record of the largest size has a key, headers and a batch around it.
INPUT_MESSAGE_BYTES = MAX_RECORD_BYTES + 64 * 1024
#: Whatever fitted into the input fits into an output with our headers on top.
OUTPUT_MESSAGE_BYTES = MAX_RECORD_BYTES + 192 * 1024

_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class TopicPlan:
    """A topic as it should be."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


@dataclass(frozen=True)
class TopicReport:
    """What was found or done about one topic."""

    name: str
    created: bool
    partitions: int
    #: What differs and has to be put right by hand; one line each.
    problems: tuple[str, ...] = ()


def plan(
    settings: Settings, partitions: int = DEFAULT_PARTITIONS, replication_factor: int = DEFAULT_REPLICATION
) -> list[TopicPlan]:
    """Every topic of the contract."""

    def topic(name: str, days: int | None, *, bytes_: int = OUTPUT_MESSAGE_BYTES) -> TopicPlan:
        config = {"max.message.bytes": str(bytes_), "cleanup.policy": "delete"}
        config["retention.ms"] = str(days * _DAY_MS) if days else "-1"
        return TopicPlan(name, partitions, replication_factor, config)

    state = {"max.message.bytes": str(OUTPUT_MESSAGE_BYTES), "cleanup.policy": "compact"}
    return [
        topic(settings.topic_generated, 7, bytes_=INPUT_MESSAGE_BYTES),
        topic(settings.topic_scored, 30),
        topic(settings.topic_metric_scores, 30),
        topic(settings.topic_rejected, 30),
        topic(settings.topic_drift, 90),
        topic(settings.topic_control, 90),
        TopicPlan(settings.topic_state, partitions, replication_factor, state),
        # Somebody's work: labels don't expire by themselves.
        topic(settings.topic_labels, None),
    ]


def create_or_check(admin: KafkaAdminClient, wanted: Iterable[TopicPlan]) -> list[TopicReport]:
    """Create what is missing, compare what exists; nothing that exists is changed."""
    plans = list(wanted)
    existing = set(admin.list_topics())
    reports = []
    for topic in plans:
        if topic.name not in existing and _create(admin, topic):
            reports.append(TopicReport(topic.name, True, topic.partitions))
        else:
            reports.append(_compare(admin, topic))
    return reports


def check(admin: KafkaAdminClient, wanted: Iterable[TopicPlan]) -> list[TopicReport]:
    """Compare what exists and name what is missing; nothing is created or changed."""
    plans = list(wanted)
    gone = set(missing(admin, (topic.name for topic in plans)))
    advice = "does not exist; run: quintet topics create"
    return [
        TopicReport(topic.name, False, 0, (advice,)) if topic.name in gone else _compare(admin, topic)
        for topic in plans
    ]


def missing(admin: KafkaAdminClient, names: Iterable[str]) -> list[str]:
    """The topics that do not exist."""
    existing = set(admin.list_topics())
    return [name for name in names if name not in existing]


def _create(admin: KafkaAdminClient, topic: TopicPlan) -> bool:
    options = {
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "configs": dict(topic.config),
    }
    try:
        admin.create_topics({topic.name: options}, wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return False  # somebody else was quicker
    return True


def _compare(admin: KafkaAdminClient, topic: TopicPlan) -> TopicReport:
    described = admin.describe_topics([topic.name])[0]
    if described.get("error_code"):
        raise UnknownTopicOrPartitionError(topic.name)
    partitions = described["partitions"]
    problems = [
        *_too_few(topic, len(partitions), min(len(part["replica_nodes"]) for part in partitions)),
        *_misconfigured(topic, _config(admin, topic)),
    ]
    return TopicReport(topic.name, False, len(partitions), tuple(problems))


def _too_few(topic: TopicPlan, partitions: int, replicas: int) -> Iterable[str]:
    if partitions < topic.partitions:
        yield (
            f"has {partitions} partitions, {topic.partitions} wanted; add them with kafka-topics.sh --alter"
            f" --topic {topic.name} --partitions {topic.partitions} (keys will move)"
        )
    if replicas < topic.replication_factor:
        yield (
            f"has {replicas} replicas, {topic.replication_factor} wanted;"
            " raise them with kafka-reassign-partitions.sh"
        )


def _misconfigured(topic: TopicPlan, config: Mapping[str, str]) -> Iterable[str]:
    """Only what breaks us: how long records are kept is the operator's own choice."""
    alter = f"set it with kafka-configs.sh --alter --topic {topic.name} --add-config"
    wanted = topic.config["max.message.bytes"]
    if int(config["max.message.bytes"]) < int(wanted):
        yield (
            f"max.message.bytes is {config['max.message.bytes']}, {wanted} wanted;"
            f" {alter} max.message.bytes={wanted}"
        )
    policy = topic.config["cleanup.policy"]
    if policy not in config["cleanup.policy"].split(","):
        yield f"cleanup.policy is {config['cleanup.policy']}; {alter} cleanup.policy={policy}"


def _config(admin: KafkaAdminClient, topic: TopicPlan) -> dict[str, str]:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
    found = admin.describe_configs([resource], config_filter="all")
    values = next(iter(found.values()))[topic.name]
    return {name: str(entry["value"]) for name, entry in values.items()}
