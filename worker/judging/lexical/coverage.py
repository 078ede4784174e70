"""Aspect coverage: how much of what the sources discuss does the summary take up?"""

from __future__ import annotations

from worker.judging.lexical.case import Case
from worker.judging.lexical.scale import Curve, Opinion, approach, blend, listed, mean

#: Of an opinion summary, whose every word counts, half of the words is more than half of the aspects.
_HALF_RECALL = 0.35
#: What shared opinions add at most, and how many make half of it.
_VOICED, _HALF_VOICED = 0.05, 8.0
#: The first is set so that mean and spread on human-rated summaries are those of the ratings.
_OPINIONS, _OTHERS = Curve(0.225, 12.0), Curve(0.36, 8.0)


def judge(case: Case) -> Opinion:
    """Weighted recall of topics, recall of the main aspects, and breadth."""
    curve = _OPINIONS if case.is_opinion else _OTHERS
    return Opinion(curve.grade(level(case)), _explain(case))


def level(case: Case) -> float:
    """How much is covered, between 0 and 1."""
    aspects = mean(case.aspect_recalls)
    if case.is_opinion:
        topics = blend((2, case.recall), (1, aspects), (1.2, case.breadth))
        return topics + _VOICED * approach(_voiced(case), _HALF_VOICED)
    # The product that is covered least decides as much as the mean: a comparison that forgets one is none.
    recalls = [approach(recall, _HALF_RECALL) for recall in case.recalls]
    return blend((2, mean(recalls)), (1, min(recalls, default=0.0)), (1, approach(aspects, _HALF_RECALL)))


def _voiced(case: Case) -> int:
    """Opinions that the reviews share: overall satisfaction is an aspect too, though it has no noun."""
    opinions = case.evidence[0].opinions
    told = {pair for clause, _ in case.views[0] for pair in clause.opinions}
    return len({stem for stem, value in told if opinions[stem, value > 0]})


def _explain(case: Case) -> str:
    sentences = []
    for number, (evidence, covered) in enumerate(zip(case.evidence, case.covered, strict=True)):
        found = len(evidence.aspects & covered)
        missing = sorted(evidence.aspects - covered, key=lambda stem: (-evidence.topics[stem], stem))
        source = "that the reviews raise most" if case.is_opinion else "of the opinion summary"
        whose = f"product {number + 1}: " if len(case.evidence) > 1 else ""
        text = f"{whose}covers {found} of {len(evidence.aspects)} aspects {source}"
        if missing:
            text += f"; missing: {listed([evidence.names[stem] for stem in missing])}"
        sentences.append(text)
    return ". ".join(text[0].upper() + text[1:] for text in sentences) + "."
