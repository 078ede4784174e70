"""The openai judge against an endpoint over a real socket."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import (
    CONTENT_FILTER,
    MODEL,
    QUOTA,
    SERVER_ERROR,
    TOO_LONG,
    UNKNOWN_MODEL,
    WRONG_KEY,
    Answer,
    Endpoint,
    Request,
    Script,
    error,
    scored,
)
from tests.examples import summary
from worker.errors import Outage, OutageReason, Rejection, RejectionReason
from worker.events import Kind, Metric, Mode
from worker.judging.building import build_openai_judge
from worker.judging.judge import Judgement, Observer
from worker.judging.openai import OpenAIJudge
from worker.rubrics import load_pack
from worker.settings import load_settings


class Watching(Observer):
    def __init__(self) -> None:
        self.breaker: list[OutageReason | None] = []
        self.tokens = (0, 0, 0)
        self.usd = 0.0
        self.hits = 0
        self.outcomes: list[str] = []

    def request_finished(self, metric: Metric | None, outcome: str, seconds: float) -> None:
        self.outcomes.append(outcome)

    def breaker_changed(self, reason: OutageReason | None) -> None:
        self.breaker.append(reason)

    def tokens_used(self, prompt: int, cached: int, completion: int) -> None:
        before = self.tokens
        self.tokens = (before[0] + prompt, before[1] + cached, before[2] + completion)

    def cost_incurred(self, usd: float) -> None:
        self.usd += usd

    def cache_hit(self, metric: Metric) -> None:
        self.hits += 1


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
            "judge_timeout": 20.0,
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


# Replies that can't be read


def metric_of(request: Request) -> Metric:
    """Which metric a request is about, by the rubric's heading."""
    return next(metric for metric in Metric if f"\n{metric.replace('_', ' ').title()}:" in request.prompt)


async def test_an_unreadable_reply_is_asked_for_again_with_a_reminder_and_both_are_paid() -> None:
    def script(request: Request) -> Answer:
        return Answer("I'd say <score>4/5</score>") if len(request.messages) == 2 else Answer()

    prices: dict[str, Any] = {"price_input_per_mtok": 1.0, "price_output_per_mtok": 10.0}
    async with judging(script, **prices) as (judge, endpoint):
        judgement = await judge.judge(summary())

    verdict = judgement.scores[Metric.CLARITY]
    assert (verdict.score, verdict.attempts) == (4, 2)
    assert (verdict.prompt_tokens, verdict.completion_tokens) == (2000, 200)
    assert judgement.cost_usd == pytest.approx(10 * (1000 * 1.0 + 100 * 10.0) / 1e6)
    again = [request for request in endpoint.requests if len(request.messages) == 4]
    assert len(again) == 5
    assert again[0].messages[2] == {"role": "assistant", "content": "I'd say <score>4/5</score>"}
    assert "<score>N</score>" in again[0].messages[3]["content"]


@pytest.mark.parametrize("text", ["no score", "<score>7</score>", "<score>4.5</score>", "", None])
async def test_what_stays_unreadable_is_rejected_and_never_given_a_score(text: str | None) -> None:
    async with judging(lambda request: Answer(text)) as (judge, endpoint):
        with pytest.raises(Rejection) as raised:
            await judge.judge(summary())

    assert raised.value.reason is RejectionReason.JUDGE_UNREADABLE
    assert raised.value.attempts == 3
    assert len(endpoint.requests) == 15


async def test_no_choices_are_an_unreadable_reply() -> None:
    async with judging(lambda request: Answer(raw='{"choices": []}')) as (judge, _):
        with pytest.raises(Rejection, match="judge_unreadable"):
            await judge.judge(summary())


async def test_a_cut_reply_gets_twice_the_room_at_most_twice() -> None:
    async with judging(lambda request: Answer("So, let us", finish="length")) as (judge, endpoint):
        with pytest.raises(Rejection) as raised:
            await judge.judge(summary())

    assert raised.value.reason is RejectionReason.JUDGE_UNREADABLE
    assert sorted(request.body["max_tokens"] for request in endpoint.requests) == (
        [1500] * 5 + [3000] * 5 + [6000] * 5
    )


async def test_a_cut_reply_that_finds_its_end_in_more_room_counts() -> None:
    def script(request: Request) -> Answer:
        return Answer() if request.body["max_tokens"] >= 3000 else Answer("So", finish="length")

    async with judging(script) as (judge, _):
        judgement = await judge.judge(summary())

    assert {verdict.attempts for verdict in judgement.scores.values()} == {2}


