"""Hostile text made harmless: nothing in the data can pass for a score tag, a fence or a chat turn.

The data stays readable; only what a model or its chat template could take for markup is changed.
"""

from __future__ import annotations

import html
import re
import unicodedata

#: Characters that are, look like, or normalise to an opening angle bracket, and those that close one.
_OPENING = "<＜﹤˂ᐸ𝈶〈〈⟨❬❮❰⦑⧼≪≮⟪⪡⋖"
_CLOSING = ">＞﹥˃ᐳ𝈷〉〉⟩❭❯❱⦒⧽≫≯⟫⪢⋗"
#: Quotation marks of some languages that are drawn alike: left alone, unless they enclose "score".
_OPENING_QUOTES, _CLOSING_QUOTES = "‹«《", "›»》"

#: Whatever is not plain ASCII text has to be looked at; most texts are nearly all plain.
_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\u2800"
#: Invisible although Unicode does not count them among the format characters.
_IGNORABLE = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)
#: The choice between a letter-like and a colourful emoji means something behind a symbol only.
_STRAY_EMOJI_SELECTOR = re.compile(r"(?<![\u00a9\u00ae\u2000-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]+")
#: Joiners carry meaning in Indic and Arabic scripts and in emoji, and none between Latin letters.
_JOINERS = "\u200c\u200d"
_JOINER_NEAR_ASCII = re.compile(f"(?<=[\x00-\x7f])[{_JOINERS}]+|[{_JOINERS}]+(?=[\x00-\x7f])")
#: No language stacks more than a few marks on one letter.
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILE_OF_MARKS = re.compile(f"([{_MARKS}]{{2}})[{_MARKS}]+")

#: A bracket is harmless before a number, a sign or a currency, as in "< 2 kg"; anything else could be markup.
_MARKUP = re.compile(rf"[{_OPENING}](?!\s*[\d=$€£₹.,+-])")
_TAG = re.compile(
    rf"[{_OPENING}{_OPENING_QUOTES}]([^{_OPENING}{_CLOSING}{_OPENING_QUOTES}{_CLOSING_QUOTES}]{{1,200}})"
    rf"[{_CLOSING}{_CLOSING_QUOTES}]?"
)
#: Turns and other signals of chat templates that stand in square brackets.
_BRACKETED_TURN = re.compile(r"\[(/?[A-Z_]{3,}|(?i:/?inst|/?sys|/?system|gmask|sop))\]")

#: Letters of other scripts that are drawn like those of "score".
_LOOKALIKES = str.maketrans(
    {
        "ѕ": "s", "Ѕ": "s", "ꜱ": "s", "ʂ": "s", "$": "s", "5": "s",
        "с": "c", "С": "c", "ϲ": "c", "ᴄ": "c", "ⅽ": "c",
        "о": "o", "О": "o", "ο": "o", "Ο": "o", "ᴏ": "o", "օ": "o", "0": "o", "ѳ": "o",
        "г": "r", "ʀ": "r", "ᴦ": "r", "ɾ": "r", "Ꮢ": "r",
        "е": "e", "Е": "e", "ε": "e", "ҽ": "e", "є": "e", "℮": "e", "3": "e",
    }
    # Letters in circles, in squares and as flags.
    | {chr(first + i): chr(ord("a") + i) for first in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)}
)  # fmt: skip


def neutralise(text: str) -> str:
    """The text with invisible characters dropped and everything that could pass for markup defused."""
    visible = _without_invisible(text)
    # Entities are decoded only where markup would come out: then it is defused, otherwise the text stays.
    decoded = _decoded(visible)
    candidate = decoded if _MARKUP.search(decoded) or _tags(decoded) else visible
    defused = _MARKUP.sub("‹", _TAG.sub(_square_score_tag, candidate))
    return _BRACKETED_TURN.sub(r"(\1)", defused)


def _decoded(text: str) -> str:
    """The text with its entities decoded, also those that were encoded more than once."""
    for _ in range(5):
        if "&" not in text or (decoded := html.unescape(text)) == text:
            break
        text = _without_invisible(decoded)
    return text


def _tags(text: str) -> bool:
    return any(_reads_score(found[1]) for found in _TAG.finditer(text))


def _square_score_tag(found: re.Match[str]) -> str:
    """A tag that reads "score" loses its angle brackets altogether; others are left to the caller."""
    if not _reads_score(found[1]):
        return found[0]
    slash = "/" if "/" in found[1] else ""
    return f"[{slash}score]"


def _reads_score(inside: str) -> bool:
    decomposed = unicodedata.normalize("NFKD", inside)
    letters = "".join(c for c in decomposed.translate(_LOOKALIKES).casefold() if c.isalnum())
    return letters.startswith("score")


def _without_invisible(text: str) -> str:
    if not _UNUSUAL.search(text):
        return text
    seen = _STRAY_EMOJI_SELECTOR.sub("", _IGNORABLE.sub("", _UNUSUAL.sub(_visible_or_nothing, text)))
    return _PILE_OF_MARKS.sub(r"\1", _JOINER_NEAR_ASCII.sub("", seen))


def _visible_or_nothing(found: re.Match[str]) -> str:
    """Letters of all scripts and joiners stay; controls, format characters and lone surrogates go."""
    character = found[0]
    if character in _BREAKS:
        return " "
    if character in _JOINERS or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"}:
        return character
    return ""
