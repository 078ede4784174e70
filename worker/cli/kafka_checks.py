"""What `quintet doctor` asks the brokers; nothing is created, changed or written."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from worker.cli.findings import CLOCK_TOLERANCE, WAIT_SECONDS, Finding, Health, broken, clock, good
from worker.errors import UserError
from worker.settings import Settings

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

    from worker.streaming.topics import TopicReport


def kafka_findings(settings: Settings, partitions: int) -> Iterator[Finding]:
    """The addresses first: who does not speak Kafka has no topics to look at."""
    from worker.streaming.connection import admin
    from worker.streaming.greeting import Listener, greet

    try:
        greeted = [greet(settings, broker) for broker in settings.brokers]
    except UserError as error:  # certificates that can't be read
        yield broken("broker", error)
        return
    answers = any(one.listener is Listener.KAFKA for one in greeted)
    for one in greeted:
        if one.listener is not Listener.KAFKA:
            health = Health.DOUBTFUL if answers else Health.BROKEN
            yield Finding(health, "broker", one.message, one.listener.next_step)
    if not answers:
        yield Finding(Health.DOUBTFUL, "topics", "not looked at", "see broker")
        return
    try:
        with admin(settings, timeout=WAIT_SECONDS) as client:
            yield from _cluster(settings, client)
            reports = _reports(settings, client, partitions)
            yield from _topics(settings, reports)
            yield from _clocks(settings, client, reports[0])
    except UserError as error:
        yield _refused(settings, error)


def _refused(settings: Settings, error: UserError) -> Finding:
    """It is Kafka, and yet no client gets through."""
    message = f"Kafka is there, but lets this client no further: {str(error).split('; ')[0]}"
    if settings.security_protocol.startswith("SASL"):
        return broken("broker", message, "check QUINTET_SASL_MECHANISM, _USERNAME and _PASSWORD")
    advice = "if it wants a login, set QUINTET_SECURITY_PROTOCOL; otherwise check its advertised.listeners"
    return broken("broker", message, advice)


def _cluster(settings: Settings, client: KafkaAdminClient) -> Iterator[Finding]:
    """Clients are sent on to the addresses that the brokers give themselves: those have to be reachable, too."""
    brokers = client.describe_cluster()["brokers"]
    lost = [address for address in map(_address, brokers) if not _reachable(*address)]
    for host, port in lost:
        yield Finding(
            Health.BROKEN,
            "broker",
            f"a broker sends its clients to {host}:{port}, which can't be reached from here",
            "set its advertised.listeners to an address that this machine reaches",
        )
    if not lost:
        yield good("broker", f"{','.join(settings.brokers)}, {len(brokers)} in the cluster")


def _address(broker: dict[str, object]) -> tuple[str, int]:
    return str(broker["host"]), int(str(broker["port"]))


def _reachable(host: str, port: int) -> bool:
    from worker.streaming.connection import KNOCK_SECONDS

    try:
        socket.create_connection((host, port), timeout=KNOCK_SECONDS).close()
    except OSError:
        return False
    return True


def _reports(settings: Settings, client: KafkaAdminClient, partitions: int) -> list[TopicReport]:
    from worker.streaming.topics import check, plan

    return check(client, plan(settings, partitions))


def _topics(settings: Settings, reports: Sequence[TopicReport]) -> Iterator[Finding]:
    missing = [report.name for report in reports if not report.partitions]
    if missing:
        yield broken("topics", f"missing: {', '.join(missing)}", "run: quintet topics create")
    found = [report for report in reports if report.partitions]
    problems = [f"{report.name} {problem}" for report in found for problem in report.problems]
    problems += _unequal(settings, {report.name: report.partitions for report in found})
    yield from (broken("topics", problem) for problem in problems)
    if not missing and not problems:
        yield good("topics", f"all {len(reports)} are there")


def _unequal(settings: Settings, partitions: dict[str, int]) -> Iterator[str]:
    """The monitor keeps what it knows of a partition in the partition of the same number."""
    scores = partitions.get(settings.topic_metric_scores, 0)
    state = partitions.get(settings.topic_state, scores)
    if state < scores:
        yield (
            f"{settings.topic_state} has {state} partitions and {settings.topic_metric_scores} {scores}, so the"
            f" monitor has no place for the state of the others; add them with kafka-topics.sh --alter"
            f" --topic {settings.topic_state} --partitions {scores}"
        )


def _clocks(settings: Settings, client: KafkaAdminClient, generated: TopicReport) -> Iterator[Finding]:
    from worker.streaming.clocks import controller_offset, newest_offset

    offset = controller_offset(client)
    if offset is not None:
        yield clock("the brokers'", offset)
    newest = newest_offset(client, generated.name, range(generated.partitions))
    if newest is not None and newest > CLOCK_TOLERANCE:
        yield Finding(
            Health.BROKEN,
            "clock",
            f"{generated.name} has a record from the future, {newest:.0f} s ahead of this machine's clock",
            "set the clock of whoever publishes there by NTP"
            if offset is not None and abs(offset) <= CLOCK_TOLERANCE
            else "set the clocks of this machine and of whoever publishes there by NTP",
        )
