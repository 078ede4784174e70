"""Every criterion, level, step and piece of evidence that a metric stands on is in the prompt that is sent."""

from __future__ import annotations

import re

import pytest

from tests.examples import product, summary
from worker.events import Kind, Metric
from worker.rubrics import evidence_of, load_pack

C, R, O = Kind.COMPARATIVE, Kind.RECOMMENDATION, Kind.OPINION  # noqa: E741

#: What must survive, as patterns that have to be found in the instructions.
FACTS: dict[Metric, list[str]] = {
    Metric.INFORMATIVENESS: [
        r"None of the important aspects",
        r"A few important aspects",
        r"About half of the important aspects",
        r"Most of the important aspects",
        r"Every important aspect",
        r"minimal information",
        r"moderate amount of information",
        r"substantial information",
        r"in full and in detail",
        r"\bpros\b",
        r"\bcons\b",
        r"N/A",
        r"choose for itself which attributes",
        r"Missing a significant aspect costs points",
        r"thorough use of the information given earns",
        r"restate what the metric asks",
        r"Check each essential attribute",
        r"present and complete",
        r"missing or poorly covered",
        r"picks its key attributes",
    ],
    Metric.CLARITY: [
        r"without ambiguity",
        r"plain words",
        r"jargon",
        r"grammar",
        r"spelling",
        r"punctuation",
        r"capital letters",
        r"logically ordered",
        r"smooth flow",
        r"transitions",
        r"table|tabular",
        r"sentence by sentence",
        r"garbled",
        r"Serious errors of grammar",
        r"main points can be understood",
        r"Very few errors",
        r"perfectly clear",
        r"restate which metric",
        r"list the clarity problems",
    ],
    Metric.CONCISENESS: [
        r"brief and still comprehensive",
        r"unnecessary details",
        r"Make a list of these unnecessary details",
        r"plain words",
        r"jargon",
        r"smooth flow",
        r"number of words was counted|number of words: it was counted",
        r"Far too wordy",
        r"Rather wordy",
        r"some unnecessary information",
        r"unnecessary details are minimal",
        r"not one piece of unnecessary information",
        r"still be comprehensive",
        r"without giving up completeness",
        r"succinctly",
    ],
    Metric.ASPECT_COVERAGE: [
        r"major topics",
        r"loses points if it misses",
        r"rewarded if it covers them all",
        r"list them, numbered",
        r"Find the important aspects in the .{10,30} summary|Find the important aspects in the .{10,30}explanation",
        r"also on your list from the",
        r"Count the aspects on that third list",
        r"Count the aspects on the first list",
        r"none of the important aspects",
        r"Most of the important aspects .* are left out",
        r"About half",
        r"Most of the important aspects .* are taken up",
        r"Every important aspect",
    ],
    Metric.SENTIMENT_CONSISTENCY: [
        r"very positive, positive, neutral, negative, very negative",
        r"consensus sentiment",
        r"Majority sentiment",
        r"loses points for each aspect",
        r"aspects that the .{10,30} itself discusses",
        r"majority sentiment in the",
        r"how many aspects match",
        r"Not one aspect",
        r"Very few aspects",
        r"Only about half",
        r"Most of the aspects",
        r"Every aspect",
    ],
}

#: What belongs to one kind only.
FACTS_BY_KIND: dict[tuple[Metric, Kind], list[str]] = {
    (Metric.INFORMATIVENESS, C): [
        r"base price", r"final price", r"average rating", r"each of the three products",
        r"key attributes chosen from the opinion summaries", r'marked "N/A"',
    ],
    (Metric.INFORMATIVENESS, R): [
        r"base price", r"final price", r"attributes .*that matter for the query", r"only where (the summary has )?a table",
    ],
    (Metric.INFORMATIVENESS, O): [r"features", r"specifications", r"topics that the reviews raise", r"rating"],
    (Metric.CLARITY, C): [r"tabular data", r"how the three products compare"],
    (Metric.CLARITY, R): [r"If there is a table"],
    (Metric.CLARITY, O): [r"If there is a table"],
    (Metric.CONCISENESS, R): [
        r"strictly less than 100 words", r"more than 100 words cannot score 5", r"relevant to the query",
    ],
    (Metric.CONCISENESS, C): [r"no limit", r"irrelevant to the comparison"],
    (Metric.CONCISENESS, O): [r"no limit", r"irrelevant to what buyers say"],
    (Metric.ASPECT_COVERAGE, C): [r"opinion summaries of the three products"],
    (Metric.ASPECT_COVERAGE, R): [r"opinion summary .*matter for the query"],
    (Metric.ASPECT_COVERAGE, O): [r"the reviews discuss"],
    (Metric.SENTIMENT_CONSISTENCY, O): [r"most reviewers feel", r"majority sentiment in the reviews"],
    (Metric.SENTIMENT_CONSISTENCY, C): [r"product by product", r"same product's opinion summary"],
    (Metric.SENTIMENT_CONSISTENCY, R): [r"the product's opinion summary"],
}  # fmt: skip


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("metric", Metric)
def test_every_fact_of_the_metric_is_sent(metric: Metric, kind: Kind) -> None:
    sent = load_pack().prompts(summary(kind))[metric].user
    for fact in FACTS[metric] + FACTS_BY_KIND.get((metric, kind), []):
        assert re.search(fact, sent), fact


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("metric", Metric)
def test_every_rubric_asks_for_the_explanation_first_and_one_score_by_this_metric_only(
    metric: Metric, kind: Kind
) -> None:
    rubric = load_pack().rubric(metric, kind)
    answer = rubric.instructions.split("\nAnswer\n")[1]
    assert answer.index("explanation first") < answer.index("Score- <score>N</score>")
    assert "single score" in answer
    assert re.search(r"go by [\w ]+ only", answer)
    assert all(f"\n{level} - " in rubric.instructions for level in range(1, 6))
    assert not re.search(r"\{\w+\}", rubric.instructions)


