"""Clarity: is the text well formed, in order, free of repetition and easy to follow?"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from worker.judging.lexical.case import Case
from worker.judging.lexical.scale import Curve, Opinion, approach, blend, mean, share
from worker.judging.lexical.vocabulary import bigram_counts
from worker.judging.lexical.wordlists import words

#: Marks of a tokenizer's output: a space before a full stop or inside a contraction, left-over symbols.
_ARTEFACT = re.compile(r"\s[.,!?;](?:\s|$)|\s['’]\s?\w|\w ['’]|``|<unk>|\bn't\b|�")
_FIRST_PERSON = words("i me my mine myself i'm i've i'll i'd we us our ours we're we've")
#: No sentence ends with one of these.
_DANGLING = words(
    """
    a an and are at but by for from her his in is its my of on or our the their to very was were with
    your
    """
)
_ENDINGS = frozenset(".!?\"')]”’*|。！？।…")
#: Set so that mean and spread on human-rated summaries are those of the ratings.
_CURVE = Curve(0.62, 9.3)
#: Known pairs of words less those known in reverse, as a share of all pairs: what plain text has.
_ORDERLY = 0.18


class Form(NamedTuple):
    """The signals, each between 0 (bad) and 1 (good)."""

    order: float
    clean: float
    capitals: float
    ended: float
    fresh: float
    impersonal: float
    whole: float
    table: float


def judge(case: Case) -> Opinion:
    """Form first; a text from which the product doesn't become clear is not clear either."""
    form = read_form(case)
    return Opinion(_CURVE.grade(_level(case, form)), _explain(form))


def read_form(case: Case) -> Form:
    """All signals of form."""
    text = case.event.summary
    sentences = [passage.sentence for passage in case.layout.passages]
    words = [word for sentence in sentences for word in sentence.words]
    lettered = [s for s in sentences if s.text[:1].isalpha()]
    trigrams = [triple for s in sentences for triple in zip(s.words, s.words[1:], s.words[2:], strict=False)]
    in_table = bool(case.layout.tables)
    return Form(
        order=_order(case),
        clean=1.0 / (1.0 + 25.0 * share(len(_ARTEFACT.findall(text)), len(words))),
        capitals=1.0 if in_table else 1.0 - share(sum(s.text[0].islower() for s in lettered), len(lettered)),
        ended=float(in_table or text.rstrip()[-1] in _ENDINGS),
        fresh=share(len(set(trigrams)), len(trigrams)) if trigrams else 1.0,
        impersonal=1.0 / (1.0 + 12.0 * share(sum(word in _FIRST_PERSON for word in words), len(words))),
        whole=float(len(sentences) > 1),
        table=_table(case),
    )


def _level(case: Case, form: Form) -> float:
    picture = approach(case.recall, 0.2)
    level = blend(
        (1.0, form.clean),
        (0.5, form.capitals),
        (1.0, form.ended),
        (1.0, form.fresh),
        (1.0, form.impersonal),
        (1.0, form.whole),
        (2.0, picture),
    )
    # Words in disorder can't be made up for by anything else.
    return level * (0.4 + 0.6 * form.order) * (0.6 + 0.4 * form.table)


def _order(case: Case) -> float:
    """Pairs of neighbours known to English or to the sources, less those known only the other way round."""
    known = bigram_counts()
    sourced = frozenset().union(*(evidence.pairs for evidence in case.evidence))
    forward = backward = pairs = dangling = sentences = 0
    for passage in case.layout.passages:
        words = passage.sentence.words
        sentences += 1
        dangling += bool(words) and words[-1] in _DANGLING
        for one, other in pairwise(words):
            pairs += 1
            forward += f"{one} {other}" in known or (one, other) in sourced
            backward += f"{other} {one}" in known or (other, one) in sourced
    if not pairs:
        return 1.0
    surplus = (forward - backward) / pairs / _ORDERLY
    return max(0.0, min(1.0, surplus)) * (1.0 - share(dangling, sentences) / 2)


def _table(case: Case) -> float:
    """Well-formed tables: as many cells in every row as in the head, none of them blank."""
    tables = case.layout.tables
    if not tables:
        return 1.0
    return mean((1 - share(t.ragged, len(t.rows))) * (1 - share(t.blanks, t.size)) for t in tables)


def _explain(form: Form) -> str:
    complaints = {
        "the order of words is unusual": 1 - form.order,
        "spaces or symbols are out of place": 1 - form.clean,
        "sentences start in lower case": 1 - form.capitals,
        "the last sentence has no end": 1 - form.ended,
        "phrases are repeated": 3 * (1 - form.fresh),
        "it speaks as one buyer (I, my, we)": 1 - form.impersonal,
        "it is a single sentence": 1 - form.whole,
        "the table has blank or missing cells": 1 - form.table,
    }
    found = [text for text, badness in sorted(complaints.items(), key=lambda item: -item[1]) if badness > 0.1]
    return ("Noticed: " + "; ".join(found[:3]) + ".") if found else "Well formed: nothing stands out."
