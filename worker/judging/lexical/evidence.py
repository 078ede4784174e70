"""What the sources say about one product: its topics, how much they matter, what buyers feel about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from worker.events import Kind, Product, SummaryGenerated
from worker.judging.lexical.text import Clause, Sentence, read
from worker.judging.lexical.vocabulary import look_up

#: A topic that the query asks for matters this much more than any other.
_ASKED_FOR = 2.0
#: Rarities of a word that tells nothing (one in 400) and of one that tells everything (one in 60,000).
_EVERYDAY, _RARE = 6.0, 11.0
#: An opinion weaker than this is none.
FAINT = 0.3


class Evidence(NamedTuple):
    """One product's sources, read."""

    #: Content stem -> weight: in how many sources it is, times how rare the word is in English.
    topics: dict[str, float]
    #: The topics that matter most: raised by two or more reviews, or the main ones of an opinion summary.
    aspects: frozenset[str]
    #: Content stem of anything given, the small print and the query included -> how telling it is.
    support: dict[str, float]
    #: Stem -> clauses that speak well and ill of it.
    praise: Counter[str]
    blame: Counter[str]
    #: (opinion stem, is good) -> how often.
    opinions: Counter[tuple[str, bool]]
    #: (stem, is negated) -> how often.
    stances: Counter[tuple[str, bool]]
    #: Pairs of neighbouring words.
    pairs: frozenset[tuple[str, str]]
    #: Stem -> the word it was first met as.
    names: dict[str, str]

    @property
    def weight(self) -> float:
        """The weight of all topics together."""
        return sum(self.topics.values())

    def feeling(self, stem: str) -> float:
        """From -1 (all blame) to 1 (all praise)."""
        good, bad = self.praise[stem], self.blame[stem]
        return (good - bad) / (good + bad + 1)

    @property
    def lean(self) -> float:
        """The mood of the sources as a whole, from -1 to 1."""
        good = sum(count for (_, is_good), count in self.opinions.items() if is_good)
        bad = sum(self.opinions.values()) - good
        return (good - bad) / (good + bad + 2)


def gather(event: SummaryGenerated) -> tuple[Evidence, ...]:
    """The evidence on each product of the event, in order."""
    return tuple(_gather(product, event) for product in event.products)


def feelings(clauses: Sequence[Clause]) -> list[float]:
    """The valence of each clause of a sentence; one without an opinion takes half of the sentence's."""
    whole = sum(clause.valence for clause in clauses)
    return [clause.valence or whole / 2 for clause in clauses]


def sign(valence: float) -> int:
    """1 for good, -1 for bad, 0 for neither."""
    return (valence > FAINT) - (valence < -FAINT)


def _gather(product: Product, event: SummaryGenerated) -> Evidence:
    opinion = event.kind is Kind.OPINION
    voices = product.reviews or [] if opinion else [product.opinion_summary or ""]
    read_voices = [read(voice) for voice in voices]
    small_print = [sentence for text in _small_print(product, event) for sentence in read(text)]
    sentences = [sentence for voice in read_voices for sentence in voice]
    names = _names([*sentences, *small_print])
    raised = Counter(stem for voice in read_voices for stem in frozenset().union(*(s.stems for s in voice)))
    asked = frozenset() if opinion else frozenset().union(*(s.stems for s in read(event.query or "")))
    topics = {
        stem: count * look_up(names[stem]).rarity * (_ASKED_FOR if stem in asked else 1.0)
        for stem, count in raised.items()
    }
    stems = frozenset(topics).union(*(sentence.stems for sentence in small_print))
    support = {stem: _telling(look_up(names[stem]).rarity) for stem in stems}
    aspects = _aspects(raised, names, enough=2 if opinion and len(read_voices) > 1 else 1)
    pairs = frozenset(
        pair for s in (*sentences, *small_print) for pair in zip(s.words, s.words[1:], strict=False)
    )
    return Evidence(topics, aspects, support, *_moods(sentences), pairs, names)


def _telling(rarity: float) -> float:
    """Everyday words may be in the sources by chance: only rare ones count in full."""
    return max(0.0, min(1.0, (rarity - _EVERYDAY) / (_RARE - _EVERYDAY)))


def _small_print(product: Product, event: SummaryGenerated) -> Iterable[str]:
    """Everything else that a summary may draw on."""
    yield from (product.title or "", product.description or "", product.ugc_summary or "", event.query or "")
    features = product.key_features or ""
    yield from [features] if isinstance(features, str) else features
    specifications = product.specifications or ""
    if isinstance(specifications, str):
        yield specifications
    else:
        yield from (f"{name}: {value}" for name, value in specifications.items())
    if event.kind is not Kind.OPINION:
        yield from product.reviews or []
    else:
        yield product.opinion_summary or ""


def _names(sentences: Iterable[Sentence]) -> dict[str, str]:
    names: dict[str, str] = {}
    for sentence in sentences:
        for token in sentence.words:
            names.setdefault(look_up(token).stem, token)
    return names


def _aspects(raised: Counter[str], names: dict[str, str], enough: int) -> frozenset[str]:
    """Topics that are things rather than opinions, raised often enough."""
    things = {stem: count for stem, count in raised.items() if not look_up(names[stem]).valence}
    often = frozenset(stem for stem, count in things.items() if count >= enough)
    return often or frozenset(things) or frozenset(raised)


def _moods(
    sentences: Iterable[Sentence],
) -> tuple[Counter[str], Counter[str], Counter[tuple[str, bool]], Counter[tuple[str, bool]]]:
    praise: Counter[str] = Counter()
    blame: Counter[str] = Counter()
    opinions: Counter[tuple[str, bool]] = Counter()
    stances: Counter[tuple[str, bool]] = Counter()
    for sentence in sentences:
        for clause, feeling in zip(sentence.clauses, feelings(sentence.clauses), strict=True):
            mood = sign(feeling)
            if mood:
                (praise if mood > 0 else blame).update(frozenset(clause.stems))
            opinions.update((stem, value > 0) for stem, value in clause.opinions)
            stances.update((stem, stem in clause.negated) for stem in clause.stems)
            stances.update((stem, stem in clause.negated) for stem, _ in clause.opinions)
    return praise, blame, opinions, stances
