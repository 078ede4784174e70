"""What `quintet doctor` looks at: each check is one finding, and none of them raises."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib import metadata

from worker.errors import UserError
from worker.rubrics import load_pack
from worker.settings import JudgeBackend, Settings, unknown_variables

#: Seconds that doctor waits for a broker or an endpoint.
WAIT_SECONDS = 10.0


class Health(Enum):
    """How bad it is."""

    GOOD = "good"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """What one check found, and what to do about it."""

    health: Health
    subject: str
    message: str
    next_step: str = ""


Check = Callable[[], Finding]


def all_checks(settings: Settings) -> list[Check]:
    """Every check, in the order in which a fault in one explains those after it."""
    checks = (_version, _variables, _pack, _judge, _cache, _java, _broker, _topics)
    return [partial(check, settings) for check in checks]


def _good(subject: str, message: str) -> Finding:
    return Finding(Health.GOOD, subject, message)


def _broken(subject: str, error: UserError | str, next_step: str = "") -> Finding:
    """A one-line error as a finding: what stands behind its last semicolon is what to do."""
    message, _, advice = str(error).rpartition("; ")
    if next_step or not message:
        return Finding(Health.BROKEN, subject, str(error), next_step)
    return Finding(Health.BROKEN, subject, message, advice)


def _version(_: Settings) -> Finding:
    system = f"Python {platform.python_version()} on {sys.platform}"
    return _good("quintet", f"{metadata.version('quintet')}, {system}")


def _variables(_: Settings) -> Finding:
    unknown = unknown_variables()
    if not unknown:
        return _good("environment", "every QUINTET_ variable is a known setting")
    return Finding(
        Health.DOUBTFUL, "environment", f"unknown: {', '.join(unknown)}", "correct the spelling or unset it"
    )


def _pack(settings: Settings) -> Finding:
    try:
        pack = load_pack(settings.pack)
    except UserError as error:
        return _broken("pack", error)
    own = sum(not rubric.is_builtin for rubric in pack.rubrics.values())
    return _good("pack", f"{pack.name}, {own} rubrics of its own, {len(pack.rubrics) - own} built in")


def _judge(settings: Settings) -> Finding:
    try:
        backend = settings.judge_or_refuse()
    except UserError as error:
        return _broken(
            "judge", error, "choose one of these; eval, calibrate and demo take lexical by themselves"
        )
    if backend is JudgeBackend.LEXICAL:
        return _good("judge", "lexical, offline")
    return asyncio.run(_endpoint(settings))


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
                return _good("judge", f"{settings.model} answers, as {completion.model}")
            except Failure as failure:
                if not failure.adapted:  # otherwise: once more, without what the model refused
                    return Finding(Health.BROKEN, "judge", failure.message, ADVICE.get(failure.reason, ""))
    except TimeoutError:
        message = f"the endpoint gave no answer within {WAIT_SECONDS:g} s"
        return Finding(Health.BROKEN, "judge", message, "check OPENAI_BASE_URL and the endpoint's own logs")
    finally:
        await client.close()
    return _broken("judge", "the model refuses every set of parameters", "try another QUINTET_MODEL")


def _cache(settings: Settings) -> Finding:
    if settings.cache == "off":
        return Finding(
            Health.DOUBTFUL, "cache", "off", "a repeated summary is paid for again; unset QUINTET_CACHE"
        )
    path = settings.cache
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        return _broken(
            "cache", f"{path}: {error.strerror}", "name a writable file with QUINTET_CACHE, or off"
        )
    return _good("cache", f"{path}, {path.stat().st_size / 1e6:.1f} MB")


def _java(_: Settings) -> Finding:
    from worker.streaming.installation import require_java

    try:
        return _good("java", f"{require_java()}, for `quintet broker`")
    except UserError as error:
        message, advice = str(error).split("; ", 1)
        return Finding(Health.DOUBTFUL, "java", f"{message}; only `quintet broker` needs it", advice)


def _broker(settings: Settings) -> Finding:
    from worker.streaming.connection import admin

    try:
        with admin(settings, timeout=WAIT_SECONDS) as client:
            brokers = client.describe_cluster()["brokers"]
    except UserError as error:
        return _broken("broker", error)
    return _good("broker", f"{','.join(settings.brokers)}, {len(brokers)} in the cluster")


def _topics(settings: Settings) -> Finding:
    from worker.streaming.connection import admin
    from worker.streaming.topics import check, plan

    try:
        with admin(settings, timeout=WAIT_SECONDS) as client:
            reports = check(client, plan(settings))
    except UserError:
        return Finding(Health.BROKEN, "topics", "can't be looked at", "see broker")
    problems = [f"{report.name} {problem}" for report in reports for problem in report.problems]
    if not problems:
        return _good("topics", f"all {len(reports)} are there")
    more = f" (+{len(problems) - 1} more)" if len(problems) > 1 else ""
    return _broken(
        "topics", problems[0] + more if "; " not in problems[0] else problems[0].replace("; ", more + "; ", 1)
    )
