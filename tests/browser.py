"""A headless Chromium, spoken to in its own language (DevTools over a websocket): no driver, no browser library."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-sync", "--disable-default-apps", "--mute-audio", "--hide-scrollbars", "--remote-debugging-port=0",
    "--force-color-profile=srgb", "--lang=en",
)  # fmt: skip

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36}


def chromium_or_skip() -> str:
    """The browser's path; without one the tests skip on a laptop and fail where CI is set."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip("no chromium; install it with: apt-get install chromium")
    assert found, "CI needs chromium: apt-get install chromium"
    return found


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        #: Addresses of all requests the page made, and what it wrote to the console or threw.
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.dialogs = 0

    async def listen(self) -> None:
        """Take in what the browser says, until it is closed."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                waiting = self._answers.pop(said["id"])
                if not waiting.done():
                    waiting.set_result(said)
            else:
                self._note(said["method"], said["params"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(
                " ".join(str(part.get("value", part.get("description"))) for part in params["args"])
            )
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded":
            self.messages.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs += 1

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol."""
        self._next += 1
        number = self._next
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        answer = await asyncio.wait_for(self._answers[number], 60)
        assert "error" not in answer, f"{method}: {answer.get('error')}"
        found: dict[str, Any] = answer["result"]
        return found

    async def open(self, address: str) -> None:
        """Go to an address."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=address)
        await self.wait_for(f"location.href.startsWith('{address}') && document.readyState === 'complete'")

    async def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def wait_for(self, script: str, seconds: float = 30, check: Callable[[Any], bool] = bool) -> Any:
        """The value of an expression, once it is true."""
        end = asyncio.get_running_loop().time() + seconds
        while not check(found := await self.evaluate(script)):
            assert asyncio.get_running_loop().time() < end, (
                f"never: {script} (last {found!r}); {self.messages[-5:]}"
            )
            await asyncio.sleep(0.1)
        return found

    async def press(self, key: str, *, shift: bool = False) -> None:
        """One key, as a person presses it."""
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    async def look(self, width: int, height: int, theme: str) -> None:
        """The size of the window and the preferred colours."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        await self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
        )

    async def screenshot(self, path: Path, clip: dict[str, float] | None = None) -> None:
        """A picture of what is to be seen, or of a piece of it."""
        answer = await self.call("Page.captureScreenshot", format="png", **({"clip": clip} if clip else {}))
        await asyncio.to_thread(path.write_bytes, base64.b64decode(answer["data"]))


@asynccontextmanager
async def browser(program: str) -> AsyncIterator[Page]:
    """A browser with one empty tab and a profile of its own; it is ended, by its number, in any case."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await _port(Path(profile) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    tab = next(tab for tab in await answer.json() if tab["type"] == "page")
                async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Page(socket)
                    listening = asyncio.create_task(page.listen())
                    try:
                        yield page
                    finally:
                        listening.cancel()
        finally:
            process.terminate()
            await process.wait()


async def _port(note: Path) -> int:
    """The port that the browser chose and noted down."""
    for _ in range(300):
        with suppress(FileNotFoundError):
            if lines := (await asyncio.to_thread(note.read_text)).splitlines():
                return int(lines[0])
        await asyncio.sleep(0.1)
    raise AssertionError("chromium did not start within 30 s")
