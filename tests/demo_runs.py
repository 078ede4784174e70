"""The demo's story without its parts: the same stream, judge and detectors, in this process and as fast as it goes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from worker.cli.demo import BASELINE
from worker.demo.generator import SampleStream
from worker.demo.story import AFTERMATH, MOST_LEARNING, MOST_WORSE, QUIET, Progress
from worker.drift.budget import Budget
from worker.drift.group import Group
from worker.events import KafkaSource, Kind, Metric
from worker.judging.offline import LexicalJudge
from worker.pipeline import Pipeline, Record, Scored

#: Summaries in a second, as the demo has them on two cores: the alarm budget depends on it.
RATE = 80


@dataclass
class Run:
    """One seeded story."""

    seed: int
    progress: Progress = field(default_factory=Progress)

    async def play(self) -> Progress:
        """From the first summary to the last alarm."""
        judge = LexicalJudge("builtin")
        self._pipeline = Pipeline(judge, max_event_bytes=1 << 20, sample_rate=1.0, segment_by="category")
        self._stream = SampleStream(self.seed)
        self._budget = Budget(baseline_size=int(BASELINE))
        self._groups = {(kind, metric): Group(kind, metric) for kind in Kind for metric in Metric}
        self._at = datetime.now(UTC)
        progress = self.progress
        while progress.watched() < progress.streams and progress.published < MOST_LEARNING:
            await self._publish(worse=False)
        for _ in range(QUIET):
            await self._publish(worse=False)
        assert not progress.alarms, f"seed {self.seed}: an alarm while all was well"
        progress.worse_from = progress.published
        left = MOST_WORSE
        while left > 0:
            await self._publish(worse=True)
            left -= 1
            if progress.alarms:
                left = min(left, AFTERMATH)
        return progress

    async def _publish(self, *, worse: bool) -> None:
        self._at += timedelta(seconds=1 / RATE)
        self.progress.published += 1
        source = KafkaSource(topic="t", partition=0, offset=self.progress.published)
        outcome = await self._pipeline.process(Record(self._stream.next(worse=worse)[1], source, self._at))
        assert isinstance(outcome, Scored)
        self.progress.scored += 1
        for score in outcome.by_metric:
            moved = score.model_copy(update={"scored_at": self._at})
            for event in self._groups[score.kind, score.metric].observe(moved, self._budget):
                self.progress.note(event)


def play(seed: int) -> Progress:
    """One story to its end."""
    return asyncio.run(Run(seed).play())
