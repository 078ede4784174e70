"""Kinds, metrics and packs: the instructions that a judge is sent.

Placeholder: loading, filling, digests and import follow; the shapes below are what judges rely on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """What is sent for one metric of one summary."""

    #: The system message, the same for all five metrics; None where a pack's template says it all.
    system: str | None
    user: str
    #: The metric and a digest of the instructions, e.g. "clarity@1f3a9c2b7d10".
    rubric: str
    native: bool
