"""Ways to make a summary worse on purpose: what a judge must notice, whatever its kind or layout."""

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
)

_OPPOSITES = (
    "good bad|great terrible|excellent awful|love hate|loves hates|loved hated|like dislike|liked disliked"
    "|best worst|better worse|positive negative|positively negatively|happy unhappy|pleased displeased"
    "|satisfied dissatisfied|perfect useless|comfortable uncomfortable|easy difficult|beautiful ugly|nice nasty"
    "|amazing horrible|fantastic dreadful|wonderful miserable|friendly rude|fast slow|quick sluggish"
    "|reliable unreliable|durable flimsy|sturdy fragile|strong weak|impressive disappointing|clean dirty"
    "|delicious disgusting|fresh stale|affordable overpriced|reasonable unreasonable|praise criticize"
    "|praised criticized|praising criticizing|appreciate resent|appreciated resented|enjoy loathe"
    "|enjoyed loathed|recommend reject|recommended rejected|accurate inaccurate|satisfaction dissatisfaction"
    "|clear blurry|smooth rough|bright dim|helpful unhelpful|attentive neglectful|useful useless"
)
_PAIRS = [pair.split() for pair in _OPPOSITES.split("|")]
_FLIP = {second: first for first, second in _PAIRS} | {first: second for first, second in _PAIRS}
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[A-Za-z]+(?:n't)?")
_AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|can|will|would|do|does|did)\b(?! not)", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Sentences and lines, table rows among them; the ruler under a table's head is none."""
    return [piece for piece in _SENTENCE.split(text.strip()) if re.search(r"\w", piece)]


def drop_half(text: str, rng: random.Random) -> str:
    """Every other sentence is lost; a table keeps its head."""
    pieces = re.split(r"((?<=[.!?])\s+|\n+)", text.strip())
    kept: list[str] = []
    parity = rng.randrange(2)
    seen = 0
    for place in range(0, len(pieces), 2):
        piece, gap = pieces[place], pieces[place + 1] if place + 1 < len(pieces) else ""
        head = place + 2 < len(pieces) and re.fullmatch(r"[|:\-\s]+", pieces[place + 2])
        if not re.search(r"\w", piece) or head:
            kept += [piece, gap]
            continue
        seen += 1
        if seen % 2 == parity:
            kept += [piece, gap]
    return "".join(kept).strip() or text


def flip_polarity(text: str, rng: random.Random) -> str:
    """Every opinion turns into its opposite; where there is no opinion word, a negation comes or goes."""
    return " ".join(_flip_sentence(sentence) for sentence in re.split(r"(?<=[.!?]) ", text))


def negate(text: str, rng: random.Random) -> str:
    """A negation is put into every sentence that has none, and taken out of every one that has."""
    return " ".join(_negate_sentence(sentence) for sentence in re.split(r"(?<=[.!?]) ", text))


def shuffle_all(text: str, rng: random.Random) -> str:
    """All words of the text in any order."""
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def shuffle_within(text: str, rng: random.Random) -> str:
    """The words of each line or sentence in any order; its end mark stays at the end."""
    pieces = re.split(r"((?<=[.!?])\s+|\n+)", text)
    return "".join(piece if place % 2 else _shuffled(piece, rng) for place, piece in enumerate(pieces))


def append_filler(text: str, rng: random.Random) -> str:
    """Two empty sentences at the end."""
    gap = "\n\n" if "\n" in text else " "
    return text.rstrip() + gap + " ".join(rng.sample(FILLERS, 2))


def interleave_filler(text: str, rng: random.Random) -> str:
    """Empty sentences between the others (in front of and behind a layout that has lines)."""
    if "\n" in text:
        return f"{rng.choice(FILLERS)}\n\n{text.rstrip()}\n\n{rng.choice(FILLERS)}"
    return " ".join(
        f"{sentence} {rng.choice(FILLERS)}" for sentence in re.split(r"(?<=[.!?])\s+", text.strip())
    )


def repeat_sentences(text: str, rng: random.Random) -> str:
    """Some sentences (at least one, about a third) are said again at the end."""
    found = sentences(text)
    gap = "\n" if "\n" in text else " "
    return text.rstrip() + gap + gap.join(rng.sample(found, max(1, len(found) // 3)))


def _flip_sentence(sentence: str) -> str:
    flipped = _WORD.sub(_flip_word, sentence)
    return flipped if flipped != sentence else _negate_sentence(sentence)


def _flip_word(match: re.Match[str]) -> str:
    word = match.group()
    other = _FLIP.get(word.lower())
    if other is None:
        return word
    return other.capitalize() if word[0].isupper() else other


def _negate_sentence(sentence: str) -> str:
    without = re.sub(r"\b(?:not|never) |n't\b", "", sentence)
    if without != sentence:
        return without
    return _AUXILIARY.sub(r"\1 not", sentence, count=1)


def _shuffled(piece: str, rng: random.Random) -> str:
    if not re.search(r"\w", piece):
        return piece
    end = piece[-1] if piece[-1] in ".!?" else ""
    words = piece.removesuffix(end).split()
    rng.shuffle(words)
    return " ".join(words) + end
