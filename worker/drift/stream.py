"""One stream of scores, with a detector for each judge and rubric side by side.

Scores of two judges, or of one judge told two things, are never compared. A rolling deployment interleaves
them for hours, and a rollback brings an old one back, so each keeps its own baseline; the number kept is
bounded, and one that has fallen silent makes room for a newcomer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from worker.drift.budget import Budget
from worker.drift.detector import Change, Detector
from worker.drift.grid import cell_of
from worker.events import DriftChanged, DriftState, DriftVerdict, Kind, Metric, MetricScored

#: Judges and rubrics kept side by side in one stream.
MAX_DETECTORS = 8

#: A detector is live while its stream has seen fewer scores than this since its last one. Only one that
#: is not makes room: with one judge too many in turn, eight are watched and the ninth waits, none starts
#: anew for ever.
LIVE = 1000

#: What is shown of several live detectors is the gravest.
GRAVITY = (
    DriftState.LEARNING,
    DriftState.UNWATCHABLE,
    DriftState.OK,
    DriftState.WARNING,
    DriftState.ALARM,
)


@dataclass(slots=True)
class Stream:
    """The detectors of one kind, metric and segment."""

    kind: Kind
    metric: Metric
    segment: str
    scores: int = 0
    #: Scores of judges for which there was no room.
    unwatched: int = 0
    detectors: dict[str, Detector] = field(default_factory=dict)

    def observe(self, score: MetricScored, budget: Budget) -> list[DriftChanged]:
        """Take one score and give what it changed; almost always nothing."""
        self.scores += 1
        events = []
        detector = self.detectors.get(judge_key(score.rubric, score.judge_model))
        if detector is None:
            detector, event = self._admit(score)
            if detector is None or event is None:
                self.unwatched += 1
                return []
            events.append(event)
        detector.last_seen = self.scores
        cell = cell_of(score.expected)
        change = detector.observe(cell, score.scored_at, score.summary_id, budget)
        if change is not None:
            events.append(self._announce(detector, change, score.scored_at))
        return events

    def accept(self, at: datetime, budget: Budget, *, insist: bool) -> list[DriftChanged]:
        """Take the present level for usual where something stands; insisting, even where nothing does."""
        chosen = [detector for detector in self.detectors.values() if detector.standing_climb]
        latest = self.latest
        if not chosen and insist and latest is not None:
            chosen = [latest]
        changes = ((detector, detector.accept(budget)) for detector in chosen)
        return [self._announce(detector, change, at) for detector, change in changes if change is not None]

    def decide(
        self, detector: Detector, verdict: DriftVerdict | None, reason: str, at: datetime
    ) -> DriftChanged:
        """Announce the verdict on a standing alarm, with the figures of the alarm."""
        assert detector.standing is not None
        detector.verdict = verdict
        return detector.standing.model_copy(
            update={
                "event_id": self._event_id(detector, detector.standing.event_id, str(verdict)),
                "previous_state": DriftState.ALARM,
                "verdict": verdict,
                "reason": reason,
                "at": at,
            }
        )

    @property
    def latest(self) -> Detector | None:
        """The detector of the latest score."""
        return max(self.detectors.values(), key=lambda detector: detector.last_seen, default=None)

    @property
    def shown(self) -> Detector | None:
        """The gravest of the live detectors; of equals the latest."""
        live = (detector for detector in self.detectors.values() if self.is_live(detector))
        return max(live, key=lambda found: (GRAVITY.index(found.state), found.last_seen), default=None)

    def is_live(self, detector: Detector) -> bool:
        """Whether its judge has scored here lately."""
        return self.scores - detector.last_seen < LIVE

    def _admit(self, score: MetricScored) -> tuple[Detector | None, DriftChanged | None]:
        """A new detector and the event that says why, if there is room."""
        before = self.latest
        if len(self.detectors) >= MAX_DETECTORS:
            oldest_key = min(self.detectors, key=lambda key: self.detectors[key].last_seen)
            if self.is_live(self.detectors[oldest_key]):
                return None, None
            del self.detectors[oldest_key]
        detector = Detector(score.rubric, score.judge_model, born=score.event_id)
        self.detectors[judge_key(score.rubric, score.judge_model)] = detector
        change = Change(before.state if before else None, _why_new(before, score))
        return detector, self._announce(detector, change, score.scored_at)

    def _announce(self, detector: Detector, change: Change, at: datetime) -> DriftChanged:
        climb, level, baseline = detector.standing_climb, detector.level, detector.baseline
        mean = detector.current_mean
        known = None if baseline is None or detector.learning is not None else baseline.mean
        event = DriftChanged(
            event_id=self._event_id(detector, str(detector.observations), detector.state),
            kind=self.kind,
            metric=self.metric,
            segment=self.segment,
            state=detector.state,
            previous_state=change.previous,
            reason=change.reason,
            statistic=_rounded(detector.height * level.walk.unit if level else None),
            threshold=_rounded(level.threshold * level.walk.unit if level else None),
            baseline_mean=_rounded(known),
            current_mean=_rounded(mean),
            drop=_rounded(None if known is None or mean is None else known - mean),
            observations=climb.count if climb else len(detector.window),
            since=climb.since if climb else None,
            worst=[summary_id for _, summary_id in climb.worst] if climb else [],
            rubric=detector.rubric,
            judge_model=detector.judge_model,
            at=at,
        )
        if detector.state is DriftState.ALARM:
            detector.standing = event
        return event

    def _event_id(self, detector: Detector, *what: str) -> str:
        """The same for the same change, wherever and however often it is computed."""
        stream = (self.kind, self.metric, self.segment, detector.rubric, detector.judge_model)
        named = "\x1f".join((*stream, detector.born, str(detector.epoch), *what))
        return sha256(named.encode("utf-8")).hexdigest()[:32]


def judge_key(rubric: str, judge_model: str) -> str:
    """What a detector is kept under."""
    return f"{rubric}|{judge_model}"


def _why_new(before: Detector | None, score: MetricScored) -> str:
    if before is None:
        return "first score: learning a baseline"
    changed = []
    if before.judge_model != score.judge_model:
        changed.append(f"judge model changed from {before.judge_model} to {score.judge_model}")
    if before.rubric != score.rubric:
        changed.append(f"rubric changed from {before.rubric} to {score.rubric}")
    return f"{', '.join(changed)}: learning a new baseline beside the old one"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
