"""The public grid that releases lie on, and how its points are stored.

Our mechanisms decide the grid point of the real sum x + z themselves (`mechanisms.on_grid`): it is post-processing of
what their theorems speak of, at no loss. The float sums of a third party's are rounded here: a float64 sum cannot take
every value, and which it takes tells x. What such a mechanism promises is for it to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from wordveil.arrays import FloatArray, ReleasedVectors
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorRandomizer
from wordveil.mechanisms.on_grid import EXPONENTS, grid_below
from wordveil.randomness import RandomSource

STEPS = {"float32": 2**24, "float64": 2**32}
"""Largest number of steps from 0: every such multiple is a value of the type."""
PROBES = 256


def check_grid(grid: float) -> float:
    """Return the grid.

    Raises:
        ParameterError: Unless it is a power of two between 2^-100 and 2^100.
    """
    low, high = EXPONENTS
    if not (math.isfinite(grid) and grid > 0 and math.frexp(grid)[0] == 0.5 and 2.0**low <= grid <= 2.0**high):
        raise ParameterError("grid", grid, f"must be a power of two in [2^{low}, 2^{high}], such as 2^-12.")
    return grid


def grid_name(grid: float) -> str:
    """Return a power of two as "2^-12"."""
    return f"2^{math.frexp(grid)[1] - 1}"


def on_grid(grid: float) -> str:
    """Return what the grid is, in one sentence."""
    return f"released values are multiples of {grid_name(grid)}"


def public_grid(randomizer: VectorRandomizer, probes: FloatArray) -> float:
    """Return the default grid: the power of two at or below the standard deviation of a coordinate's noise, over 2^8.

    It is the mechanism's own. Where it has none, the deviation is measured on public rows with a public stream, so that
    the rule sees no private data and holds for any mechanism that adds noise.

    Raises:
        ParameterError: If the mechanism adds no noise to the probes.
    """
    if randomizer.grid is not None:
        return randomizer.grid
    rows = np.resize(np.asarray(probes, dtype=np.float64), (PROBES, probes.shape[1]))
    stream = RandomSource.public("public grid")
    first, second = (randomizer.randomize(rows, randomizer.sample(stream, PROBES)) for _ in range(2))
    # The difference of two draws on the same row has twice the variance of one, whatever the mechanism does to the row.
    deviation = math.sqrt(float(np.mean((first - second) ** 2)) / 2)
    if not (math.isfinite(deviation) and deviation > 0):
        raise ParameterError("grid", None, "must be given: no scale of the noise could be measured.")
    return grid_below(deviation)


def round_to_grid(values: ReleasedVectors, grid: float, dtype: str, *, first_row: int = 0) -> FloatArray:
    """Return the nearest multiples of the grid, ties to even, exactly, in the type they are stored in.

    The values are points of the grid, a power of two, or float sums; shape (n, m), float64.

    Returns:
        Shape (n, m), float32 or float64 as asked for; zero has no sign.

    Raises:
        ParameterError: If a value is farther than 2^24 (float32) or 2^32 (float64) steps from 0; the row is named,
            the value is not.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(values / grid)  # the quotient is exact: the grid is a power of two
        good = np.abs(steps) <= STEPS[dtype]
    if not good.all():
        row = first_row + int(np.flatnonzero(~good.all(axis=1))[0])
        wider = "" if dtype == "float64" else ", dtype float64"
        raise ParameterError(
            "grid",
            grid_name(grid),
            f"must be coarser: row {row} lies beyond {STEPS[dtype]} steps of it, the most that {dtype} output may "
            f"hold. Give a larger grid{wider}, or vectors on a smaller scale.",
        )
    # Adding 0.0 takes the sign off -0.0: it would tell on which side of zero the finer sum lay.
    return np.asarray(steps * grid + 0.0, dtype=np.dtype(dtype).newbyteorder("<"))


def coarsest_grid(blocks: Iterable[FloatArray]) -> tuple[float, int]:
    """Return the largest power of two that every value is a multiple of, inf of zeros alone, and how many are none."""
    exponent, count = math.inf, 0
    for block in blocks:
        parts, exponents = np.frexp(np.asarray(block, dtype=np.float64)[np.asarray(block) != 0])
        whole = np.abs(parts * 2.0**53).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # place of the lowest bit that is set
        exponent = min(exponent, float((exponents - 53 + lowest).min(initial=2000)))
        count += len(parts)
    return (2.0**exponent if count else math.inf), count


def fits_grid(blocks: Iterable[FloatArray], grid: float) -> bool:
    """Whether values can be points of a grid: multiples of it, and not all of a coarser one but by chance.

    Of n points of a grid all lie on one that is r times coarser with a chance of about r^-n; below 2^-40 it is none.
    """
    coarsest, count = coarsest_grid(blocks)
    return grid <= coarsest and (math.isinf(coarsest) or count * math.log2(coarsest / grid) < 40)
