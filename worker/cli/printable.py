"""Text of anybody's, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text in one line, with every control character shown instead of obeyed."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)
