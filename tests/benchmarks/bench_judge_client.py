"""CPU time per summary (five requests) of the openai judge beside bare aiohttp, in one run.

The endpoint answers after a while in a process of its own, so that only the client's work is counted.

    python tests/benchmarks/bench_judge_client.py --summaries 400 --in-flight 64
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from worker.events import Kind, SummaryGenerated
from worker.judging.building import build_openai_judge
from worker.judging.client import ROOM
from worker.judging.dialogue import messages_of
from worker.rubrics import load_pack
from worker.settings import load_settings

ENDPOINT = Path(__file__).parents[1] / "endpoint.py"
Job = Callable[[SummaryGenerated], Awaitable[object]]


@dataclass(frozen=True)
class Measured:
    cpu_ms: float
    per_second: float


@contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """The address of an endpoint in another process."""
    command = [sys.executable, str(ENDPOINT), "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def summaries(count: int, prefix: str, words: int) -> list[SummaryGenerated]:
    """Different opinions with evidence of so many words."""
    reviews = ["The light is bright and the cable is short, but it stands well. " * (words // 12)]
    return [
        SummaryGenerated.model_validate(
            {
                "summary_id": f"{prefix}-{number}",
                "kind": Kind.OPINION,
                "summary": f"Buyers of lamp {prefix}-{number} like its light and dislike its cable.",
                "products": [{"title": "Lamp", "reviews": reviews}],
            }
        )
        for number in range(count)
    ]


async def measure(job: Job, events: list[SummaryGenerated], in_flight: int) -> Measured:
    """CPU time of this process per summary."""
    places = asyncio.Semaphore(in_flight)

    async def one(event: SummaryGenerated) -> None:
        async with places:
            await job(event)

    before, started = _cpu_seconds(), time.perf_counter()
    await asyncio.gather(*(one(event) for event in events))
    cpu, wall = _cpu_seconds() - before, time.perf_counter() - started
    return Measured(cpu * 1000 / len(events), len(events) / wall)


async def with_judge(url: str, cache: Path | str, options: argparse.Namespace, prefix: str) -> Measured:
    """The whole judge, from the event to the verdicts."""
    settings = load_settings(openai_base_url=url, cache=cache, concurrency=options.in_flight)
    judge = build_openai_judge(settings, load_pack())
    try:
        await measure(judge.judge, summaries(20, f"warm-{prefix}", options.words), options.in_flight)
        return await measure(
            judge.judge, summaries(options.summaries, prefix, options.words), options.in_flight
        )
    finally:
        await judge.close()


async def with_aiohttp(url: str, options: argparse.Namespace) -> Measured:
    """The same five bodies, sent and parsed as JSON, and nothing else."""
    pack = load_pack()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(body: dict[str, object]) -> None:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                await response.json()

        async def job(event: SummaryGenerated) -> None:
            prompts = pack.prompts(event).values()
            bodies = ({"model": "m", "messages": messages_of(p), "max_tokens": ROOM} for p in prompts)
            await asyncio.gather(*(ask(body) for body in bodies))

        await measure(job, summaries(20, "warm-bare", options.words), options.in_flight)
        return await measure(job, summaries(options.summaries, "bare", options.words), options.in_flight)


async def main(options: argparse.Namespace) -> None:
    """Measure one after the other against the same endpoint."""
    with endpoint(options.delay) as url, tempfile.TemporaryDirectory() as directory:
        bare = await with_aiohttp(url, options)
        plain = await with_judge(url, "off", options, "plain")
        cached = await with_judge(url, Path(directory) / "verdicts.sqlite", options, "cached")
    for name, measured in (("bare aiohttp", bare), ("judge, no cache", plain), ("judge, cache", cached)):
        print(
            f"{name:16} {measured.cpu_ms:6.2f} ms CPU/summary  {measured.per_second:6.1f} summaries/s"
            f"  x{measured.cpu_ms / bare.cpu_ms:.2f}"
        )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--summaries", type=int, default=400)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds before each answer")
    parser.add_argument("--words", type=int, default=1000, help="words of evidence")
    asyncio.run(main(parser.parse_args()))
