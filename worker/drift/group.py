"""All streams of one kind and metric: its segments, and the pooled stream of all of them.

One monitor sees them all, because scores are keyed by kind and metric; only so can it tell a drop in
quality from a change in the mix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import Field

from worker.drift.budget import Budget
from worker.drift.detector import Detector
from worker.drift.grid import value_of
from worker.drift.mix import MIN_EARLIER, Part, Split, split_drop
from worker.drift.stream import Stream, judge_key
from worker.drift.verdict import JudgeShift, attribute
from worker.events import DriftChanged, DriftState, DriftVerdict, Kind, Metric, MetricScored

#: The pooled stream.
ALL = "all"

#: Where scores go whose segment came after the list was full.
OTHER = "other"

#: Scores and the sum of their cells, by segment, since the pooled change point.
Tally = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pending:
    """A standing alarm whose verdict is still to be found."""

    segment: str
    rubric: str
    judge_model: str
    since: datetime


@dataclass(slots=True)
class Group:
    """The streams of one kind and metric."""

    kind: Kind
    metric: Metric
    streams: dict[str, Stream] = field(default_factory=dict)
    #: By judge, as the pooled stream's detectors are.
    tallies: dict[str, Tally] = field(default_factory=dict)
    #: Segments whose streams changed since they were last stored; no part of what is stored.
    changed: Annotated[set[str], Field(exclude=True)] = field(default_factory=set, compare=False)

    def observe(self, score: MetricScored, budget: Budget) -> list[DriftChanged]:
        """Take one score into its segment and into the pool, and give what it changed."""
        segment = self._segment_of(score.segment, budget)
        events = [] if segment == ALL else self._stream(segment).observe(score, budget)
        pool = self._stream(ALL)
        pooled = pool.observe(score, budget)
        self._count(pool, segment, score)
        if pooled:
            events += [self._with_mix(pool, event) for event in pooled]
        if events and segment != ALL:
            events += self._revoke_mix(events)
        return events

    def accept(self, segment: str | None, at: datetime, budget: Budget) -> list[DriftChanged]:
        """Take the present level for usual: in one segment, or wherever in the group something stands."""
        chosen = [stream for stream in self._sorted() if segment in {None, stream.segment}]
        self.changed |= {stream.segment for stream in chosen}
        insist = segment is not None
        return [event for stream in chosen for event in stream.accept(at, budget, insist=insist)]

    def pending(self) -> list[Pending]:
        """Alarms that wait for their verdict."""
        return [
            Pending(stream.segment, detector.rubric, detector.judge_model, detector.standing.since)
            for stream, detector in self._undecided()
            if detector.standing and detector.standing.since
        ]

    def settle(self, shift: JudgeShift | None, at: datetime) -> list[DriftChanged]:
        """Give waiting alarms their verdict, from references judged since the change (None: none exist)."""
        events = []
        for stream, detector in list(self._undecided()):
            standing = detector.standing
            assert standing is not None and standing.since is not None and standing.drop is not None
            # A change point later than now is a wrong clock's, and no reference would ever be young enough.
            if shift is not None and shift.at < standing.since <= at:
                continue
            verdict, reason = attribute(standing.drop, detector.rubric, detector.judge_model, shift)
            self.changed.add(stream.segment)
            events.append(stream.decide(detector, verdict, reason, at))
        return events

    def split(self, detector: Detector) -> Split:
        """The pooled drop since the change point, taken apart."""
        assert detector.baseline is not None
        tally = self.tallies.get(judge_key(detector.rubric, detector.judge_model), {})
        parts = (
            Part(count, value_of(total / count), self._usual(segment, detector, count, total))
            for segment, (count, total) in tally.items()
        )
        return split_drop(detector.baseline.mean, parts)

    def _segment_of(self, segment: str, budget: Budget) -> str:
        if segment in self.streams or segment in {ALL, OTHER}:
            return segment
        named = len(self.streams) - (ALL in self.streams) - (OTHER in self.streams)
        return segment if named < budget.max_segments else OTHER

    def _stream(self, segment: str) -> Stream:
        self.changed.add(segment)
        stream = self.streams.get(segment)
        if stream is None:
            stream = self.streams[segment] = Stream(self.kind, self.metric, segment)
        return stream

    def _count(self, pool: Stream, segment: str, score: MetricScored) -> None:
        """Keep the tally in step with the pooled alarm's walk: empty at its zero."""
        key = judge_key(score.rubric, score.judge_model)
        detector = pool.detectors.get(key)
        if detector is None or detector.alarm.count == 0:
            self.tallies.pop(key, None)
            return
        if len(self.tallies) > len(pool.detectors):
            self.tallies = {kept: tally for kept, tally in self.tallies.items() if kept in pool.detectors}
        tally = self.tallies.setdefault(key, {})
        count, total = tally.get(segment, (0, 0))
        tally[segment] = (count + 1, total + detector.window[-1])

    def _with_mix(self, pool: Stream, event: DriftChanged) -> DriftChanged:
        """The pooled stream's event; with the verdict `mix` at once where an alarm is one of the mix."""
        detector = pool.detectors[judge_key(event.rubric, event.judge_model)]
        if event.state is not DriftState.ALARM or self._segments_in_alarm(detector):
            return event
        split = self.split(detector)
        if not split.is_mix:
            return event
        reason = (
            f"{event.reason}; the mix of segments changed: within segments scores fell by {split.within:.2f}"
        )
        detector.verdict = DriftVerdict.MIX
        detector.standing = event.model_copy(update={"verdict": DriftVerdict.MIX, "reason": reason})
        return detector.standing

    def _revoke_mix(self, events: list[DriftChanged]) -> list[DriftChanged]:
        """A segment alarms after all: what was called a change of the mix is open again."""
        revoked = []
        pool = self.streams[ALL]
        for event in events:
            detector = pool.detectors.get(judge_key(event.rubric, event.judge_model))
            alarmed = event.state is DriftState.ALARM and event.segment != ALL
            if alarmed and detector is not None and detector.verdict is DriftVerdict.MIX:
                reason = f"no longer taken for a change of the mix: {event.segment} alarms on its own"
                revoked.append(pool.decide(detector, None, reason, event.at))
        return revoked

    def _segments_in_alarm(self, pooled: Detector) -> bool:
        key = judge_key(pooled.rubric, pooled.judge_model)
        return any(
            detector.state is DriftState.ALARM
            for segment, stream in self.streams.items()
            if segment != ALL and (detector := stream.detectors.get(key)) is not None
        )

    def _usual(self, segment: str, pooled: Detector, count: int, total: int) -> float | None:
        """A segment's mean before the pooled change point, where it is known."""
        stream = self.streams.get(segment)
        detector = stream.detectors.get(judge_key(pooled.rubric, pooled.judge_model)) if stream else None
        if detector is None or segment == ALL:
            return None
        if detector.learning is None or detector.state is DriftState.UNWATCHABLE:
            return detector.baseline.mean if detector.baseline else None
        earlier = len(detector.learning.cells) - count
        if earlier < MIN_EARLIER:
            return None
        return value_of((sum(detector.learning.cells) - total) / earlier)

    def _sorted(self) -> list[Stream]:
        """In an order that doesn't depend on which segment came first."""
        return [self.streams[segment] for segment in sorted(self.streams)]

    def _undecided(self) -> Iterator[tuple[Stream, Detector]]:
        for stream in self._sorted():
            for _, detector in sorted(stream.detectors.items()):
                if detector.state is DriftState.ALARM and detector.verdict is None:
                    yield stream, detector
