"""What the judge is shown of a summary: values for placeholders, and the fenced block of material."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from worker.events import Product, SummaryGenerated
from worker.rubrics.neutral import neutralise

NOT_AVAILABLE = "N/A"

#: A name in single braces; JSON examples and doubled braces in a template are left alone.
PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")

#: The placeholders that name the judged summary, whatever its kind.
_SUMMARY_NAMES = (
    "summary",
    "comparative_explanation_summary",
    "recommendation_explanation_summary",
    "Product_Opinion_Summary",
)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with known placeholders replaced, once: filled-in text is never filled again."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def placeholders(template: str) -> list[str]:
    """Names in the template that have to be filled, in order."""
    return [found[1] for found in PLACEHOLDER.finditer(template)]


_VALUES: dict[str, Callable[[SummaryGenerated], str]] = {
    "query": lambda event: as_text(event.query),
    "product_titles": lambda event: _numbered(product.title for product in event.products),
    "base_prices": lambda event: _numbered(product.base_price for product in event.products),
    "final_prices": lambda event: _numbered(product.final_price for product in event.products),
    "average_ratings": lambda event: _numbered(product.average_rating for product in event.products),
    "product_opinion_summaries": lambda event: _numbered(p.opinion_summary for p in event.products),
    "product_title": lambda event: as_text(event.products[0].title),
    "description": lambda event: as_text(event.products[0].description),
    "key_features": lambda event: _features(event.products[0].key_features),
    "specifications": lambda event: _specifications(event.products[0].specifications),
    "reviews": lambda event: _numbered(event.products[0].reviews or []),
    "product_ugc_summary": lambda event: as_text(event.products[0].ugc_summary),
    "word_count": lambda event: str(event.word_count),
    **dict.fromkeys(_SUMMARY_NAMES, lambda event: as_text(event.summary)),
}

#: Every placeholder that a pack's template may use.
KNOWN_PLACEHOLDERS = frozenset(_VALUES)
#: Those that bring evidence into the template; a count of words alone does not.
DATA_PLACEHOLDERS = KNOWN_PLACEHOLDERS - {"word_count"}


def values_for(template: str, event: SummaryGenerated) -> dict[str, str]:
    """What the template's placeholders stand for in this event."""
    return {name: _VALUES[name](event) for name in set(placeholders(template)) if name in _VALUES}


def material(layout: Mapping[str, str], opening: str, event: SummaryGenerated) -> str:
    """The evidence and the summary, fenced with a mark made from a hash of them.

    Nobody can write the mark into the text beforehand, since the text decides it; and the same event
    gets the same bytes again, so that caches on both sides of the wire hit.
    """
    parts = [fill(layout["head"], {"query": as_text(event.query)})]
    parts += [_product(layout["product"], number, p) for number, p in enumerate(event.products, start=1)]
    parts.append(
        fill(layout["tail"], {"summary": as_text(event.summary), "word_count": str(event.word_count)})
    )
    body = "\n\n".join(part for part in parts if part)
    mark = hashlib.sha256(body.encode("utf-8")).hexdigest()[:16]
    return f"{fill(opening, {'mark': mark})}\n<material {mark}>\n{body}\n</material {mark}>"


def _product(layout: str, number: int, product: Product) -> str:
    return fill(
        layout,
        {
            "number": str(number),
            "title": as_text(product.title),
            "base_price": as_text(product.base_price),
            "final_price": as_text(product.final_price),
            "average_rating": as_text(product.average_rating),
            "opinion_summary": as_text(product.opinion_summary),
            "description": as_text(product.description),
            "key_features": _features(product.key_features),
            "specifications": _specifications(product.specifications),
            "reviews": _numbered(product.reviews or []),
            "ugc_summary": as_text(product.ugc_summary),
        },
    )


def as_text(value: Any) -> str:
    """A value as the judge reads it: neutralised, and N/A where there is none."""
    if value is None:
        return NOT_AVAILABLE
    if not isinstance(value, str):
        value = value if isinstance(value, (int, float)) else json.dumps(value, ensure_ascii=False)
    return neutralise(str(value)).strip() or NOT_AVAILABLE


def _one_line(value: Any) -> str:
    return " ".join(as_text(value).split())


def _numbered(values: Iterable[Any]) -> str:
    lines = [f"{number}. {_one_line(value)}" for number, value in enumerate(values, start=1)]
    return "\n".join(lines) or NOT_AVAILABLE


def _features(value: list[str] | str | None) -> str:
    if isinstance(value, list):
        return "; ".join(_one_line(feature) for feature in value) or NOT_AVAILABLE
    return as_text(value)


def _specifications(value: dict[str, Any] | str | None) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_one_line(name)}: {_one_line(v)}" for name, v in value.items()) or NOT_AVAILABLE
    return as_text(value)
