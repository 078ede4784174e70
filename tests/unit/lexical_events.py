"""Small events for the tests of the lexical judge."""

from __future__ import annotations

from typing import Any

from worker.events import SummaryGenerated

REVIEWS = (
    "The battery lasts two days and I love it. The screen is bright.",
    "Great battery, but the charger is slow. The camera is awful at night.",
    "Battery is excellent. The charger broke after a week. Screen is gorgeous.",
)
FAITHFUL = (
    "The battery is excellent. The screen is bright, but the charger is slow. The camera is awful at night."
)


def opinion(summary: str, reviews: tuple[str, ...] = REVIEWS, **product: Any) -> SummaryGenerated:
    """A summary of reviews."""
    return SummaryGenerated.model_validate(
        {
            "summary_id": "s",
            "kind": "product_opinion",
            "summary": summary,
            "products": [{"title": "Orlin Pebble 5", "reviews": list(reviews), **product}],
        }
    )


def recommendation(summary: str, **product: Any) -> SummaryGenerated:
    """A recommendation of one kettle."""
    kettle = {
        "title": "Quillo Mist Kettle",
        "base_price": "€80",
        "final_price": 64,
        "opinion_summary": "Owners like the quick boil and the precise temperature. "
        "The lid sticks and noise is a grumble.",
    }
    return SummaryGenerated.model_validate(
        {
            "summary_id": "s",
            "kind": "recommendation_explanation",
            "query": "kettle for green tea",
            "summary": summary,
            "products": [{**kettle, **product}],
        }
    )


def comparison(summary: str) -> SummaryGenerated:
    """A comparison of three phones."""
    rows = (
        ("Orlin Pebble 5", "₹18,999", 16499, 4.2, "The battery is superb. The charger is slow."),
        ("Hadley Spark C", "Rs. 14,999", "12,999.00", 4.0, "The camera is sharp. The storage is tiny."),
        ("Nimba Lumen 3", 17499, 17499, None, "Portraits are lovely. The phone is heavy."),
    )
    names = ("title", "base_price", "final_price", "average_rating", "opinion_summary")
    return SummaryGenerated.model_validate(
        {
            "summary_id": "s",
            "kind": "comparative_explanation",
            "query": "phone with a good camera",
            "summary": summary,
            "products": [dict(zip(names, row, strict=True)) for row in rows],
        }
    )


TABLE = """\
| Title | Base price | Final price | Pros | Cons | Rating |
|---|---|---|---|---|---|
| Orlin Pebble 5 | ₹18,999 | ₹16,499 | superb battery | slow charger | 4.2 |
| Hadley Spark C | ₹14,999 | ₹12,999 | sharp camera | tiny storage | 4.0 |
| Nimba Lumen 3 | ₹17,499 | ₹17,499 | lovely portraits | heavy | N/A |
"""
COLUMNS = """\
| | Orlin Pebble 5 | Hadley Spark C | Nimba Lumen 3 |
|---|---|---|---|
| Base price | ₹18,999 | ₹14,999 | ₹17,499 |
| Final price | ₹16,499 | ₹12,999 | ₹17,499 |
| Pros | superb battery | sharp camera | lovely portraits |
| Cons | slow charger | tiny storage | heavy |
| Rating | 4.2 | 4.0 | N/A |
"""
PROSE = (
    "The Orlin Pebble 5 fell from ₹18,999 to ₹16,499; its battery is superb, "
    "but the charger is slow (4.2). "
    "The Hadley Spark C costs ₹12,999 instead of ₹14,999 and has a sharp camera "
    "with tiny storage, rated 4.0. "
    "The Nimba Lumen 3 stays at ₹17,499: the portraits are lovely, yet the phone is heavy."
)
