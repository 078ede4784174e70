"""The trials of a judge: each mutation, what it must lower and what it must not raise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests import comparisons, mutations
from worker.events import Kind, Metric, SummaryGenerated
from worker.judging.lexical import score

#: A score falls if it falls by more than the first, and rises if it rises by more than the second.
FALLS, RISES = 0.02, 0.1

Change = Callable[[SummaryGenerated, random.Random], str | None]


class Trial(NamedTuple):
    """One mutation and what is expected of it."""

    name: str
    change: Change
    lowers: tuple[Metric, ...]
    spares: tuple[Metric, ...] = ()
    #: The share of cases that has to come out as expected.
    wanted: float = 0.9
    kinds: tuple[Kind, ...] = tuple(Kind)


class Outcome(NamedTuple):
    """How often one metric did what a trial expects of it."""

    trial: Trial
    metric: Metric
    lowered: bool
    cases: int
    passed: int
    failures: tuple[str, ...]

    @property
    def rate(self) -> float:
        return self.passed / self.cases if self.cases else 1.0


def of_text(change: Callable[[str, random.Random], str]) -> Change:
    """A change of the text alone, for texts of more than one sentence."""

    def changed(event: SummaryGenerated, rng: random.Random) -> str | None:
        if len(mutations.sentences(event.summary)) < 2:
            return None
        text = change(event.summary, rng)
        return text if text != event.summary else None

    return changed


_COVERED, _FELT = Metric.ASPECT_COVERAGE, Metric.SENTIMENT_CONSISTENCY
_PADDED = ((Metric.CONCISENESS,), (Metric.INFORMATIVENESS, Metric.ASPECT_COVERAGE))
_COMPARED = ((Metric.INFORMATIVENESS,), (), 0.9, (Kind.COMPARATIVE,))

TRIALS = (
    Trial("every other sentence dropped", of_text(mutations.drop_every_other), (_COVERED,)),
    Trial("last half dropped", of_text(mutations.drop_last_half), (_COVERED,)),
    Trial("polarity flipped", of_text(mutations.flip_polarity), (_FELT,), wanted=0.85),
    Trial("opinion words flipped", of_text(mutations.flip_words), (_FELT,), wanted=0.85),
    Trial("negations flipped", of_text(mutations.negate), (_FELT,), wanted=0.85),
    Trial("words shuffled", of_text(mutations.shuffle_all), (Metric.CLARITY,)),
    Trial("words shuffled within sentences", of_text(mutations.shuffle_within), (Metric.CLARITY,)),
    Trial("one filler appended", of_text(mutations.append_one_filler), *_PADDED),
    Trial("two fillers appended", of_text(mutations.append_filler), *_PADDED),
    Trial("filler interleaved", of_text(mutations.interleave_filler), *_PADDED),
    Trial("sentences repeated", of_text(mutations.repeat_sentences), *_PADDED),
    Trial("price lost", comparisons.lose_price, *_COMPARED),
    Trial("price hidden", comparisons.hide_price, *_COMPARED),
    Trial("price changed", comparisons.change_price, *_COMPARED),
    Trial("product lost", comparisons.lose_product, *_COMPARED),
)


def swapping(events: Sequence[SummaryGenerated]) -> Trial:
    """The summary of another product (of the same kind) takes the place of the right one."""

    def swapped(event: SummaryGenerated, rng: random.Random) -> str | None:
        titles = {product.title for product in event.products}
        others = [
            other.summary
            for other in events
            if other.kind is event.kind and titles.isdisjoint(product.title for product in other.products)
        ]
        return rng.choice(others) if others and len(mutations.sentences(event.summary)) > 1 else None

    return Trial("another product's summary", swapped, (_COVERED, _FELT))


def run(trial: Trial, events: Sequence[SummaryGenerated], seed: int = 7) -> Iterator[Outcome]:
    """The outcome for each metric the trial looks at."""
    rng = random.Random(f"{seed} {trial.name}")
    pairs = []
    for event in events:
        text = trial.change(event, rng) if event.kind in trial.kinds else None
        if text is not None and text.strip():
            pairs.append((event.summary_id, score(event), score(event.model_copy(update={"summary": text}))))
    for metric in (*trial.lowers, *trial.spares):
        lowered = metric in trial.lowers
        tried = [
            (name, before[metric].expected, after[metric].expected)
            for name, before, after in pairs
            if not lowered or before[metric].expected > 1.0
        ]
        failed = [
            f"{name} {before:.2f} -> {after:.2f}"
            for name, before, after in tried
            if not (after < before - FALLS if lowered else after <= before + RISES)
        ]
        yield Outcome(trial, metric, lowered, len(tried), len(tried) - len(failed), tuple(failed))
