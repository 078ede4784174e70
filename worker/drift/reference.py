"""The reference set's memory: five passes frozen, every later one compared with them, paired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import fsum, sqrt

from pydantic import TypeAdapter

from worker.drift.verdict import JudgeShift
from worker.events import Metric

#: Passes that are averaged and frozen: they take most of the frozen side's scatter out of the comparison.
PASSES = 5

#: Tables kept: fifteen rubrics for each of eight judges or packs.
MAX_TABLES = 120

#: A mean of five equal numbers may differ from them in the last bit; that is no difference.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class ReferenceScore:
    """One reference, judged once on one metric."""

    reference_id: str
    metric: Metric
    rubric: str
    value: float


@dataclass(slots=True)
class Table:
    """All references judged by one model with one rubric."""

    metric: Metric
    values: dict[str, list[float]] = field(default_factory=dict)
    last_pass: int = 0

    def frozen(self, reference_id: str) -> float | None:
        """The mean of the frozen passes, once there are enough of them."""
        values = self.values.get(reference_id, [])
        return fsum(values) / PASSES if len(values) == PASSES else None


@dataclass(slots=True)
class ReferenceBook:
    """What each judge gave each reference when it was frozen."""

    tables: dict[str, Table] = field(default_factory=dict)
    passes: int = 0

    def passes_missing(self, judge_model: str, rubrics: Iterable[str]) -> int:
        """How many passes are still to be frozen before one can be compared."""
        return max((self._missing(_table_key(judge_model, rubric)) for rubric in rubrics), default=PASSES)

    def add_pass(
        self, judge_model: str, scores: Iterable[ReferenceScore], at: datetime
    ) -> Mapping[Metric, JudgeShift]:
        """Freeze what is not frozen yet, and compare the rest: the judge's shift by metric."""
        self.passes += 1
        pairs: dict[Metric, list[tuple[str, float]]] = {}
        for score in scores:
            table = self._table(judge_model, score)
            frozen = table.frozen(score.reference_id)
            if frozen is None:
                table.values.setdefault(score.reference_id, []).append(score.value)
            else:
                pairs.setdefault(score.metric, []).append((score.rubric, score.value - frozen))
        self._forget()
        return {metric: _shift(metric, judge_model, found, at) for metric, found in pairs.items()}

    def to_json(self) -> bytes:
        """The whole book."""
        return _BOOK.dump_json(self)

    @classmethod
    def from_json(cls, raw: bytes) -> ReferenceBook:
        """The book that was written."""
        return _BOOK.validate_json(raw)

    def _missing(self, key: str) -> int:
        table = self.tables.get(key)
        # A reference that a pass had to leave out may lag behind; it must not hold up the others.
        return PASSES - max((len(values) for values in table.values.values()), default=0) if table else PASSES

    def _table(self, judge_model: str, score: ReferenceScore) -> Table:
        table = self.tables.setdefault(_table_key(judge_model, score.rubric), Table(score.metric))
        table.last_pass = self.passes
        return table

    def _forget(self) -> None:
        while len(self.tables) > MAX_TABLES:
            del self.tables[min(self.tables, key=lambda key: self.tables[key].last_pass)]


_BOOK = TypeAdapter(ReferenceBook)


def _table_key(judge_model: str, rubric: str) -> str:
    return f"{rubric}|{judge_model}"


def _shift(metric: Metric, judge_model: str, pairs: list[tuple[str, float]], at: datetime) -> JudgeShift:
    counts: dict[str, int] = {}
    for rubric, _ in pairs:
        counts[rubric] = counts.get(rubric, 0) + 1
    differences = [0.0 if abs(difference) < _NOTHING else difference for _, difference in pairs]
    count, mean = len(differences), fsum(differences) / len(differences)
    # Equal differences have no variance, whatever rounding makes of their mean.
    spread = fsum((difference - mean) ** 2 for difference in differences)
    if count < 2 or max(differences) - min(differences) < _NOTHING:
        spread = 0.0
    error = sqrt(spread / (count - 1) / count) if count > 1 else 0.0
    return JudgeShift(metric, judge_model, counts, mean, error, at)
