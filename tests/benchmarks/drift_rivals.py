"""What others use: rolling z, rolling mean, Page-Hinkley, ADWIN; the last two from river, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.drift.grid import PER_SCORE

Found = NDArray[np.bool_]
Rival = Callable[[NDArray[np.uint8]], Found]

WINDOW = 100


def rolling(usual: float, limit: float) -> Rival:
    """An alarm when the mean of the last hundred is `limit` or more below the usual one; then a fresh window."""

    def run(draws: NDArray[np.uint8]) -> Found:
        scores = 1.0 + draws.astype(np.float64) / PER_SCORE
        sums = np.concatenate((np.zeros((len(scores), 1)), np.cumsum(scores, axis=1)), axis=1)
        low = (sums[:, WINDOW:] - sums[:, :-WINDOW]) / WINDOW <= usual - limit
        found = np.zeros(draws.shape, dtype=bool)
        for row, places in zip(found, low, strict=True):
            ready = 0
            for place in np.flatnonzero(places).tolist():
                if place >= ready:
                    row[place + WINDOW - 1] = True
                    ready = place + WINDOW
        return found

    return run


def river_detectors() -> dict[str, Rival]:
    """Page-Hinkley and ADWIN with river's defaults; empty where river is not installed."""
    try:
        from river.drift import ADWIN, PageHinkley
    except ImportError:
        return {}
    return {"Page-Hinkley (river)": _river(PageHinkley), "ADWIN (river)": _river(ADWIN)}


def _river(make: Any) -> Rival:
    def run(draws: NDArray[np.uint8]) -> Found:
        found = np.zeros(draws.shape, dtype=bool)
        for row, scores in zip(found, (1.0 + draws / PER_SCORE).tolist(), strict=True):
            detector = make()
            for place, score in enumerate(scores):
                detector.update(score)
                if detector.drift_detected:
                    row[place] = True
        return found

    return run
