"""Everything the five metrics look at, read once per event."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from worker.events import Kind, SummaryGenerated
from worker.judging.lexical.evidence import Evidence, feelings, gather
from worker.judging.lexical.facts import numbers
from worker.judging.lexical.layout import Layout, Passage, lay_out
from worker.judging.lexical.naming import Names
from worker.judging.lexical.scale import approach, mean, share
from worker.judging.lexical.text import Clause

#: So many supported words make a summary half as broad as one can be.
_HALF_BREADTH = 14.0
#: A sentence of which the sources know less than this share is not about them, and earns nothing.
_FOREIGN = 0.25


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
    def told(self) -> list[Passage]:
        """The passages that earn something: about the sources, and not said before."""
        said: set[tuple[str, ...]] = set()
        told = []
        for passage in self.layout.passages:
            words = passage.sentence.words
            if words not in said and self._is_about_sources(passage):
                told.append(passage)
            said.add(words)
        return told

    @cached_property
    def views(self) -> list[list[tuple[Clause, float]]]:
        """For each product the clauses told about it, with what they feel."""
        views: list[list[tuple[Clause, float]]] = [[] for _ in self.evidence]
        for passage in self.told:
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
            share(sum(evidence.topics[stem] for stem in covered), evidence.weight)
            for evidence, covered in zip(self.evidence, self.covered, strict=True)
        ]

    @cached_property
    def recall(self) -> float:
        return mean(self.recalls)

    @cached_property
    def breadth(self) -> float:
        """How many different things that the evidence supports are said about each product."""
        return mean(
            approach(
                sum(evidence.support[stem] for stem in _stems(view) & evidence.support.keys()), _HALF_BREADTH
            )
            for evidence, view in zip(self.evidence, self.views, strict=True)
        )

    @cached_property
    def aspect_recalls(self) -> list[float]:
        """For each product the share of its aspects that the summary takes up."""
        return [
            share(len(evidence.aspects & covered), len(evidence.aspects))
            for evidence, covered in zip(self.evidence, self.covered, strict=True)
        ]

    @cached_property
    def titled(self) -> set[int]:
        """The products that the summary calls by their titles, each within one sentence or cell."""
        found: set[int] = set()
        for passage in self.layout.passages:
            if len(found) == len(self.evidence):
                break
            found |= self.names.titled(passage.sentence.text)
        return found

    @cached_property
    def numbers(self) -> Counter[float]:
        return numbers(self.event.summary)

    def _is_about_sources(self, passage: Passage) -> bool:
        stems = passage.sentence.stems
        known = max((len(stems & self.evidence[owner].support.keys()) for owner in passage.owners), default=0)
        return known >= _FOREIGN * len(stems)


def _stems(view: list[tuple[Clause, float]]) -> set[str]:
    return {stem for clause, _ in view for stem in clause.stems}
