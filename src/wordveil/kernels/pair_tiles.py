"""Tiles over all pairs of distinct vectors: what the certificates of selection mechanisms are computed from.

Every pair is visited once, in square float64 tiles, so a symmetric table costs half of a full one. The inputs are
*distinct* vectors; words that share a vector enter as the measure (how much output mass sits on each vector).
Answers are bitwise the same for any number of threads and any resume point. No (v, v) array is made.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float64Array, Int64Array
from wordveil.kernels.passes import Sums
from wordveil.metrics.distances import Metric

SIDE = 256  # rows and columns of a tile: 256 x 256 float64 stays in the L2 cache
UNIT = 2.0**-53


class PairTiles:
    """Squared-distance tiles over the coordinates, float64, shape (v, d), of v distinct vectors, centred and padded."""

    def __init__(self, coordinates: Float64Array, metric: Metric) -> None:
        self.metric, self.coordinates = metric, coordinates
        self.v, d = int(coordinates.shape[0]), int(coordinates.shape[1])
        self.blocks = -(-self.v // SIDE)
        # Centring keeps the norms, and with them the rounding of the products, small.
        self.rows = np.zeros((self.blocks * SIDE, d))
        self.rows[: self.v] = coordinates - coordinates.mean(axis=0)
        norms = np.einsum("ij,ij->i", self.rows, self.rows)
        self._left = np.column_stack([-2.0 * self.rows, norms, np.ones(len(norms))])
        right = np.column_stack([self.rows, np.ones(len(norms)), norms])
        self._right = np.ascontiguousarray(right.reshape(self.blocks, SIDE, d + 2).transpose(0, 2, 1))
        radius = float(np.sqrt(norms.max()))
        original = float(np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates).max()))
        # Dot product of d + 2 terms, two squared norms, and one subtraction for the centring of each vector.
        self.squared_error = 2 * (d + 4) * UNIT * (2 * radius) ** 2 + 8 * UNIT * radius * (original + radius)

    def distances(self, i: int, j: int, tile: Float64Array) -> None:
        """Fill `tile`, shape (SIDE, SIDE), with the distances between blocks i and j; the diagonal is exactly 0."""
        np.matmul(self._left[i * SIDE : (i + 1) * SIDE], self._right[j], out=tile)
        if i == j:
            np.fill_diagonal(tile, 0.0)
        if tile.min() < 0.0:
            np.maximum(tile, 0.0, out=tile)
        self.metric.from_squared(tile)

    def between(self, first: Int64Array, second: Int64Array) -> Float64Array:
        """Return the distances between any two lots of vectors, shape (n, k), of a vector to itself exactly 0."""
        norms = self._left[:, -2]
        tile = (-2.0 * self.rows[first]) @ self.rows[second].T
        tile += norms[first, None]
        tile += norms[second]
        tile[first[:, None] == second] = 0.0
        np.maximum(tile, 0.0, out=tile)
        self.metric.from_squared(tile)
        return np.asarray(tile)

    def of_pairs(self, first: Int64Array, second: Int64Array) -> Float64Array:
        difference = self.coordinates[first] - self.coordinates[second]
        squared = np.einsum("ij,ij->i", difference, difference)
        self.metric.from_squared(squared)
        return np.asarray(squared)

    def pairs(self, block: int) -> int:
        """Return how many pairs a block of rows visits, with itself and all later ones."""
        return (self.blocks - block) * SIDE * SIDE

    def distance_error(self) -> float:
        """Return a bound on the error of a distance in a tile, before the rounding of `from_squared` itself."""
        return self.metric.distance_error(self.squared_error)


class NormaliserSums(Sums):
    """Z(x) = sum_y measure(y) exp(-rate min(dist(x, y), cap)) for every vector x."""

    def __init__(self, tiles: PairTiles, measure: Float64Array, *, rate: float, cap: float) -> None:
        self._tiles, self._rate, self._cap, self.blocks = tiles, rate, cap, tiles.blocks
        self._measure = np.zeros(tiles.blocks * SIDE)
        self._measure[: tiles.v] = measure
        self.values = np.zeros(tiles.blocks * SIDE)

    def pairs(self, block: int) -> int:
        return self._tiles.pairs(block)

    def visit(self, block: int) -> Float64Array:
        """Return what the tiles (i, i), (i, i + 1), ... add to the sums from row i * SIDE on."""
        tile, i = np.empty((SIDE, SIDE)), block
        own = slice(i * SIDE, (i + 1) * SIDE)
        part = np.zeros((self._tiles.blocks - i) * SIDE)
        for j in range(i, self._tiles.blocks):
            self._tiles.distances(i, j, tile)
            tile *= -self._rate
            if self._cap < np.inf:
                np.maximum(tile, -self._rate * self._cap, out=tile)
            np.exp(tile, out=tile)
            part[:SIDE] += tile @ self._measure[j * SIDE : (j + 1) * SIDE]
            if j > i:
                part[(j - i) * SIDE : (j - i + 1) * SIDE] = self._measure[own] @ tile
        return part

    def take(self, block: int, found: Float64Array) -> None:
        self.values[block * SIDE :] += found

    def logs(self) -> Float64Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values[: self._tiles.v]))

    def log_error(self) -> float:
        """Return a bound on the error of one ln Z, in nats.

        Each weight is off by a factor of at most exp(rate * distance error + a few units in the last place of
        exponent and exponential); a sum of non-negative terms keeps that factor, adding at most one unit for each
        addition; the logarithm adds two units of its value.
        """
        tiles = self._tiles
        # Without a cap the far terms are negligible where their exponent is large: below -745 they are 0 anyway.
        largest = float(min(self._rate * self._cap, 745.0))
        exponent = self._rate * tiles.distance_error() + (8 + 8 * largest) * UNIT
        values = np.abs(self.logs()).max() if self.next else 0.0
        return float(exponent + (SIDE + tiles.blocks + 2) * UNIT + 4 * UNIT * values)
