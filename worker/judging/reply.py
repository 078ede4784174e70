"""A judge's text becomes a score and its explanation, or nothing at all: never a guess."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import AnyStr

LEVELS = (1, 2, 3, 4, 5)

_OPENING = r"<\s*score\s*>\s*(?:score\s*[-:]\s*)?"
_CLOSING = r"\s*<\s*/\s*score\s*>"
_FLAGS = re.IGNORECASE | re.ASCII
_SCORE = re.compile(rf"{_OPENING}([1-5]){_CLOSING}", _FLAGS)
_SCORE_IN_BYTES = re.compile(_SCORE.pattern.encode(), _FLAGS & ~re.ASCII)
#: An opened tag with one digit, and behind it nothing that would make it another number.
_DIGIT_IN_BYTES = re.compile(rf".*{_OPENING}([1-5])\s*(?:<.*)?".encode(), (_FLAGS & ~re.ASCII) | re.DOTALL)
#: What may stand before the tag on its line, as the rubrics ask for it.
_LABEL = re.compile(r"[*_`# ]*(?:\bfinal )?\bscore ?[-:–=]*[*_` ]*\Z", re.IGNORECASE)
#: Characters before the tag that are searched for it.
_LABEL_REACH = 40

_REASONING_MARK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """The score that a reply gives, and the rest of its text."""

    score: int
    explanation: str


@dataclass(frozen=True)
class Token:
    """One token of a reply with the likeliest others in its place, each with its log probability."""

    data: bytes
    logprob: float
    others: tuple[tuple[bytes, float], ...]


@dataclass(frozen=True)
class Weights:
    """How likely each of the five scores was."""

    distribution: tuple[float, ...]

    @property
    def expected(self) -> float:
        """The mean score, between 1 and 5."""
        mean = sum(level * share for level, share in zip(LEVELS, self.distribution, strict=True))
        return min(5.0, max(1.0, mean))


def read_reply(text: str) -> Reading | None:
    """The last well-formed score of the answer; None where there is none."""
    answer = without_reasoning(text)
    found = _last(_SCORE, answer)
    if found is None:
        return None
    before, after = answer[: found.start()], answer[found.end() :]
    explanation = _without_label(before) + after.lstrip("*_`. \t")
    return Reading(int(found.group(1)), explanation.strip())


def without_reasoning(text: str) -> str:
    """The answer without the model's own thoughts; an unfinished thought leaves no answer."""
    kept: list[str] = []
    thinking, begin = False, 0
    for mark in _REASONING_MARK.finditer(text):
        ends = bool(mark.group(1))
        if not ends and not thinking:
            kept.append(text[begin : mark.start()])
        elif ends and not thinking:
            kept.clear()  # a server cut the opening mark off: all before it was thought
        thinking, begin = not ends, mark.end()
    return "" if thinking else "".join(kept) + text[begin:]


def weigh(tokens: Sequence[Token], score: int) -> Weights | None:
    """The probabilities of the five scores at the place where `score` was given; None if it isn't found."""
    found = _last(_SCORE_IN_BYTES, b"".join(token.data for token in tokens))
    if found is None or int(found.group(1)) != score:
        return None
    token, start = _token_at(tokens, found.start(1))
    if not token.others:
        return None
    opened = found.string[found.start() : start]  # empty where the token itself opens the tag
    shares = dict.fromkeys(LEVELS, 0.0)
    for data, logprob in {token.data: token.logprob, **dict(token.others)}.items():
        digit = _DIGIT_IN_BYTES.fullmatch(opened + data)
        if digit:
            shares[int(digit.group(1))] += math.exp(min(0.0, logprob))
    total = sum(shares.values())
    if not total > 0:
        return None
    return Weights(tuple(shares[level] / total for level in LEVELS))


def weigh_samples(scores: Sequence[int]) -> Weights:
    """Several replies' scores as shares of the five levels."""
    return Weights(tuple(scores.count(level) / len(scores) for level in LEVELS))


def _without_label(text: str) -> str:
    return text[:-_LABEL_REACH] + _LABEL.sub("", text[-_LABEL_REACH:])


def _token_at(tokens: Sequence[Token], offset: int) -> tuple[Token, int]:
    start = 0
    for token in tokens:
        end = start + len(token.data)
        if start <= offset < end:
            return token, start
        start = end
    raise IndexError(offset)


def _last(pattern: re.Pattern[AnyStr], text: AnyStr) -> re.Match[AnyStr] | None:
    found: re.Match[AnyStr] | None = None
    for found in pattern.finditer(text):  # noqa: B007 - only the last one counts
        pass
    return found