@pytest.mark.parametrize(
    "answer", [Answer(None, refusal="I can't"), Answer("", finish="content_filter"), CONTENT_FILTER]
)
async def test_a_refusal_rejects_the_summary_without_asking_again(answer: Answer) -> None:
    async with judging(lambda request: answer) as (judge, endpoint):
        with pytest.raises(Rejection) as raised:
            await judge.judge(summary())

    assert raised.value.reason is RejectionReason.JUDGE_REFUSED
    assert len(endpoint.requests) == 5


async def test_thoughts_are_not_part_of_the_answer() -> None:
    text = "<think>Perhaps <score>1</score>?</think>Fine.\nScore- <score>5</score>"
    async with judging(lambda request: Answer(text)) as (judge, _):
        judgement = await judge.judge(summary())

    verdict = judgement.scores[Metric.CLARITY]
    assert (verdict.score, verdict.explanation) == (5, "Fine.")


# What a summary is not to blame for


@pytest.mark.parametrize(
    ("trouble", "outcome"),
    [
        pytest.param(SERVER_ERROR, "server_error", id="500"),
        pytest.param(error(429, headers={"Retry-After": "0.1"}), "rate_limited", id="429"),
        pytest.param(error(429, headers={"retry-after-ms": "100"}), "rate_limited", id="429-ms"),
        pytest.param(error(408), "timeout", id="408"),
        pytest.param(Answer(raw="<html>Bad gateway</html>"), "server_error", id="not-json"),
        pytest.param(Answer(raw="Hello", headers={"Content-Type": "text/html"}), "server_error", id="html"),
        pytest.param(Answer(raw='{"error": {"message": "busy"}}'), "server_error", id="error-in-200"),
        pytest.param(Answer(raw='{"choices": [{"text": "old"}]}'), "server_error", id="shape"),
        pytest.param(Answer(raw="[" * 100_000), "server_error", id="nested"),
        pytest.param(Answer(drop=True), "network", id="dropped-in-the-body"),
        pytest.param(Answer(disconnect=True), "network", id="dropped-before-the-answer"),
        pytest.param(Answer(hang=True), "timeout", id="hangs"),
        pytest.param(Answer(trickle=0.02), "timeout", id="trickles"),
    ],
)
async def test_a_passing_trouble_is_got_over(trouble: Answer, outcome: str) -> None:
    """Two of five requests meet it: the first time they are sent."""
    unlucky: set[str] = set()

    def script(request: Request) -> Answer:
        if len(unlucky) < 2 and request.prompt not in unlucky:
            unlucky.add(request.prompt)
            return trouble
        return Answer()

    watching = Watching()
    timeout = 1.0 if trouble.hang or trouble.trickle else 20.0  # a busy machine is no trouble
    async with judging(script, judge_timeout=timeout, observer=watching) as (judge, endpoint):
        judgement = await judge.judge(summary())

    attempts = sorted(verdict.attempts for verdict in judgement.scores.values())
    assert attempts == [1, 1, 1, 2, 2]
    assert len(endpoint.judged) == 7
    assert Counter(watching.outcomes) == {"ok": 5, outcome: 2}


async def test_an_endpoint_that_goes_away_and_comes_back_costs_no_record() -> None:
    watching = Watching()
    async with judging(observer=watching) as (judge, endpoint):
        await judge.judge(summary())
        await endpoint.stop()
        asking = [
            asyncio.create_task(judge.judge(summary(summary_id=f"s{n}", summary=f"No. {n}")))
            for n in range(8)
        ]
        await asyncio.sleep(2.0)
        assert not any(task.done() for task in asking)
        assert judge.gate.open_reason is OutageReason.NETWORK
        await endpoint.start()
        back = time.monotonic()
        judgements = await asyncio.gather(*asking)

    assert time.monotonic() - back < 5
    assert all(set(judgement.scores) == set(Metric) for judgement in judgements)
    assert watching.breaker == [OutageReason.NETWORK, None]


