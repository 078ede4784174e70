"""What the lexical judge says about each metric, in small."""

from __future__ import annotations

import pytest

from tests.unit.lexical_events import COLUMNS, FAITHFUL, PROSE, TABLE, comparison, opinion, recommendation
from worker.events import Metric, SummaryGenerated
from worker.judging.lexical import VERSION, Opinion, score

KETTLE = (
    "The Quillo Mist boils quickly and its temperature is precise. It costs €64, down from €80. "
    "The lid sticks."
)


def judged(event: SummaryGenerated, metric: Metric) -> float:
    return score(event)[metric].expected


@pytest.mark.parametrize("event", [opinion(FAITHFUL), recommendation(KETTLE), comparison(TABLE)])
def test_all_five_metrics_have_a_score_and_a_reason(event: SummaryGenerated) -> None:
    found = score(event)
    assert set(found) == set(Metric)
    assert all(
        isinstance(said, Opinion) and 1 <= said.expected <= 5 and said.explanation for said in found.values()
    )
    assert VERSION


def test_the_same_event_gets_the_same_answer() -> None:
    assert score(opinion(FAITHFUL)) == score(opinion(FAITHFUL))


def test_coverage_names_what_is_missing() -> None:
    said = score(opinion("The screen is bright. I like the camera."))[Metric.ASPECT_COVERAGE]
    assert "missing" in said.explanation
    assert "battery" in said.explanation


def test_covering_more_aspects_scores_higher() -> None:
    assert judged(opinion(FAITHFUL), Metric.ASPECT_COVERAGE) > judged(
        opinion("The battery is excellent."), Metric.ASPECT_COVERAGE
    )


def test_saying_it_twice_covers_no_more() -> None:
    assert judged(opinion(f"{FAITHFUL} {FAITHFUL}"), Metric.ASPECT_COVERAGE) == pytest.approx(
        judged(opinion(FAITHFUL), Metric.ASPECT_COVERAGE)
    )


def test_the_opposite_sentiment_scores_lower_and_is_named() -> None:
    opposite = FAITHFUL.replace("excellent", "terrible").replace("bright", "dim")
    said = score(opinion(opposite))[Metric.SENTIMENT_CONSISTENCY]
    assert said.expected < judged(opinion(FAITHFUL), Metric.SENTIMENT_CONSISTENCY)
    assert "battery" in said.explanation


def test_a_negation_that_no_source_has_scores_lower() -> None:
    denied = FAITHFUL.replace("is excellent", "is not excellent")
    assert judged(opinion(denied), Metric.SENTIMENT_CONSISTENCY) < judged(
        opinion(FAITHFUL), Metric.SENTIMENT_CONSISTENCY
    )


def test_words_in_disorder_are_unclear() -> None:
    disorder = "Excellent the is battery. Screen bright the slow but is charger the. At awful is camera the."
    said = score(opinion(disorder))[Metric.CLARITY]
    assert said.expected < judged(opinion(FAITHFUL), Metric.CLARITY) - 1
    assert "order of words" in said.explanation


@pytest.mark.parametrize(
    "worse",
    [
        FAITHFUL.lower(),
        FAITHFUL.replace(".", " ."),
        FAITHFUL.removesuffix("."),
        "My " + FAITHFUL[4:] + " I love my phone.",
    ],
)
def test_slips_of_form_cost_clarity(worse: str) -> None:
    assert judged(opinion(worse), Metric.CLARITY) < judged(opinion(FAITHFUL), Metric.CLARITY)


def test_filler_costs_conciseness_and_is_counted() -> None:
    padded = f"{FAITHFUL} There are many things that people think about before they decide."
    said = score(opinion(padded))[Metric.CONCISENESS]
    assert said.expected < judged(opinion(FAITHFUL), Metric.CONCISENESS)
    assert "1 of 4 sentences add nothing" in said.explanation


def test_a_recommendation_over_the_limit_is_never_very_concise() -> None:
    long = KETTLE + " Owners like the quick boil." * 17
    said = score(recommendation(long))[Metric.CONCISENESS]
    assert said.expected <= 4.0
    assert "limit of 100 words" in said.explanation


@pytest.mark.parametrize("summary", [TABLE, COLUMNS, PROSE])
@pytest.mark.parametrize("price", ["₹16,499", "₹14,999"])
def test_a_lost_price_is_missed_in_every_layout(summary: str, price: str) -> None:
    whole = judged(comparison(summary), Metric.INFORMATIVENESS)
    for instead in ("N/A", "", "₹11,111"):
        said = score(comparison(summary.replace(price, instead)))[Metric.INFORMATIVENESS]
        assert said.expected < whole - 0.02
        assert "price" in said.explanation


def test_a_price_may_be_written_in_any_way() -> None:
    plain = TABLE.replace("₹16,499", "16499.00").replace("₹12,999", "Rs. 12,999")
    assert judged(comparison(plain), Metric.INFORMATIVENESS) == pytest.approx(
        judged(comparison(TABLE), Metric.INFORMATIVENESS), abs=0.01
    )


def test_a_lost_product_is_missed() -> None:
    row = next(line for line in TABLE.splitlines() if "Hadley" in line)
    said = score(comparison(TABLE.replace(row + "\n", "")))[Metric.INFORMATIVENESS]
    assert said.expected < judged(comparison(TABLE), Metric.INFORMATIVENESS) - 0.2
    assert "product 2 title" in said.explanation


def test_explanations_stay_short() -> None:
    reviews = tuple(" ".join(f"word{number}x{other}." for other in range(300)) for number in range(3))
    assert all(len(said.explanation) < 600 for said in score(opinion("Nothing of that.", reviews)).values())


def test_all_three_are_not_their_titles() -> None:
    said = score(comparison("All three phones are lovely. The battery is superb."))[Metric.INFORMATIVENESS]
    assert "product 1 title" in said.explanation


def test_every_row_of_a_table_about_one_product_counts() -> None:
    head, last = "| Aspect | Verdict |\n|---|---|\n| Battery | excellent |\n", "| Charger | slow |\n"
    assert judged(opinion(head + last), Metric.ASPECT_COVERAGE) > judged(
        opinion(head), Metric.ASPECT_COVERAGE
    )
