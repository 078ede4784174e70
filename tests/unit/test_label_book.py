"""Labels meet scores in any order, the newest of everything stays, and one judge at a time is held against people."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.labelled import START, label, scored
from worker.agreement import JudgedScore, JudgedSummary, measure, measure_plainly, prediction_powered_mean
from worker.events import HumanLabel, Metric
from worker.monitoring.labels import MAX_ANNOTATORS, MAX_JUDGES, MIN_PAIRS, LabelBook

CLARITY = Metric.CLARITY
NOW = datetime(2026, 11, 18, tzinfo=UTC)
RNG = np.random.default_rng(3)
TRUTH = [float(value) for value in RNG.uniform(1, 5, 40)]
PEOPLE = [
    float(min(5, max(1, value + noise))) for value, noise in zip(TRUTH, RNG.normal(0, 0.7, 40), strict=True)
]


def _book(count: int = 40) -> LabelBook:
    book = LabelBook()
    for number in range(count):
        book.add_label(label(number, PEOPLE[number]))
        book.add_scored(scored(number, TRUTH[number]), NOW)
    return book


def test_the_figures_are_those_of_calibrate() -> None:
    judged = [
        JudgedSummary(f"s-{number}", 0, {CLARITY: JudgedScore(int(value + 0.5), value)})
        for number, value in enumerate(TRUTH)
    ]
    labels = [HumanLabel.model_validate_json(label(number, value)) for number, value in enumerate(PEOPLE)]
    known = measure(judged, labels, resamples=100).by_metric[CLARITY]
    assert known is not None and known.spearman is not None and known.kendall is not None
    figures = _book().figures()
    assert {name: value for (metric, name), value in figures.items() if metric is CLARITY} == pytest.approx(
        {
            "labelled": 40,
            "spearman": known.spearman.value,
            "kendall": known.kendall.value,
            "weighted_kappa": known.kappa.value,
            "ppi_mean": np.mean(PEOPLE),
            "ppi_mean_low": np.mean(PEOPLE) - 1.96 * np.std(PEOPLE, ddof=1) / 40**0.5,
            "ppi_mean_high": np.mean(PEOPLE) + 1.96 * np.std(PEOPLE, ddof=1) / 40**0.5,
        },
        abs=1e-4,
    )
    assert {metric for metric, _ in figures} == {CLARITY}, "nobody labelled the others"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(1, 4))
def test_groups_count_as_in_calibrate(seed: int, groups: int) -> None:
    rng = random.Random(seed)
    judged = [
        JudgedSummary(f"s-{n}", 0, {CLARITY: JudgedScore(rng.randint(1, 5), rng.uniform(1, 5))})
        for n in range(20)
    ]
    labels = [
        HumanLabel(
            summary_id=f"s-{n}", annotator=name, scores={CLARITY: rng.uniform(1, 5)}, group=str(n % groups)
        )
        for n in range(20)
        for name in ("ada", "bo")
    ]
    full = measure(judged, labels, resamples=10).by_metric[CLARITY]
    plain = measure_plainly(judged, labels, {})[CLARITY]
    assert full is not None and full.spearman is not None and full.kendall is not None
    assert (plain.spearman, plain.kendall) == pytest.approx((full.spearman.value, full.kendall.value))
    assert plain.weighted_kappa == pytest.approx(full.kappa.value)


def test_labels_and_scores_meet_in_any_order() -> None:
    early, late = LabelBook(), LabelBook()
    records = [(label(n, PEOPLE[n]), scored(n, TRUTH[n])) for n in range(40)]
    for given_label, _ in records:
        early.add_label(given_label)
    for _, event in records:
        early.add_scored(event, NOW)
        late.add_scored(event, NOW)
    for given_label, _ in records:
        late.add_label(given_label)
    assert late.unsearched == 40
    assert late.figures() == {}
    for _, event in records:  # the topic is read once more
        late.add_scored(event, NOW)
    late.searched()
    assert late.unsearched == 0
    assert early.figures() == late.figures() == _book().figures()


def test_too_few_labels_are_only_counted() -> None:
    assert _book(MIN_PAIRS - 1).figures() == {(CLARITY, "labelled"): MIN_PAIRS - 1}
    assert (CLARITY, "spearman") in _book(MIN_PAIRS).figures()


def test_several_people_count_as_their_mean_and_a_later_word_holds() -> None:
    book = _book()
    for number in range(40):
        book.add_label(label(number, 1.0, "bo"))
        book.add_label(label(number, PEOPLE[number] + (5 - PEOPLE[number]) / 2, "bo"))
    mean = sum((2 * value + (5 - value) / 2) / 2 for value in PEOPLE) / 40
    assert book.figures()[CLARITY, "ppi_mean"] == pytest.approx(mean)
    assert book.figures()[CLARITY, "labelled"] == 40


def test_a_later_word_on_one_metric_leaves_the_others() -> None:
    book = _book()
    for number in range(40):
        book.add_label(
            f'{{"summary_id": "s-{number}", "annotator": "ada", "scores": {{"conciseness": 3}}}}'.encode()
        )
    assert book.figures()[CLARITY, "labelled"] == book.figures()[Metric.CONCISENESS, "labelled"] == 40


def test_only_the_latest_judge_is_held_against_people() -> None:
    book = _book()
    before = book.figures()
    # An old judge's score, read late, changes nothing.
    book.add_scored(scored(0, 1.0, model="judge-0", at=START - timedelta(days=9)), NOW)
    assert book.figures() == before
    for number in range(12):
        book.add_scored(scored(number, 5 - TRUTH[number] + 1, model="judge-2", at=NOW), NOW)
    after = book.figures()
    assert after[CLARITY, "labelled"] == 12
    assert after[CLARITY, "spearman"] < 0 < before[CLARITY, "spearman"]


def test_another_pack_is_another_judge() -> None:
    book = _book()
    book.add_scored(scored(0, 3.0, pack="mine@2", at=NOW), NOW)
    assert book.figures() == {(CLARITY, "labelled"): 1}


def test_a_clock_that_is_ahead_does_not_hold_the_judges_place_for_years() -> None:
    book = _book()
    book.add_scored(scored(0, 3.0, model="ahead", at=NOW.replace(year=2999)), NOW)
    assert book.figures()[CLARITY, "labelled"] == 1
    book.add_scored(scored(0, TRUTH[0], at=NOW + timedelta(minutes=1)), NOW + timedelta(minutes=2))
    assert book.figures()[CLARITY, "labelled"] == 40


def test_what_nobody_labelled_moves_the_mean_by_what_the_judge_says_of_it() -> None:
    book = _book()
    others = [2.0 + number % 3 / 2 for number in range(100, 400)]
    for number, value in enumerate(others, 100):
        book.add_scored(scored(number, value), NOW)
    pairs = list(zip(TRUTH, PEOPLE, strict=True))
    known = prediction_powered_mean(others, pairs)
    assert known is not None
    assert book.figures()[CLARITY, "ppi_mean"] == pytest.approx(known.mean.value)
    assert book.figures()[CLARITY, "ppi_mean_low"] == pytest.approx(known.mean.low)


def test_reading_the_topic_again_changes_nothing_and_the_sample_is_bounded() -> None:
    book = LabelBook(sample=50)
    for number in range(20):
        book.add_label(label(number, PEOPLE[number]))
    for _ in range(2):
        for number in range(1000):
            book.add_scored(scored(number, TRUTH[number % 40]), NOW)
        figures = book.figures()
    once = LabelBook(sample=50)
    for number in range(20):
        once.add_label(label(number, PEOPLE[number]))
    for number in reversed(range(1000)):
        once.add_scored(scored(number, TRUTH[number % 40]), NOW)
    assert once.figures() == pytest.approx(figures)
    assert all(len(sample._kept) <= 100 for sample in book._others.values())


def test_the_newest_summaries_stay() -> None:
    book = LabelBook(most=15)
    for number in range(40):
        book.add_label(label(number, PEOPLE[number]))
    book.add_label(label(25, 5.0, "bo"))  # labelled again: among the newest now
    book.add_label(label(50, 5.0))
    assert len(book) == 15 and book.unsearched == 15
    for number in range(40):
        book.add_scored(scored(number, TRUTH[number]), NOW)
    assert book.figures()[CLARITY, "labelled"] == 14


def test_people_and_judges_are_bounded() -> None:
    book = LabelBook()
    for number in range(MAX_ANNOTATORS + 20):
        book.add_label(label(0, 3.0, f"person {number}"))
    for number in range(MAX_JUDGES + 20):
        book.add_scored(scored(0, 3.0, model=f"m{number}", at=START + timedelta(days=number)), NOW)
        book.add_scored(scored(1, 3.0, model=f"m{number}", at=START + timedelta(days=number)), NOW)
    (entry,) = book._entries.values()
    assert len(entry.labels) == MAX_ANNOTATORS
    assert len(entry.scores) == len(book._judges) == len(book._others) == MAX_JUDGES


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"\xff", b"null", b"[" * 5000, b"{}", label(1, 3)[:-1],
        b'{"summary_id": "s-1", "annotator": "ada", "scores": {"clarity": 9}}',
        b'{"summary_id": "s-1", "annotator": "ada", "scores": {"charm": 3}}',
        b'{"summary_id": "s-1", "annotator": "ada", "scores": {"clarity": NaN}}',
        b'{"summary_id": "s-1", "annotator": "' + b"a" * 300 + b'", "scores": {"clarity": 3}}',
    ],
)  # fmt: skip
def test_what_is_no_label_is_passed_over(value: bytes | None) -> None:
    book = LabelBook()
    book.add_label(value)
    assert len(book) == 0 and book.unreadable == 1 and not book.changed
    book.add_scored(value, NOW)
    assert book.figures() == {}
