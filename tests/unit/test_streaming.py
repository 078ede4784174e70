"""The stream worker's rooms by themselves: flow, handling and records, without Kafka."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.examples import raw
from tests.stub_worker import StubJudge
from worker.errors import Outage, OutageReason, Rejection, RejectionReason, UserError
from worker.events import SummaryGenerated
from worker.judging.judge import Judgement
from worker.pipeline import Outcome, Pipeline, Rejected, Scored
from worker.settings import Settings
from worker.streaming import handling
from worker.streaming.connection import client_options
from worker.streaming.flow import AlwaysClosed, Flow
from worker.streaming.handling import Handler
from worker.streaming.ledger import MAX_DISTANCE, Ledger, Partition
from worker.streaming.records import (
    OMITTED,
    Envelopes,
    Header,
    Incoming,
    Outgoing,
    PublishFailed,
    TooLargeToPublish,
    ever_smaller,
    replays,
)
from worker.streaming.topics import OUTPUT_MESSAGE_BYTES

PARTITION = Partition("in", 0)
SETTINGS = Settings()


def incoming(
    offset: int = 0, value: bytes | None = None, key: bytes | None = b"k", headers: list[Header] | None = None
) -> Incoming:
    return Incoming(
        PARTITION, offset, 1, key, raw() if value is None else value, headers or [], 1, datetime.now(UTC)
    )


# Flow


class Door:
    """A handler that the test lets go when it wants."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.open = asyncio.Event()

    async def handle(self, record: Incoming) -> None:
        self.started.append(record.offset)
        await self.open.wait()


class Breaker(AlwaysClosed):
    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def wait_closed(self) -> None:
        await self.closed.wait()
        self.open_reason = None


def flow_of(
    handle: Callable[[Incoming], Awaitable[None]], *, limit: int = 2, gate: AlwaysClosed | None = None
) -> tuple[Flow, Ledger, list[BaseException]]:
    ledger, deaths = Ledger(), []  # type: tuple[Ledger, list[BaseException]]
    ledger[PARTITION].assign(1, 0)
    ledger[PARTITION].read(range(10), 10)
    flow = Flow(ledger, handle, limit=limit, gate=gate or AlwaysClosed(), on_death=deaths.append)  # type: ignore[arg-type]
    return flow, ledger, deaths


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_is_under_way() -> None:
    door = Door()
    flow, _, _ = flow_of(door.handle)
    await flow.admit(incoming(0))
    await flow.admit(incoming(1))
    third = asyncio.create_task(flow.admit(incoming(2)))
    await settled()
    assert door.started == [0, 1]
    assert flow.in_flight == 2
    door.open.set()
    await third
    await flow.settle(1)
    assert flow.finished == 3


async def test_nothing_starts_while_the_judge_is_out_of_reach() -> None:
    door, gate = Door(), Breaker()
    gate.open_reason = OutageReason.NETWORK
    flow, _, _ = flow_of(door.handle, gate=gate)
    waiting = asyncio.create_task(flow.admit(incoming(0)))
    await settled()
    assert door.started == []
    gate.closed.set()
    await waiting
    await settled()
    assert door.started == [0]
    await flow.abandon_all()


async def test_a_record_far_above_an_unfinished_one_waits_for_it() -> None:
    door = Door()
    flow, ledger, _ = flow_of(door.handle)
    ledger[PARTITION].read([MAX_DISTANCE], MAX_DISTANCE + 1)
    for offset in range(1, 10):
        ledger[PARTITION].finish(offset)
    await flow.admit(incoming(0))
    far = asyncio.create_task(flow.admit(incoming(MAX_DISTANCE)))
    await settled()
    assert door.started == [0]
    door.open.set()
    await far
    await flow.settle(1)
    assert ledger[PARTITION].watermark == MAX_DISTANCE + 1


async def test_a_record_that_comes_again_is_joined_and_counted() -> None:
    door = Door()
    flow, _, _ = flow_of(door.handle)
    await flow.admit(incoming(0))
    await flow.admit(incoming(0))
    await settled()
    assert door.started == [0]
    assert flow.repeated == 1
    await flow.abandon_all()


async def test_draining_starts_nothing_and_waits_only_so_long() -> None:
    door = Door()
    flow, ledger, _ = flow_of(door.handle)
    await flow.admit(incoming(0))
    await flow.drain(0.05)
    late = asyncio.create_task(flow.admit(incoming(1)))
    await settled()
    assert door.started == [0]
    late.cancel()
    assert await flow.abandon_all() == 1
    assert ledger[PARTITION].watermark == 0


async def test_records_of_a_partition_that_moved_are_given_up() -> None:
    door = Door()
    flow, ledger, deaths = flow_of(door.handle)
    await flow.admit(incoming(0))
    await settled()
    flow.revoked({PARTITION})
    flow.keep_only({Partition("in", 1)})
    await settled()
    assert flow.in_flight == 0
    assert not ledger[PARTITION].knows(0)
    assert flow.assigned == frozenset({Partition("in", 1)})
    assert not deaths


async def test_a_handler_that_dies_is_reported_and_its_record_is_not_done() -> None:
    async def die(record: Incoming) -> None:
        raise RuntimeError("a bug")

    flow, ledger, deaths = flow_of(die)
    await flow.admit(incoming(0))
    await settled()
    assert [str(death) for death in deaths] == ["a bug"]
    assert ledger[PARTITION].watermark == 0


# Handling


