"""What can be checked exactly: names, prices and ratings."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from worker.events import Product

_NUMBER = re.compile(
    r"(?<!\w)(?<!\d\.)(?:(?P<dotted>\d{1,3}(?:\.\d{3})+,\d{2})|\d+(?:[,\u00a0\u202f']\d{2,3})*(?:\.\d+)?)(?![^\W\d_])"
)
_DECIMAL_COMMA = re.compile(r"\d+,\d{2}|\d{1,3}(?:\.\d{3})+,\d{2}")
_LONGEST_NUMBER = 24
#: Money in the text: a currency before or behind the number.
_MONEY = re.compile(
    r"(?:[₹$€£¥]|\b(?:rs|inr|usd|eur|gbp)\b\.?)\s?(\d[\d,.\u00a0\u202f]{0,24})"
    r"|(?<![\d,.])(\d[\d,.]{0,24})\s?(?:[₹€£¥]|(?:rupees|dollars|euros)\b|/-)",
    re.IGNORECASE,
)


class Price(NamedTuple):
    """One of a product's prices and whether the summary states it."""

    name: str
    stated: float


def numbers(text: str) -> Counter[float]:
    """Every number of a text, by value."""
    return Counter(value for match in _NUMBER.finditer(text) if (value := _value(match.group())) is not None)


def amount(price: str | int | float | None) -> float | None:
    """The value of a price as the event has it; None where it has none."""
    if price is None or isinstance(price, int | float):
        return None if price is None else round(float(price), 2)
    match = _NUMBER.search(re.sub(r"(?i)(rs|inr|usd|eur|gbp)\.?(?=\d)", " ", price))
    return _value(match.group()) if match else None


def invented_prices(text: str, products: list[Product]) -> list[str]:
    """Amounts of money in the text that no product costs (the difference of two prices is a discount)."""
    given = {
        value
        for p in products
        for value in (amount(p.base_price), amount(p.final_price))
        if value is not None
    }
    if not given:
        return []
    allowed = given | {round(abs(one - other), 2) for one in given for other in given}
    found = (first or second for first, second in _MONEY.findall(text))
    return [money for money in found if (value := _value(money)) is not None and value not in allowed]


def prices(products: list[Product], found: Counter[float]) -> list[list[Price]]:
    """For each product its prices and how far the summary states them, told by value.

    Two products of the same price need it twice; where base and final price are the same, one mention says
    almost all.
    """
    needed = Counter(value for product in products for value in _distinct(product))
    answer = []
    for product in products:
        base, final = amount(product.base_price), amount(product.final_price)
        known = [
            (name, value)
            for name, value in (("base price", base), ("final price", final))
            if value is not None
        ]
        stated = [Price(name, min(1.0, found[value] / needed[value])) for name, value in known]
        if base is not None and base == final and found[base] < 2 * needed[base]:
            stated[1] = Price("final price", stated[1].stated * 0.8)
        answer.append(stated)
    return answer


def states_rating(product: Product, found: Counter[float]) -> bool | None:
    """Whether the rating is in the text, rounded or not; None where there is none to state."""
    rating = amount(product.average_rating)
    if rating is None:
        return None
    return any(value in found for value in (rating, round(rating, 1)))


def _distinct(product: Product) -> set[float]:
    return {value for value in (amount(product.base_price), amount(product.final_price)) if value is not None}


def _value(text: str) -> float | None:
    """`12,999`, `1,29,999.00`, `24,00` and `12.999,00` as numbers."""
    text = text.strip(".,\u00a0\u202f")
    if len(text) > _LONGEST_NUMBER:
        return None
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    try:
        return round(float(re.sub(r"[,\u00a0\u202f']", "", text)), 2)
    except ValueError:
        return None
