"""Pictures of the real console over a real broker: wide and narrow, light and dark. `make screenshots` takes them."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.browser import Page, browser, chromium_or_skip
from tests.console_story import Story
from tests.streams import Stage
from worker.console.board import Board
from worker.console.reading import Reading
from worker.console.server import Server
from worker.streaming.broker import Broker

SIZES = {1440: 1000, 390: 844}
HOURS, SUMMARIES = 9.0, 6000
PIECE = 1400
README_PICTURE = Path(__file__).parents[1] / "deploy" / "console.png"


@asynccontextmanager
async def running_console(stage: Stage) -> AsyncIterator[str]:
    """A console in this process, and its address."""
    board = Board(stage.settings)
    server = Server(board, "127.0.0.1", 0)
    await server.start()
    reading = asyncio.create_task(Reading(stage.settings, board).run())
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        await server.stop()


async def take(stage: Stage, directory: Path) -> None:
    """All pictures."""
    async with running_console(stage) as address, browser(chromium_or_skip()) as page:
        for theme in ("light", "dark"):
            for width, height in SIZES.items():
                await page.look(width, height, theme)
                await page.open(address)
                await page.wait_for("document.querySelectorAll('.alarm .row-link').length > 2")
                await page.wait_for(
                    f"document.querySelector('#summary-count').textContent === '{SUMMARIES:,} summaries held'",
                    60,
                )
                await page.wait_for(
                    "[...document.querySelectorAll('.summaries td.what')].every(e => e.textContent.includes(' '))"
                )
                await asyncio.sleep(1)
                await page.screenshot(directory / f"page-{width}-{theme}.png")
                await _whole(page, directory, width, theme)
                await page.look(width, height, theme)
                await _details(page, directory, f"{width}-{theme}")


async def _whole(page: Page, directory: Path, width: int, theme: str) -> None:
    """The page from top to bottom, in pieces that a viewer shows without shrinking them."""
    tall = await page.evaluate("document.documentElement.scrollHeight")
    await page.look(width, tall, theme)
    await asyncio.sleep(0.5)
    for number, top in enumerate(range(0, tall, PIECE), 1):
        clip = {"x": 0, "y": top, "width": width, "height": min(PIECE, tall - top), "scale": 1}
        await page.screenshot(directory / f"whole-{width}-{theme}-{number}.png", clip)


async def _details(page: Page, directory: Path, name: str) -> None:
    for what, button in (("stream", ".falls .row-link"), ("summary", ".worst .row-link")):
        await page.evaluate(f"document.querySelector({button!r}).click()")
        await page.wait_for("!!document.querySelector('#panel h3')")
        await asyncio.sleep(0.5)
        await page.screenshot(directory / f"{what}-{name}.png")
        await page.evaluate("document.querySelector('#panel').close()")


def main(directory: Path) -> None:
    """Broker, story, pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        broker = Broker(directory=Path(home) / "kafka")
        broker.start()
        try:
            stage = Stage(broker.address, Path(home))
            stage.create_topics()
            Story(stage).day(SUMMARIES, HOURS)
            asyncio.run(take(stage, directory))
        finally:
            broker.stop()
    shutil.copyfile(directory / f"page-{max(SIZES)}-light.png", README_PICTURE)
    print(f"pictures are in {directory}, the README's in {README_PICTURE}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots"))