@pytest.mark.parametrize(
    ("answer", "reason", "hint"),
    [
        (WRONG_KEY, OutageReason.WRONG_KEY, "OPENAI_API_KEY"),
        (error(403), OutageReason.WRONG_KEY, "OPENAI_API_KEY"),
        (UNKNOWN_MODEL, OutageReason.UNKNOWN_MODEL, "QUINTET_MODEL"),
    ],
)
async def test_what_somebody_must_set_right_is_said_at_once(
    answer: Answer, reason: OutageReason, hint: str
) -> None:
    async with judging(lambda request: answer, patience=30.0, openai_api_key="sk-secret") as (judge, _):
        with pytest.raises(Outage) as raised:
            await judge.judge(summary())

    assert raised.value.reason is reason
    assert hint in raised.value.message
    assert "sk-secret" not in str(raised.value)


async def test_a_used_up_quota_is_an_outage_and_no_rate_limit() -> None:
    async with judging(lambda request: QUOTA, patience=0.3) as (judge, _):
        with pytest.raises(Outage) as raised:
            await judge.judge(summary())

    assert raised.value.reason is OutageReason.QUOTA


async def test_an_address_where_nobody_listens_is_named_without_its_password() -> None:
    async with judging() as (_, endpoint):
        port = endpoint.url.rsplit(":", 1)[1]
    settings = load_settings(openai_base_url=f"http://user:hush@127.0.0.1:{port}", cache="off")
    judge = build_openai_judge(settings, load_pack(), patience=0.2)
    with pytest.raises(Outage) as raised:
        await judge.judge(summary())
    await judge.close()

    assert raised.value.reason is OutageReason.NETWORK
    assert "127.0.0.1" in raised.value.message
    assert "hush" not in raised.value.message


async def test_a_name_and_password_in_the_address_are_sent() -> None:
    async with Endpoint() as endpoint:
        url = endpoint.url.replace("//", "//user:hu%20sh@")
        judge = build_openai_judge(load_settings(openai_base_url=url, cache="off"), load_pack())
        await judge.judge(summary())
        await judge.close()

    assert endpoint.requests[0].headers["Authorization"] == "Basic dXNlcjpodSBzaA=="


async def test_a_summary_too_long_for_the_model_is_rejected_and_the_others_are_judged() -> None:
    def script(request: Request) -> Answer:
        return TOO_LONG if "endless" in request.prompt else Answer(delay=0.05)

    async with judging(script) as (judge, endpoint):
        outcomes = await asyncio.gather(
            judge.judge(summary()),
            judge.judge(summary(summary="An endless text.")),
            return_exceptions=True,
        )

    assert isinstance(outcomes[0], Judgement)
    assert isinstance(outcomes[1], Rejection)
    assert outcomes[1].reason is RejectionReason.JUDGE_BAD_REQUEST
    assert "context_length_exceeded" in outcomes[1].message
    assert all("max_tokens" in request.body for request in endpoint.requests), "no parameter is to blame"


async def test_the_same_refusal_for_everybody_rejects_nobody() -> None:
    async with judging(lambda request: error(400, "nonsense"), patience=0.3) as (judge, endpoint):
        with pytest.raises(Outage) as raised:
            await judge.judge(summary())

    assert raised.value.reason is OutageReason.BAD_REQUEST
    assert endpoint.probes


# Parameters that a model refuses


async def test_a_refused_temperature_is_left_out_from_then_on() -> None:
    def script(request: Request) -> Answer:
        if "temperature" in request.body:
            return error(400, "unsupported_value", param="temperature")
        return Answer()

    async with judging(script) as (judge, endpoint):
        first = await judge.judge(summary())
        assert {verdict.attempts for verdict in first.scores.values()} == {2}
        seen = len(endpoint.requests)
        second = await judge.judge(summary(summary="Another."))

    assert {verdict.attempts for verdict in second.scores.values()} == {1}
    assert len(endpoint.requests) == seen + 5
    assert endpoint.probes == []


@pytest.mark.parametrize("refused", [{"max_tokens"}, {"max_tokens", "max_completion_tokens"}])
async def test_a_refused_limit_is_renamed_and_then_left_out(refused: set[str]) -> None:
    def script(request: Request) -> Answer:
        named = sorted(refused & set(request.body))
        message = f"Unsupported parameter: '{named[0]}'" if named else ""
        return error(400, None, message=message) if named else Answer()

    async with judging(script) as (judge, endpoint):
        judgement = await judge.judge(summary())

    assert {verdict.attempts for verdict in judgement.scores.values()} == {1 + len(refused)}
    last = endpoint.requests[-1].body
    assert ("max_completion_tokens" in last) == (len(refused) == 1)


