"""Conciseness: how much of the text earns its place?"""

from __future__ import annotations

import re
from typing import NamedTuple

from worker.events import Kind
from worker.judging.lexical.case import Case
from worker.judging.lexical.scale import Curve, Opinion, approach, blend, share

#: A recommendation explanation has fewer words than this.
WORD_LIMIT = 100
_OVER_LIMIT_AT_MOST = 4.0
#: Supported new content words per word of text: dense prose has about a quarter.
_HALF_DENSITY = 0.12
_CURVE = Curve(0.52, 7.0)
_PHRASES = re.compile(
    r"\b(?:it is worth|it should be noted|needless to say|it goes without saying|at the end of the day"
    r"|all things considered|in conclusion|as mentioned|when it comes to|the fact that|in order to)\b",
    re.IGNORECASE,
)


class Economy(NamedTuple):
    """What the text spends and what it gets for it."""

    words: int
    new: int
    idle_words: int
    idle_sentences: int
    sentences: int


def judge(case: Case) -> Opinion:
    """Density of new supported content, share of words in sentences that add nothing, set phrases, length."""
    economy = _spend(case)
    phrases = len(_PHRASES.findall(case.event.summary))
    level = blend(
        (3, approach(share(economy.new, economy.words), _HALF_DENSITY)),
        (3, 1 - share(economy.idle_words, economy.words)),
        (1, approach(case.recall, 0.15)),
    )
    level -= 0.05 * approach(phrases, 2) + _too_long(case)
    expected = _CURVE.grade(level)
    if case.event.kind is Kind.RECOMMENDATION and case.event.word_count > WORD_LIMIT:
        expected = min(expected, _OVER_LIMIT_AT_MOST)
    return Opinion(expected, _explain(case, economy))


def _spend(case: Case) -> Economy:
    """Walks the text in order; a sentence that brings nothing new which the evidence supports is idle."""
    support = frozenset().union(*(evidence.support.keys() for evidence in case.evidence))
    said: set[tuple[str, frozenset[int]]] = set()
    words = new = idle_words = idle = 0
    for passage in case.layout.passages:
        sentence = passage.sentence
        fresh = {(stem, passage.owners) for stem in sentence.stems & support} - said
        figures = {(word, passage.owners) for word in sentence.words if word[0].isdigit()} - said
        said |= fresh | figures
        words += len(sentence.words)
        new += len(fresh) + len(figures)
        if not fresh and not figures:
            idle += 1
            idle_words += len(sentence.words)
    return Economy(words, new, idle_words, idle, len(case.layout.passages))


def _too_long(case: Case) -> float:
    """What length alone costs: words beyond the limit, or a summary hardly shorter than its sources."""
    words = case.event.word_count
    if case.event.kind is Kind.RECOMMENDATION:
        return min(0.4, 0.05 * (words > WORD_LIMIT) + 0.3 * max(0, words - WORD_LIMIT) / WORD_LIMIT)
    if case.is_opinion:
        given = sum(len(review.split()) for review in case.event.products[0].reviews or [])
        return 0.15 * max(0.0, min(1.0, share(words, given) - 0.3))
    return 0.0005 * max(0, min(400, words - 250))


def _explain(case: Case, economy: Economy) -> str:
    text = (
        f"{case.event.word_count} words with {economy.new} new supported details; "
        f"{economy.idle_sentences} of {economy.sentences} sentences add nothing new"
    )
    if case.event.kind is Kind.RECOMMENDATION and case.event.word_count > WORD_LIMIT:
        text += f"; over the limit of {WORD_LIMIT} words"
    return text + "."
