"""People's labels beside the judge's scores of the same summaries: bounded, and no Kafka here.

Labels are few and scores are many, so only scores of labelled summaries are kept, with a sample of the
others for the prediction-powered mean: those with the smallest hashes, so that reading a topic again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from worker.agreement import JudgedScore, JudgedSummary, PlainAgreement, measure_plainly
from worker.errors import Rejection
from worker.events import HumanLabel, Metric, SummaryId, read_json

#: Labelled summaries kept; the newest stay.
MAX_SUMMARIES = 10_000
#: People per summary; the newest stay.
MAX_ANNOTATORS = 50
#: Judges whose scores are kept side by side; a rolling deployment has two.
MAX_JUDGES = 4
#: Scores of summaries that nobody labelled, per judge.
SAMPLE = 5_000
#: Fewer labelled summaries than this say nothing about a judge.
MIN_PAIRS = 10
#: Characters of an annotator's or a group's name; longer is no name.
MAX_NAME = 256

Figures = dict[tuple[Metric, str], float]


class _Score(BaseModel):
    score: int = Field(ge=1, le=5)
    expected: float = Field(ge=1, le=5)


class _Judge(BaseModel):
    model: str
    pack: str


class _Scored(BaseModel):
    """What is needed of a SummaryScored; the rest of it, mostly explanations, is not even kept in memory."""

    summary_id: SummaryId
    scores: dict[Metric, _Score]
    judge: _Judge
    scored_at: AwareDatetime


@dataclass(slots=True)
class _Entry:
    """One labelled summary."""

    labels: dict[str, HumanLabel] = field(default_factory=dict)
    #: By judge.
    scores: dict[str, Mapping[Metric, JudgedScore]] = field(default_factory=dict)


class LabelBook:
    """Joins labels with scores, whichever comes first."""

    def __init__(self, most: int = MAX_SUMMARIES, sample: int = SAMPLE) -> None:
        self._most = most
        self._entries: dict[str, _Entry] = {}
        #: Labelled summaries that the scored topic was never searched for.
        self._unsearched: set[str] = set()
        #: When each judge was last seen at work; the latest is the one that is held against people.
        self._judges: dict[str, datetime] = {}
        self._sample = sample
        self._others: dict[str, _Sample] = {}
        #: Whether the figures may have changed since they were last computed.
        self.changed = False
        #: Records that were no labels.
        self.unreadable = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def unsearched(self) -> int:
        """Labelled summaries whose scores may lie anywhere in the scored topic."""
        return len(self._unsearched)

    def add_label(self, value: bytes | None) -> None:
        """One record of the labels' topic; what is none is counted and passed over."""
        label = _read_label(value)
        if label is None:
            self.unreadable += 1
            return
        entry = self._entries.pop(label.summary_id, None)
        if entry is None:
            entry = _Entry()
            self._unsearched.add(label.summary_id)
        self._entries[label.summary_id] = entry  # newest last
        earlier = entry.labels.pop(label.annotator, None)
        entry.labels[label.annotator] = _merged(earlier, label)
        _drop_oldest(entry.labels, MAX_ANNOTATORS)
        for forgotten in _drop_oldest(self._entries, self._most):
            self._unsearched.discard(forgotten)
        self.changed = True

    def add_scored(self, value: bytes | None, now: datetime) -> None:
        """One record of the scored topic; what is none is passed over."""
        try:
            event = _Scored.model_validate_json(value or b"")
        except ValidationError:
            return
        judge = f"{event.judge.model}|{event.judge.pack}"
        self._see(judge, min(event.scored_at, now))  # a clock that is ahead must not hold the place for years
        entry = self._entries.get(event.summary_id)
        if entry is None:
            expected = {metric: score.expected for metric, score in event.scores.items()}
            self._others.setdefault(judge, _Sample(self._sample)).add(event.summary_id, expected)
            return
        entry.scores.pop(judge, None)
        entry.scores[judge] = {
            metric: JudgedScore(score.score, score.expected) for metric, score in event.scores.items()
        }
        _drop_oldest(entry.scores, MAX_JUDGES)
        self.changed = True

    def searched(self) -> None:
        """The whole scored topic has been read since the last label came."""
        self._unsearched.clear()

    def figures(self) -> Figures:
        """Agreement of the latest judge with people, by metric and statistic."""
        judge = max(self._judges, key=lambda name: self._judges[name], default="")
        joined = {name: entry for name, entry in self._entries.items() if judge in entry.scores}
        judged = (JudgedSummary(name, 0, entry.scores[judge]) for name, entry in joined.items())
        labels = (label for entry in joined.values() for label in entry.labels.values())
        found: Figures = {}
        for metric, plain in measure_plainly(judged, labels, self._unlabelled(judge)).items():
            found |= {(metric, name): value for name, value in _named(plain) if value is not None}
        return found

    def _see(self, judge: str, at: datetime) -> None:
        self._judges[judge] = max(at, self._judges.get(judge, at))
        while len(self._judges) > MAX_JUDGES:
            oldest = min(self._judges, key=lambda name: self._judges[name])
            del self._judges[oldest]
            self._others.pop(oldest, None)

    def _unlabelled(self, judge: str) -> dict[Metric, list[float]]:
        found: dict[Metric, list[float]] = {}
        sample = self._others.get(judge)
        for expected in sample.without(self._entries) if sample else ():
            for metric, value in expected.items():
                found.setdefault(metric, []).append(value)
        return found


