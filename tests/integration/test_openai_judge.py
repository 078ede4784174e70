"""The openai judge against an endpoint over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import MODEL, Answer, Endpoint, Request, Script, scored
from tests.examples import summary
from worker.events import Metric, Mode
from worker.judging.building import build_openai_judge
from worker.judging.openai import OpenAIJudge
from worker.rubrics import load_pack
from worker.settings import load_settings


@pytest.fixture
def cache_path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "verdicts.sqlite"


@asynccontextmanager
async def judging(
    script: Script = scored, patience: float | None = None, observer: Any = None, **changes: Any
) -> AsyncIterator[tuple[OpenAIJudge, Endpoint]]:
    """A judge and the endpoint it asks."""
    async with Endpoint(script) as endpoint:
        values: dict[str, Any] = {
            "openai_base_url": endpoint.url,
            "cache": "off",
            "concurrency": 4,
            "judge_timeout": 2.0,
        }
        settings = load_settings(**(values | changes))
        judge = build_openai_judge(settings, load_pack(), observer, patience)
        try:
            yield judge, endpoint
        finally:
            await judge.close()


async def test_a_summary_is_scored_on_all_five_metrics_with_one_request_each() -> None:
    async with judging() as (judge, endpoint):
        judgement = await judge.judge(summary())

    assert set(judgement.scores) == set(Metric)
    assert len(endpoint.requests) == 5
    assert judgement.model == MODEL
    for verdict in judgement.scores.values():
        assert verdict.explanation == f"The summary earns {verdict.score}."
        assert verdict.mode is Mode.SINGLE
        assert verdict.expected == verdict.score
        assert (verdict.attempts, verdict.cached) == (1, False)
        assert (verdict.prompt_tokens, verdict.completion_tokens) == (1000, 100)
        assert verdict.latency_seconds > 0
    assert judgement.cost_usd is None


async def test_the_five_requests_are_under_way_at_once() -> None:
    async with judging(lambda request: Answer(delay=0.05)) as (judge, endpoint):
        await judge.judge(summary())

    assert endpoint.most_in_flight == 5


async def test_the_request_names_model_temperature_and_key() -> None:
    async with judging(openai_api_key="sk-test", model="small") as (judge, endpoint):
        await judge.judge(summary())

    request: Request = endpoint.requests[0]
    assert request.body["model"] == "small"
    assert request.body["temperature"] == 0
    assert request.headers["Authorization"] == "Bearer sk-test"