class Broker:
    """Takes records, or refuses them as told."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []
        self.refusals: list[Exception] = []
        self.largest = OUTPUT_MESSAGE_BYTES

    async def publish(self, record: Outgoing) -> None:
        if self.refusals:
            raise self.refusals.pop()
        if record.size > self.largest:
            raise TooLargeToPublish("too large")
        self.taken.append(record)


def handler_of(judge: StubJudge, broker: Broker) -> tuple[Handler, list[Outcome]]:
    outcomes: list[Outcome] = []
    pipeline = Pipeline(judge, max_event_bytes=SETTINGS.max_event_bytes)
    handler = Handler(
        pipeline, Envelopes(SETTINGS), broker.publish, lambda record, outcome: outcomes.append(outcome)
    )
    return handler, outcomes


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handling, "RETRY_FIRST", 0.0)


async def test_a_summary_is_published_whole_and_by_metric() -> None:
    broker = Broker()
    handler, outcomes = handler_of(StubJudge(), broker)
    await handler.handle(incoming())
    assert [record.topic for record in broker.taken] == ["summaries.scored", *["summaries.metric-scores"] * 5]
    assert isinstance(outcomes[0], Scored)


async def test_publishing_goes_on_until_the_broker_has_everything(at_once: None) -> None:
    broker = Broker()
    broker.refusals = [PublishFailed("away")] * 9
    handler, outcomes = handler_of(StubJudge(), broker)
    await handler.handle(incoming())
    assert len(broker.taken) == 6
    assert len(outcomes) == 1


async def test_an_outage_that_the_judge_does_not_wait_for_rejects_nothing(at_once: None) -> None:
    class Impatient(StubJudge):
        asked = 0

        async def judge(self, event: SummaryGenerated) -> Judgement:
            self.asked += 1
            if self.asked < 3:
                raise Outage(OutageReason.NETWORK, "nobody there")
            return await super().judge(event)

    handler, outcomes = handler_of(Impatient(), Broker())
    await handler.handle(incoming())
    assert isinstance(outcomes[0], Scored)


async def test_a_result_that_no_topic_takes_becomes_a_rejected_record() -> None:
    broker = Broker()
    broker.largest = 1500
    handler, outcomes = handler_of(StubJudge(), broker)
    await handler.handle(incoming(value=raw(category="c" * 1000)))
    assert isinstance(outcomes[0], Rejected)
    assert outcomes[0].rejection.reason is RejectionReason.TOO_LARGE
    assert broker.taken[-1].topic == "summaries.rejected"
    assert dict(broker.taken[-1].headers)[OMITTED].isdigit()


async def test_a_rejected_record_too_large_for_its_topic_leaves_its_headers() -> None:
    broker = Broker()
    handler, _ = handler_of(StubJudge(), broker)
    await handler.handle(incoming(value=b"x" * (OUTPUT_MESSAGE_BYTES + 1)))
    record = broker.taken[0]
    assert record.value is None
    assert record.key == b"k"
    assert dict(record.headers)[OMITTED] == str(OUTPUT_MESSAGE_BYTES + 1).encode()


# Records


def test_a_rejected_record_has_every_header_of_its_own() -> None:
    own: list[Header] = [("a", b"1"), ("a", b"2"), ("quintet.error.reason", b"old"), ("b", b"")]
    rejection = Rejection(RejectionReason.INVALID_JSON, "line one\nline two " + "x" * 1000, stage="read")
    record = Envelopes(SETTINGS).rejected(incoming(headers=own), rejection)
    assert record.headers[:3] == [("a", b"1"), ("a", b"2"), ("b", b"")]
    errors = dict(record.headers[3:])
    assert errors["quintet.error.message"].startswith(b"line one line two x")
    assert len(errors["quintet.error.message"]) == 500
    assert errors["quintet.error.replays"] == b"0"


def test_what_is_left_of_a_record_gets_ever_smaller() -> None:
    rejection = Rejection(RejectionReason.TOO_LARGE, "no")
    whole = Envelopes(SETTINGS).rejected(incoming(value=b"v" * 1000, headers=[("h", b"w" * 1000)]), rejection)
    sizes = [record.size for record in ever_smaller(whole)]
    assert len(sizes) == 3
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("headers", "count"),
    [
        ([], 0),
        ([("quintet.error.replays", b"2")], 2),
        ([("quintet.error.replays", b"2"), ("quintet.error.replays", b"3")], 3),
        ([("quintet.error.replays", b"many")], 0),
        ([("quintet.error.replays", b"9" * 50)], 0),
    ],
)
def test_replays_are_counted_and_nonsense_is_not(headers: list[Header], count: int) -> None:
    assert replays(headers) == count


# Connection


def test_settings_become_options_of_both_clients() -> None:
    plain = client_options(Settings(brokers=("a:1", "b:2")))
    assert plain == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "quintet",
        "security_protocol": "PLAINTEXT",
    }
    secured = client_options(
        Settings(
            security_protocol="SASL_SSL",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="u",
            sasl_password=SecretStr("p"),
        )
    )
    assert isinstance(secured["ssl_context"], ssl.SSLContext)
    assert secured["sasl_plain_password"] == "p"
    assert secured["sasl_mechanism"] == "SCRAM-SHA-512"


def test_a_missing_certificate_is_one_line(tmp_path: Path) -> None:
    settings = Settings(security_protocol="SSL", ssl_cafile=tmp_path / "none.pem")
    with pytest.raises(UserError, match="QUINTET_SSL_CAFILE"):
        client_options(settings)
