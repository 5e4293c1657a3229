"""The float attack: which words could have given exactly these released floats?

A float sum fl(w + z) cannot take every float value: where |z| exceeds |w + z| the sum moves in steps of z's last
place, and the residue of those steps gives w away. A candidate is kept only if in every coordinate some float z gives
the released value. Without rounding to a public grid one word is often left; with it, all are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, Int64Array
from wordveil.auditing.findings import Finding, result
from wordveil.errors import ParameterError

SHARE = 0.05  # a release that leaves at most this share of the candidates is counted
ALPHA = 1e-10


def possible_words(released: FloatArray, candidates: FloatArray, *, grid: float = 0.0) -> Int64Array:
    """Return the rows of `candidates` that float addition, and rounding, could have turned into the released vector.

    The arithmetic assumed is that of the released type, float32 or float64, and a grid of 0 stands for no rounding. The
    true row is always among them if the release is one float sum of that type.
    """
    if candidates.ndim != 2 or released.shape != candidates.shape[1:]:
        raise ParameterError("released", released.shape, "must have one entry per column of the candidates.")
    kind = released.dtype.type
    left = np.arange(len(candidates))
    for column in range(len(released)):
        target = released[column]
        word = candidates[left, column].astype(kind)
        noise = target - word
        infinity = kind(np.inf)
        reached = np.zeros(len(left), dtype=bool)
        for tried in (noise, np.nextafter(noise, -infinity), np.nextafter(noise, infinity)):
            total = word + tried
            reached |= (total if grid == 0 else np.rint(total / kind(grid)) * kind(grid)) == target
        left = left[reached]
    return left


def check_float_bits(
    randomize: Callable[[Float64Array], Any], candidates: FloatArray, rows: Sequence[int], *, grid: float = 0.0
) -> Finding:
    """Attack one release each of some of at least 100 candidates; `grid` is what `randomize` rounds to, or 0."""
    released = np.asarray(randomize(np.asarray(candidates[list(rows)], dtype=np.float64)))
    left = [possible_words(row, candidates, grid=grid) for row in released]
    rounding = f"rounded to the grid {grid:g}" if grid else "as returned, not rounded"
    found = sum(row in kept and len(kept) <= SHARE * len(candidates) for row, kept in zip(rows, left, strict=True))
    fewest = min(len(kept) for kept in left)
    # Of an output that tells nothing, words are kept that have nothing to do with the true one: it is among k of v with
    # probability k / v, so that what is multiplied here has mean at most 1, and reaches 1 / alpha with at most alpha.
    chance = 1.0
    for row, kept in zip(rows, left, strict=True):
        chance *= (1 + (len(candidates) / len(kept) if row in kept else 0.0)) / 2
    return result(
        check="words told by the low bits of released floats",
        bad=chance >= 1 / ALPHA,
        observed=f"{found} of {len(rows)} releases leave at most {SHARE:.0%} of {len(candidates)} words possible, "
        f"the true one among them; the fewest left are {fewest} ({rounding})",
        expected="every word stays possible: round releases to a public grid",
        alpha=ALPHA,
    )
