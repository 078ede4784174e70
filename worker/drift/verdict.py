"""Who changed: the judge, the generator, or nobody can say.

The reference set never changes, so when its scores fall the judge has moved. One word has to do even
where both have: `judge` where the judge's shift explains at least a third of the drop, else `generator`,
and the reason says the rest. A third and not half, because the drop at the moment of an alarm is
exaggerated: of all streams that fall alike, those that also had bad luck alarm first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from pydantic import AwareDatetime

from worker.events import DriftVerdict, Metric

#: A paired t beyond this is no accident: a true judge is blamed once in 200 times.
CRITICAL_T = 2.58

#: Standard errors beyond the critical t at which a shift is seen nine times out of ten.
POWER_T = 1.28

#: Fewer references than this see a shift of 0.3 too seldom.
MIN_REFERENCES = 120

#: The judge is to blame where its shift is at least this share of the drop.
BLAME_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class JudgeShift:
    """A fresh pass over the references against the frozen ones, paired, for one metric over all kinds."""

    metric: Metric
    judge_model: str
    #: References compared, by rubric.
    references: Mapping[str, int]
    #: Fresh minus frozen, on average: below zero the judge has become stricter.
    difference: float
    #: The standard error of the difference.
    error: float
    at: AwareDatetime

    @property
    def count(self) -> int:
        """References compared."""
        return sum(self.references.values())

    @property
    def enough(self) -> bool:
        """Whether a verdict may rest on it."""
        return self.count >= MIN_REFERENCES

    @property
    def t(self) -> float:
        """The paired t; without any variance, 0 for no difference and beyond all bounds for one."""
        if self.error > 0:
            return self.difference / self.error
        return 0.0 if self.difference == 0 else inf if self.difference > 0 else -inf

    @property
    def stricter(self) -> bool:
        """Whether the judge now scores the same summaries lower."""
        return self.enough and self.t < -CRITICAL_T

    @property
    def lenient(self) -> bool:
        """Whether the judge now scores the same summaries higher: that hides a worse generator."""
        return self.enough and self.t > CRITICAL_T

    @property
    def moved(self) -> bool:
        """Whether the judge scores the same summaries differently now."""
        return self.stricter or self.lenient

    def would_show(self, drop: float) -> bool:
        """Whether a shift as large as the drop would have been seen, nine times out of ten."""
        return (CRITICAL_T + POWER_T) * self.error <= drop


def attribute(
    drop: float, rubric: str, judge_model: str, shift: JudgeShift | None
) -> tuple[DriftVerdict, str]:
    """The verdict on a drop seen under this rubric and judge, and the reason in words."""
    doubt = _doubt(rubric, judge_model, shift)
    if shift is None or doubt is not None:
        return DriftVerdict.UNDETERMINED, doubt or ""
    seen = f"{shift.count} references moved by {shift.difference:+.2f} (t = {shift.t:.1f})"
    if shift.stricter:
        if -shift.difference >= BLAME_SHARE * drop:
            return DriftVerdict.JUDGE, f"the judge became stricter: {seen}, scores by {-drop:+.2f}"
        return (
            DriftVerdict.GENERATOR,
            f"the judge became stricter too, but that explains too little: {seen}, scores by {-drop:+.2f}",
        )
    if not shift.would_show(drop):
        return DriftVerdict.UNDETERMINED, f"the judge's own scatter hides a shift of {drop:.2f}: {seen}"
    return DriftVerdict.GENERATOR, f"the judge did not become stricter: {seen}, scores by {-drop:+.2f}"


def _doubt(rubric: str, judge_model: str, shift: JudgeShift | None) -> str | None:
    """Why the references can't tell, if they can't."""
    if shift is None:
        return "no references have been judged"
    if shift.judge_model != judge_model:
        return f"the references were judged by {shift.judge_model}, these scores by {judge_model}"
    if rubric not in shift.references:
        return f"no reference was judged with {rubric}"
    if not shift.enough:
        return f"only {shift.count} references could be compared; {MIN_REFERENCES} are needed"
    return None
