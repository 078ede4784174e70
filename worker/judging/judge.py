"""What every judge is: five verdicts on one summary, or a reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from worker.errors import OutageReason
from worker.events import Kind, Metric, SummaryGenerated, Verdict

#: A recommendation explanation of more words than this can't be a 5 in conciseness.
WORD_CAP = 100


@dataclass(frozen=True)
class Judgement:
    """All five verdicts, the model that gave them as it names itself, and what they cost."""

    scores: Mapping[Metric, Verdict]
    model: str
    cost_usd: float | None = None
    #: Seconds of the slowest call that was really made; 0 where every verdict came from the cache.
    slowest_call_seconds: float = 0.0


class Judge(Protocol):
    """Scores a summary on all five metrics.

    Raises Rejection where this summary can't be judged, Outage where nobody's can.
    """

    @property
    def backend(self) -> Literal["openai", "lexical"]: ...

    @property
    def requested_model(self) -> str: ...

    @property
    def pack(self) -> str: ...

    async def judge(self, event: SummaryGenerated) -> Judgement: ...

    def fresh(self) -> Judge:
        """The same judge, giving no verdict that it gave before."""
        ...

    async def close(self) -> None: ...


class Observer:
    """Told about every judge call; telemetry overrides what it counts, everybody else ignores it."""

    def request_finished(self, metric: Metric | None, outcome: str, seconds: float) -> None:
        """One HTTP request ended; `metric` is None for a probe."""

    def tokens_used(self, prompt: int, cached: int, completion: int) -> None:
        """What one reply was billed for."""

    def cost_incurred(self, usd: float) -> None:
        """What one reply cost."""

    def cache_hit(self, metric: Metric) -> None:
        """A verdict came from the cache instead of a call."""

    def breaker_changed(self, reason: OutageReason | None) -> None:
        """The judge went out of reach, for this reason, or came back (None)."""

    def concurrency_changed(self, limit: int) -> None:
        """So many calls may now be under way at once."""


def enforce_hard_rules(event: SummaryGenerated, metric: Metric, verdict: Verdict) -> Verdict:
    """Apply what a rubric leaves no choice about, and show it in `adjusted_from`."""
    over_cap = (
        metric is Metric.CONCISENESS and event.kind is Kind.RECOMMENDATION and event.word_count > WORD_CAP
    )
    if not over_cap or (verdict.score < 5 and verdict.expected <= 4.0):
        return verdict
    return verdict.model_copy(
        update={
            "score": min(verdict.score, 4),
            "expected": min(verdict.expected, 4.0),
            "adjusted_from": 5 if verdict.score == 5 else None,
        }
    )


def whole_score(expected: float) -> int:
    """The whole score nearest to an expected value; halves go up, as people round."""
    return min(5, max(1, int(expected + 0.5)))
