"""Whether a pooled drop is one of quality or only of the mix of segments.

The pooled mean is the segments' means weighted by their shares. Its drop since the change point is split
into what fell within segments and what moved between them (as if every segment had kept its usual mean).
Asking instead whether any segment alarms would be wrong: a drop in all segments is found in the pooled
stream first, because that has all the scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: A drop is one of the mix where less than this share of it fell within segments.
WITHIN_SHARE = 0.5

#: Segments with a usual mean must hold this share of the scores since the change point; with fewer nobody
#: can say.
MIN_KNOWN = 0.5

#: Earlier scores of a segment still learning that make a usual mean.
MIN_EARLIER = 50


@dataclass(frozen=True, slots=True)
class Part:
    """One segment since the pooled change point: scores, their mean, and the usual mean where it is known."""

    count: int
    mean: float
    usual: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """A pooled drop, taken apart."""

    drop: float
    within: float
    known: float

    @property
    def is_mix(self) -> bool:
        """Whether the shares of the segments moved, rather than their quality."""
        return self.known >= MIN_KNOWN and self.within < WITHIN_SHARE * self.drop


def split_drop(usual: float, parts: Iterable[Part]) -> Split:
    """Take a drop of the pooled mean apart; a segment without a usual mean counts as unchanged."""
    parts = list(parts)
    count = sum(part.count for part in parts)
    if count == 0:
        return Split(0.0, 0.0, 0.0)
    mean = sum(part.count * part.mean for part in parts) / count
    known = [part for part in parts if part.usual is not None]
    within = sum(part.count * (part.usual - part.mean) for part in known if part.usual is not None) / count
    return Split(usual - mean, within, sum(part.count for part in known) / count)
