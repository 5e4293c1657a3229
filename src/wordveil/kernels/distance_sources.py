"""Where kernels that take any metric get distances from: a matrix, or coordinates.

Words that share a vector, or are at distance 0, are represented by the lowest id. Where the bits of a row must not
depend on what else is asked, ask for one word at a time.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.metrics.distances import Metric, Precomputed

UNIT = 2.0**-53


def _are_all(words: IdArray, count: int) -> bool:
    """Whether words are all of a vocabulary, in order: as many of them in another order, or some twice, are not."""
    return len(words) == count and bool((words[:-1] < words[1:]).all())


class TableSource:
    """Distances of one public vocabulary, word against word, read from a matrix.

    `error` is how far a distance may be from that of the metric that is claimed, in its unit, as slack counts it;
    `canonical` is the lowest id with the same distances to all words, shape (v,).
    """

    def __init__(self, metric: Precomputed) -> None:
        self.matrix, self.canonical, self.error = metric.table.matrix, metric.table.canonical, metric.counted_error

    def block(self, words: IdArray, outputs: IdArray) -> Float64Array:
        """Return a new array of the distances from canonical words to outputs, shape (n, k), at least 0."""
        if _are_all(outputs, len(self.matrix)):
            return np.asarray(self.matrix[words])
        return np.asarray(self.matrix[words[:, None], outputs])


class CoordinateSource:
    """The same of a closed-form metric between rows of a public table, from float64 products."""

    def __init__(self, metric: Metric, vectors: FloatArray, canonical: IdArray) -> None:
        self._metric, self.canonical = metric, canonical
        self._rows: Float64Array = metric.coordinates(vectors)
        self._norms = np.einsum("ij,ij->i", self._rows, self._rows)
        # A squared distance is a sum of d products and two norms, each off by (d + 2) roundings of the largest.
        squared_error = 2 * (self._rows.shape[1] + 4) * UNIT * 4 * float(self._norms.max())
        self.error = metric.distance_error(squared_error)

    def block(self, words: IdArray, outputs: IdArray) -> Float64Array:
        whole = _are_all(outputs, len(self._rows))
        rows, norms = (self._rows, self._norms) if whole else (self._rows[outputs], self._norms[outputs])
        squared = (-2.0 * self._rows[words]) @ rows.T
        squared += norms
        squared += self._norms[words, None]
        np.maximum(squared, 0.0, out=squared)
        squared[self.canonical[outputs] == words[:, None]] = 0.0
        self._metric.from_squared(squared)
        return np.asarray(squared)


DistanceSource = TableSource | CoordinateSource