class _Sample:
    """The summaries with the smallest hashes: a fair sample, and the same one however often they are read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[int, Mapping[Metric, float]] = {}
        self._limit = 2**64

    def add(self, summary_id: str, expected: Mapping[Metric, float]) -> None:
        place = _hash(summary_id)
        if place < self._limit:
            self._kept[place] = expected
        if len(self._kept) > 2 * self._size:
            self._kept = dict(sorted(self._kept.items())[: self._size])
            self._limit = next(reversed(self._kept)) + 1

    def without(self, names: Mapping[str, object]) -> Iterator[Mapping[Metric, float]]:
        """All of it but these."""
        labelled = set(map(_hash, names))
        for place in sorted(self._kept)[: self._size]:
            if place not in labelled:
                yield self._kept[place]


def _read_label(value: bytes | None) -> HumanLabel | None:
    try:
        label = HumanLabel.model_validate(read_json(value or b""))
    except (Rejection, ValidationError):
        return None
    return label if max(len(label.annotator), len(label.group or "")) <= MAX_NAME else None


def _merged(earlier: HumanLabel | None, later: HumanLabel) -> HumanLabel:
    """A person's later word holds, metric by metric."""
    if earlier is None:
        return later
    scores = dict(earlier.scores) | dict(later.scores)
    return later.model_copy(update={"scores": scores, "group": later.group or earlier.group})


def _drop_oldest(kept: MutableMapping[str, Any], most: int) -> list[str]:
    dropped = []
    while len(kept) > most:
        oldest = next(iter(kept))
        del kept[oldest]
        dropped.append(oldest)
    return dropped


def _named(plain: PlainAgreement) -> Iterator[tuple[str, float | None]]:
    """A metric's figures under the names that telemetry gives them: a closed set."""
    yield "labelled", plain.summaries
    if plain.summaries < MIN_PAIRS:
        return
    yield "spearman", plain.spearman
    yield "kendall", plain.kendall
    yield "weighted_kappa", plain.weighted_kappa
    if plain.mean is not None:
        yield "ppi_mean", plain.mean.mean.value
        yield "ppi_mean_low", plain.mean.mean.low
        yield "ppi_mean_high", plain.mean.mean.high


def _hash(summary_id: str) -> int:
    return int.from_bytes(blake2b(summary_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
