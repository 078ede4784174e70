"""Everything the five metrics look at, read once per event."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from worker.events import Kind, SummaryGenerated
from worker.judging.lexical.evidence import Evidence, feelings, gather
from worker.judging.lexical.facts import numbers
from worker.judging.lexical.layout import Layout, lay_out
from worker.judging.lexical.naming import Names
from worker.judging.lexical.scale import approach, mean, share
from worker.judging.lexical.text import Clause

#: So many supported content words make a summary of reviews half as broad as one can be.
_HALF_BREADTH = 18.0


class Case:
    """An event with its evidence and its summary, taken apart."""

    def __init__(self, event: SummaryGenerated) -> None:
        self.event = event
        self.names = Names([product.title for product in event.products])
        self.evidence: tuple[Evidence, ...] = gather(event)
        self.layout: Layout = lay_out(event.summary, self.names)

    @property
    def is_opinion(self) -> bool:
        return self.event.kind is Kind.OPINION

    @cached_property
    def views(self) -> list[list[tuple[Clause, float]]]:
        """For each product the clauses about it with what they feel."""
        views: list[list[tuple[Clause, float]]] = [[] for _ in self.evidence]
        for passage in self.layout.passages:
            moods = feelings(passage.sentence.clauses)
            for clause, owners, mood in zip(
                passage.sentence.clauses, passage.clause_owners, moods, strict=True
            ):
                for owner in owners:
                    views[owner].append((clause, mood))
        return views

    @cached_property
    def covered(self) -> list[frozenset[str]]:
        """For each product the topics of its sources that the summary takes up."""
        return [
            frozenset(stem for clause, _ in view for stem in clause.stems if stem in evidence.topics)
            for evidence, view in zip(self.evidence, self.views, strict=True)
        ]

    @cached_property
    def recalls(self) -> list[float]:
        """For each product the weight of the covered topics as a share of all."""
        return [
            share(sum(evidence.topics[stem] for stem in covered), sum(evidence.topics.values()))
            for evidence, covered in zip(self.evidence, self.covered, strict=True)
        ]

    @cached_property
    def recall(self) -> float:
        return mean(self.recalls)

    @cached_property
    def breadth(self) -> float:
        """How many different things that the evidence supports are said about each product."""
        counts = [
            len({stem for clause, _ in view for stem in clause.stems if stem in evidence.support})
            for evidence, view in zip(self.evidence, self.views, strict=True)
        ]
        return mean(approach(count, _HALF_BREADTH) for count in counts)

    @cached_property
    def aspect_recalls(self) -> list[float]:
        """For each product the share of its aspects that the summary takes up."""
        return [
            share(len(evidence.aspects & covered), len(evidence.aspects))
            for evidence, covered in zip(self.evidence, self.covered, strict=True)
        ]

    @cached_property
    def numbers(self) -> Counter[float]:
        return numbers(self.event.summary)
