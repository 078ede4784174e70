"""Who is blamed, on what evidence, and when nobody is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from math import inf

import numpy as np
import pytest

from tests.drift_scores import COHERENCE, JUDGE, RUBRIC, START, draw, feed, new_group, shifted, whole
from worker.drift.group import ALL, Group
from worker.drift.reference import MAX_TABLES, PASSES, ReferenceBook, ReferenceScore
from worker.drift.verdict import JudgeShift, attribute
from worker.events import DriftState, DriftVerdict, Metric

LATER = START + timedelta(days=30)


def _pass(
    values: Iterable[float], rubrics: Sequence[str] = (RUBRIC,), metric: Metric = Metric.CLARITY
) -> list[ReferenceScore]:
    return [
        ReferenceScore(f"r{number}", metric, rubrics[number % len(rubrics)], float(value))
        for number, value in enumerate(values)
    ]


def _shift(
    moved: float,
    deviation: float = 0.4,
    references: int = 120,
    seed: int = 1,
    rubrics: Sequence[str] = (RUBRIC,),
) -> JudgeShift:
    rng = np.random.default_rng(seed)
    book, truth = ReferenceBook(), rng.uniform(1.5, 4.5, references)
    for _ in range(PASSES):
        assert book.add_pass(JUDGE, _pass(truth + rng.normal(0, deviation, references), rubrics), START) == {}
    fresh = truth + rng.normal(0, deviation, references) + moved
    return book.add_pass(JUDGE, _pass(fresh, rubrics), LATER)[Metric.CLARITY]


def test_a_stricter_judge_is_blamed() -> None:
    shift = _shift(-0.3)
    assert shift.stricter and not shift.lenient
    assert shift.difference == pytest.approx(-0.3, abs=0.12)
    verdict, reason = attribute(0.35, RUBRIC, JUDGE, shift)
    assert verdict is DriftVerdict.JUDGE
    assert "120 references" in reason


def test_a_steady_judge_leaves_the_generator() -> None:
    assert attribute(0.35, RUBRIC, JUDGE, _shift(0.0))[0] is DriftVerdict.GENERATOR


def test_a_lenient_judge_is_reported_and_not_blamed_for_a_drop() -> None:
    shift = _shift(+0.3)
    assert shift.lenient and not shift.stricter
    assert attribute(0.35, RUBRIC, JUDGE, shift)[0] is DriftVerdict.GENERATOR


def test_when_both_moved_the_larger_part_has_the_word() -> None:
    verdict, reason = attribute(1.2, RUBRIC, JUDGE, _shift(-0.3))
    assert verdict is DriftVerdict.GENERATOR
    assert "the judge became stricter too" in reason


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (None, "no references"),
        (_shift(-0.3, references=119), "only 119"),
        (_shift(-0.3, rubrics=("clarity@other",)), "no reference was judged with"),
        (_shift(0.0, deviation=1.5), "scatter"),
    ],
)
def test_without_good_evidence_nobody_is_blamed(shift: JudgeShift | None, words: str) -> None:
    verdict, reason = attribute(0.3, RUBRIC, JUDGE, shift)
    assert verdict is DriftVerdict.UNDETERMINED
    assert words in reason


def test_another_judges_references_say_nothing() -> None:
    assert attribute(0.3, RUBRIC, "judge-2", _shift(-0.3))[0] is DriftVerdict.UNDETERMINED


def test_references_of_all_kinds_count_together() -> None:
    shift = _shift(-0.3, rubrics=(RUBRIC, "clarity@b", "clarity@c"))
    assert shift.references == {RUBRIC: 40, "clarity@b": 40, "clarity@c": 40}
    assert attribute(0.35, RUBRIC, JUDGE, shift)[0] is DriftVerdict.JUDGE


@pytest.mark.parametrize("value", [4.1, 3.3333333333333335, 2.7])
def test_a_deterministic_judge_is_never_blamed(value: float) -> None:
    # Given a judge that repeats itself to the last bit, with values whose mean of five may not
    book = ReferenceBook()
    for _ in range(PASSES):
        book.add_pass(JUDGE, _pass([value] * 120), START)
    shift = book.add_pass(JUDGE, _pass([value] * 120), LATER)[Metric.CLARITY]

    # Then it has not moved, and the generator has
    assert shift.t == 0
    assert attribute(0.2, RUBRIC, JUDGE, shift)[0] is DriftVerdict.GENERATOR


def test_a_deterministic_judge_that_changed_is_blamed() -> None:
    book = ReferenceBook()
    for _ in range(PASSES):
        book.add_pass(JUDGE, _pass([4.1] * 120), START)
    shift = book.add_pass(JUDGE, _pass([3.8] * 120), LATER)[Metric.CLARITY]
    assert shift.t == -inf
    assert attribute(0.3, RUBRIC, JUDGE, shift)[0] is DriftVerdict.JUDGE


def test_five_passes_are_frozen_and_later_ones_only_compared() -> None:
    book = ReferenceBook()
    assert book.passes_missing(JUDGE, [RUBRIC]) == PASSES
    for number in range(PASSES):
        book.add_pass(JUDGE, _pass([float(number + 1)] * 3), START)
        assert book.passes_missing(JUDGE, [RUBRIC]) == PASSES - number - 1
    first = book.add_pass(JUDGE, _pass([2.0] * 3), LATER)[Metric.CLARITY]
    second = book.add_pass(JUDGE, _pass([2.0] * 3), LATER)[Metric.CLARITY]
    assert first.difference == second.difference == -1.0
    assert book.passes_missing(JUDGE, [RUBRIC, "clarity@new"]) == PASSES
    assert book.passes_missing("judge-2", [RUBRIC]) == PASSES


def test_the_book_is_bounded_and_survives_being_written() -> None:
    book = ReferenceBook()
    for number in range(MAX_TABLES + 10):
        book.add_pass(f"judge-{number}", _pass([3.3, 4.7]), START)
    assert len(book.tables) == MAX_TABLES
    assert ReferenceBook.from_json(book.to_json()) == book


def _alarmed() -> Group:
    group = new_group()
    feed(group, draw(whole(COHERENCE), 400, 1), segment=ALL)
    feed(group, draw(shifted(whole(COHERENCE), 0.6), 400, 2), start=400, segment=ALL)
    assert [waiting.segment for waiting in group.pending()] == [ALL]
    return group


def test_the_verdict_follows_as_a_second_event_with_the_alarms_figures() -> None:
    group = _alarmed()
    (waiting,) = group.pending()
    (event,) = group.settle(_shift(0.0), LATER)
    assert (event.state, event.previous_state) == (DriftState.ALARM, DriftState.ALARM)
    assert event.verdict is DriftVerdict.GENERATOR
    assert event.at == LATER and event.since == waiting.since
    assert group.settle(_shift(0.0), LATER) == []


def test_references_judged_before_the_change_settle_nothing() -> None:
    group = _alarmed()
    stale = JudgeShift(Metric.CLARITY, JUDGE, {RUBRIC: 120}, 0.0, 0.04, START)
    assert group.settle(stale, LATER) == []
    assert len(group.pending()) == 1


def test_the_verdicts_id_does_not_depend_on_when_it_was_found() -> None:
    early, late = _alarmed(), _alarmed()
    feed(late, draw(shifted(whole(COHERENCE), 0.6), 100, 3), start=800, segment=ALL)
    (first,), (second,) = early.settle(_shift(0.0), LATER), late.settle(_shift(0.0), LATER)
    assert first == second
