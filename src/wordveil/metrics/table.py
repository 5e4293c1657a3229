"""A whole matrix of distances between the words of one public vocabulary, checked once and then never changed.

Every entry is looked at: finite, not negative, symmetric, zero on the diagonal, and equal rows for words at distance
0. The triangle inequality takes v**3 / 2 steps, so it is measured only where `triangle_excess` is asked for.
"""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import Any, final

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.parameters import as_floats

LARGEST_TABLE = 20_000
"""Most words of a whole matrix: 3.2 GB."""
ROWS = 256


@final
class DistanceTable:
    """A read-only distance matrix, v in [1, 20 000], copied to float64, and its checksum; equal where matrices are.

    The checksum is the SHA-256 of shape and values. `canonical` is the lowest id at distance 0, shape (v,).
    `ParameterError` if the matrix is not square or too large, or an entry breaks one of the axioms checked here.
    """

    def __init__(self, matrix: FloatArray) -> None:
        given = np.asarray(matrix)
        _check_form(given)
        self._hold(np.array(given, dtype=np.float64, order="C"))

    @classmethod
    def taking(cls, matrix: Float64Array) -> DistanceTable:
        """Return the table of a float64 matrix that nobody else holds: it is not copied, and read-only from then on.

        `ParameterError` as for the class, or if it is no float64 matrix that owns its memory.
        """
        _check_form(matrix)
        if matrix.dtype != np.float64 or not matrix.flags.c_contiguous or matrix.base is not None:
            raise ParameterError("matrix", str(matrix.dtype), "must be a float64 matrix that owns its memory.")
        table = cls.__new__(cls)
        table._hold(matrix)
        return table

    def _hold(self, own: Float64Array) -> None:
        own.flags.writeable = False
        self.matrix = own
        self.canonical = np.arange(len(own), dtype=np.int32)
        digest = hashlib.sha256(repr(own.shape).encode())
        for start in range(0, len(own), ROWS):
            self._check(start)
            digest.update(self.matrix[start : start + ROWS].data)
        self.checksum = digest.hexdigest()

    def _check(self, start: int) -> None:
        """Check the axioms on some rows and find the words at distance 0 from them."""
        rows = self.matrix[start : start + ROWS]
        own = np.arange(len(rows))
        if not np.isfinite(rows).all() or rows.min() < 0:
            row, column = np.argwhere(~(np.isfinite(rows) & (rows >= 0)))[0]
            _refuse("has a negative or non-finite entry", start + row, column)
        if np.any(rows[own, start + own] != 0):
            place = start + np.flatnonzero(rows[own, start + own])[0]
            _refuse("has a non-zero distance from a word to itself", place, place)
        if not np.array_equal(rows, self.matrix[:, start : start + ROWS].T):
            row, column = np.argwhere(rows != self.matrix[:, start : start + ROWS].T)[0]
            _refuse("is not symmetric (take (m + m.T) / 2 if only rounding is to blame)", start + row, column)
        rows_at_zero, columns = np.nonzero(rows == 0)
        for i, j in zip((start + rows_at_zero).tolist(), columns.tolist(), strict=True):
            if j < i:
                if not np.array_equal(self.matrix[i], self.matrix[j]):
                    _refuse("breaks the triangle inequality: two words at distance 0 have different rows", i, j)
                self.canonical[i] = min(self.canonical[i], j)

    def __reduce__(self) -> tuple[Any, ...]:
        # An array alone comes back writeable.
        measured = {name: vars(self)[name] for name in ("checksum", "triangle_excess") if name in vars(self)}
        return DistanceTable, (self.matrix,), measured

    def __len__(self) -> int:
        return len(self.matrix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DistanceTable) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def identity(self) -> str:
        """Return a public name that no other table has."""
        return repr(self)

    def __repr__(self) -> str:
        return f"DistanceTable({len(self)} words, sha256:{self.checksum})"

    @cached_property
    def triangle_excess(self) -> tuple[float, tuple[int, int]]:
        """What the triangle inequality lacks at most, over all triples, and the pair of words where it does.

        That is the largest |d(x, y) - d(x', y)| - d(x, x'), rounded up unless all distances are multiples of the last
        bit of the longest: the largest difference between two rows is their Chebyshev distance.
        """
        from scipy.spatial.distance import cdist  # slow to import, and mostly not needed

        worst, pair = 0.0, (0, 0)
        for start in range(0, len(self), ROWS):
            rows = self.matrix[start : start + ROWS]
            others = self.matrix[start:]
            excess = cdist(rows, others, "chebyshev") - rows[:, start:]
            row, column = np.unravel_index(int(excess.argmax()), excess.shape)
            if excess[row, column] > worst:
                worst, pair = float(excess[row, column]), (start + int(row), start + int(column))
        longest = float(self.matrix.max())
        last = 2.0 ** (math.frexp(longest)[1] - 53)
        if all(np.array_equal(np.rint(row / last) * last, row) for row in self.matrix):
            return worst, pair  # both subtractions are exact
        # Both subtractions round by at most half a unit of the longest distance.
        return worst + 2.0**-52 * longest, pair

    def sample(self, most: int) -> tuple[IdArray, Float64Array]:
        """Return at most this many evenly spaced ids, and the distances between them."""
        ids = np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int32))
        return ids, self.matrix[np.ix_(ids, ids)]


def _check_form(given: FloatArray) -> None:
    as_floats("matrix", given[:1] if given.ndim else given)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not 1 <= len(given) <= LARGEST_TABLE:
        raise ParameterError("matrix", given.shape, f"must be the shape (v, v), v from 1 to {LARGEST_TABLE} words.")


def _refuse(problem: str, row: int, column: int) -> None:
    raise ParameterError("matrix", f"entry ({int(row)}, {int(column)})", f"is refused: the matrix {problem}.")
