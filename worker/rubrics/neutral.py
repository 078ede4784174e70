"""Hostile text made harmless: nothing in the data can pass for a score tag, a fence or a chat turn.

The data stays readable; only what a model or its chat template could take for markup is changed.
"""

from __future__ import annotations

import re
import unicodedata

#: Characters that look like, or normalise to, angle brackets; also the HTML spelling of them.
_OPENING = "<＜﹤‹〈⟨❮❰˂ᐸ𝈶"
_CLOSING = ">＞﹥›〉⟩❯❱˃ᐳ𝈷"
_ENTITY = re.compile(r"&(?:amp;)*(?:(lt|#0*60|#x0*3c)|(gt|#0*62|#x0*3e));?", re.IGNORECASE)

#: Whatever is not plain ASCII text has to be looked at; most texts are nearly all plain.
_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")

#: Joiners carry meaning in Indic and Arabic scripts and in emoji, and none between Latin letters.
_JOINERS = "\u200c\u200d"
_JOINER_NEAR_ASCII = re.compile(f"(?<=[\x00-\x7f])[{_JOINERS}]+|[{_JOINERS}]+(?=[\x00-\x7f])")

#: A bracket opens markup when a letter, a slash, a bar or another bracket follows it; "< 2 kg" does not.
_MARKUP = re.compile(rf"[{_OPENING}](?=\s*[^\W\d_]|\s*[/|!?\\\[{_OPENING}])")
_TAG = re.compile(rf"[{_OPENING}]([^{_OPENING}{_CLOSING}]{{1,40}})[{_CLOSING}]?")
#: Chat templates' turns in square brackets.
_BRACKETED_TURN = re.compile(
    r"\[(/?\s*(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS)\s*)\]", re.IGNORECASE
)

#: Letters of other scripts that are drawn like those of "score".
_LOOKALIKES = str.maketrans(
    {
        "ѕ": "s", "Ѕ": "s", "ꜱ": "s", "ʂ": "s", "$": "s", "5": "s",
        "с": "c", "С": "c", "ϲ": "c", "ᴄ": "c", "ⅽ": "c",
        "о": "o", "О": "o", "ο": "o", "Ο": "o", "ᴏ": "o", "օ": "o", "0": "o", "ѳ": "o",
        "г": "r", "ʀ": "r", "ᴦ": "r", "ɾ": "r", "Ꮢ": "r",
        "е": "e", "Е": "e", "ε": "e", "ҽ": "e", "є": "e", "℮": "e", "3": "e",
    }
)  # fmt: skip


def neutralise(text: str) -> str:
    """The text with invisible characters dropped and everything that could pass for markup defused."""
    visible = _JOINER_NEAR_ASCII.sub("", _UNUSUAL.sub(_visible_or_nothing, text))
    plain = _ENTITY.sub(lambda found: "<" if found[1] else ">", visible) if "&" in visible else visible
    # A decoded entity is kept only where it would have been markup: then it is defused below.
    candidate = plain if _MARKUP.search(plain) else visible
    defused = _MARKUP.sub("‹", _TAG.sub(_square_score_tag, candidate))
    return _BRACKETED_TURN.sub(r"(\1)", defused)


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


def _visible_or_nothing(found: re.Match[str]) -> str:
    """Letters of all scripts and joiners stay; controls, format characters and lone surrogates go."""
    character = found[0]
    if character in _JOINERS or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"}:
        return character
    return ""
