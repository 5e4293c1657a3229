"""The stretch of a public matrix: the largest ratio ||Phi(x - y)||/||x - y|| over all pairs of a public table.

One product per tile of pairs gives num - T*den, the squared projected distance less T times the squared distance, with
T the largest squared ratio known so far. Pairs that cannot beat T by more than a 1e-9th are dismissed by a proven bound
on the product's rounding; the rest, near-duplicates among them, are decided by float64 sums of squared differences.
The answer is rounded up and does not depend on the number of threads, nor on the machine but by a chance of one in a
million. No (v, v) array is made.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.threads import map_chunks
from wordveil.mechanisms.rows import multiply_rows

ROWS = 512
COLUMNS = 512
UNIT = 2.0**-53
ROUND_UP = 1e-9  # relative, on the squared ratio
STEPS = 2.0**33
MANY = 4096  # candidates in one tile beyond which T is raised first
PILOTS = 512


def spectral_stretch(matrix: Float64Array) -> float:
    """Return the largest singular value of a matrix, rounded up: no pair of vectors at all is stretched more."""
    largest = float(np.linalg.svd(matrix, compute_uv=False)[0])
    # Singular values of float64 are off by at most a modest multiple of (m + d) units of the largest.
    return _up(largest * (1 + 16 * sum(matrix.shape) * UNIT))


def exact_stretch(vectors: FloatArray, matrix: Float64Array, *, threads: int | None = None) -> float:
    """Return max ||Phi(x - y)||/||x - y|| of a matrix over all pairs of distinct rows, rounded up by below a 1e-9th.

    It is 0 where all rows are equal. `ParameterError` if shapes do not agree.
    """
    rows = np.unique(np.asarray(vectors, dtype=np.float64) + 0.0, axis=0)  # -0.0 is 0.0
    if rows.ndim != 2 or rows.shape[1] != matrix.shape[1]:
        raise ParameterError("matrix", f"shape {matrix.shape}", f"must have shape (m, {rows.shape[-1]}).")
    pairs = _Pairs(rows, matrix)
    best = pairs.pilot()
    found = map_chunks(lambda start: pairs.search(start, best), range(0, len(rows), ROWS), threads)
    return _up(math.sqrt(max(best, *found) * (1 + ROUND_UP)))


def _up(stretch: float) -> float:
    """Return a stretch rounded up by less than a 1e-9th more: machines agree in so many digits, and not in the last."""
    mantissa, exponent = math.frexp(stretch)
    return math.ldexp(math.ceil(mantissa * STEPS) / STEPS, exponent)


class _Pairs:
    """All pairs of distinct float64 rows and their squared ratios."""

    def __init__(self, rows: Float64Array, matrix: Float64Array) -> None:
        self.rows, self.matrix = rows, matrix
        self.images = multiply_rows(rows, np.ascontiguousarray(matrix.T))
        self.squares = np.einsum("ij,ij->i", rows, rows)
        self.image_squares = np.einsum("ij,ij->i", self.images, self.images)
        self.reach = math.sqrt(float(self.squares.max()))
        self.image_reach = float(np.linalg.norm(matrix)) * self.reach

    def pilot(self) -> float:
        """Return the largest squared ratio among some hundred rows and of each with its neighbours in the order."""
        some = np.unique(np.linspace(0, len(self.rows) - 1, PILOTS).astype(np.int64))
        i, j = np.triu_indices(len(some), 1)
        return max(
            self.decide(some[i], some[j]), self.decide(np.arange(len(self.rows) - 1), np.arange(1, len(self.rows)))
        )

    def decide(self, i: Int64Array, j: Int64Array) -> float:
        """Return the largest squared ratio of the given pairs by direct differences; 0 for none."""
        best = 0.0
        for low in range(0, len(i), 1 << 14):
            span = slice(low, low + (1 << 14))
            difference = self.rows[i[span]] - self.rows[j[span]]
            image = difference @ self.matrix.T
            below = np.einsum("ij,ij->i", difference, difference)
            above = np.einsum("ij,ij->i", image, image)
            ratios = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
            best = max(best, float(ratios.max(initial=0.0)))
        return best

    def margin(self, best: float) -> float:
        """Return how far a tile's num - T*den can lie from the exact one.

        A product of K terms is off by (K + 2) units of the sum of their absolute values, at most
        4 (|a|^2 + T |x|^2) here; so is each squared norm that goes into it; and the images a = Phi x, off by
        (d + 2) units of ||Phi|| |x|, move a squared distance by at most 8 times that times their own reach.
        """
        d, m = self.rows.shape[1], self.images.shape[1]
        magnitude = self.image_reach**2 + best * self.reach**2
        return float(1.1 * UNIT * (4 * (2 * d + 2 * m + 12) + 8 * (d + 2)) * magnitude)

    def search(self, start: int, best: float) -> float:
        """Return the largest squared ratio, or `best`, of rows [start, start + 512) with all later rows."""
        high = min(start + ROWS, len(self.rows))
        for left in range(start, len(self.rows), COLUMNS):
            right = min(left + COLUMNS, len(self.rows))
            while True:
                gain = self.tile(start, high, left, right, best * (1 + ROUND_UP))
                i, j = np.nonzero(gain > -self.margin(best))
                later = start + i < left + j
                i, j = i[later], j[later]
                if len(i) > MANY:
                    # Raise T by the most promising pair of each row before looking at so many.
                    top = np.argmax(gain, axis=1)
                    raised = self.decide(start + np.arange(high - start), left + top)
                    if raised > best:
                        best = raised
                        continue
                best = max(best, self.decide(start + i, left + j))
                break
        return best

    def tile(self, start: int, high: int, left: int, right: int, threshold: float) -> Float64Array:
        """Return num - T*den of rows [start, high) against rows [left, right)."""
        d, m = self.rows.shape[1], self.images.shape[1]
        a = np.zeros((high - start, m + d + 2))
        b = np.zeros((m + d + 2, right - left))
        a[:, :m], a[:, m : m + d] = -2 * self.images[start:high], 2 * threshold * self.rows[start:high]
        a[:, -2], a[:, -1] = self.image_squares[start:high] - threshold * self.squares[start:high], 1.0
        b[:m], b[m : m + d] = self.images[left:right].T, self.rows[left:right].T
        b[-2], b[-1] = 1.0, self.image_squares[left:right] - threshold * self.squares[left:right]
        return np.asarray(a @ b)
