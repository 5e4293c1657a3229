r"""The law of numbers on a public grid: a step count of integer weights, exact to the last of them.

A number at point i of a grid of n points moves by a step count z of an integer law that does not depend on it, and
stays inside the grid:

    released point = min(max(i + z, 0), n - 1),      P(z) = N(|z|) / 2**64

This is the discrete Laplace (two-sided geometric) mechanism, clamped at both ends, with integers in place of reals:

    N(z + 1) = ceil(a N(z)) for z + 1 < n - 1,       a = e**-epsilon rounded up to a multiple of 2**-64,
    N(n - 1) >= ceil(a N(n - 2) / (1 - a)),          N(0) + 2 (N(1) + ... + N(n - 1)) = 2**64

*Proof that one step of input costs at most epsilon.* Between the ends P(j | i) = N(|j - i|), and N(z) <= N(z + 1) / a.
At an end P is a tail T(i) = N(i) + ... + N(n - 1). From the last line N(n - 2) + N(n - 1) <= N(n - 1) / a, that is
T(n - 2) <= T(n - 1) / a, and T(i) = N(i) + T(i + 1) <= (N(i + 1) + T(i + 2)) / a = T(i + 1) / a follows downwards. The
other direction of each quotient is at most 1. All of it holds for the integers that are drawn from: slack 0.

Reference: Ghosh, Roughgarden and Sundararajan (2012), Universally Utility-maximizing Privacy Mechanisms, section 2; the
integers and the remedy for their last tail are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Int64Array, PrivateIds, Progress, ReleasedIds
from wordveil.mechanisms.base import WordRandomizer
from wordveil.parameters import check_draws, checked_ids
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.number_grids import NumberGrid
from wordveil.promises.relations import Relation, relation_of
from wordveil.promises.worked import WorkedPair
from wordveil.randomness import BitArray, Draws, Stream, random_bits
from wordveil.vocabulary.table import Embeddings

WORD = 1 << 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid(WordRandomizer):
    """The numbers of one kind, released on a public grid: its points are the words."""

    grid: NumberGrid
    embeddings: Embeddings = field(repr=False)
    draw_width: int = 1

    @classmethod
    def of(cls, grid: NumberGrid) -> Grid:
        points = np.arange(grid.points)
        table = Embeddings.from_arrays([*map(str, points)], points[:, None], name=grid.kind, candidate_rule="all")
        return cls(grid=grid, embeddings=table)

    def guarantee(self) -> Guarantee:
        return self.grid.guarantee()

    @property
    def ends(self) -> list[WorkedPair]:
        last, claim = self.grid.points - 1, self.grid.guarantee()
        return [WorkedPair(words=(self.grid.text(0), self.grid.text(last)), distance=None, loss=claim.loss(last))]

    def related(self, claim: Guarantee | None = None) -> Relation:
        return relation_of(self.guarantee() if claim is None else claim, distances=_steps)

    def law(self, ids: IdArray) -> Float64Array:
        counts = noise_counts(self.grid.points, self.grid.epsilon)
        tails = np.array([*accumulate(counts[::-1])][::-1], float) / WORD
        steps = _steps(ids, self.outputs).astype(np.intp)
        rows = (np.array(counts, float) / WORD)[steps]
        rows[:, [0, -1]] = tails[steps[:, [0, -1]]]
        return np.asarray(rows)

    def sample(self, stream: Stream, n: int) -> Draws:
        return (random_bits(stream.lane(0), (n,)),)

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        points = checked_ids(ids, self.grid.points)
        check_draws(draws, (len(points),))
        return ReleasedIds(moved(self.grid, points, draws[0]).astype(np.int32))


def _steps(first: NDArray[np.integer], second: NDArray[np.integer]) -> Float64Array:
    return np.asarray(np.abs(np.subtract.outer(first.astype(np.float64), second)))


def moved(grid: NumberGrid, points: NDArray[np.integer], words: BitArray) -> Int64Array:
    """Return the released points, given uniform 64-bit words, one each.

    The step count is found from the word alone, so the time taken says nothing of the point.
    """
    last = grid.points - 1
    counts = np.searchsorted(_bounds(last + 1, grid.epsilon), words, side="right") - last
    return np.asarray(np.clip(points + counts, 0, last))


@cache
def noise_counts(points: int, epsilon: float) -> list[int]:
    """Return N(0), ..., N(points - 1) of the law above, of 2**64 in all with both signs.

    Of a grid of at least 2 points, and an epsilon in nats for a step of at least 1e-9.
    """
    # exp is correctly rounded to 60 digits, so the next multiple of 2**-64 above it is an upper bound.
    a = int(Context(prec=60).exp(-Decimal(epsilon)) * WORD) + 1
    top = (WORD * (WORD - a) // (WORD + a)) & ~1
    while True:
        counts = [top]
        for _ in range(points - 2):
            counts.append(-(-counts[-1] * a // WORD))
        counts.append(-(-counts[-1] * a // (WORD - a)))
        excess = top + 2 * sum(counts[1:]) - WORD
        if excess <= 0:
            # Even, as the first count is. At the ends it raises the smaller of two tails, so no quotient grows.
            counts[-1] -= excess // 2
            return counts
        top -= 2 * (excess * (WORD - a) // (WORD + a) // 2 + 1)


@cache
def _bounds(points: int, epsilon: float) -> NDArray[np.uint64]:
    counts = noise_counts(points, epsilon)
    return np.array(list(accumulate(counts[:0:-1] + counts))[:-1], dtype=np.uint64)
