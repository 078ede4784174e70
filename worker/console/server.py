"""Serves the page and its API, read-only.

    GET /                      the page; its parts are under /page/
    GET /healthz               {"alive": true}
    GET /api/snapshot          everything that is shown at first: glance, streams, alarms, rejected, latest summaries
    GET /api/events            the same as server-sent events: `snapshot` on every connection, then at most
                               two `changes` a second, with the parts that changed
    GET /api/summaries         all summaries that are held, as rows
    GET /api/summary?seq=N     one summary: text, evidence, five verdicts (or ?id=SUMMARY_ID: the latest with that id)
    GET /api/stream?kind=K&metric=M&segment=S
                               one stream: series, band, distributions, history

`scores` are in the order of `metrics`; times are milliseconds since 1970; means are rounded to .001.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from ipaddress import ip_address
from typing import Any

from aiohttp import web

from worker.console import wire
from worker.console.board import Board
from worker.errors import UserError
from worker.events import Kind, Metric

log = logging.getLogger(__name__)

#: Seconds between two messages to one page; streams are larger and have their turn less often.
EVERY, STREAMS_EVERY = 0.5, 2.0
#: Seconds without news after which a sign of life is sent.
SILENCE = 15.0
#: Pages that may follow at the same time.
MOST_FOLLOWERS = 100
#: Answers larger than this are compressed, in bytes.
LARGE = 4_096

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: Nothing from elsewhere, nothing inline, and no way from a string to markup or code.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """The web server over a board."""

    def __init__(self, board: Board, host: str, port: int) -> None:
        self._board = board
        self._host, self._wanted_port = host, port
        self._local = _is_loopback(host)
        self._runner: web.AppRunner | None = None
        self._followers: set[asyncio.Task[Any]] = set()
        #: The real port, once started.
        self.port = port

    async def start(self) -> None:
        """Listen; a taken port is the user's one line."""
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._wanted_port).start()
        except OSError as error:
            await self.stop()
            raise UserError(
                f"QUINTET_CONSOLE_PORT: can't listen on {self._host}:{self._wanted_port}"
                f" ({error.strerror or error}); choose another, or 0 for any free one"
            ) from None
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening; pages that follow are let go."""
        for follower in self._followers:
            follower.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/", self._page)
        app.router.add_get("/page/{name}", self._page)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/api/snapshot", self._snapshot)
        app.router.add_get("/api/events", self._events)
        app.router.add_get("/api/summaries", self._summaries)
        app.router.add_get("/api/summary", self._summary)
        app.router.add_get("/api/stream", self._stream)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._local and not _is_loopback(request.url.host or ""):
            # A page elsewhere whose name was made to point here could read everything.
            raise web.HTTPMisdirectedRequest(text="this console listens on the local machine only\n")
        try:
            response = await handler(request)
        except web.HTTPException as answer:
            answer.headers.update(HEADERS)
            raise
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _page(self, request: web.Request) -> web.Response:
        name = request.match_info.get("name", "index.html")
        kind = TYPES.get("." + name.rpartition(".")[2])
        part = files("worker.console").joinpath("page", name)
        if kind is None or "/" in name or "\\" in name or not part.is_file():
            raise web.HTTPNotFound(text="there is no such page\n")
        return web.Response(body=part.read_bytes(), content_type=kind, charset="utf-8")

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _snapshot(self, request: web.Request) -> web.Response:
        return _answer(wire.snapshot(self._board))

    async def _summaries(self, request: web.Request) -> web.Response:
        return _answer(wire.summary_rows(self._board))

    async def _summary(self, request: web.Request) -> web.Response:
        seq = request.query.get("seq", "")
        number = int(seq) if seq.isascii() and seq.isdigit() and len(seq) < 16 else None
        held = self._board.shelf.find(seq=number, summary_id=request.query.get("id"))
        if held is None:
            raise web.HTTPNotFound(text="this summary is no longer held\n")
        return _answer(wire.summary_detail(held))

    async def _stream(self, request: web.Request) -> web.Response:
        query = request.query
        try:
            name = Kind(query.get("kind", "")), Metric(query.get("metric", "")), query.get("segment", "")
        except ValueError:
            raise web.HTTPBadRequest(text="name a kind, a metric and a segment\n") from None
        found = wire.stream_detail(self._board, name)
        if found is None:
            raise web.HTTPNotFound(text="nothing is known of this stream\n")
        return _answer(found)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if len(self._followers) >= MOST_FOLLOWERS:
            raise web.HTTPServiceUnavailable(text="too many pages follow already\n")
        task = asyncio.current_task()
        assert task is not None
        self._followers.add(task)
        task.add_done_callback(self._followers.discard)
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # the page was closed
            await Follower(self._board, response).run()
        return response


class Follower:
    """One page that is kept up to date."""

    def __init__(self, board: Board, response: web.StreamResponse) -> None:
        self._board = board
        self._response = response
        self._epoch = self._sent = self._streams_sent = self._minute = -1
        self._streams_due = self._spoke = 0.0
        self._alarms: wire.Json = {}

    async def run(self) -> None:
        """Until it goes away. A slow one waits in `write`, and then gets all that changed meanwhile at once."""
        while True:
            now = time.monotonic()
            if self._epoch != self._board.epoch:
                await self._start_anew(now)
            elif self._board.revision > self._sent or self._are_streams_due(now):
                await self._catch_up(now)
            elif now - self._spoke > SILENCE:
                await self._write(": still here\n\n")
            await asyncio.sleep(EVERY)

    async def _start_anew(self, now: float) -> None:
        self._epoch = self._board.epoch
        self._sent = self._board.revision
        self._note_streams(now)
        await self._send("snapshot", wire.snapshot(self._board))

    async def _catch_up(self, now: float) -> None:
        since, streams_since = self._sent, None
        self._sent = self._board.revision
        if self._are_streams_due(now):
            # With each minute all charts move on, whether or not anything came.
            streams_since = self._streams_sent if self._minute == self._this_minute else -1
            self._note_streams(now)
        news = wire.changes(self._board, since, streams_since=streams_since)
        if news["alarms"] == self._alarms:
            del news["alarms"]
        else:
            self._alarms = news["alarms"]
        await self._send("changes", news)

    @property
    def _this_minute(self) -> int:
        return int(self._board.now // 60)

    def _are_streams_due(self, now: float) -> bool:
        if self._minute != self._this_minute:
            return True
        return now >= self._streams_due and self._board.revision > self._streams_sent

    def _note_streams(self, now: float) -> None:
        self._streams_sent, self._minute = self._board.revision, self._this_minute
        self._streams_due = now + STREAMS_EVERY

    async def _send(self, event: str, message: wire.Json) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        await self._write(f"event: {event}\ndata: {text}\n\n")

    async def _write(self, text: str) -> None:
        self._spoke = time.monotonic()
        await self._response.write(text.encode())


def _answer(value: wire.Json) -> web.Response:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    response = web.Response(body=body, content_type="application/json", charset="utf-8")
    if len(body) > LARGE:
        response.enable_compression()
    return response


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
