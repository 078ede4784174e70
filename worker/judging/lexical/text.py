"""Cuts a text into sentences and clauses and reads each once: its words, its opinions, what it negates."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from worker.judging.lexical.vocabulary import look_up
from worker.judging.lexical.wordlists import BOOSTERS, DAMPERS, NEGATIONS, words

#: A letter of a script without spaces is a word of its own; marks of Indic scripts belong to their word.
_TOKEN = re.compile(
    r"\d[\d,]*(?:\.\d+)?(?![^\W\d_])"
    r"|[\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff](?:[^\W_\u3040-\u30ff\u3400-\u9fff]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff]"
    r"|['’](?=[^\W\d_])|-(?=[^\W_]))*"
    r"|[,;:.!?()|—–]"
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？।])[\"'”’)\]]*\s+|(?<=[。！？।])|\n|(?<=[a-z][.!?])(?=[A-Z][a-z])")
_CLAUSE_BREAKS = frozenset(",;:.!?()|—–") | words(
    "but while although though however whereas yet except despite"
)
#: How far a negation or a booster reaches, in words.
_REACH = 4
#: A negated opinion is weaker than its opposite, and a qualified one weaker than itself.
_NEGATED, _BOOSTED, _DAMPED = -0.74, 1.25, 0.7


class Clause(NamedTuple):
    """A stretch of a sentence that speaks with one voice."""

    words: tuple[str, ...]
    #: Content stems in order.
    stems: tuple[str, ...]
    #: Stems of content or opinion words that a negation reaches.
    negated: frozenset[str]
    #: Whether there is a negation at all.
    negates: bool
    #: Opinion words: stem and valence, negation taken into account.
    opinions: tuple[tuple[str, float], ...]

    @property
    def valence(self) -> float:
        return sum(value for _, value in self.opinions)


class Sentence(NamedTuple):
    """A sentence and its clauses."""

    text: str
    words: tuple[str, ...]
    clauses: tuple[Clause, ...]
    #: Distinct content stems.
    stems: frozenset[str]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; a line break ends one too."""
    return [piece for piece in (part.strip() for part in _SENTENCE_END.split(text)) if piece]


@lru_cache(maxsize=2_000)
def read(text: str) -> tuple[Sentence, ...]:
    """All sentences of a text; kept, because one product's reviews come with many summaries."""
    return tuple(read_sentence(sentence) for sentence in split_sentences(text))


def read_sentence(text: str) -> Sentence:
    """One sentence, read."""
    words: list[str] = []
    clauses: list[Clause] = []
    run: list[str] = []
    for token in _TOKEN.findall(text.lower().replace("’", "'")):
        if token in _CLAUSE_BREAKS:
            if run:
                clauses.append(_read_clause(run))
                run = []
            if not token[0].isalpha():
                continue
        words.append(token)
        run.append(token)
    if run:
        clauses.append(_read_clause(run))
    stems = frozenset(stem for clause in clauses for stem in clause.stems)
    return Sentence(text, tuple(words), tuple(clauses), stems)


def _read_clause(words: list[str]) -> Clause:
    stems: list[str] = []
    negated: set[str] = set()
    opinions: list[tuple[str, float]] = []
    negation = booster = damper = -_REACH - 1
    for place, token in enumerate(words):
        if token in NEGATIONS:
            negation = place
        if token in BOOSTERS:
            booster = place
        elif token in DAMPERS:
            damper = place
        word = look_up(token)
        if not word.content and not word.valence:
            continue
        if word.content:
            stems.append(word.stem)
        reached = 0 < place - negation <= _REACH
        if reached:
            negated.add(word.stem)
        if word.valence:
            value = word.valence * (_NEGATED if reached else 1.0)
            value *= _BOOSTED if place - booster == 1 else _DAMPED if place - damper <= 2 else 1.0
            opinions.append((word.stem, value))
    return Clause(tuple(words), tuple(stems), frozenset(negated), negation >= 0, tuple(opinions))