# More than one number


def weighted(first: str, second: str, share: float) -> list[tuple[str, dict[str, float]]]:
    other = {second: math.log(1 - share)} if share < 1 else {}
    digit = {first: math.log(share), **other, "x": -3.0}
    return [("Fine.\nScore- <score>", {"Fine": -0.1}), (first, digit), ("</score>", {"</score>": 0.0})]


async def test_log_probabilities_give_a_distribution() -> None:
    answer = Answer("Fine.\nScore- <score>4</score>", logprobs=weighted("4", "2", 0.6))
    async with judging(lambda request: answer, logprobs=True) as (judge, endpoint):
        judgement = await judge.judge(summary())

    verdict = judgement.scores[Metric.CLARITY]
    assert verdict.mode is Mode.LOGPROBS
    assert verdict.distribution == pytest.approx([0, 0.4, 0, 0.6, 0])
    assert verdict.expected == pytest.approx(3.2)
    assert verdict.score == 3, "the whole number nearest the mean, not the one that was written"
    assert endpoint.requests[0].body["top_logprobs"] == 20


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer("<score>4</score>", logprobs=[("<score>4</score>", {})]),
        error(400, "unsupported_parameter", param="logprobs"),
    ],
    ids=["none", "no-alternatives", "refused"],
)
async def test_an_endpoint_without_log_probabilities_is_an_outage_and_no_fallback(answer: Answer) -> None:
    async with judging(lambda request: answer, patience=30.0, logprobs=True) as (judge, _):
        with pytest.raises(Outage) as raised:
            await judge.judge(summary())

    assert raised.value.reason is OutageReason.UNSUPPORTED
    assert "QUINTET_LOGPROBS" in raised.value.message


async def test_several_samples_give_shares_and_their_mean() -> None:
    given: dict[Metric, int] = dict.fromkeys(Metric, 0)

    def script(request: Request) -> Answer:
        metric = metric_of(request)
        given[metric] += 1
        score = [5, 4, 4, 1][given[metric] - 1]
        return Answer(f"I say {score}.\nScore- <score>{score}</score>")

    async with judging(script, samples=4) as (judge, endpoint):
        judgement = await judge.judge(summary())

    assert len(endpoint.requests) == 20
    assert {request.body["temperature"] for request in endpoint.requests} == {0.7}
    for verdict in judgement.scores.values():
        assert verdict.mode is Mode.SAMPLES
        assert verdict.distribution == pytest.approx([0.25, 0, 0, 0.5, 0.25])
        assert (verdict.expected, verdict.score) == (3.5, 4)
        assert verdict.explanation == "I say 4."
        assert verdict.attempts == 4


# Money


async def test_cost_counts_the_provider_s_cached_tokens_at_their_own_price() -> None:
    prices: dict[str, Any] = {
        "price_input_per_mtok": 2.0,
        "price_output_per_mtok": 8.0,
        "price_cached_per_mtok": 0.5,
    }
    watching = Watching()
    async with judging(lambda request: Answer(usage=(1000, 600, 50)), observer=watching, **prices) as (
        judge,
        _,
    ):
        judgement = await judge.judge(summary())

    expected = 5 * (400 * 2.0 + 600 * 0.5 + 50 * 8.0) / 1e6
    assert judgement.cost_usd == pytest.approx(expected)
    assert watching.usd == pytest.approx(expected)
    assert watching.tokens == (5000, 3000, 250)


async def test_without_usage_cost_and_tokens_are_unknown() -> None:
    prices: dict[str, Any] = {"price_input_per_mtok": 2.0, "price_output_per_mtok": 8.0}
    async with judging(lambda request: Answer(usage=None), **prices) as (judge, _):
        judgement = await judge.judge(summary())

    assert judgement.cost_usd is None
    assert judgement.scores[Metric.CLARITY].prompt_tokens is None


async def test_a_used_up_budget_stops_judging_even_after_a_restart(cache_path: Path) -> None:
    money: dict[str, Any] = {
        "price_input_per_mtok": 1.0,
        "price_output_per_mtok": 1.0,
        "budget_usd_per_day": 0.005,
    }
    for number in range(2):
        async with judging(patience=30.0, cache=cache_path, **money) as (judge, endpoint):
            if number == 0:
                await judge.judge(summary())
            with pytest.raises(Outage) as raised:
                await judge.judge(summary(summary="Another."))
            asked = len(endpoint.requests)

    assert raised.value.reason is OutageReason.BUDGET
    assert "QUINTET_BUDGET_USD_PER_DAY" in raised.value.message
    assert asked == 0, "the second process sent nothing"


