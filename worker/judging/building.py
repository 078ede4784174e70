"""Puts a judge together from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.judging.budget import Budget, Meter
from worker.judging.cache import VerdictCache
from worker.judging.judge import Judge, Observer
from worker.judging.limits import Gate
from worker.judging.offline import LexicalJudge
from worker.judging.pricing import prices_from
from worker.rubrics import Pack
from worker.settings import JudgeBackend, Settings, default_cache_path

if TYPE_CHECKING:
    from worker.judging.openai import OpenAIJudge

#: Requests under way at the start, before the endpoint has shown what it bears.
INITIAL_REQUESTS = 100


def build_judge(
    settings: Settings,
    backend: JudgeBackend,
    pack: Pack,
    observer: Observer | None = None,
    patience: float | None = None,
) -> Judge:
    """The judge for a backend; with `patience`, an outage of so many seconds is raised, not waited for."""
    if backend is JudgeBackend.LEXICAL:
        return LexicalJudge(pack.name)
    return build_openai_judge(settings, pack, observer, patience)


def build_openai_judge(
    settings: Settings, pack: Pack, observer: Observer | None = None, patience: float | None = None
) -> OpenAIJudge:
    """The judge behind an endpoint."""
    # The client takes most of a second to load: only where there is an endpoint to ask.
    from worker.judging.client import MAX_CONNECTIONS, ChatClient
    from worker.judging.openai import OpenAIJudge

    observer = observer or Observer()
    client = ChatClient(settings)
    meter = Meter(prices_from(settings), _budget(settings), observer)

    async def probe() -> None:
        completion = await client.probe()
        meter.charge(completion.usage)
        client.require_logprobs(completion)

    per_round = 5 * settings.concurrency
    gate = Gate(
        probe,
        concurrency=min(per_round, INITIAL_REQUESTS),
        maximum=min(per_round * settings.samples, MAX_CONNECTIONS),
        deadline=settings.deadline,
        patience=patience,
        observer=observer,
    )
    return OpenAIJudge(
        settings=settings,
        prompts=pack,
        client=client,
        gate=gate,
        cache=VerdictCache(None if settings.cache == "off" else settings.cache),
        meter=meter,
        observer=observer,
    )


def _budget(settings: Settings) -> Budget | None:
    """The day's budget, if there is one; its file lies beside the cache even where that is off."""
    if settings.budget_usd_per_day is None:
        return None
    beside = default_cache_path() if settings.cache == "off" else settings.cache
    return Budget(settings.budget_usd_per_day, beside.with_name("spend.sqlite"), settings.group)
