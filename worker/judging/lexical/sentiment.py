"""Sentiment consistency: does the summary feel about each aspect what the sources feel?"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from worker.judging.lexical.case import Case
from worker.judging.lexical.evidence import Evidence, sign
from worker.judging.lexical.scale import Curve, Opinion, approach, blend, listed, mean, share
from worker.judging.lexical.text import Clause

_HALF_RECALL = 0.25
#: The first is set so that mean and spread on human-rated summaries are those of the ratings.
_OPINIONS, _OTHERS = Curve(0.18, 13.5), Curve(0.42, 8.0)
#: What it costs if every clause denies something that the sources don't.
_GAINSAID = 0.1
#: Below this an aspect's sentiment counts as different from the sources'.
_DIFFERS = 0.45


class Match(NamedTuple):
    """How well one product's sentiment is met."""

    #: Weight of topics taken up with the sources' sentiment, as a share of all topics.
    reflected: float
    #: Share of the summary's opinion words that the sources bear out.
    borne_out: float
    #: Share of clauses with a negation that the sources don't have.
    gainsaid: float
    topics: int
    differing: tuple[str, ...]


def judge(case: Case) -> Opinion:
    """Aspects with the right sentiment, opinions borne out, and (as people do) how much is said at all."""
    matches = [_match(evidence, view) for evidence, view in zip(case.evidence, case.views, strict=True)]
    curve = _OPINIONS if case.is_opinion else _OTHERS
    return Opinion(curve.grade(_level(case, matches)), _explain(matches))


def _level(case: Case, matches: list[Match]) -> float:
    reflected = mean(match.reflected for match in matches)
    borne_out = mean(match.borne_out for match in matches)
    gainsaid = mean(match.gainsaid for match in matches)
    if case.is_opinion:
        return -_GAINSAID * gainsaid + blend(
            (1, case.breadth), (1, case.recall), (3, reflected), (0.5, borne_out)
        )
    return -_GAINSAID * gainsaid + blend((2, approach(reflected, _HALF_RECALL)), (2, borne_out))


def _match(evidence: Evidence, view: list[tuple[Clause, float]]) -> Match:
    found: dict[str, list[float]] = defaultdict(list)
    support, opinions = 0.0, 0
    for clause, mood in view:
        for stem in clause.stems:
            if stem in evidence.topics:
                found[stem].append(_agreement(evidence, clause, stem, mood))
        for stem, value in clause.opinions:
            opinions += 1
            support += _bearing(evidence, stem, value)
    agreements = {stem: mean(values) for stem, values in found.items()}
    reflected = sum(evidence.topics[stem] * agreement for stem, agreement in agreements.items())
    differing = sorted(
        (stem for stem, agreement in agreements.items() if agreement < _DIFFERS),
        key=lambda stem: (agreements[stem], -evidence.topics[stem], stem),
    )
    return Match(
        share(reflected, evidence.weight),
        # Two imagined halves keep a summary without opinions in the middle.
        (support + 1) / (opinions + 2),
        share(sum(_gainsays(evidence, clause) for clause, _ in view), len(view)),
        len(agreements),
        tuple(evidence.names[stem] for stem in differing),
    )


def _agreement(evidence: Evidence, clause: Clause, stem: str, mood: float) -> float:
    """1 where the clause feels as all sources do, 0 for the opposite, less for a negation they lack."""
    agreement = 0.5 + 0.5 * evidence.feeling(stem) * sign(mood)
    if not evidence.stances[stem, stem in clause.negated]:
        agreement -= 0.5
    return agreement


def _gainsays(evidence: Evidence, clause: Clause) -> bool:
    return clause.negates and not any(evidence.stances[stem, True] for stem in clause.negated)


def _bearing(evidence: Evidence, stem: str, value: float) -> float:
    """How far the sources use an opinion word the same way; a new one is held against their mood."""
    same, other = evidence.opinions[stem, value > 0], evidence.opinions[stem, value <= 0]
    if same + other:
        return same / (same + other)
    return 0.5 + 0.5 * evidence.lean * (1 if value > 0 else -1)


def _explain(matches: list[Match]) -> str:
    topics = sum(match.topics for match in matches)
    differing = [name for match in matches for name in match.differing]
    borne_out = mean(match.borne_out for match in matches)
    text = f"{topics - len(differing)} of {topics} topics taken up carry the sentiment of the sources"
    if differing:
        text += f"; different: {listed(differing)}"
    return f"{text}. The sources bear out {borne_out:.0%} of the opinion words."