@pytest.mark.parametrize("kind", Kind)
def test_the_evidence_comes_first_and_is_the_same_to_the_byte(kind: Kind) -> None:
    prompts = load_pack().prompts(summary(kind))
    evidence = evidence_of(summary(kind))
    assert all(prompt.user.startswith(evidence + "\n\n") for prompt in prompts.values())
    assert len({prompt.user for prompt in prompts.values()}) == 5
    assert {prompt.system for prompt in prompts.values()} == {prompts[Metric.CLARITY].system}


EVIDENCE = {
    C: ["desk lamp for reading", "Lumo Desk Lamp 1", "Lumo Desk Lamp 2", "Lumo Desk Lamp 3",
        "Base price: ₹2,499", "Final price: 1999", "Average rating: 4.3", "Buyers like the bright light"],
    R: ["desk lamp for reading", "Lumo Desk Lamp 1", "Base price: ₹2,499", "Final price: 1999",
        "Average rating: 4.3", "Buyers like the bright light"],
    O: ["Lumo Desk Lamp 1", "A dimmable lamp for the desk.", "dimmable; USB port", "Power: 9 W; Height: 42 cm",
        "1. The light is bright and even.", "3. Sturdy base, great.", "Mostly praised", "Average rating: 4.3"],
}  # fmt: skip


@pytest.mark.parametrize("kind", Kind)
def test_all_evidence_of_the_kind_and_the_counted_words_are_sent(kind: Kind) -> None:
    sent = load_pack().prompts(summary(kind))[Metric.CONCISENESS].user
    for piece in [*EVIDENCE[kind], "The light is bright and the base is sturdy.", "17 words, counted"]:
        assert piece in sent


def test_missing_values_read_not_available() -> None:
    bare = {"opinion_summary": "Good."}
    sent = load_pack().prompts(summary(R, products=[bare]))[Metric.CLARITY].user
    assert "Title: N/A\nBase price: N/A\nFinal price: N/A\nAverage rating: N/A" in sent
    opinion = load_pack().prompts(summary(O, products=[{"reviews": ["Good."]}]))[Metric.CLARITY].user
    assert "Description: N/A\nKey features: N/A\nSpecifications: N/A" in opinion


def test_braces_in_the_data_are_not_filled_again() -> None:
    sent = load_pack().prompts(summary(O, products=[product(title="{summary} {query}")]))[Metric.CLARITY].user
    assert "Title: {summary} {query}" in sent


def test_native_and_adapted_are_told_apart() -> None:
    pack = load_pack()
    natives = {place for place, rubric in pack.rubrics.items() if rubric.native}
    assert natives == {
        (Metric.INFORMATIVENESS, C), (Metric.CLARITY, C), (Metric.ASPECT_COVERAGE, C),
        (Metric.CONCISENESS, R), (Metric.SENTIMENT_CONSISTENCY, O),
    }  # fmt: skip


def test_ids_name_the_metric_and_differ_by_what_is_sent() -> None:
    pack = load_pack()
    ids = {rubric.id for rubric in pack.rubrics.values()}
    assert len(ids) == 15
    assert all(re.fullmatch(r"[a-z_]+@[0-9a-f]{12}", one) for one in ids)
    assert re.fullmatch(r"builtin@[0-9a-f]{12}", pack.name)
