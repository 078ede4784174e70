"""The built-in judge: offline, deterministic, explained."""

from worker.judging.lexical.judge import score
from worker.judging.lexical.scale import Opinion

#: Changes whenever any score may.
VERSION = "1"

__all__ = ["VERSION", "Opinion", "score"]
