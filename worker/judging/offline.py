"""The built-in judge that needs no endpoint: deterministic, offline, free."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Literal

from worker.events import NATIVE_KIND, Metric, Mode, SummaryGenerated, Verdict
from worker.judging.judge import Judgement, enforce_hard_rules, whole_score

#: One for the whole process: the stemmer works on a buffer of its own and mixes up two words at once.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="quintet-lexical")


@dataclass
class LexicalJudge:
    """Scores with the lexical package."""

    pack: str

    @property
    def backend(self) -> Literal["lexical"]:
        return "lexical"

    @cached_property
    def requested_model(self) -> str:
        return f"lexical-{self._lexical.VERSION}"

    async def judge(self, event: SummaryGenerated) -> Judgement:
        """All five verdicts."""
        loop = asyncio.get_running_loop()
        opinions = await loop.run_in_executor(_THREAD, self._lexical.score, event)
        scores = {
            metric: enforce_hard_rules(
                event, metric, self._verdict(event, metric, opinion.expected, opinion.explanation)
            )
            for metric, opinion in opinions.items()
        }
        return Judgement(scores=scores, model=self.requested_model, cost_usd=None)

    def fresh(self) -> LexicalJudge:
        """The same judge: it keeps nothing."""
        return self

    async def close(self) -> None:
        """Nothing to close."""

    @cached_property
    def _lexical(self) -> ModuleType:
        # Its word lists take a moment to load: only where this judge is used.
        from worker.judging import lexical

        return lexical

    def _verdict(self, event: SummaryGenerated, metric: Metric, expected: float, explanation: str) -> Verdict:
        return Verdict(
            score=whole_score(expected),
            expected=expected,
            mode=Mode.LEXICAL,
            explanation=explanation,
            rubric=f"{metric}@{self.requested_model}",
            native=NATIVE_KIND[metric] == event.kind,
        )