# The cache


async def test_a_paid_verdict_is_not_paid_for_again(cache_path: Path) -> None:
    prices: dict[str, Any] = {"price_input_per_mtok": 1.0, "price_output_per_mtok": 1.0}
    async with judging(cache=cache_path, **prices) as (judge, _):
        first = await judge.judge(summary())
    watching = Watching()
    async with judging(cache=cache_path, observer=watching, **prices) as (judge, endpoint):
        again = await judge.judge(summary())
        assert endpoint.requests == []
        await judge.fresh().judge(summary())
        assert len(endpoint.requests) == 5

    assert watching.hits == 5
    assert again.model == first.model == MODEL
    assert (again.cost_usd, again.slowest_call_seconds) == (0.0, 0.0)
    for metric, verdict in again.scores.items():
        assert (verdict.cached, verdict.attempts, verdict.latency_seconds) == (True, 0, 0.0)
        same = first.scores[metric].model_copy(update={"cached": True, "attempts": 0, "latency_seconds": 0.0})
        assert verdict == same


@pytest.mark.parametrize(
    "change", [{"model": "other"}, {"temperature": 0.3}, {"samples": 2}, {"logprobs": True}]
)
async def test_another_question_is_not_answered_from_the_cache(
    cache_path: Path, change: dict[str, Any]
) -> None:
    answer = Answer("Fine.\nScore- <score>4</score>", logprobs=weighted("4", "2", 0.6))
    async with judging(lambda request: answer, cache=cache_path) as (judge, _):
        await judge.judge(summary())
    async with judging(lambda request: answer, cache=cache_path, **change) as (judge, endpoint):
        await judge.judge(summary())

    assert len(endpoint.requests) == 5 * change.get("samples", 1)


async def test_a_replay_of_a_rejected_summary_pays_only_for_what_is_missing(cache_path: Path) -> None:
    def refusing(request: Request) -> Answer:
        slow = Answer(delay=0.2)
        return Answer(None, refusal="no") if metric_of(request) is Metric.CLARITY else slow

    async with judging(refusing, cache=cache_path) as (judge, endpoint):
        with pytest.raises(Rejection, match="judge_refused"):
            await judge.judge(summary())
        endpoint.script = scored
        endpoint.requests.clear()
        judgement = await judge.judge(summary())

    assert [metric_of(request) for request in endpoint.requests] == [Metric.CLARITY]
    assert [metric for metric, verdict in judgement.scores.items() if not verdict.cached] == [Metric.CLARITY]


async def test_a_hard_rule_holds_for_a_verdict_from_the_cache_too(cache_path: Path) -> None:
    event = summary(Kind.RECOMMENDATION, summary="word " * 101)
    five = Answer("Short.\nScore- <score>5</score>")
    async with judging(lambda request: five, cache=cache_path) as (judge, _):
        for cached in (False, True):
            verdict = (await judge.judge(event)).scores[Metric.CONCISENESS]
            assert (verdict.score, verdict.adjusted_from, verdict.cached) == (4, 5, cached)


# Ending


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will be soon."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.01)


async def test_a_cancelled_judgement_ends_all_its_requests() -> None:
    async with judging(lambda request: Answer(delay=30), judge_timeout=60.0) as (judge, endpoint):
        before = asyncio.all_tasks()
        judging_it = asyncio.create_task(judge.judge(summary()))
        await until(lambda: endpoint.in_flight == 5)
        judging_it.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging_it
        left = {task for task in asyncio.all_tasks() - before if "judging" in str(task.get_coro())}

    assert left == set()


async def test_closing_while_the_breaker_is_open_leaves_nothing_behind() -> None:
    async with judging(lambda request: SERVER_ERROR) as (judge, _):
        waiting = asyncio.create_task(judge.judge(summary()))
        await until(lambda: judge.gate.open_reason is not None)
        waiting.cancel()
        await asyncio.wait([waiting])
        await judge.close()
        assert not [task for task in asyncio.all_tasks() if "probe" in str(task.get_coro())]
