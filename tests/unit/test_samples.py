"""The sample summaries are what their README promises."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from worker.events import Kind, SummaryGenerated, read_summary

DATA = Path(__file__).parents[1] / "data"
SAMPLES = [read_summary(line) for line in (DATA / "samples.jsonl").read_bytes().splitlines()]
README = (DATA / "README.md").read_text(encoding="utf-8")
FLAWED = set(re.findall(r"^\| ([a-z]+-(?:op|cmp|rec)-\d\d) \|", README, flags=re.MULTILINE))


def sentences(sample: SummaryGenerated) -> int:
    """Roughly, by their ends."""
    return len(re.findall(r"[.!?)✨🌾](?:\s|$)", sample.summary))


def test_ids_are_unique_and_name_category_and_kind() -> None:
    suffix = {Kind.COMPARATIVE: "cmp", Kind.RECOMMENDATION: "rec", Kind.OPINION: "op"}

    assert len({sample.summary_id for sample in SAMPLES}) == len(SAMPLES) == 43
    for sample in SAMPLES:
        assert sample.summary_id.startswith(f"{sample.category}-{suffix[sample.kind]}-")


def test_every_kind_and_seven_categories_are_there() -> None:
    assert min(Counter(sample.kind for sample in SAMPLES).values()) >= 14
    assert len({sample.category for sample in SAMPLES}) >= 7


def test_summaries_have_three_sentences_and_opinions_eight_reviews() -> None:
    assert not [sample.summary_id for sample in SAMPLES if sentences(sample) < 3]
    opinions = [sample for sample in SAMPLES if sample.kind is Kind.OPINION]
    assert not [one.summary_id for one in opinions if len(one.products[0].reviews or []) < 8]


def test_only_the_flawed_recommendation_is_too_long() -> None:
    too_long = {
        sample.summary_id
        for sample in SAMPLES
        if sample.kind is Kind.RECOMMENDATION and sample.word_count > 100
    }
    assert too_long == {"shoes-rec-02"}
    assert too_long < FLAWED


def test_a_good_comparison_or_recommendation_names_every_final_price() -> None:
    missing = {
        sample.summary_id
        for sample in SAMPLES
        if sample.kind is not Kind.OPINION
        for product in sample.products
        if product.final_price is not None and not _names(sample.summary, product.final_price)
    }
    assert missing == {"laptops-cmp-02"}
    assert missing < FLAWED


def test_the_readme_lists_flawed_samples_that_exist() -> None:
    assert len(FLAWED) == 9
    assert {sample.summary_id for sample in SAMPLES} > FLAWED


def _names(summary: str, price: str | float) -> bool:
    """Whether a price stands in a summary, with or without thousands separators and decimals."""
    forms = {price} if isinstance(price, str) else {f"{price:g}", f"{price:,}", f"{price:.2f}"}
    return any(form in summary for form in forms)
