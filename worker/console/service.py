"""The console from start to stop."""

from __future__ import annotations

import asyncio
import logging
import signal

from worker.console.board import Board
from worker.console.reading import Reading
from worker.console.server import Server
from worker.settings import Settings

log = logging.getLogger(__name__)


async def serve(settings: Settings) -> None:
    """Read and serve until a signal comes, or reading breaks."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    board = Board(settings)
    server = Server(board, settings.web_host, settings.console_port)
    await server.start()
    log.info("console on http://%s:%d/", settings.web_host, server.port)
    reading = asyncio.create_task(Reading(settings, board).run())
    reading.add_done_callback(lambda _: stopping.set())
    try:
        await stopping.wait()
    finally:
        await server.stop()
        reading.cancel()
        await asyncio.wait([reading])
    log.info("stopped")
    if not reading.cancelled() and (error := reading.exception()):
        raise error
