"""The watch: what ready means, and when a worker that does not move gives itself up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession

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

    async def lags(self) -> dict[Partition, int]:
        return {Partition("in", 0): self.lag}


async def _nothing(record: Incoming) -> None:
    """Never called."""


def watch_of(engine: FakeEngine, gate: AlwaysClosed) -> tuple[Watch, Flow, list[BaseException]]:
    failures: list[BaseException] = []
    flow = Flow(Ledger(), _nothing, limit=1, gate=gate, on_death=failures.append)
    telemetry: Any = WorkerTelemetry(1)
    watch = Watch(Settings(), "stub", engine, flow, gate, telemetry, failures.append)  # type: ignore[arg-type]
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


async def test_readiness_says_what_is_missing(impatient: None) -> None:
    gate = AlwaysClosed()
    watch, flow, _ = watch_of(FakeEngine(), gate)
    assert watch.checks()["broker"] == Check(False, "starting")
    watch.waiting_for = None
    assert not watch.checks()["broker"].ok
    await _watch_for(watch, 0.05)
    assert watch.checks()["broker"].ok
    assert not watch.checks()["partitions"].ok
    flow.keep_only(set())
    assert watch.checks()["partitions"] == Check(True, "none: a spare worker")
    flow.keep_only({Partition("in", 3), Partition("in", 1)})
    assert watch.checks()["partitions"] == Check(True, "2 assigned: [1, 3]")
    gate.open_reason, gate.message = OutageReason.QUOTA, "add credit"
    assert watch.checks()["breaker"] == Check(False, "quota: add credit")


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
