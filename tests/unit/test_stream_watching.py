"""The watch: what ready means, and when a worker that does not move gives itself up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession
from aiokafka.errors import KafkaConnectionError

from worker.errors import OutageReason, UserError
from worker.settings import Settings
from worker.streaming import watching
from worker.streaming.flow import AlwaysClosed, Flow
from worker.streaming.ledger import Ledger, Partition
from worker.streaming.records import Incoming
from worker.streaming.watching import Stuck, Watch
from worker.streaming.web import Check, Web
from worker.telemetry import WorkerTelemetry


class FakeEngine:
    crash_reason: BaseException | None = None

    def __init__(self) -> None:
        self.lag = 5
        self.away = False
        self.topic_gone = False

    def misses_its_topic(self) -> bool:
        return self.topic_gone

    async def lags(self) -> dict[Partition, int]:
        if self.away:
            raise KafkaConnectionError
        return {Partition("in", 0): self.lag}


async def _nothing(record: Incoming) -> None:
    """Never called."""


def watch_of(
    engine: FakeEngine, gate: AlwaysClosed, settings: Settings | None = None
) -> tuple[Watch, Flow, list[BaseException]]:
    failures: list[BaseException] = []
    flow = Flow(Ledger(), _nothing, limit=1, gate=gate, on_death=failures.append)
    telemetry: Any = WorkerTelemetry(1)
    watch = Watch(settings or Settings(), "stub", engine, flow, gate, telemetry, failures.append)  # type: ignore[arg-type]
    return watch, flow, failures


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "INTERVAL", 0.01)
    monkeypatch.setattr(watching, "STUCK_IDLE", 0.05)


async def _watch_for(watch: Watch, seconds: float) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watch.run(), seconds)


async def test_lag_without_progress_ends_the_worker(impatient: None) -> None:
    watch, _, failures = watch_of(FakeEngine(), AlwaysClosed())
    await _watch_for(watch, 0.2)
    assert isinstance(failures[0], Stuck)
    assert "5 records to read" in str(failures[0])


async def test_an_outage_or_an_empty_topic_is_no_standstill(impatient: None) -> None:
    gate = AlwaysClosed()
    gate.open_reason = OutageReason.NETWORK
    watch, _, failures = watch_of(FakeEngine(), gate)
    await _watch_for(watch, 0.2)
    idle = FakeEngine()
    idle.lag = 0
    watch, _, more = watch_of(idle, AlwaysClosed())
    await _watch_for(watch, 0.2)
    assert not failures + more


async def test_a_crash_of_the_engine_is_noticed(impatient: None) -> None:
    engine = FakeEngine()
    engine.lag, engine.crash_reason = 0, RuntimeError("thread gone")
    watch, _, failures = watch_of(engine, AlwaysClosed())
    await _watch_for(watch, 0.1)
    assert str(failures[0]) == "thread gone"


async def test_records_that_move_are_no_standstill(impatient: None) -> None:
    watch, flow, failures = watch_of(FakeEngine(), AlwaysClosed())
    looking = asyncio.create_task(_watch_for(watch, 0.3))
    while not looking.done():
        flow.finished += 1
        await asyncio.sleep(0.02)
    assert not failures


async def test_a_slow_record_gets_its_deadline_before_it_is_a_standstill(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given: a record under way that may take 0.3 s in all
    monkeypatch.setattr(watching, "STUCK_MARGIN", 0.1)
    settings = Settings(deadline=0.1, judge_timeout=0.1)
    watch, _, failures = watch_of(FakeEngine(), AlwaysClosed(), settings)
    monkeypatch.setattr(Flow, "in_flight", 1)

    # Then
    await _watch_for(watch, 0.2)
    assert not failures
    await _watch_for(watch, 0.3)
    assert isinstance(failures[0], Stuck)


async def test_a_broker_that_is_away_is_no_standstill_but_the_worker_is_not_ready(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given: a worker that has heard from its broker
    monkeypatch.setattr(watching, "AWAY_AFTER", 0.1)
    engine = FakeEngine()
    watch, _, failures = watch_of(engine, AlwaysClosed())
    watch.waiting_for = None
    await _watch_for(watch, 0.04)
    assert watch.checks()["broker"].ok

    # When
    engine.away = True
    await _watch_for(watch, 0.3)

    # Then
    assert watch.checks()["broker"] == Check(False, "answered 0 s ago")
    assert not failures


async def test_ready_needs_a_broker_that_answers(impatient: None) -> None:
    watch, _, _ = watch_of(FakeEngine(), AlwaysClosed())
    assert watch.checks()["broker"] == Check(False, "starting")
    watch.waiting_for = "there is no topic in; run: quintet topics create"
    assert watch.checks()["broker"] == Check(False, "there is no topic in; run: quintet topics create")
    watch.waiting_for = None
    assert watch.checks()["broker"] == Check(False, "has not answered yet")
    await _watch_for(watch, 0.04)
    assert watch.checks()["broker"] == Check(True, "answered 0 s ago")


def test_ready_needs_an_assignment_even_an_empty_one() -> None:
    engine = FakeEngine()
    watch, flow, _ = watch_of(engine, AlwaysClosed())
    assert watch.checks()["partitions"] == Check(False, "not assigned yet, or being moved")
    flow.keep_only(set())
    assert watch.checks()["partitions"] == Check(True, "none: a spare worker")
    engine.topic_gone = True
    assert not watch.checks()["partitions"].ok
    assert "run: quintet topics create" in watch.checks()["partitions"].detail
    flow.keep_only({Partition("in", 3), Partition("in", 1)})
    assert watch.checks()["partitions"] == Check(True, "2 assigned: [1, 3]")
    flow.revoked({Partition("in", 1)})
    assert not watch.checks()["partitions"].ok


@pytest.mark.parametrize("reason", OutageReason)
def test_ready_needs_a_judge_that_can_be_reached(reason: OutageReason) -> None:
    gate = AlwaysClosed()
    watch, _, _ = watch_of(FakeEngine(), gate)
    assert watch.checks()["breaker"] == Check(True, "closed")
    assert watch.checks()["judge"] == Check(True, "stub")
    gate.open_reason, gate.message = reason, "what to do"
    assert watch.checks()["breaker"] == Check(False, f"{reason}: what to do")
    away = {"network", "timeout", "rate_limited", "server_error", "budget"}
    unfit = Check(False, "stub: what to do")
    assert watch.checks()["judge"] == (Check(True, "stub") if reason in away else unfit)


async def test_the_web_server_answers_and_a_taken_port_is_one_line() -> None:
    ready = {"broker": Check(True, "there")}
    server = Web("127.0.0.1", 0, render=lambda: b"metrics", checks=lambda: ready)
    await server.start()
    try:
        assert server.port
        async with ClientSession(f"http://127.0.0.1:{server.port}") as client:
            assert await (await client.get("/metrics")).read() == b"metrics"
            assert (await client.get("/healthz")).status == 200
            assert (await client.get("/readyz")).status == 200
            ready["broker"] = Check(False, "away")
            answer = await client.get("/readyz")
            assert answer.status == 503
            body = {"ready": False, "checks": {"broker": {"ok": False, "detail": "away"}}}
            assert await answer.json() == body
            ready |= {"broker": Check(True, "there"), "breaker": Check(False, "quota")}
            assert (await client.get("/readyz")).status == 503
            assert (await client.get("/readyz?exclude=breaker")).status == 200
            ready["broker"] = Check(False, "away")
            assert (await client.get("/readyz?exclude=breaker")).status == 503
        with pytest.raises(UserError, match="QUINTET_WEB_PORT"):
            await Web("127.0.0.1", server.port, render=lambda: b"", checks=dict).start()
    finally:
        await server.stop()
