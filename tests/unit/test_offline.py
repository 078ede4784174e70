"""The built-in judge as every judge, with opinions that stand in for the real ones."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import pytest

from tests.examples import summary
from worker.events import Kind, Metric, Mode, SummaryGenerated
from worker.judging import lexical
from worker.judging.building import build_judge
from worker.judging.offline import LexicalJudge
from worker.judging.openai import OpenAIJudge
from worker.rubrics import load_pack
from worker.settings import JudgeBackend, load_settings


@dataclass(frozen=True)
class Opinion:
    expected: float
    explanation: str


@pytest.fixture(autouse=True)
def opinions(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(event: SummaryGenerated) -> dict[Metric, Opinion]:
        return {metric: Opinion(4.6, f"{metric} of {event.summary_id}") for metric in Metric}

    monkeypatch.setattr(lexical, "score", score, raising=False)
    monkeypatch.setattr(lexical, "VERSION", "7", raising=False)


async def test_opinions_become_verdicts() -> None:
    judgement = await LexicalJudge("builtin@abc").judge(summary(Kind.COMPARATIVE))

    assert set(judgement.scores) == set(Metric)
    verdict = judgement.scores[Metric.CLARITY]
    assert (verdict.score, verdict.expected, verdict.mode) == (5, 4.6, Mode.LEXICAL)
    assert verdict.explanation == "clarity of s-1"
    assert verdict.rubric == "clarity@lexical-7"
    assert verdict.native
    assert not judgement.scores[Metric.CONCISENESS].native
    assert judgement.model == "lexical-7"


async def test_summaries_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = 0, 0

    def score(event: SummaryGenerated) -> dict[Metric, Opinion]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.01)
        under_way -= 1
        return {metric: Opinion(3.0, "") for metric in Metric}

    monkeypatch.setattr(lexical, "score", score)
    judges = [LexicalJudge("p"), LexicalJudge("p")]
    await asyncio.gather(*(judge.judge(summary()) for judge in judges * 5))

    assert most == 1


async def test_hard_rules_hold_here_too() -> None:
    event = summary(Kind.RECOMMENDATION, summary="word " * 101)
    verdict = (await LexicalJudge("p").judge(event)).scores[Metric.CONCISENESS]

    assert (verdict.score, verdict.expected, verdict.adjusted_from) == (4, 4.0, 5)


async def test_the_backend_decides_which_judge_is_built() -> None:
    settings, pack = load_settings(openai_base_url="http://127.0.0.1:9/v1", cache="off"), load_pack()
    offline = build_judge(settings, JudgeBackend.LEXICAL, pack)
    remote = build_judge(settings, JudgeBackend.OPENAI, pack)

    assert isinstance(offline, LexicalJudge)
    assert isinstance(remote, OpenAIJudge)
    assert (offline.backend, offline.requested_model, offline.pack) == ("lexical", "lexical-7", pack.name)
    assert (remote.backend, remote.requested_model, remote.pack) == ("openai", "gpt-4o-mini", pack.name)
    await offline.close()
    await remote.close()
