"""Closed-form metrics on the vocabulary, each a Euclidean distance seen through public coordinates.

Every metric here is g(||T(x) - T(y)||) with a public map T (`coordinates`) and an increasing g (`from_squared`), so
one exact tile kernel serves them all. `squared_euclidean` is not here because it is not a metric.
A user's own metric subclasses `Metric`; `check_axioms` tests it on samples, which can refute it but not prove it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError

__all__ = ["Angular", "Euclidean", "Mahalanobis", "Metric", "check_axioms", "distances"]


class Metric(ABC):
    """A metric on word vectors, computed in float64."""

    name: ClassVar[str]
    is_norm: ClassVar[bool] = False
    """Whether the distance is the Euclidean distance of the coordinates, so that relative errors stay relative."""

    @abstractmethod
    def coordinates(self, vectors: FloatArray) -> Float64Array:
        """Map public vectors, shape (n, d), to the float64 rows whose Euclidean distance the metric is made of."""

    def from_squared(self, squared: FloatArray) -> None:
        """Turn squared Euclidean distances of coordinates, any shape, into distances, in place."""
        np.sqrt(squared, out=squared)

    def distance_error(self, squared_error: float) -> float:
        """Return how far a distance can be off when its squared Euclidean distance is off by `squared_error`."""
        return float(np.sqrt(squared_error))


@dataclass(frozen=True, kw_only=True)
class Euclidean(Metric):
    """The Euclidean distance of the vectors as they are, in the units of the embedding."""

    name: ClassVar[str] = "euclidean"
    is_norm: ClassVar[bool] = True

    def coordinates(self, vectors: FloatArray) -> Float64Array:
        return np.ascontiguousarray(vectors, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Angular(Metric):
    """The angle between two vectors, in radians, in [0, pi]; the chord c of unit vectors gives 2 arcsin(c/2).

    Raises (from `coordinates`):
        ParameterError: If a row is the zero vector, which has no direction.
    """

    name: ClassVar[str] = "angular"

    def coordinates(self, vectors: FloatArray) -> Float64Array:
        rows = np.asarray(vectors, dtype=np.float64)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.all(norms > 0):
            row = int(np.flatnonzero(norms[:, 0] == 0)[0])
            raise ParameterError(
                "vectors", f"row {row}", "is a zero vector, which has no angle; remove it or use 'euclidean'."
            )
        return np.ascontiguousarray(rows / norms)

    def from_squared(self, squared: FloatArray) -> None:
        np.sqrt(squared, out=squared)
        squared *= 0.5
        np.minimum(squared, 1.0, out=squared)
        np.arcsin(squared, out=squared)
        squared *= 2.0

    def distance_error(self, squared_error: float) -> float:
        # Chords of at least 1 are off by at most e = squared_error, and |arcsin a - arcsin b| <= (pi/2) sqrt(2|a - b|)
        # for half chords gives pi sqrt(e); shorter ones are off by sqrt(e), where the slope is at most 2/sqrt(3).
        return float(np.pi * np.sqrt(squared_error)) if squared_error <= 0.25 else float(np.pi)


@dataclass(frozen=True, kw_only=True)
class Mahalanobis(Metric):
    """||S^(-1/2)(x - y)|| for a public positive definite S.

    Attributes:
        whitening: S^(-1/2), shape (d, d).
    """

    name: ClassVar[str] = "mahalanobis"
    is_norm: ClassVar[bool] = True
    whitening: Float64Array = field(repr=False)

    def coordinates(self, vectors: FloatArray) -> Float64Array:
        return np.ascontiguousarray(np.asarray(vectors, dtype=np.float64) @ self.whitening)


def distances(metric: Metric, a: FloatArray, b: FloatArray) -> Float64Array:
    """Return all distances between two small sets by direct differences: the slow, obvious oracle.

    Args:
        metric: The metric.
        a: Shape (n, d).
        b: Shape (k, d).

    Returns:
        Shape (n, k), float64; equal rows are at distance exactly 0. Uses n*k*d*8 bytes.
    """
    left, right = metric.coordinates(a), metric.coordinates(b)
    squared: Float64Array = np.square(left[:, None, :] - right[None, :, :]).sum(axis=2)
    metric.from_squared(squared)
    return squared


def check_axioms(metric: Metric, vectors: FloatArray, *, tolerance: float = 1e-9) -> None:
    """Check the metric axioms on every triple of a sample; passing is evidence, failing is a refutation.

    Args:
        metric: The metric, perhaps a user's own.
        vectors: Public sample, shape (n, d); n**3 triples are checked.
        tolerance: Slack for rounding, in units of the metric.

    Raises:
        ParameterError: Naming the axiom that fails and the rows of the sample where it does.
    """
    table = distances(metric, vectors, vectors)
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ParameterError("metric", metric.name, "gives a negative or non-finite distance on the sample.")
    if np.any(np.abs(np.diagonal(table)) > tolerance):
        raise ParameterError("metric", metric.name, "gives a non-zero distance from a vector to itself.")
    if np.any(np.abs(table - table.T) > tolerance):
        raise ParameterError("metric", metric.name, "is not symmetric on the sample.")
    for middle in range(len(table)):
        gap = table - (table[:, middle][:, None] + table[middle][None, :])
        if gap.max() > tolerance:
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            raise ParameterError("metric", metric.name, f"breaks the triangle inequality at rows {i}, {middle}, {j}.")
