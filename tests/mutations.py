"""Ways to make a text worse on purpose: what a judge must notice, whatever the kind and the layout."""

from __future__ import annotations

import random
import re

FILLERS = (
    "It is worth noting that this is something to consider.",
    "Overall, many factors matter when buying a product like this.",
    "At the end of the day, the choice is yours and depends on what you are looking for.",
    "In today's fast-moving world, everyone deserves the very best that modern innovation has to offer.",
    "Elevate your lifestyle and unlock a whole new level of excitement with every single use!",
    "There are many things that people think about before they decide.",
    "As mentioned above, it goes without saying that opinions may vary from person to person.",
    "Discover the difference that true craftsmanship and passion can make in your everyday journey.",
    "Shoppers should always weigh the good against the bad and read the details carefully.",
    "This is a product that has been on the market for some time and that many people have bought.",
    "Quality and value are important to everyone, and nobody wants to be disappointed.",
    "Order now and experience unmatched performance, superior design and a timeless look!",
)

_OPPOSITES = """
    good bad|great terrible|excellent awful|love hate|loves hates|loved hated|like dislike|liked disliked
    |best worst|better worse|positive negative|positively negatively|happy unhappy|pleased displeased
    |satisfied dissatisfied|perfect useless|comfortable uncomfortable|easy difficult|beautiful ugly|nice nasty
    |amazing horrible|fantastic dreadful|wonderful miserable|friendly rude|fast slow|quick sluggish
    |reliable unreliable|durable flimsy|sturdy fragile|strong weak|impressive disappointing|clean dirty
    |delicious disgusting|fresh stale|affordable overpriced|reasonable unreasonable|praise criticize
    |praised criticized|praising criticizing|appreciate resent|appreciated resented|enjoy loathe
    |enjoyed loathed|recommend reject|recommended rejected|accurate inaccurate|satisfaction dissatisfaction
    |clear blurry|smooth rough|bright dim|helpful unhelpful|attentive neglectful|useful useless|loud quiet
"""
_PAIRS = [(one, other) for one, other in (pair.split() for pair in _OPPOSITES.split("|"))]
_FLIP = {second: first for first, second in _PAIRS} | dict(_PAIRS)
_GAP = re.compile(r"((?<=[.!?])\s+|\n+)")
_WORD = re.compile(r"[A-Za-z]+")
_NEGATION = re.compile(r"\b(?:not|never) |n't\b")
_AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|can|will|would|do|does|did)\b(?! not)", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Sentences and lines, table rows among them; the ruler under a table's head is none."""
    return [piece for piece in _GAP.split(text.strip())[::2] if re.search(r"\w", piece)]


def drop_every_other(text: str, rng: random.Random) -> str:
    """Every other sentence is lost; a table keeps its head."""
    parity = rng.randrange(2)
    return _keep(text, lambda place: place % 2 == parity)


def drop_last_half(text: str, rng: random.Random) -> str:
    """The text breaks off in the middle."""
    half = (len(sentences(text)) + 1) // 2
    return _keep(text, lambda place: place < half)


def flip_polarity(text: str, rng: random.Random) -> str:
    """Opinion words turn into their opposites; a sentence without one gains or loses a negation."""
    pieces = _GAP.split(text)
    return "".join(piece if place % 2 else _flipped(piece) for place, piece in enumerate(pieces))


def flip_words(text: str, rng: random.Random) -> str:
    """Opinion words turn into their opposites, nothing else."""
    return _WORD.sub(_opposite, text)


def negate(text: str, rng: random.Random) -> str:
    """A negation is put into every sentence that has none, and taken out of every one that has."""
    pieces = _GAP.split(text)
    return "".join(piece if place % 2 else _negated(piece) for place, piece in enumerate(pieces))


def shuffle_all(text: str, rng: random.Random) -> str:
    """All words of the text in any order."""
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def shuffle_within(text: str, rng: random.Random) -> str:
    """The words of each line or sentence in any order; its end mark stays at the end."""
    pieces = _GAP.split(text)
    return "".join(piece if place % 2 else _shuffled(piece, rng) for place, piece in enumerate(pieces))


def append_filler(text: str, rng: random.Random) -> str:
    """Two empty sentences at the end."""
    gap = "\n\n" if "\n" in text else " "
    return text.rstrip() + gap + " ".join(rng.sample(FILLERS, 2))


def append_one_filler(text: str, rng: random.Random) -> str:
    """One empty sentence at the end."""
    return text.rstrip() + ("\n\n" if "\n" in text else " ") + rng.choice(FILLERS)


def interleave_filler(text: str, rng: random.Random) -> str:
    """Empty sentences between the others (in front of and behind a layout that has lines)."""
    if "\n" in text:
        return f"{rng.choice(FILLERS)}\n\n{text.rstrip()}\n\n{rng.choice(FILLERS)}"
    return " ".join(f"{sentence} {rng.choice(FILLERS)}" for sentence in sentences(text))


def repeat_sentences(text: str, rng: random.Random) -> str:
    """About a third of the sentences, at least one, are said again at the end."""
    found = sentences(text)
    gap = "\n" if "\n" in text else " "
    return text.rstrip() + gap + gap.join(rng.sample(found, max(1, len(found) // 3)))


def _keep(text: str, wanted: object) -> str:
    pieces = _GAP.split(text.strip())
    kept: list[str] = []
    seen = 0
    for place in range(0, len(pieces), 2):
        piece, gap = pieces[place], "".join(pieces[place + 1 : place + 2])
        below = "".join(pieces[place + 2 : place + 3])
        is_head = bool(below) and not re.search(r"[^|:\-\s]", below)
        if not re.search(r"\w", piece) or is_head:
            kept += [piece, gap]
            continue
        if callable(wanted) and wanted(seen):
            kept += [piece, gap]
        seen += 1
    return "".join(kept).strip() or text


def _flipped(sentence: str) -> str:
    flipped = _WORD.sub(_opposite, sentence)
    return flipped if flipped != sentence else _negated(sentence)


def _opposite(match: re.Match[str]) -> str:
    word = match.group()
    other = _FLIP.get(word.lower(), word)
    return other.capitalize() if word[0].isupper() and other != word else other


def _negated(sentence: str) -> str:
    without = _NEGATION.sub("", sentence)
    return without if without != sentence else _AUXILIARY.sub(r"\1 not", sentence, count=1)


def _shuffled(piece: str, rng: random.Random) -> str:
    if not re.search(r"\w", piece):
        return piece
    end = piece[-1] if piece[-1] in ".!?" else ""
    words = piece.removesuffix(end).split()
    rng.shuffle(words)
    return " ".join(words) + end
