"""Tells which product a stretch of text speaks of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from worker.judging.lexical.vocabulary import look_up
from worker.judging.lexical.wordlists import FUNCTION_WORDS, GENERIC_WORDS

_WORD = re.compile(r"[^\W_]+")
_NUMBERED = re.compile(r"\b(?:product|option|item|model)\s*#?\s*([1-9])\b", re.IGNORECASE)
_EVERY = re.compile(
    r"\b(?:all (?:three|of (?:them|these)|3)|each (?:of|product)|every (?:one|product))\b", re.IGNORECASE
)

#: Words more common than this (one in 8,000) don't stand for a product by themselves.
_EVERYDAY = 9.0


class Name(NamedTuple):
    """The words of a title that no other title in the comparison has."""

    #: The first of them, and model numbers, makers and other words English doesn't have: one is enough.
    telling: frozenset[str]
    #: Everyday words: it takes two of them, or all there are.
    plain: frozenset[str]

    def is_in(self, words: frozenset[str]) -> bool:
        """Whether these words name the product."""
        if self.telling & words:
            return True
        return bool(self.plain) and len(self.plain & words) >= min(2, len(self.plain))


class Names:
    """The names of the products of one event."""

    def __init__(self, titles: Sequence[str | None]) -> None:
        words = [_title_words(title or "") for title in titles]
        shared = {word for word, count in Counter(chain.from_iterable(words)).items() if count > 1}
        self.everybody = frozenset(range(len(titles)))
        self._names = [_name([word for word in own if word not in shared]) for own in words]

    def titled(self, text: str) -> set[int]:
        """The products whose title, or the telling part of it, is in a text."""
        words = frozenset(_WORD.findall(text.lower()))
        return {number for number, name in enumerate(self._names) if name.is_in(words)}

    def named(self, text: str) -> frozenset[int]:
        """The products that a text speaks of by title, by number or all together."""
        found = self.titled(text)
        if not found:
            found = {int(match) - 1 for match in _NUMBERED.findall(text)} & self.everybody
        if not found and _EVERY.search(text):
            return self.everybody
        return frozenset(found)


def _title_words(title: str) -> list[str]:
    """The words of a title in order, each once."""
    found = dict.fromkeys(_WORD.findall(title.lower()))
    return [word for word in found if word not in FUNCTION_WORDS and (len(word) > 1 or not word.isascii())]


def _name(words: list[str]) -> Name:
    """Numbers alone (2, 2024) say too little to tell a product by, and so does an everyday word."""
    words = [word for word in words if not word.isdigit()] or words
    telling = frozenset(word for place, word in enumerate(words) if _is_telling(word, first=place == 0))
    return Name(telling, frozenset(words) - telling)


def _is_telling(word: str, *, first: bool) -> bool:
    if word.isdigit() or word in GENERIC_WORDS:
        return False
    known = look_up(word)
    return not known.known or (first and known.rarity > _EVERYDAY)
