"""From readable replies to one metric's verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.events import Mode, Verdict
from worker.judging.cache import Ruling
from worker.judging.completion import Completion
from worker.judging.dialogue import Reply
from worker.judging.judge import whole_score
from worker.judging.reply import Weights, weigh_samples
from worker.rubrics import Prompt


@dataclass
class Bill:
    """What the requests for one sample of one metric used; money for unreadable replies counts."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    known: bool = False

    def add(self, completion: Completion, usd: float | None) -> None:
        """One more reply; without its usage the cost of the whole is unknown."""
        if completion.usage is not None:
            self.known = True
            self.prompt_tokens += completion.usage.prompt
            self.completion_tokens += completion.usage.completion
        self.usd = None if usd is None or self.usd is None else self.usd + usd


@dataclass(frozen=True)
class Ruled:
    """A ruling, new or from the cache, and what it took to get it."""

    ruling: Ruling
    requests: int = 0
    seconds: float = 0.0
    usd: float | None = 0.0

    @property
    def cached(self) -> bool:
        """Whether no request was made for it."""
        return self.requests == 0


def ruling_of(reply: Reply, bill: Bill) -> Ruling:
    """What a readable reply says, for the cache."""
    assert reply.reading is not None
    return Ruling(
        score=reply.reading.score,
        explanation=reply.reading.explanation,
        model=reply.completion.model,
        prompt_tokens=bill.prompt_tokens if bill.known else None,
        completion_tokens=bill.completion_tokens if bill.known else None,
        distribution=reply.weights.distribution if reply.weights else None,
    )


def verdict_of(prompt: Prompt, samples: Sequence[Ruled]) -> Verdict:
    """One metric's verdict; where there is a distribution, the score is the whole number nearest its mean."""
    rulings = [sample.ruling for sample in samples]
    mode, weights = _weighed(rulings)
    expected = weights.expected if weights else float(rulings[0].score)
    nearest = min(rulings, key=lambda ruling: abs(ruling.score - expected))
    return Verdict(
        score=whole_score(expected),
        expected=expected,
        distribution=list(weights.distribution) if weights else None,
        mode=mode,
        explanation=nearest.explanation,
        rubric=prompt.rubric,
        native=prompt.native,
        latency_seconds=max(sample.seconds for sample in samples),
        attempts=sum(sample.requests for sample in samples),
        cached=all(sample.cached for sample in samples),
        prompt_tokens=_sum([ruling.prompt_tokens for ruling in rulings]),
        completion_tokens=_sum([ruling.completion_tokens for ruling in rulings]),
    )


def _weighed(rulings: Sequence[Ruling]) -> tuple[Mode, Weights | None]:
    if len(rulings) > 1:
        return Mode.SAMPLES, weigh_samples([ruling.score for ruling in rulings])
    if rulings[0].distribution is not None:
        return Mode.LOGPROBS, Weights(rulings[0].distribution)
    return Mode.SINGLE, None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
