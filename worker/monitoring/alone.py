"""The drift monitor in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable

from worker.judging.judge import Judge, Observer
from worker.monitoring.service import Monitor
from worker.settings import Settings
from worker.streaming.web import Web
from worker.telemetry import WorkerTelemetry

log = logging.getLogger(__name__)

#: Beside a worker on the same machine, which has the port before it.
DEFAULT_PORT = 9465
EXIT_AT_ONCE = 130


async def run_alone(settings: Settings, build: Callable[[Observer], Judge]) -> int:
    """Watch until a signal comes; the exit code."""
    # The reference set's calls are counted like any others: they cost the same.
    telemetry = WorkerTelemetry(settings.max_segments)
    judge = build(telemetry)
    monitor = Monitor(settings, judge, telemetry.with_monitor())
    port = DEFAULT_PORT if settings.web_port is None else settings.web_port
    web = Web(settings.web_host, port, render=telemetry.render, checks=lambda: {"monitor": monitor.check()})
    stopping = _listen_for_signals()
    await web.start()
    monitor.start()
    await stopping.wait()
    await monitor.stop()
    await web.stop()
    await judge.close()
    return 0


def _listen_for_signals() -> asyncio.Event:
    stopping = asyncio.Event()

    def signalled() -> None:
        if stopping.is_set():
            os._exit(EXIT_AT_ONCE)
        log.info("stopping")
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    return stopping
