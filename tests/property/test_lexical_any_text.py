"""The lexical judge answers any valid event, whatever the text."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.lexical_events import comparison, opinion, recommendation
from worker.events import Metric, SummaryGenerated
from worker.judging.lexical import score

ODD = st.sampled_from(
    ["|", "\n", "---", "not ", "N/A", "₹1,2,3", "9" * 400, "y" * 60, "😀", "很好。", "है।", "\u200b", "'", "…"]
)
TEXT = st.lists(st.text(max_size=30) | ODD, min_size=1, max_size=12).map("".join).filter(str.strip)


def answers(event: SummaryGenerated) -> None:
    found = score(event)
    assert set(found) == set(Metric)
    for said in found.values():
        assert math.isfinite(said.expected)
        assert 1 <= said.expected <= 5
        assert said.explanation


@settings(max_examples=100, deadline=None)
@given(
    summary=TEXT,
    review=TEXT,
    title=st.none() | TEXT,
    price=st.none() | TEXT | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_text_is_answered(
    summary: str, review: str, title: str | None, price: str | float | None
) -> None:
    answers(opinion(summary, (review,), title=title, average_rating=price, key_features=review))
    answers(recommendation(summary, title=title, base_price=price, opinion_summary=review))
    answers(comparison(summary))


@pytest.mark.parametrize(
    "summary", ["😀😀", "बैटरी अच्छी है।", "电池很好，屏幕很亮。", "...", "|||||", "a", "\u0000"]
)
def test_texts_without_english_words_are_answered(summary: str) -> None:
    answers(opinion(summary))
    answers(comparison(summary))
    answers(recommendation(summary))


@pytest.mark.parametrize(
    "piece", ["The battery is great. ", "a|b|c|\n", "y", "9,", "not ", "' ", "很", "x1 ", "- \n", "(", "##"]
)
def test_a_megabyte_takes_seconds_not_minutes(piece: str) -> None:
    summary = piece * (1_000_000 // len(piece))
    started = time.process_time()
    answers(comparison(summary))
    answers(opinion(summary))
    assert time.process_time() - started < 30
