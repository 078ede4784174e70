"""/metrics, /healthz and /readyz."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from worker.errors import UserError

log = logging.getLogger(__name__)

DEFAULT_PORT = 9464
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Check:
    """One condition for being ready, and what is to say about it."""

    ok: bool
    detail: str


class Web:
    """A small server beside the worker, for Prometheus and for whoever restarts it."""

    def __init__(
        self,
        host: str,
        port: int | None,
        *,
        render: Callable[[], bytes],
        checks: Callable[[], dict[str, Check]],
    ) -> None:
        self._host = host
        self._wanted_port = DEFAULT_PORT if port is None else port
        self._render = render
        self._checks = checks
        self._runner: web.AppRunner | None = None
        #: The real port, once started.
        self.port = self._wanted_port

    async def start(self) -> None:
        """Listen; a taken port is the user's one line."""
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._wanted_port).start()
        except OSError as error:
            await self.stop()
            raise UserError(
                f"QUINTET_WEB_PORT: can't listen on {self._host}:{self._wanted_port}"
                f" ({error.strerror or error}); choose another, or 0 for any free one"
            ) from None
        self.port = self._runner.addresses[0][1]
        log.info("listening on http://%s:%d/metrics", self._host, self.port)

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._render(), headers={"Content-Type": PROMETHEUS_TEXT})

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _readyz(self, request: web.Request) -> web.Response:
        """All checks, or with ?exclude=NAME all but some: a rollout need not wait for the judge's provider."""
        excluded = request.query.getall("exclude", [])
        checks = {name: check for name, check in self._checks().items() if name not in excluded}
        ready = all(check.ok for check in checks.values())
        body = {
            "ready": ready,
            "checks": {name: {"ok": check.ok, "detail": check.detail} for name, check in checks.items()},
        }
        return web.json_response(body, status=200 if ready else 503)
