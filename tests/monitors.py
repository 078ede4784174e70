"""What tests of the drift monitor need: scores on the topic, monitors as processes, their state and events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tests.streams import Stage, Worker, Workers, producer
from worker.drift.grid import CELLS, value_of
from worker.events import KafkaSource, Kind, Metric, MetricScored
from worker.monitoring.looking import Look

MONITOR = ["-c", "from worker.cli import main; main()", "monitor"]
START = datetime(2026, 1, 1, tzinfo=UTC)


def draw_scores(
    count: int,
    *,
    seed: int,
    names: Sequence[tuple[Kind, Metric]],
    segments: Sequence[str],
    mean: float = 4.2,
    first: int = 0,
    lower: dict[str, float] | None = None,
    start: datetime = START,
) -> list[MetricScored]:
    """Scores in turn for all names and at random for the segments; `lower` says by how much a segment is worse."""
    rng = np.random.default_rng(seed)
    where = rng.integers(len(segments), size=count)
    noise = rng.normal(0, 0.6, size=count)
    found = []
    for number in range(count):
        kind, metric = names[number % len(names)]
        segment = segments[where[number]]
        value = mean - (lower or {}).get(segment, 0.0) + noise[number]
        found.append(metric_score(first + number, kind, metric, segment, value, start))
    return found


def metric_score(
    number: int, kind: Kind, metric: Metric, segment: str, value: float, start: datetime = START
) -> MetricScored:
    """One score, with the value put on the grid."""
    cell = min(CELLS - 1, max(0, round((value - 1) * 20)))
    expected = value_of(cell)
    return MetricScored(
        event_id=f"e{number}:{metric}",
        summary_id=f"s{number}",
        kind=kind,
        metric=metric,
        segment=segment,
        score=min(5, max(1, round(expected))),
        expected=expected,
        native=False,
        rubric=f"{metric}@lexical-1",
        judge_model="lexical-1",
        category=segment,
        scored_at=start + timedelta(seconds=30 * number),
        source=KafkaSource(topic="t", partition=0, offset=number),
    )


def publish_scores(stage: Stage, scores: Iterable[MetricScored]) -> None:
    """To the topic of metric scores, keyed as a worker does it."""
    sink = producer(stage.address, batch_size=256 * 1024)
    for score in scores:
        key = f"{score.kind}|{score.metric}".encode()
        sink.send(stage.settings.topic_metric_scores, score.model_dump_json().encode(), key)
    sink.close()


def start_monitor(workers: Workers, **env: str) -> Worker:
    """`quintet monitor` with the lexical judge and no reference set, unless told otherwise."""
    return workers.start(MONITOR, **({"QUINTET_JUDGE": "lexical", "QUINTET_REFERENCE_SET": "off"} | env))


def sibling(stage: Stage, name: str) -> Stage:
    """A stage that reads the same scores, with a group, a state and events of its own."""
    other = Stage(stage.address, stage.directory / name, stage.partitions)
    other.directory.mkdir()
    other.env["QUINTET_TOPIC_METRIC_SCORES"] = stage.settings.topic_metric_scores
    other.settings = stage.settings.model_validate(
        {key.removeprefix("QUINTET_").lower(): value for key, value in other.env.items()}
    )
    other.create_topics()
    return other


def states(stage: Stage) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every stream's whole state."""
    return {
        (stream.kind, stream.metric, stream.segment): asdict(stream)
        for stream in (found.stream for found in Look(stage.settings).streams())
    }


def observed(stage: Stage) -> int:
    """How many scores the stored states include."""
    return sum(state["scores"] for (*_, segment), state in states(stage).items() if segment == "all")


def drift_events(stage: Stage) -> list[dict[str, Any]]:
    """The events of the drift topic."""
    return [json.loads(record.value) for record in stage.read("drift")]
