"""The judge behind an OpenAI-compatible endpoint: five requests at once for each summary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from worker.errors import Outage, Rejection, RejectionReason
from worker.events import Metric, SummaryGenerated
from worker.judging.budget import Meter
from worker.judging.cache import Ruling, VerdictCache, key_of
from worker.judging.client import ChatClient
from worker.judging.dialogue import Dialogue, Reply, messages_of, read
from worker.judging.errands import Errand, Record
from worker.judging.judge import Judgement, Observer, enforce_hard_rules
from worker.judging.limits import Gate
from worker.judging.outcomes import CallOutcome
from worker.judging.rulings import Bill, Ruled, ruling_of, verdict_of
from worker.rubrics import Pack, Prompt
from worker.settings import Settings

T = TypeVar("T")
Known = Mapping[bytes, Ruling]


@dataclass
class OpenAIJudge:
    """Asks for each metric by itself, reads the replies strictly, and keeps what was paid for."""

    settings: Settings
    prompts: Pack
    client: ChatClient
    gate: Gate
    cache: VerdictCache
    meter: Meter
    observer: Observer = field(default_factory=Observer)
    #: Off for a judgement that must be new, such as that of the reference set.
    reads_cache: bool = True

    @property
    def backend(self) -> Literal["openai"]:
        return "openai"

    @property
    def requested_model(self) -> str:
        return self.settings.model

    @property
    def pack(self) -> str:
        return self.prompts.name

    async def judge(self, event: SummaryGenerated) -> Judgement:
        """All five verdicts; every outcome is awaited, so that what was paid for is kept."""
        prompts = self.prompts.prompts(event)
        keys = {metric: self._keys(prompt) for metric, prompt in prompts.items()}
        known = await self._known(keys)
        await self.meter.hold_if_exhausted(self.gate)
        with self.gate.record() as record:
            outcomes = await asyncio.gather(
                *(
                    self._rule(metric, prompt, keys[metric], known, record)
                    for metric, prompt in prompts.items()
                ),
                return_exceptions=True,
            )
        ruled = dict(zip(prompts, _all_or_raise(outcomes), strict=True))
        return self._judgement(event, prompts, ruled)

    def fresh(self) -> OpenAIJudge:
        """The same judge, asked anew: what it says is kept, but nothing kept is said again."""
        return replace(self, reads_cache=False)

    async def close(self) -> None:
        """Stop probing, close the connections and the files."""
        await self.gate.close()
        await self.client.close()
        await self.cache.close()
        await self.meter.close()

    def _keys(self, prompt: Prompt) -> list[bytes]:
        """One key per sample: whatever could change the reply."""
        settings = self.settings
        return [
            key_of(
                "openai", settings.model, messages_of(prompt), settings.effective_temperature,
                settings.logprobs, sample,
            )
            for sample in range(settings.samples)
        ]  # fmt: skip

    async def _known(self, keys: Mapping[Metric, Sequence[bytes]]) -> Known:
        if not self.reads_cache:
            return {}
        return await self.cache.get([key for samples in keys.values() for key in samples])

    async def _rule(
        self,
        metric: Metric,
        prompt: Prompt,
        keys: Sequence[bytes],
        known: Known,
        record: Record,
    ) -> list[Ruled]:
        """One metric's rulings, one per sample."""
        outcomes = await asyncio.gather(
            *(self._rule_once(metric, prompt, key, known.get(key), record) for key in keys),
            return_exceptions=True,
        )
        return _all_or_raise(outcomes)

    async def _rule_once(
        self, metric: Metric, prompt: Prompt, key: bytes, known: Ruling | None, record: Record
    ) -> Ruled:
        if known is not None:
            self.observer.cache_hit(metric)
            return Ruled(known)
        errand, bill = self.gate.errand(record), Bill()
        reply = await self._ask(metric, prompt, errand, bill)
        ruling = ruling_of(reply, bill)
        # Paid for: kept even if this summary is given up at this very moment.
        await asyncio.shield(self.cache.put(key, ruling))
        return Ruled(ruling, errand.requests, errand.last_seconds, bill.usd)

    async def _ask(self, metric: Metric, prompt: Prompt, errand: Errand, bill: Bill) -> Reply:
        """The first readable reply."""
        dialogue = Dialogue(messages_of(prompt))
        while True:
            reply = await self.gate.call(lambda: self._send(dialogue, bill), errand, metric)
            if reply.outcome is CallOutcome.OK:
                return reply
            if reply.outcome is CallOutcome.REFUSED:
                raise Rejection(
                    RejectionReason.JUDGE_REFUSED,
                    f"the model refuses to judge {metric}",
                    attempts=errand.requests,
                )
            if not dialogue.go_on(reply):
                raise Rejection(
                    RejectionReason.JUDGE_UNREADABLE,
                    f"no readable score for {metric} in {errand.requests} replies",
                    attempts=errand.requests,
                )

    async def _send(self, dialogue: Dialogue, bill: Bill) -> Reply:
        completion = await self.client.ask(dialogue.messages, dialogue.room)
        bill.add(completion, self.meter.charge(completion.usage))
        await self.meter.hold_if_exhausted(self.gate)
        self.client.require_logprobs(completion)
        return read(completion, weighed=self.settings.logprobs)

    def _judgement(
        self, event: SummaryGenerated, prompts: Mapping[Metric, Prompt], ruled: Mapping[Metric, list[Ruled]]
    ) -> Judgement:
        scores = {
            metric: enforce_hard_rules(event, metric, verdict_of(prompts[metric], samples))
            for metric, samples in ruled.items()
        }
        every = [sample for samples in ruled.values() for sample in samples]
        costs = [sample.usd for sample in every]
        return Judgement(
            scores=scores,
            model=Counter(sample.ruling.model for sample in every).most_common(1)[0][0],
            cost_usd=self.meter.total(costs),
            slowest_call_seconds=max(sample.seconds for sample in every),
        )


def _all_or_raise(outcomes: Sequence[T | BaseException]) -> list[T]:
    """The results; otherwise the gravest error: a fault of ours, then an outage, then a rejection."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=lambda error: (isinstance(error, Rejection), isinstance(error, Outage)))
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
