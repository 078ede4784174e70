"""Reading a judge's reply."""

from __future__ import annotations

import math
import time

import pytest

from worker.judging.reply import Reading, Token, read_reply, weigh, weigh_samples


@pytest.mark.parametrize(
    ("text", "score", "explanation"),
    [
        ("Good.\nScore- <score>4</score>", 4, "Good."),
        ("Good.\n\n**Score- <score>4</score>**", 4, "Good."),
        ("Good. Final Score: <score>4</score>.", 4, "Good."),
        ("<score>2</score>\nWeak.", 2, "Weak."),
        ("<score>2</score> in words, but on reflection\n<score>5</score>", 5,
         "<score>2</score> in words, but on reflection"),
        ("<SCORE>\n 3\t</ Score >", 3, ""),
        ("<score>Score- 5</score>", 5, ""),
        ("<score>4</score> and not <score>7</score>", 4, "and not <score>7</score>"),
        ("Prices: ₹1 😀\nScore- <score>1</score>", 1, "Prices: ₹1 😀"),
    ],
)  # fmt: skip
def test_the_last_well_formed_score_counts(text: str, score: int, explanation: str) -> None:
    assert read_reply(text) == Reading(score, explanation)


@pytest.mark.parametrize(
    "text",
    ["", "4", "Score- 4", "<score></score>", "<score>4/5</score>", "<score>4.5</score>", "<score>7</score>",
     "<score>0</score>", "<score>-4</score>", "<score>four</score>", "<score>44</score>", "<score>４</score>",
     "<score>٤</score>", "<score>4", "[score]4[/score]", "<scores>4</scores>"],
)  # fmt: skip
def test_anything_else_is_no_score(text: str) -> None:
    assert read_reply(text) is None


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<think><score>1</score></think><score>3</score>", 3),
        ("<score>3</score><THINKING>or <score>1</score></THINKING>", 3),
        ("cut off opening <score>1</score></think>So: <score>3</score>", 3),
        ("<think><score>1</score></think>nothing", None),
        ("<score>3</score><think>wait", None),
        ("<think>never ends <score>3</score>", None),
    ],
)
def test_thoughts_are_no_part_of_the_answer(text: str, score: int | None) -> None:
    reading = read_reply(text)
    assert (reading.score if reading else None) == score


@pytest.mark.parametrize(
    "text",
    ["<score>" + " " * 200_000, "<score> " * 50_000, "<think>" * 50_000, "</think>" * 50_000, "<" * 200_000],
)
def test_hostile_text_is_read_in_no_time(text: str) -> None:
    started = time.perf_counter()
    assert read_reply(text) is None
    assert time.perf_counter() - started < 1


def token(text: str, **others: float) -> Token:
    """A token that is certain, with alternatives given by their probability."""
    return Token(text.encode(), 0.0, tuple((other.encode(), math.log(p)) for other, p in others.items()))


def at(text: str, probability: float, others: dict[str, float]) -> Token:
    pairs = tuple((other.encode(), math.log(p)) for other, p in others.items())
    return Token(text.encode(), math.log(probability), pairs)


PLAIN = [token("Fine. <score"), token(">"), at("4", 0.5, {"4": 0.5, "2": 0.25, "x": 0.2}), token("</score>")]
GLUED = [token("Fine. <score"), at(">4<", 0.5, {">4<": 0.5, ">2": 0.25, ">7": 0.2}), token("/score>")]
SPACED = [token("<score>"), at(" 4", 0.5, {" 4": 0.4, "4": 0.1, " 2": 0.25}), token(" </score>")]
WHOLE = [at("Fine <score>4", 0.5, {"Bad: <score>2": 0.25, "Fine <score>": 0.25}), token("</score>")]
FOLLOWED = [
    token("<score>"),
    at("4", 0.5, {"2</": 0.25, "4.5": 0.1, "45": 0.1, "3/": 0.05}),
    token("</score>"),
]


@pytest.mark.parametrize("tokens", [PLAIN, GLUED, WHOLE, FOLLOWED])
def test_probabilities_are_found_however_the_tokens_are_split(tokens: list[Token]) -> None:
    weights = weigh(tokens, 4)

    assert weights is not None
    assert weights.distribution == pytest.approx((0, 1 / 3, 0, 2 / 3, 0))
    assert weights.expected == pytest.approx(4 * 2 / 3 + 2 / 3)


def test_several_tokens_of_the_same_digit_are_added() -> None:
    weights = weigh(SPACED, 4)

    assert weights is not None
    assert weights.distribution == pytest.approx((0, 0.25 / 0.75, 0, 0.5 / 0.75, 0), abs=0.02)


def test_the_last_score_is_the_one_that_is_weighed() -> None:
    tokens = [token("<score>"), at("1", 0.9, {"5": 0.1}), token("</score> or <score>"), *PLAIN[2:]]

    weights = weigh(tokens, 4)

    assert weights is not None
    assert weights.distribution[0] == 0


def test_characters_split_between_tokens_do_not_shift_the_place() -> None:
    smile = "😀".encode()
    tokens = [Token(smile[:2], 0.0, ((b"x", -1.0),)), Token(smile[2:], 0.0, ((b"x", -1.0),)), *PLAIN]

    assert weigh(tokens, 4) == weigh(PLAIN, 4)


def test_tokens_that_do_not_match_the_reply_are_not_weighed() -> None:
    assert weigh(PLAIN, 5) is None
    assert weigh([], 5) is None
    assert weigh([token("none")], 5) is None


def test_a_digit_without_alternatives_is_not_weighed() -> None:
    assert weigh([token("<score>", x=0.1), token("4"), token("</score>", x=0.1)], 4) is None


def test_samples_become_shares() -> None:
    weights = weigh_samples([5, 5, 4, 1])

    assert weights.distribution == (0.25, 0, 0, 0.25, 0.5)
    assert weights.expected == 3.75
