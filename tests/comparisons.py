"""Ways to take a price or a product out of a comparative summary: prose, bullet list or table."""

from __future__ import annotations

import random
import re

from worker.events import Product, SummaryGenerated

_RULER = re.compile(r"[\s|:\-]+")


def lose_price(event: SummaryGenerated, rng: random.Random) -> str | None:
    """Every mention of one price is taken out."""
    return _without_a_price(event, rng, "")


def hide_price(event: SummaryGenerated, rng: random.Random) -> str | None:
    """Every mention of one price becomes N/A."""
    return _without_a_price(event, rng, "N/A")


def change_price(event: SummaryGenerated, rng: random.Random) -> str | None:
    """Every mention of one price becomes another amount."""
    return _without_a_price(event, rng, f"${rng.randrange(71_000, 79_000)}")


def lose_product(event: SummaryGenerated, rng: random.Random) -> str | None:
    """All sentences, rows or columns of one product are taken out."""
    for product in rng.sample(event.products, len(event.products)):
        name = _short_name(product, event)
        if name is None or not _names(event.summary, name):
            continue
        lines = [_line_without(line, name) for line in _without_column(event.summary, name).split("\n")]
        text = "\n".join(line for line in lines if line is not None).strip()
        if text and text != event.summary:
            return text
    return None


def _without_a_price(event: SummaryGenerated, rng: random.Random, instead: str) -> str | None:
    known = [price for p in event.products for price in (p.base_price, p.final_price) if price is not None]
    rng.shuffle(known)
    for price in known:
        pattern = _mention(price)
        if pattern and pattern.search(event.summary):
            return pattern.sub(instead, event.summary)
    return None


def _mention(price: str | int | float) -> re.Pattern[str] | None:
    """The price however it is written: with or without currency, separators and cents."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", str(price))
    if found is None:
        return None
    whole, _, cents = found.group().replace(",", "").partition(".")
    digits = ",?".join(whole)
    cents = cents.rstrip("0")
    tail = rf"(?:\.{cents}0?)" if cents else r"(?:\.0+)?"
    return re.compile(rf"(?:[₹$€£]\s?|\bRs\.?\s?)?(?<![\d.,]){digits}{tail}(?![\d]|[.,]\d)")


def _short_name(product: Product, event: SummaryGenerated) -> str | None:
    """The first word of the title that no other product of the event has in its own."""
    others = {
        word
        for other in event.products
        if other is not product
        for word in (other.title or "").lower().split()
    }
    own = [word for word in (product.title or "").split() if word.lower().strip(",") not in others]
    return next((word.strip(",") for word in own if word.lower() not in ("the", "a", "an")), None)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _without_column(text: str, name: str) -> str:
    """The table without the column whose head names the product."""
    lines = text.split("\n")
    heads = [line for line in lines if line.count("|") > 2]
    if not heads:
        return text
    places = [place for place, cell in enumerate(heads[0].split("|")) if _names(cell, name)]
    if not places:
        return text
    return "\n".join(_without_cell(line, places[0]) if line.count("|") > 2 else line for line in lines)


def _without_cell(line: str, place: int) -> str:
    cells = line.split("|")
    return "|".join(cells[:place] + cells[place + 1 :])


def _line_without(line: str, name: str) -> str | None:
    """A line without its sentences about the product; a bullet or a row goes as a whole."""
    if not _names(line, name):
        return line
    if line.lstrip().startswith(("|", "-", "*", "•")) or _RULER.fullmatch(line):
        return None
    kept = [sentence for sentence in re.split(r"(?<=[.!?]) ", line) if not _names(sentence, name)]
    return " ".join(kept)
