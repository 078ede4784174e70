"""A day for the console: real samples, some made worse, judged by the lexical judge and watched by the real detectors.

In one category and kind the generator gets worse towards the end. Everything is written straight into the
topics, as worker and monitor would have.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests import mutations
from tests.streams import Stage, producer
from worker.drift.budget import Budget
from worker.drift.group import Group
from worker.drift.snapshot import take_changed
from worker.drift.verdict import JudgeShift
from worker.errors import Rejection, RejectionReason
from worker.events import (
    Generator,
    JudgeIdentity,
    KafkaSource,
    Kind,
    Metric,
    SummaryGenerated,
    SummaryScored,
    read_summary,
)
from worker.judging.judge import Judgement
from worker.judging.offline import LexicalJudge
from worker.monitoring.states import group_record
from worker.pipeline import metric_events
from worker.streaming.ledger import Partition
from worker.streaming.records import Envelopes, Incoming

SAMPLES = Path(__file__).parent / "data" / "samples.jsonl"
CATEGORIES = ("headphones", "kitchen", "laptops", "phones", "shoes")
#: Where the generator gets worse.
WORSE = (Kind.OPINION, "headphones")
#: Small baselines: a story of hours, not of weeks.
BUDGET = Budget(baseline_size=120, streams=75)
PARTITIONS = 6


def _vague(text: str, rng: random.Random) -> str:
    """Little of the text is left, and the rest would be true of any product."""
    first, *_ = mutations.sentences(text)
    return " ".join([*rng.sample(mutations.FILLERS, 2), first, *rng.sample(mutations.FILLERS, 3)])


MILD = (mutations.append_one_filler, mutations.drop_last_half, mutations.repeat_sentences)
GRAVE = (_vague, _vague, _vague, _vague, mutations.interleave_filler, mutations.drop_every_other)


@dataclass(frozen=True)
class Written:
    """One record as it goes to a topic."""

    topic: str
    key: bytes | None
    value: bytes | None
    at: datetime
    partition: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class Variant:
    """A text and what the judge says of it."""

    event: SummaryGenerated
    judgement: Judgement


class Story:
    """Writes summaries with their scores, and what a monitor would have said."""

    def __init__(self, stage: Stage, *, seed: int = 7) -> None:
        self.stage = stage
        self.rng = random.Random(seed)
        self.groups: dict[tuple[Kind, Metric], Group] = {}
        self._offsets = [0] * PARTITIONS
        self._number = 0
        self._judge = LexicalJudge("builtin@5b1f0c77e2aa")

    def day(
        self, count: int, hours: float, *, until: datetime | None = None, worse_for: float = 0.22
    ) -> None:
        """So many summaries over so many hours, the last part of them worse in one place."""
        end = until or datetime.now(UTC) - timedelta(seconds=3)
        moments = sorted(end - timedelta(hours=hours) * self.rng.random() for _ in range(count))
        worse_from = end - timedelta(hours=hours * worse_for)
        variants = asyncio.run(self._variants())
        records: list[Written] = []
        for at in moments:
            kind, category = self.rng.choice(sorted(variants))
            worse = (kind, category) == WORSE and at >= worse_from
            records += self.summary(self._choose(variants[kind, category], worse), at)
        records += self.verdicts(end)
        records += self.rejected(end, hours)
        self.write([*records, *self.states(end)])

    def summary(self, variant: Variant, at: datetime) -> Iterator[Written]:
        """A generated summary, its scores, and the drift events they bring."""
        self._number += 1
        partition = self._number % PARTITIONS
        name = f"{variant.event.category}-{self._number:06d}"
        settings = self.stage.settings
        source = KafkaSource(
            topic=settings.topic_generated, partition=partition, offset=self._offsets[partition]
        )
        self._offsets[partition] += 1
        event = variant.event.model_copy(
            update={"summary_id": name, "generated_at": at - timedelta(seconds=2)}
        )
        scored = scored_from(event, variant.judgement, source, at, self._judge)
        raw = event.model_dump_json(exclude_none=True).encode()
        yield Written(settings.topic_generated, name.encode(), raw, at - timedelta(seconds=2), partition)
        yield Written(settings.topic_scored, name.encode(), scored.model_dump_json().encode(), at, partition)
        for score in metric_events(scored, settings.segment_by):
            key = score.kind, score.metric
            group = self.groups.setdefault(key, Group(*key))
            for change in group.observe(score, BUDGET):
                yield self.drift(change, at)

    def drift(self, change: Any, at: datetime) -> Written:
        """A DriftChanged as the monitor publishes it."""
        key = f"{change.kind}|{change.metric}|{change.segment}".encode()
        return Written(self.stage.settings.topic_drift, key, change.model_dump_json().encode(), at, 0)

    def verdicts(self, at: datetime) -> Iterator[Written]:
        """What the references say: the judge did not move."""
        for (_, metric), group in self.groups.items():
            for pending in group.pending():
                shift = JudgeShift(metric, pending.judge_model, {pending.rubric: 150}, 0.0, 0.02, at)
                yield from (self.drift(change, at) for change in group.settle(shift, at))

    def states(self, at: datetime) -> Iterator[Written]:
        """The monitor's state, one record for each stream."""
        for number, (name, group) in enumerate(self.groups.items()):
            partition = number % PARTITIONS
            for part, value in take_changed(group).items():
                key, content = group_record(partition, name, part, value)
                yield Written(self.stage.settings.topic_state, key, content, at, partition)

    def rejected(self, end: datetime, hours: float) -> Iterator[Written]:
        """Some records that could not be scored."""
        envelopes = Envelopes(self.stage.settings)
        troubles = [
            (RejectionReason.INVALID_EVENT, "products: comparative_explanation needs 3, got 2", 23),
            (RejectionReason.JUDGE_UNREADABLE, "no score tag in the reply for aspect_coverage", 9),
            (RejectionReason.INVALID_JSON, "EOF while parsing a string at line 1 column 512", 4),
            (RejectionReason.DEADLINE_EXCEEDED, "no verdict within 300 s", 2),
        ]
        for reason, message, count in troubles:
            for _ in range(count):
                at = end - timedelta(hours=hours) * self.rng.random()
                origin = Partition(self.stage.settings.topic_generated, self.rng.randrange(PARTITIONS))
                incoming = Incoming(
                    origin,
                    self.rng.randrange(5000),
                    1,
                    f"{self.rng.choice(CATEGORIES)}-{self.rng.randrange(10**6):06d}".encode(),
                    b"{}",
                    [],
                    None,
                    at,
                )
                made = envelopes.rejected(incoming, Rejection(reason, message))
                headers = [
                    (name, at.isoformat().encode() if name.endswith("failed_at") else value)
                    for name, value in made.headers
                ]
                yield Written(made.topic, made.key, made.value, at, None, tuple(headers))

    def write(self, records: Iterable[Written]) -> None:
        """To the broker, all acknowledged."""
        sink = producer(self.stage.address)
        sent = [
            sink.send(
                record.topic,
                record.value,
                record.key,
                list(record.headers),
                record.partition,
                int(record.at.timestamp() * 1000),
            )
            for record in records
        ]
        for future in sent:
            future.get(timeout=60)
        sink.close()

    def _choose(self, variants: list[Variant], worse: bool) -> Variant:
        """Mostly as written, some a little worse; where it is worse, most of them are, and badly."""
        ways, share = (slice(-len(GRAVE), None), 0.95) if worse else (slice(1, 1 + len(MILD)), 0.35)
        base = self.rng.randrange(0, len(variants), 1 + len(MILD) + len(GRAVE))
        block = variants[base : base + 1 + len(MILD) + len(GRAVE)]
        return self.rng.choice(block[ways]) if self.rng.random() < share else block[0]

    async def _variants(self) -> dict[tuple[Kind, str], list[Variant]]:
        """Every sample as it is, then each way of making it worse."""
        found: dict[tuple[Kind, str], list[Variant]] = {}
        for line in SAMPLES.read_bytes().splitlines():
            event = read_summary(line)
            if event.category not in CATEGORIES:
                continue
            texts = [event.summary, *(way(event.summary, self.rng) for way in (*MILD, *GRAVE))]
            for text in texts:
                changed = event.model_copy(
                    update={"summary": text, "generator": Generator(name="summarizer", version="2026-11-01")}
                )
                found.setdefault((event.kind, event.category), []).append(
                    Variant(changed, await self._judge.judge(changed))
                )
        return found


def scored_from(
    event: SummaryGenerated, judgement: Judgement, source: KafkaSource, at: datetime, judge: LexicalJudge
) -> SummaryScored:
    """The event of a judged summary."""
    return SummaryScored(
        event_id=f"e-{source}",
        summary_id=event.summary_id,
        kind=event.kind,
        category=event.category,
        locale=event.locale,
        generator=event.generator,
        scores=dict(judgement.scores),
        judge=JudgeIdentity(
            backend=judge.backend,
            model=judgement.model,
            requested_model=judge.requested_model,
            pack=judge.pack,
        ),
        generated_at=event.generated_at,
        received_at=at - timedelta(seconds=1),
        scored_at=at,
        source=source,
    )
