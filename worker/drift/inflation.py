"""How much less independent scores tell than their number says.

Scores that come in batches (one release, one prompt, one mood of an endpoint) move together. The variance
of block means then falls more slowly than 1/length; the ratio is the inflation: 1,000 scores with an
inflation of 2 are worth 500.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

#: Blocks are a twentieth of the baseline, so that the noise of the estimate is the same for every size,
#: up to this length.
MAX_BLOCK = 50
BLOCKS = 20

#: An estimate within so many standard errors of 1 counts as 1: most streams are not clustered, and each
#: point costs delay.
GATE = 1.0


def inflation_of(cells: bytearray) -> float:
    """Variance of block means over what independent scores would give; 1 where none is to be seen."""
    size, block = len(cells), min(MAX_BLOCK, len(cells) // BLOCKS)
    values = np.frombuffer(bytes(cells), dtype=np.uint8).astype(np.float64)
    variance = float(values.var(ddof=1)) if size > 1 else 0.0
    if block < 2 or variance == 0.0:
        return 1.0
    sums = np.concatenate(([0.0], np.cumsum(values)))
    # Overlapping blocks use the same scores again and again, which takes a third off the estimate's variance.
    means = (sums[block:] - sums[:-block]) / block
    spread = float(np.sum((means - values.mean()) ** 2)) * size / ((size - block) * (size - block + 1))
    estimate = block * spread / variance
    noise = sqrt(4 / 3 * block / size)
    return estimate if estimate > 1.0 + GATE * noise else 1.0
