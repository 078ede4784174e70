"""The judge behind an OpenAI-compatible endpoint: five requests at once for each summary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from worker.errors import Outage, Rejection, RejectionReason
from worker.events import Metric, Mode, SummaryGenerated, Verdict
from worker.judging.budget import Meter
from worker.judging.cache import Ruling, VerdictCache, key_of
from worker.judging.client import ROOM, ChatClient, Message
from worker.judging.completion import Completion
from worker.judging.judge import Judgement, Observer, enforce_hard_rules, whole_score
from worker.judging.limits import Errand, Gate, Record
from worker.judging.outcomes import CallOutcome
from worker.judging.reply import Reading, Weights, read_reply, weigh, weigh_samples
from worker.rubrics import Pack, Prompt
from worker.settings import Settings

T = TypeVar("T")
Known = Mapping[bytes, Ruling]

#: How often an unreadable reply is asked for again, and a cut one with twice the room.
ASKED_AGAIN, CUT_AGAIN = 2, 2
REMINDER = (
    "Your last line must give one whole number from 1 to 5, strictly in this form: Score- <score>N</score>."
    " Answer again: a short explanation, then that line."
)


@dataclass(frozen=True)
class Reply:
    """A completion and what could be read from it."""

    completion: Completion
    outcome: CallOutcome
    reading: Reading | None = None
    weights: Weights | None = None


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
        return self.requests == 0


@dataclass
class _Dialogue:
    """The messages so far and the room for the next reply."""

    messages: list[Message]
    room: int = ROOM
    unreadable: int = 0
    cut: int = 0

    def go_on(self, reply: Reply) -> bool:
        """Prepare to ask again; False where that has been done often enough."""
        if reply.outcome is CallOutcome.CUT:
            self.cut += 1
            self.room *= 2
            return self.cut <= CUT_AGAIN
        self.unreadable += 1
        said = {"role": "assistant", "content": reply.completion.text or "(no answer)"}
        self.messages = [*self.messages, said, {"role": "user", "content": REMINDER}]
        return self.unreadable <= ASKED_AGAIN


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
                "openai", settings.model, _messages(prompt), settings.effective_temperature,
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
        known: Mapping[bytes, Ruling],
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
        ruling = _ruling(reply, bill)
        # Paid for: kept even if this summary is given up at this very moment.
        await asyncio.shield(self.cache.put(key, ruling))
        return Ruled(ruling, errand.requests, errand.last_seconds, bill.usd)

    async def _ask(self, metric: Metric, prompt: Prompt, errand: Errand, bill: Bill) -> Reply:
        """The first readable reply."""
        dialogue = _Dialogue(_messages(prompt))
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

    async def _send(self, dialogue: _Dialogue, bill: Bill) -> Reply:
        completion = await self.client.ask(dialogue.messages, dialogue.room)
        bill.add(completion, self.meter.charge(completion.usage))
        self.meter.hold_if_exhausted(self.gate)
        return _read(completion, weighed=self.settings.logprobs)

    def _judgement(
        self, event: SummaryGenerated, prompts: Mapping[Metric, Prompt], ruled: Mapping[Metric, list[Ruled]]
    ) -> Judgement:
        scores = {
            metric: enforce_hard_rules(event, metric, _verdict(prompts[metric], samples))
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


def _messages(prompt: Prompt) -> list[Message]:
    system = [{"role": "system", "content": prompt.system}] if prompt.system is not None else []
    return [*system, {"role": "user", "content": prompt.user}]


def _read(completion: Completion, *, weighed: bool) -> Reply:
    """What a completion says, if anything."""
    if completion.refused:
        return Reply(completion, CallOutcome.REFUSED)
    if completion.cut:
        return Reply(completion, CallOutcome.CUT)
    reading = read_reply(completion.text)
    weights = weigh(completion.tokens or (), reading.score) if reading and weighed else None
    if reading is None or (weighed and weights is None):
        return Reply(completion, CallOutcome.UNREADABLE)
    return Reply(completion, CallOutcome.OK, reading, weights)


def _ruling(reply: Reply, bill: Bill) -> Ruling:
    assert reply.reading is not None
    return Ruling(
        score=reply.reading.score,
        explanation=reply.reading.explanation,
        model=reply.completion.model,
        prompt_tokens=bill.prompt_tokens if bill.known else None,
        completion_tokens=bill.completion_tokens if bill.known else None,
        distribution=reply.weights.distribution if reply.weights else None,
    )


def _verdict(prompt: Prompt, samples: Sequence[Ruled]) -> Verdict:
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


def _all_or_raise(outcomes: Sequence[T | BaseException]) -> list[T]:
    """The results; otherwise the gravest error: a fault of ours, then an outage, then a rejection."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=lambda error: (isinstance(error, Rejection), isinstance(error, Outage)))
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
