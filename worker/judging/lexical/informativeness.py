"""Informativeness: are the essential attributes of every product there?"""

from __future__ import annotations

from typing import NamedTuple

from worker.events import Kind
from worker.judging.lexical.case import Case
from worker.judging.lexical.evidence import Evidence
from worker.judging.lexical.facts import invented_prices, prices, states_rating
from worker.judging.lexical.scale import Curve, Opinion, approach, blend, listed, mean, share

_HALF_RECALL = 0.2
#: The first is set so that mean and spread on human-rated summaries are those of the ratings.
_OPINIONS, _OTHERS = Curve(0.24, 10.0), Curve(0.55, 6.5)
_TITLE, _PRICE, _RATING, _PROS, _CONS, _ATTRIBUTES = 1.0, 1.0, 0.5, 0.75, 0.75, 2.0


class Item(NamedTuple):
    """One thing a product's part of the summary should have, and how far it has it."""

    name: str
    weight: float
    there: float


def judge(case: Case) -> Opinion:
    """Reviews: recall and breadth of what they tell; other kinds: a checklist per product."""
    if case.is_opinion:
        return Opinion(_OPINIONS.grade(_opinion_level(case)), _explain_opinion(case))
    lists = _checklists(case)
    invented = invented_prices(case.event.summary, case.event.products)
    level = mean(blend(*((item.weight, item.there) for item in items)) for items in lists)
    level -= 0.05 * approach(len(invented), 1) + 0.1 * _blank(case)
    return Opinion(_OTHERS.grade(level), _explain(lists, invented))


def _opinion_level(case: Case) -> float:
    level = blend((1, case.recall), (1, case.breadth))
    rated = states_rating(case.event.products[0], case.numbers)
    return level if rated is None else level + 0.02 * rated


def _checklists(case: Case) -> list[list[Item]]:
    stated = prices(case.event.products, case.numbers)
    return [
        _checklist(case, number, [Item(price.name, _PRICE, price.stated) for price in stated[number]])
        for number in range(len(case.evidence))
    ]


def _checklist(case: Case, number: int, priced: list[Item]) -> list[Item]:
    product, evidence, covered = case.event.products[number], case.evidence[number], case.covered[number]
    items = [Item("attributes", _ATTRIBUTES, approach(case.recalls[number], _HALF_RECALL)), *priced]
    if product.title:
        items.append(Item("title", _TITLE, float(number in case.titled)))
    rated = states_rating(product, case.numbers)
    if rated is not None and case.event.kind is Kind.COMPARATIVE:
        items.append(Item("rating", _RATING, float(rated)))
    for name, weight, good in (("pros", _PROS, True), ("cons", _CONS, False)):
        said = {stem for stem in evidence.topics if _feels(evidence, stem, good)}
        if said:
            items.append(Item(name, weight, approach(share(len(said & covered), len(said)), _HALF_RECALL)))
    return items


def _feels(evidence: Evidence, stem: str, good: bool) -> bool:
    feeling = evidence.feeling(stem)
    return feeling > 0 if good else feeling < 0


def _blank(case: Case) -> float:
    """The share of table cells with neither a value nor N/A."""
    return share(sum(t.blanks for t in case.layout.tables), sum(t.size for t in case.layout.tables))


def _explain_opinion(case: Case) -> str:
    evidence, covered = case.evidence[0], case.covered[0]
    missing = sorted(set(evidence.topics) - covered, key=lambda stem: (-evidence.topics[stem], stem))
    text = f"Takes up {len(covered)} of {len(evidence.topics)} topics of the reviews"
    text += f" ({case.recall:.0%} by weight)"
    if missing:
        text += f"; not said: {listed([evidence.names[stem] for stem in missing[:5]])}"
    return text + "."


def _explain(lists: list[list[Item]], invented: list[str]) -> str:
    lacking = [
        f"product {number + 1} {item.name}" if len(lists) > 1 else item.name
        for number, items in enumerate(lists)
        for item in items
        if item.there < 0.25
    ]
    total = sum(map(len, lists))
    text = f"{total - len(lacking)} of {total} essential attributes are there"
    if lacking:
        text += f"; missing or thin: {listed(lacking)}"
    if invented:
        text += f"; amounts nobody asks: {listed(invented)}"
    return text + "."
