"""A judge's endpoint as a process of its own, whose answers take their time and whose log says when.

`python tests/slow_endpoint.py --port 8000 --delay 0.5 --log calls.txt`. A line of the log is the time, `start`, `end` or
`gone` (nobody waited for the answer any more), who asked (the API key) and the prompt's digest.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from aiohttp import web

# Run as a script, the directory above is not on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.endpoint import Answer, Endpoint, Request, scored

#: Of the answers so many take so many times as long.
SLOW_SHARE, SLOW_FACTOR = 0.03, 20
#: A summary that says so takes so many seconds.
HOLD = re.compile(r"hold for (\d+) seconds")


@dataclass(frozen=True)
class Call:
    """One line of the log."""

    at: float
    event: str
    worker: str
    prompt: str


class LoggedEndpoint(Endpoint):
    """Writes down when a call began, and whether somebody still wanted the answer."""

    def __init__(self, delay: float, hang: bool, port: int, calls: IO[str]) -> None:
        super().__init__(self._later, port=port)
        self.remember = False
        self._delay = delay
        self._hang = hang
        self._calls = calls

    def _later(self, request: Request) -> Answer:
        if request.is_probe:
            return scored(request)
        if hold := HOLD.search(request.prompt):
            return replace(scored(request), delay=float(hold[1]))
        slow = random.random() < SLOW_SHARE
        delay = self._delay * (SLOW_FACTOR if slow else 2 * random.random())
        return replace(scored(request), delay=delay, hang=self._hang)

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        body = json.loads(await http.read())
        prompt = "\n".join(message["content"] for message in body["messages"])
        if "Reply with OK" in prompt:
            return await super()._complete(http)
        worker = http.headers.get("Authorization", "").removeprefix("Bearer ")
        digest = hashlib.sha256(prompt.encode()).hexdigest()[:24]
        self._note("start", worker, digest)
        response = await super()._complete(http)
        listening = http.transport is not None and not http.transport.is_closing()
        self._note("end" if listening else "gone", worker, digest)
        return response

    def _note(self, event: str, worker: str, digest: str) -> None:
        self._calls.write(f"{time.time():.3f} {event} {worker} {digest}\n")
        self._calls.flush()


def read_calls(log: Path) -> list[Call]:
    """The log, in the order of time."""
    calls = []
    for line in log.read_text().splitlines():
        at, event, worker, prompt = line.split()
        calls.append(Call(float(at), event, worker, prompt))
    return sorted(calls, key=lambda call: call.at)


async def serve(options: argparse.Namespace) -> None:
    """Answer until the process is ended."""
    with options.log.open("a", encoding="utf-8") as calls:
        async with LoggedEndpoint(options.delay, options.hang, options.port, calls) as endpoint:
            print(endpoint.url, flush=True)
            await asyncio.Event().wait()


def main() -> None:
    """Run as a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds of an answer, on average")
    parser.add_argument("--hang", action="store_true", help="never answer")
    parser.add_argument("--log", type=Path, required=True)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
