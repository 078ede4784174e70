"""What `quintet doctor` asks the judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from worker.cli.findings import WAIT_SECONDS, Finding, Health, broken, clock, good
from worker.errors import UserError
from worker.settings import JudgeBackend, Settings


def judge_findings(settings: Settings) -> Iterator[Finding]:
    """Whether there is a judge, whether it answers, and what time it is there."""
    try:
        backend = settings.judge_or_refuse()
    except UserError as error:
        advice = "choose one of these; eval, calibrate and demo take lexical by themselves"
        yield broken("judge", error, advice)
        return
    if backend is JudgeBackend.LEXICAL:
        yield good("judge", "lexical, offline")
        return
    yield asyncio.run(_endpoint(settings))
    offset = asyncio.run(_endpoint_offset(settings))
    if offset is not None:
        yield clock("the judge's endpoint", offset)


async def _endpoint(settings: Settings) -> Finding:
    """Ask the endpoint something tiny, with the parameters that a judgement would have."""
    from worker.judging.client import ChatClient
    from worker.judging.outcomes import ADVICE, Failure

    client = ChatClient(settings)
    try:
        for _ in range(4):
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    completion = await client.probe()
                client.require_logprobs(completion)
                return good("judge", f"{settings.model} answers, as {completion.model}")
            except Failure as failure:
                if not failure.adapted:  # otherwise: once more, without what the model refused
                    return Finding(Health.BROKEN, "judge", failure.message, ADVICE.get(failure.reason, ""))
    except TimeoutError:
        message = f"the endpoint gave no answer within {WAIT_SECONDS:g} s"
        return Finding(Health.BROKEN, "judge", message, "check OPENAI_BASE_URL and the endpoint's own logs")
    finally:
        await client.close()
    return broken("judge", "the model refuses every set of parameters", "try another QUINTET_MODEL")


async def _endpoint_offset(settings: Settings) -> float | None:
    """Seconds that the endpoint's clock is ahead of ours: any answer has a date, and no key is needed for it."""
    import aiohttp

    from worker.judging.client import OPENAI

    address = urlsplit(settings.openai_base_url or OPENAI)
    url = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
    timeout = aiohttp.ClientTimeout(total=WAIT_SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
            before = time.time()
            async with session.get(url, allow_redirects=False) as answer:
                ours = (before + time.time()) / 2
                # What a cache hands out was true some seconds ago, and it says how many.
                age = float(answer.headers.get("Age", "0"))
                return parsedate_to_datetime(answer.headers["Date"]).timestamp() + age - ours
    except (aiohttp.ClientError, TimeoutError, OSError, KeyError, ValueError):
        return None
