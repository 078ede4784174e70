"""Small valid events that tests start from."""

from __future__ import annotations

import json
from typing import Any

from worker.events import Kind, SummaryGenerated, summary_from


def product(**changes: Any) -> dict[str, Any]:
    """A product with everything a summary could be written from."""
    return {
        "title": "Lumo Desk Lamp",
        "base_price": "₹2,499",
        "final_price": 1999,
        "average_rating": 4.3,
        "opinion_summary": "Buyers like the bright light and the sturdy base. Some find the cable short.",
        "description": "A dimmable lamp for the desk.",
        "key_features": ["dimmable", "USB port"],
        "specifications": {"Power": "9 W", "Height": "42 cm"},
        "reviews": [
            "The light is bright and even.",
            "Cable is too short for my desk.",
            "Sturdy base, great.",
        ],
        "ugc_summary": "Mostly praised for its light.",
    } | changes


def event(kind: str = Kind.OPINION, **changes: Any) -> dict[str, Any]:
    """A valid SummaryGenerated as a dictionary."""
    count = 3 if kind == Kind.COMPARATIVE else 1
    return {
        "schema_version": 1,
        "summary_id": "s-1",
        "kind": str(kind),
        "summary": "The light is bright and the base is sturdy. A few buyers wish for a longer cable.",
        "query": "desk lamp for reading",
        "products": [product(title=f"Lumo Desk Lamp {number}") for number in range(1, count + 1)],
        "generator": {"name": "summarizer", "version": "2026-11-01"},
        "category": "lamps",
        "locale": "en",
        "generated_at": "2026-11-18T10:00:00Z",
    } | changes


def summary(kind: str = Kind.OPINION, **changes: Any) -> SummaryGenerated:
    """A valid SummaryGenerated."""
    return summary_from(event(kind, **changes))


def raw(kind: str = Kind.OPINION, **changes: Any) -> bytes:
    """A valid SummaryGenerated as it stands in a record."""
    return json.dumps(event(kind, **changes), ensure_ascii=False).encode()
