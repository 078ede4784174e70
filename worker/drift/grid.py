"""Scores on a grid: 1 to 5 in steps of .05, each value a whole number called its cell.

Whole scores use just five of the 81 cells. Everything that is counted later is counted in cells, so that
sums are exact and the same scores give the same answer on every machine.
"""

from __future__ import annotations

from math import sqrt
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator

#: Cells in one whole score.
PER_SCORE = 20
LOWEST, HIGHEST = 1, 5
CELLS = (HIGHEST - LOWEST) * PER_SCORE + 1

Shares = NDArray[np.float64]

#: The value of each cell.
VALUES: Shares = LOWEST + np.arange(CELLS, dtype=np.float64) / PER_SCORE

#: Cells are written as printable ASCII without quote and backslash: one character per score.
_ALPHABET = bytes(code for code in range(35, 128) if code != 92)[:CELLS]
_READ = {code: cell for cell, code in enumerate(_ALPHABET)}


def cell_of(score: float) -> int:
    """The cell nearest to a score."""
    return int((score - LOWEST) * PER_SCORE + 0.5)


def value_of(cell: float) -> float:
    """The score that a cell, or a mean of cells, stands for."""
    return LOWEST + cell / PER_SCORE


def mean_of(shares: Shares) -> float:
    """The mean score of a distribution."""
    return float(shares @ VALUES)


def deviation_of(shares: Shares) -> float:
    """The standard deviation of a distribution of scores."""
    return sqrt(max(float(shares @ VALUES**2) - mean_of(shares) ** 2, 0.0))


def _write(cells: bytearray) -> str:
    return cells.translate(_ALPHABET + bytes(256 - CELLS)).decode("ascii")


def _read(value: Any) -> bytearray:
    return value if isinstance(value, bytearray) else bytearray(_READ[code] for code in value.encode("ascii"))


#: Scores in the order they came, a byte each; one character each in JSON.
Cells = Annotated[bytearray, PlainValidator(_read), PlainSerializer(_write, return_type=str)]
