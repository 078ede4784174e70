"""From bytes to an outcome: sampling, identity, segments, hard rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from tests.examples import raw, summary
from worker.errors import Rejection, RejectionReason
from worker.events import FileSource, KafkaSource, Kind, Metric, Mode, Source, SummaryGenerated, Verdict
from worker.judging.judge import Judgement, enforce_hard_rules, whole_score
from worker.pipeline import Pipeline, Record, Rejected, SampledOut, Scored, is_sampled, segment_of


def verdict(score: int = 4, expected: float | None = None) -> Verdict:
    return Verdict(
        score=score, expected=score if expected is None else expected, mode=Mode.SINGLE,
        explanation="because", rubric="clarity@000000000000", native=True,
    )  # fmt: skip


@dataclass
class StubJudge:
    """Gives everything a four, or says why not."""

    rejection: Rejection | None = None
    backend: Literal["openai", "lexical"] = "openai"
    requested_model: str = "small"
    pack: str = "builtin@0"
    asked: list[str] = field(default_factory=list)

    async def judge(self, event: SummaryGenerated) -> Judgement:
        self.asked.append(event.summary_id)
        if self.rejection:
            raise self.rejection
        return Judgement(dict.fromkeys(Metric, verdict()), "small-2026", 0.001, 0.5)

    async def close(self) -> None:
        """Nothing to close."""


SOURCE = KafkaSource(topic="t", partition=3, offset=4711)


def record(value: bytes | None, source: Source = SOURCE) -> Record:
    return Record(value, source, datetime.now(UTC))


def pipeline(judge: StubJudge | None = None, **options: object) -> Pipeline:
    return Pipeline(judge or StubJudge(), **({"max_event_bytes": 100_000} | options))  # type: ignore[arg-type]


async def test_a_summary_is_scored_and_described() -> None:
    outcome = await pipeline().process(record(raw(Kind.COMPARATIVE)))
    assert isinstance(outcome, Scored)
    event = outcome.event
    assert (event.summary_id, event.kind, event.category) == ("s-1", Kind.COMPARATIVE, "lamps")
    assert event.judge.model == "small-2026"
    assert event.judge.requested_model == "small"
    assert event.source == SOURCE
    assert [flat.metric for flat in outcome.by_metric] == list(Metric)
    assert outcome.by_metric[1].event_id == f"{event.event_id}:clarity"
    assert outcome.by_metric[1].segment == "lamps"


async def test_the_same_record_gets_the_same_id_and_any_difference_another() -> None:
    async def event_id(judge: StubJudge, value: bytes, source: Source = SOURCE) -> str:
        outcome = await pipeline(judge).process(record(value, source))
        assert isinstance(outcome, Scored)
        return outcome.event.event_id

    first = await event_id(StubJudge(), raw())
    assert await event_id(StubJudge(), raw()) == first
    others = [
        await event_id(StubJudge(), raw(category="other")),
        await event_id(StubJudge(), raw(), KafkaSource(topic="t", partition=3, offset=4712)),
        await event_id(StubJudge(), raw(), FileSource(file="f", line=1)),
        await event_id(StubJudge(backend="lexical"), raw()),
        await event_id(StubJudge(requested_model="large"), raw()),
        await event_id(StubJudge(pack="mine@1"), raw()),
    ]
    assert len({first, *others}) == 7


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, RejectionReason.INVALID_EVENT),
        (b"{", RejectionReason.INVALID_JSON),
        (b"{}", RejectionReason.INVALID_EVENT),
        (raw(summary="x" * 200_000), RejectionReason.TOO_LARGE),
    ],
)
async def test_what_cannot_be_read_is_rejected_unjudged(value: bytes | None, reason: RejectionReason) -> None:
    judge = StubJudge()
    outcome = await pipeline(judge).process(record(value))
    assert isinstance(outcome, Rejected)
    assert outcome.rejection.reason is reason
    assert judge.asked == []


async def test_a_judge_that_can_not_judge_it_rejects_it() -> None:
    judge = StubJudge(Rejection(RejectionReason.JUDGE_REFUSED, "no"))
    outcome = await pipeline(judge).process(record(raw()))
    assert isinstance(outcome, Rejected)
    assert (outcome.kind, outcome.summary_id) == (Kind.OPINION, "s-1")


async def test_sampling_leaves_out_and_says_the_rate() -> None:
    judge = StubJudge()
    assert await pipeline(judge, sample_rate=0.0).process(record(raw())) == SampledOut(Kind.OPINION)
    assert judge.asked == []


def test_sampling_keeps_its_share_and_its_choice() -> None:
    ids = [f"s-{number}" for number in range(10_000)]
    chosen = {one for one in ids if is_sampled(one, 0.3)}
    assert abs(len(chosen) - 3_000) < 200
    # A higher rate only adds: what was judged stays judged.
    assert chosen <= {one for one in ids if is_sampled(one, 0.5)}


@pytest.mark.parametrize(
    ("by", "changes", "segment"),
    [
        ("category", {}, "lamps"),
        ("category", {"category": None}, "unknown"),
        ("category", {"category": " "}, "unknown"),
        ("category", {"category": "a|b"}, "a/b"),
        ("category", {"category": "x" * 100}, "x" * 64),
        ("locale", {}, "en"),
        ("generator", {}, "summarizer@2026-11-01"),
        ("generator", {"generator": {"name": "g"}}, "g"),
        ("generator", {"generator": None}, "unknown"),
        ("none", {}, "all"),
    ],
)
async def test_segments(by: str, changes: dict[str, Any], segment: str) -> None:
    outcome = await pipeline().process(record(raw(**changes)))
    assert isinstance(outcome, Scored)
    assert segment_of(outcome.event, by) == segment


LONG = "word " * 101


@pytest.mark.parametrize(
    ("kind", "metric", "text", "given", "score", "expected", "adjusted_from"),
    [
        (Kind.RECOMMENDATION, Metric.CONCISENESS, LONG, (5, 5.0), 4, 4.0, 5),
        (Kind.RECOMMENDATION, Metric.CONCISENESS, LONG, (5, 4.6), 4, 4.0, 5),
        (Kind.RECOMMENDATION, Metric.CONCISENESS, LONG, (4, 4.3), 4, 4.0, None),
        (Kind.RECOMMENDATION, Metric.CONCISENESS, LONG, (3, 3.2), 3, 3.2, None),
        (Kind.RECOMMENDATION, Metric.CONCISENESS, "word " * 100, (5, 5.0), 5, 5.0, None),
        (Kind.RECOMMENDATION, Metric.CLARITY, LONG, (5, 5.0), 5, 5.0, None),
        (Kind.OPINION, Metric.CONCISENESS, LONG, (5, 5.0), 5, 5.0, None),
    ],
)
def test_over_a_hundred_words_a_recommendation_is_no_five(
    kind: Kind, metric: Metric, text: str, given: tuple[int, float],
    score: int, expected: float, adjusted_from: int | None,
) -> None:  # fmt: skip
    ruled = enforce_hard_rules(summary(kind, summary=text), metric, verdict(*given))
    assert (ruled.score, ruled.expected, ruled.adjusted_from) == (score, expected, adjusted_from)


def test_halves_round_up_and_stay_on_the_scale() -> None:
    assert [whole_score(value) for value in (1.0, 1.49, 2.5, 3.5, 4.5, 5.0)] == [1, 1, 3, 4, 5, 5]
