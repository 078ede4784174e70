"""What the judge knows about single English words: stems, how rare they are, whether they carry an opinion.

The frequencies come from symspellpy, the valences from vaderSentiment, the stems from Porter's algorithm in
snowballstemmer: all three ship their data, so nothing is ever downloaded. Loaded at the first word asked for.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import snowballstemmer

from worker.judging.lexical.wordlists import BLAME, FUNCTION_WORDS, GENERIC_WORDS, NEGATIONS, NEUTRAL, PRAISE

_EMPTY = FUNCTION_WORDS | GENERIC_WORDS | NEGATIONS
#: The valence of the opinion words listed here; vaderSentiment gives `good` 1.9.
_OPINION = 1.6
#: A stemmer keeps the word it works on, and judgements run in several threads.
_one_at_a_time = threading.Lock()
#: Longer runs are not words; the stemmer's recursion is not for them.
_LONGEST_WORD = 40
#: Words the frequency list doesn't know (names, model numbers, other languages) count as this rare.
_UNKNOWN_RARITY = 14.0


class Word(NamedTuple):
    """A word as the judge sees it."""

    stem: str
    #: Says something about this product rather than about any.
    content: bool
    valence: float
    #: Minus the natural logarithm of its share of English text.
    rarity: float
    known: bool


@lru_cache(maxsize=100_000)
def look_up(word: str) -> Word:
    """Everything known about a lower-case word."""
    known = word in _frequencies()
    stem = _stem(word)
    return Word(stem, _is_content(word), _valence(word), _rarity(word), known)


def _is_content(word: str) -> bool:
    # Of `it's` and `i've` the part before the apostrophe decides.
    bare = word.partition("'")[0]
    # A single letter is nothing, unless its script writes words that way.
    return (len(bare) > 1 or not bare.isascii()) and word not in _EMPTY and bare not in _EMPTY


def _stem(word: str) -> str:
    if len(word) > _LONGEST_WORD or not word.isascii():
        return word[:_LONGEST_WORD]
    with _one_at_a_time:
        return str(_stemmer().stemWord(word))


def _valence(word: str) -> float:
    valences = _valences()
    return valences.get(word, valences.get(word.replace("'", ""), 0.0))


def _rarity(word: str) -> float:
    share = _frequencies().get(word) or _frequencies().get(word.removesuffix("'s"))
    return min(_UNKNOWN_RARITY, -math.log(share)) if share else _UNKNOWN_RARITY


@cache
def _stemmer() -> snowballstemmer.basestemmer.BaseStemmer:
    return snowballstemmer.stemmer("porter")


@cache
def _frequencies() -> Mapping[str, float]:
    """The share of English text that each known word makes up."""
    counts: dict[str, int] = {}
    with (files("symspellpy") / "frequency_dictionary_en_82_765.txt").open(encoding="utf-8-sig") as lines:
        for line in lines:
            word, count = line.split()
            counts[word] = int(count)
    total = sum(counts.values())
    return {word: count / total for word, count in counts.items()}


@cache
def _valences() -> Mapping[str, float]:
    """How good (up to 4) or bad (down to -4) a word is."""
    found: dict[str, float] = {}
    with (files("vaderSentiment") / "vader_lexicon.txt").open(encoding="utf-8") as lines:
        for line in lines:
            word, strength = line.split("\t")[:2]
            found[word] = float(strength)
    for group, valence in ((PRAISE, _OPINION), (BLAME, -_OPINION), (NEUTRAL, 0.0)):
        found.update(dict.fromkeys(group, valence))
    return found


@cache
def bigram_counts() -> Mapping[str, int]:
    """How often two words follow each other in English text, for the most frequent pairs."""
    counts: dict[str, int] = {}
    path = files("symspellpy") / "frequency_bigramdictionary_en_243_342.txt"
    with path.open(encoding="utf-8-sig") as lines:
        for line in lines:
            pair, _, count = line.rstrip().rpartition(" ")
            counts[pair] = int(count)
    return counts
