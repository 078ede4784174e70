"""What the demo would cost with a judge that is paid for."""

from __future__ import annotations

from worker.demo.generator import SampleStream
from worker.drift.reference import PASSES
from worker.events import Metric, read_summary
from worker.judging.completion import Usage
from worker.judging.pricing import prices_from
from worker.monitoring.references import load_references
from worker.rubrics import load_pack
from worker.settings import Settings

#: Summaries that a run usually takes.
USUAL_SUMMARIES = 6500
#: Characters in a token, roughly, and tokens in an answer.
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_REPLY = 150
_LOOKED_AT = 30


def estimate(settings: Settings) -> str:
    """In one line, from the prompts of a few samples."""
    pack = load_pack(settings.pack)
    stream = SampleStream(0)
    prompts = [
        len(prompt.system or "") + len(prompt.user)
        for _ in range(_LOOKED_AT)
        for prompt in pack.prompts(read_summary(stream.next(worse=False)[1])).values()
    ]
    judged = USUAL_SUMMARIES + (PASSES + 2) * len(load_references(settings))
    calls = judged * len(Metric) * settings.samples
    spent = Usage(
        prompt=round(calls * sum(prompts) / len(prompts) / CHARACTERS_PER_TOKEN),
        cached=0,
        completion=calls * TOKENS_PER_REPLY,
    )
    tokens = f"{spent.prompt / 1e6:.0f} million tokens in, {spent.completion / 1e6:.0f} out"
    return f"{settings.model}: about {calls:,} calls, {tokens}{_in_money(settings, spent)}"


def _in_money(settings: Settings, spent: Usage) -> str:
    prices = prices_from(settings)
    if prices is None:
        return "; set QUINTET_PRICE_INPUT_PER_MTOK and QUINTET_PRICE_OUTPUT_PER_MTOK to see it in USD"
    return f", about {prices.cost(spent):.2f} USD"
