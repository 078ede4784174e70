"""The console's web server: what it serves, what it refuses, and how pages are kept up to date."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.unit.test_console_board import drift, scored, take, take_event
from worker.console import server as serving
from worker.console.board import Board
from worker.console.server import Server
from worker.errors import UserError
from worker.settings import Settings


@pytest.fixture
def board() -> Board:
    return Board(Settings())


@pytest_asyncio.fixture
async def server(board: Board) -> AsyncIterator[Server]:
    running = Server(board, "127.0.0.1", 0)
    await running.start()
    yield running
    await running.stop()


@pytest_asyncio.fixture
async def client(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session:
        yield session


async def next_event(stream: aiohttp.StreamReader) -> tuple[str, dict[str, Any]]:
    event = (await stream.readuntil(b"\n\n")).decode()
    name, data = event.strip().split("\n", 1)
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def test_the_page_brings_nothing_from_elsewhere(client: aiohttp.ClientSession) -> None:
    async with client.get("/") as answer:
        text = await answer.text()
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "http" not in text.replace("http-equiv", "")
    assert "<style" not in text
    assert "style=" not in text


@pytest.mark.parametrize("path", ["/page/app.js", "/page/style.css", "/page/mark.svg"])
async def test_its_parts_are_there(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/page/none.js", 404),
        ("/page/..%2fserver.py", 404),
        ("/page/%2e%2e%2fboard.py", 404),
        ("/api/summary?seq=1", 404),
        ("/api/summary?seq=%C2%B2", 404),
        ("/api/summary", 404),
        ("/api/stream", 400),
        ("/api/stream?kind=product_opinion&metric=clarity&segment=none", 404),
    ],
)
async def test_what_is_not_there_is_said_with_the_same_headers(
    client: aiohttp.ClientSession, path: str, status: int
) -> None:
    async with client.get(path) as answer:
        assert answer.status == status
        assert "Content-Security-Policy" in answer.headers


async def test_it_can_only_be_read(client: aiohttp.ClientSession) -> None:
    async with client.post("/api/snapshot") as answer:
        assert answer.status == 405


async def test_a_name_that_was_made_to_point_here_is_refused(client: aiohttp.ClientSession) -> None:
    async with client.get("/api/snapshot", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 421


async def test_healthz(client: aiohttp.ClientSession) -> None:
    async with client.get("/healthz") as answer:
        assert await answer.json() == {"alive": True}


async def test_a_taken_port_is_one_line(server: Server, board: Board) -> None:
    with pytest.raises(UserError, match=r"QUINTET_CONSOLE_PORT: can't listen on 127\.0\.0\.1"):
        await Server(board, "127.0.0.1", server.port).start()


async def test_summary_and_stream_in_full(client: aiohttp.ClientSession, board: Board) -> None:
    take(board, scored(1))
    async with client.get("/api/summary", params={"id": "s1"}) as answer:
        assert (await answer.json())["scored"]["judge"]["model"] == "m-1"
    async with client.get(
        "/api/stream", params={"kind": "product_opinion", "metric": "clarity", "segment": "all"}
    ) as answer:
        assert (await answer.json())["state"] is None
    async with client.get("/api/summaries") as answer:
        assert [row["id"] for row in (await answer.json())["summaries"]] == ["s1"]


async def test_changes_follow_a_snapshot_and_come_at_most_twice_a_second(
    client: aiohttp.ClientSession, board: Board
) -> None:
    # Given
    take(board, scored(1))
    async with client.get("/api/events") as answer:
        name, snapshot = await next_event(answer.content)
        assert name == "snapshot"
        assert len(snapshot["summaries"]) == 1

        # When many things happen at once
        started = asyncio.get_running_loop().time()
        for number in range(2, 50):
            take(board, scored(number))
        take_event(board, drift())
        name, first = await next_event(answer.content)
        take(board, scored(60))
        _, second = await next_event(answer.content)

        # Then they come together, and the next no sooner than half a second later
        assert name == "changes"
        assert len(first["summaries"]) == 48
        assert first["alarms"]["alarms"][0]["segment"] == "phones"
        assert [row["id"] for row in second["summaries"]] == ["s60"]
        assert "alarms" not in second
        assert asyncio.get_running_loop().time() - started >= serving.EVERY

        # When everything is read anew
        board.clear()
        name, snapshot = await next_event(answer.content)

        # Then the page starts anew as well
        assert name == "snapshot"
        assert snapshot["summaries"] == []


async def test_it_stops_while_pages_follow(board: Board) -> None:
    running = Server(board, "127.0.0.1", 0)
    await running.start()
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{running.port}/api/events") as answer,
    ):
        await next_event(answer.content)
        async with asyncio.timeout(3):
            await running.stop()
