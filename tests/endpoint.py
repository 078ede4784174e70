"""A chat-completions endpoint over a real socket, scripted by the test that needs it.

In a test: `async with Endpoint(script) as endpoint`. As a process of its own, with scores that
depend on nothing but the prompt: `python tests/endpoint.py --port 8000 --delay 0.2 --log calls.txt`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import IO, Any, Self

from aiohttp import web

MODEL = "fake-judge-2026"


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    body: dict[str, Any]
    headers: dict[str, str]
    #: The number of this request, from 1 on.
    number: int
    at: float

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body["messages"])

    @property
    def prompt(self) -> str:
        """Every message's text, in order."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def is_probe(self) -> bool:
        return "Reply with OK" in self.prompt


@dataclass(frozen=True)
class Answer:
    """What the endpoint does with a request."""

    text: str | None = "It is good.\nScore- <score>4</score>"
    status: int = 200
    delay: float = 0.0
    finish: str = "stop"
    refusal: str | None = None
    #: Token texts with the alternatives at each, as (token, {other: logprob}).
    logprobs: list[tuple[str, dict[str, float]]] | None = None
    usage: tuple[int, int, int] | None = (1000, 0, 100)
    model: str = MODEL
    headers: dict[str, str] = field(default_factory=dict)
    #: Sent as it is instead of a completion.
    raw: str | None = None
    #: Close the connection in the middle of the body.
    drop: bool = False
    #: Close the connection instead of answering.
    disconnect: bool = False
    #: Never answer.
    hang: bool = False
    #: Seconds between two bytes of the body.
    trickle: float = 0.0


def error(
    status: int, code: str | None = None, *, param: str | None = None, message: str = "no", **kwargs: Any
) -> Answer:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
    return Answer(status=status, raw=json.dumps(body), **kwargs)


RATE_LIMITED = error(429, "rate_limit_exceeded")
QUOTA = error(429, "insufficient_quota")
WRONG_KEY = error(401, "invalid_api_key", message="Incorrect API key provided: sk-secret")
UNKNOWN_MODEL = error(404, "model_not_found")
SERVER_ERROR = error(500)
TOO_LONG = error(
    400, "context_length_exceeded", message="max_tokens is too large: the maximum context length is 2048"
)
CONTENT_FILTER = error(400, "content_filter", message="filtered")

Script = Callable[[Request], Answer | Awaitable[Answer]]


def scored(request: Request) -> Answer:
    """A score that depends on the prompt alone."""
    digest = hashlib.sha256(request.prompt.encode()).digest()
    return Answer(f"The summary earns {digest[0] % 5 + 1}.\nScore- <score>{digest[0] % 5 + 1}</score>")


class Endpoint:
    """A server on 127.0.0.1 that answers by its script and remembers every request."""

    def __init__(self, script: Script = scored, *, port: int = 0, log: IO[str] | None = None) -> None:
        #: May be replaced while running.
        self.script = script
        self.requests: list[Request] = []
        self.in_flight = 0
        self.most_in_flight = 0
        #: Keep every request's body; off for long runs.
        self.remember = True
        #: Seconds that this server's clock is ahead, as its Date headers tell.
        self.clock_offset = 0.0
        self._count = 0
        self._port = port
        self._log = log
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def judged(self) -> list[Request]:
        """The requests that were no probes."""
        return [request for request in self.requests if not request.is_probe]

    @property
    def probes(self) -> list[Request]:
        return [request for request in self.requests if request.is_probe]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; the second time on the same port."""
        self._closing = asyncio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.on_response_prepare.append(self._date)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and let hanging requests go."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _date(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = formatdate(time.time() + self.clock_offset, usegmt=True)

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        self._count += 1
        request = Request(json.loads(await http.read()), dict(http.headers), self._count, time.monotonic())
        if self.remember:
            self.requests.append(request)
        self._write_log(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self.script(request)
            if not isinstance(answer, Answer):
                answer = await answer
            return await self._answer(http, answer)
        finally:
            self.in_flight -= 1

    async def _answer(self, http: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.hang:
            await self._closing.wait()
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.disconnect and http.transport is not None:
            http.transport.abort()
        body = (answer.raw if answer.raw is not None else json.dumps(completion(answer))).encode()
        headers = {"Content-Type": "application/json", **answer.headers}
        if not answer.drop and not answer.trickle:
            return web.Response(body=body, status=answer.status, headers=headers)
        response = web.StreamResponse(headers=headers | {"Content-Length": str(len(body))})
        await response.prepare(http)
        if answer.trickle:
            return await self._trickle(response, body, answer.trickle)
        await response.write(body[: len(body) // 2])
        if http.transport is not None:
            http.transport.abort()
        return response

    async def _trickle(self, response: web.StreamResponse, body: bytes, pause: float) -> web.StreamResponse:
        for byte in body:
            await response.write(bytes([byte]))
            await asyncio.sleep(pause)
        return response

    def _write_log(self, request: Request) -> None:
        if self._log is not None:
            self._log.write(hashlib.sha256(request.prompt.encode()).hexdigest() + "\n")
            self._log.flush()


def completion(answer: Answer) -> dict[str, Any]:
    """A chat completion as OpenAI words it."""
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.finish, "message": message}
    if answer.logprobs is not None:
        choice["logprobs"] = {"content": [_logprob(*token) for token in answer.logprobs]}
    body: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}
    body |= {"model": answer.model, "choices": [choice]}
    if answer.usage is not None:
        prompt, cached, written = answer.usage
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    return body


def _logprob(token: str, others: dict[str, float]) -> dict[str, Any]:
    def described(text: str) -> dict[str, Any]:
        return {"token": text, "logprob": others.get(text, -9999.0), "bytes": list(text.encode())}

    return described(token) | {"top_logprobs": [described(other) for other in others]}


async def serve(port: int, delay: float, log: Path | None) -> None:
    """Answer deterministic scores until the process is ended."""
    with log.open("a", encoding="utf-8") if log else contextlib.nullcontext() as file:

        def script(request: Request) -> Answer:
            answer = scored(request)
            return Answer(answer.text, delay=delay)

        endpoint = Endpoint(script, port=port, log=file)
        endpoint.remember = False
        async with endpoint:
            print(endpoint.url, flush=True)
            await asyncio.Event().wait()


def main() -> None:
    """Run as a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--log", type=Path, help="a line per request: the prompt's SHA-256")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(options.port, options.delay, options.log))


if __name__ == "__main__":
    main()
