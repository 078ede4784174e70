"""One record's bytes become a scored summary, a rejection, or a summary that sampling left out.

Knows neither Kafka nor Prometheus: the stream worker and the file command both stand on it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from worker.errors import Rejection, RejectionReason
from worker.events import (
    JudgeIdentity,
    Kind,
    MetricScored,
    Source,
    SummaryGenerated,
    SummaryScored,
    read_summary,
)
from worker.judging.judge import Judge, Judgement

SEGMENT_MAX_CHARACTERS = 64


@dataclass(frozen=True)
class Record:
    """What was read, from where, and when."""

    value: bytes | None
    source: Source
    received_at: datetime


@dataclass(frozen=True)
class Scored:
    """All five metrics were judged."""

    event: SummaryScored
    by_metric: tuple[MetricScored, ...]
    #: Seconds of the slowest judge call: what the rest of the duration is our own overhead.
    slowest_call_seconds: float


@dataclass(frozen=True)
class Rejected:
    """The record can't be scored; `kind` is known where it could be read that far."""

    rejection: Rejection
    kind: Kind | None = None
    summary_id: str | None = None


@dataclass(frozen=True)
class SampledOut:
    """The share of summaries to judge left this one out."""

    kind: Kind


Outcome = Scored | Rejected | SampledOut


class Pipeline:
    """Reads, samples, judges and describes; an Outage passes through to the caller."""

    def __init__(
        self, judge: Judge, *, max_event_bytes: int, sample_rate: float = 1.0, segment_by: str = "category"
    ) -> None:
        self._judge = judge
        self._max_event_bytes = max_event_bytes
        self._segment_by = segment_by
        #: May be lowered while running, to stay within a budget.
        self.sample_rate = sample_rate

    async def process(self, record: Record) -> Outcome:
        """The outcome of one record; only an Outage is raised."""
        summary: SummaryGenerated | None = None
        try:
            summary = self._read(record.value)
            rate = self.sample_rate
            if not is_sampled(summary.summary_id, rate):
                return SampledOut(summary.kind)
            judgement = await self._judge.judge(summary)
        except Rejection as rejection:
            if summary is None:
                return Rejected(rejection)
            return Rejected(rejection, summary.kind, summary.summary_id)
        return self._describe(record, summary, judgement, rate)

    def _read(self, value: bytes | None) -> SummaryGenerated:
        if value is None:
            raise Rejection(RejectionReason.INVALID_EVENT, "the record has no value", stage="read")
        if len(value) > self._max_event_bytes:
            raise Rejection(
                RejectionReason.TOO_LARGE,
                f"{len(value)} bytes, the limit is {self._max_event_bytes}",
                stage="read",
            )
        return read_summary(value)

    def _describe(
        self, record: Record, summary: SummaryGenerated, judgement: Judgement, rate: float
    ) -> Scored:
        scored = SummaryScored(
            event_id=self._event_id(record),
            summary_id=summary.summary_id,
            kind=summary.kind,
            category=summary.category,
            locale=summary.locale,
            generator=summary.generator,
            scores=dict(judgement.scores),
            judge=JudgeIdentity(
                backend=self._judge.backend,
                model=judgement.model,
                requested_model=self._judge.requested_model,
                pack=self._judge.pack,
            ),
            cost_usd=judgement.cost_usd,
            sample_rate=rate,
            generated_at=summary.generated_at,
            received_at=record.received_at,
            scored_at=datetime.now(UTC),
            source=record.source,
        )
        return Scored(scored, metric_events(scored, self._segment_by), judgement.slowest_call_seconds)

    def _event_id(self, record: Record) -> str:
        """The same record judged the same way gets the same id, however often it is delivered."""
        parts = (
            str(record.source),
            hashlib.sha256(record.value or b"").hexdigest(),
            self._judge.backend,
            self._judge.requested_model,
            self._judge.pack,
        )
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def metric_events(scored: SummaryScored, segment_by: str) -> tuple[MetricScored, ...]:
    """The flat events of one scored summary, one per metric."""
    segment = segment_of(scored, segment_by)
    return tuple(
        MetricScored(
            event_id=f"{scored.event_id}:{metric}",
            summary_id=scored.summary_id,
            kind=scored.kind,
            metric=metric,
            segment=segment,
            score=verdict.score,
            expected=verdict.expected,
            native=verdict.native,
            rubric=verdict.rubric,
            judge_model=scored.judge.model,
            generator=scored.generator,
            category=scored.category,
            locale=scored.locale,
            sample_rate=scored.sample_rate,
            scored_at=scored.scored_at,
            source=scored.source,
        )
        for metric, verdict in scored.scores.items()
    )


def segment_of(scored: SummaryScored, segment_by: str) -> str:
    """The sub-stream that drift is watched in."""
    if segment_by == "none":
        return "all"
    if segment_by == "generator":
        generator = scored.generator
        value = generator and "@".join(part for part in (generator.name, generator.version) if part)
    else:
        value = scored.category if segment_by == "category" else scored.locale
    cleaned = (value or "").replace("|", "/").strip()[:SEGMENT_MAX_CHARACTERS]
    return cleaned or "unknown"


def is_sampled(summary_id: str, rate: float) -> bool:
    """Whether a summary belongs to the judged share: by hash, so that a repeat is decided alike."""
    if rate >= 1.0:
        return True
    digest = hashlib.sha256(summary_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < rate * 2**64
