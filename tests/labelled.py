"""Scored summaries and people's labels, as the topics carry them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from worker.events import (
    HumanLabel,
    JudgeIdentity,
    KafkaSource,
    Kind,
    Metric,
    Mode,
    SummaryScored,
    Verdict,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def scored(
    number: int,
    expected: float,
    *,
    model: str = "judge-1",
    pack: str = "builtin@1",
    at: datetime | None = None,
    metrics: Mapping[Metric, float] | None = None,
) -> bytes:
    """Summary s-<number> with this score on every metric, unless told otherwise."""
    values = dict.fromkeys(Metric, expected) | dict(metrics or {})
    when = at or START + timedelta(seconds=number)
    event = SummaryScored(
        event_id=f"e-{number}-{model}",
        summary_id=f"s-{number}",
        kind=Kind.OPINION,
        scores={metric: _verdict(metric, value) for metric, value in values.items()},
        judge=JudgeIdentity(backend="openai", model=model, requested_model=model, pack=pack),
        received_at=when,
        scored_at=when,
        source=KafkaSource(topic="t", partition=0, offset=number),
    )
    return event.model_dump_json().encode()


def _verdict(metric: Metric, value: float) -> Verdict:
    score = min(5, max(1, int(value + 0.5)))
    return Verdict(
        score=score, expected=value, mode=Mode.SINGLE, explanation="so", rubric=f"{metric}@1", native=False
    )


def label(number: int, clarity: float, annotator: str = "ada", group: str | None = None) -> bytes:
    """A person's clarity for summary s-<number>."""
    made = HumanLabel(
        summary_id=f"s-{number}", annotator=annotator, scores={Metric.CLARITY: clarity}, group=group
    )
    return made.model_dump_json().encode()
