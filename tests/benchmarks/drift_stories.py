"""Whole runs through groups of streams: shifts of the mix, verdicts, and the pace of it all."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import numpy as np

from tests.benchmarks.drift_draws import ASPECT_COVERAGE, COHERENCE, Draws, Source, whole
from worker.drift.budget import Budget
from worker.drift.cusum import tilt, tilt_to
from worker.drift.grid import value_of
from worker.drift.group import ALL, Group
from worker.drift.recent import RecentIds
from worker.drift.reference import PASSES, ReferenceBook, ReferenceScore
from worker.drift.verdict import JudgeShift
from worker.events import DriftChanged, DriftState, DriftVerdict, KafkaSource, Kind, Metric, MetricScored

START = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = KafkaSource(topic="summaries.generated", partition=0, offset=0)
RUBRIC = "clarity@0123456789ab"
JUDGE = "judge-1"

#: Five categories of unequal size and quality, and the same categories after the mix has moved.
MEANS = (4.4, 4.1, 3.8, 3.4, 3.1)
BEFORE = (0.30, 0.25, 0.20, 0.15, 0.10)
AFTER = (0.10, 0.15, 0.20, 0.25, 0.30)


def score(number: int, cell: int, segment: str, seconds: float = 60.0) -> MetricScored:
    """A score as the topic carries it."""
    value = value_of(int(cell))
    return MetricScored.model_construct(
        event_id=f"e{number}",
        summary_id=f"s{number}",
        kind=Kind.OPINION,
        metric=Metric.CLARITY,
        segment=segment,
        score=round(value),
        expected=value,
        native=False,
        rubric=RUBRIC,
        judge_model=JUDGE,
        scored_at=START + timedelta(seconds=seconds * number),
        source=SOURCE,
    )


def _categories() -> list[Source]:
    shares = whole(COHERENCE)
    return [Source(tilt(shares, tilt_to(shares, mean))) for mean in MEANS]


def _run(
    sources: list[Source], before: int, after: int, mix: tuple[float, ...], drop: float, seed: int
) -> list[DriftChanged]:
    rng = np.random.default_rng(seed)
    places = np.concatenate((rng.choice(5, before, p=BEFORE), rng.choice(5, after, p=mix)))
    shifts = np.concatenate((np.zeros(before), np.full(after, -drop)))
    cells: Draws = np.empty(before + after, dtype=np.uint8)
    for place, source in enumerate(sources):
        here = places == place
        cells[here] = source.draw(shifts[here], rng)
    group, budget = Group(Kind.OPINION, Metric.CLARITY), Budget(baseline_size=500, streams=15)
    events = []
    for number, (cell, place) in enumerate(zip(cells.tolist(), places.tolist(), strict=True)):
        events += group.observe(score(number, cell, f"category-{place}"), budget)
    return [event for event in events if event.state is DriftState.ALARM]


def mix_shift(often: int, seldom: int) -> None:
    """Shares of categories move and quality doesn't; then quality falls everywhere and shares don't."""
    sources = _categories()
    print("\n## Mix shift: five categories, baselines of 500, 5,000 scores after the change\n")
    print("| what happens | runs | a category alarms | the pool alarms | of these `mix` |")
    print("|---|---|---|---|---|")
    for name, mix, drop, runs in (
        ("shares move, quality doesn't", AFTER, 0.0, often),
        ("quality falls by 0.3 everywhere", BEFORE, 0.3, seldom),
        ("both", AFTER, 0.3, seldom),
    ):
        segments = pooled = mixed = 0
        for run in range(runs):
            alarms = _run(sources, 6_000, 5_000, mix, drop, run)
            segments += any(event.segment != ALL for event in alarms)
            pool = [event for event in alarms if event.segment == ALL]
            pooled += bool(pool)
            mixed += bool(pool) and pool[0].verdict is DriftVerdict.MIX
        shares = (segments / runs, pooled / runs, mixed / max(pooled, 1))
        print(f"| {name} | {runs} | " + " | ".join(f"{share:.0%}" for share in shares) + " |")


def _shift_after(
    rng: np.random.Generator, deviation: float, references: int, moved: float
) -> JudgeShift | None:
    """Five passes frozen, then one by a judge that has moved by so much."""
    book = ReferenceBook()
    truth = rng.uniform(1.5, 4.5, references)
    shift = None
    for number in range(PASSES + 1):
        values = truth + rng.normal(0, deviation, references) + (moved if number == PASSES else 0.0)
        scores = [
            ReferenceScore(f"r{place}", Metric.CLARITY, RUBRIC, float(value))
            for place, value in enumerate(np.clip(values, 1, 5))
        ]
        shift = book.add_pass(JUDGE, scores, START + timedelta(days=3650)).get(Metric.CLARITY)
    return shift


def verdicts(runs: int) -> None:
    """A drop of 0.3 through the detector and the references: who is blamed."""
    source, budget = Source(whole(ASPECT_COVERAGE)), Budget(baseline_size=1000, streams=15)
    print(f"\n## Verdicts: 120 references, {runs} runs each, a drop of 0.3 found by the alarm\n")
    print("| who moved | retest SD | judge | generator | undetermined | no alarm in 6,000 |")
    print("|---|---|---|---|---|---|")
    for who, deviation, moved in (
        ("judge", 0.4, -0.3),
        ("generator", 0.4, 0.0),
        ("judge", 0.6, -0.3),
        ("generator", 0.6, 0.0),
        ("generator, lexical judge", 0.0, 0.0),
        ("lexical judge, new version", 0.0, -0.3),
    ):
        counts = dict.fromkeys(DriftVerdict, 0)
        for run in range(runs):
            rng = np.random.default_rng(10_000 + run)
            verdict = _blame(source, budget, rng, _shift_after(rng, deviation, 120, moved))
            if verdict is not None:
                counts[verdict] += 1
        shown = (DriftVerdict.JUDGE, DriftVerdict.GENERATOR, DriftVerdict.UNDETERMINED)
        cells = " | ".join(f"{counts[verdict] / runs:.1%}" for verdict in shown)
        print(f"| {who} | {deviation} | {cells} | {1 - sum(counts.values()) / runs:.1%} |")


def _blame(
    source: Source, budget: Budget, rng: np.random.Generator, shift: JudgeShift | None
) -> DriftVerdict | None:
    group = Group(Kind.OPINION, Metric.CLARITY)
    cells = np.concatenate((source.constant(1, 1000, rng)[0], source.constant(1, 6000, rng, -0.3)[0]))
    for number, cell in enumerate(cells.tolist()):
        events = group.observe(score(number, cell, ALL), budget)
        if any(event.state is DriftState.ALARM for event in events):
            (event,) = group.settle(shift, START + timedelta(days=3650))
            return event.verdict
    return None


def throughput(scores: int) -> None:
    """Ids remembered, segment and pool walked, baselines frozen on the way: scores per second on this core."""
    rng = np.random.default_rng(4)
    cells = Source(whole(ASPECT_COVERAGE)).constant(1, scores, rng)[0].tolist()
    events = [
        score(number, cell, f"category-{number % 50}", seconds=1.0) for number, cell in enumerate(cells)
    ]
    group, budget, ids = Group(Kind.OPINION, Metric.CLARITY), Budget(), RecentIds()
    started, changes = time.perf_counter(), 0
    for event in events:
        if ids.add(event.event_id):
            changes += len(group.observe(event, budget))
    took = time.perf_counter() - started
    frozen = sum(stream.latest is not None and stream.latest.epoch > 0 for stream in group.streams.values())
    print(
        f"\n## Pace\n\n{scores:,} scores in 50 segments and their pool: {scores / took:,.0f} per second,"
        f" {frozen} baselines frozen on the way, {changes} events"
    )
