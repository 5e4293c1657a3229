"""Whether a metric of a user's own is one, on a sample, and depends on its two vectors alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.metrics.distances import Metric, PairwiseMetric, check_triangle, distances, triangle_tolerance

__all__ = ["check_axioms"]

ALONE = 16  # rows of a sample that are looked at alone too


def check_axioms(
    metric: Metric | PairwiseMetric,
    vectors: FloatArray,
    *,
    ids: IdArray | None = None,
    tolerance: float | None = None,
) -> None:
    """Check the metric axioms on every triple of a sample, and that a distance depends on its two vectors alone.

    Passing is evidence, failing is a refutation.

    Args:
        metric: The metric, perhaps a user's own.
        vectors: Public vectors, shape (v, d).
        ids: Rows of the sample, shape (n,), of which n**3 triples are checked; None for all.
        tolerance: Slack for rounding, in units of the metric; None takes the error that a user's metric states, and
            1e-9 for a closed form.

    Raises:
        ParameterError: Naming the axiom that fails and the rows of the sample where it does.
    """
    everyone, vectors = vectors, vectors if ids is None else vectors[ids]
    table = distances(metric, vectors, vectors)
    if tolerance is None:
        tolerance = triangle_tolerance(metric.distance_error, table) if isinstance(metric, PairwiseMetric) else 1e-9
    if table.shape != (len(vectors), len(vectors)):
        raise ParameterError("metric", metric.name, f"returns shape {table.shape} for {len(vectors)} vectors.")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ParameterError("metric", metric.name, "gives a negative or non-finite distance on the sample.")
    if np.any(np.abs(np.diagonal(table)) > tolerance):
        raise ParameterError("metric", metric.name, "gives a non-zero distance from a vector to itself.")
    if np.any(np.abs(table - table.T) > tolerance):
        raise ParameterError("metric", metric.name, "is not symmetric on the sample.")
    check_triangle(metric.name, table, np.arange(len(table)), tolerance)
    _check_alone(metric, vectors, table, _Among.of(metric, everyone, ids), tolerance)


@dataclass(frozen=True)
class _Among:
    """Distances of a sample's rows as they are where the metric is given the whole table, as draws give it."""

    metric: Metric | PairwiseMetric
    rows: FloatArray  # of the whole table: coordinates, or the vectors themselves
    ids: Any  # of the sample among them

    @classmethod
    def of(cls, metric: Metric | PairwiseMetric, vectors: FloatArray, ids: IdArray | None) -> _Among:
        some: Any = slice(None) if ids is None else ids
        return cls(metric, vectors if isinstance(metric, PairwiseMetric) else metric.coordinates(vectors), some)

    def row(self, i: int) -> Float64Array:
        """Return the distances from a row of the sample to all of it, shape (n,)."""
        sample = self.rows[self.ids]
        if isinstance(self.metric, PairwiseMetric):
            return np.asarray(self.metric.between(sample[i : i + 1], self.rows)[0, self.ids], dtype=np.float64)
        squared: Float64Array = np.square(sample[i : i + 1, None] - sample[None]).sum(axis=2)
        self.metric.from_squared(squared)
        return np.asarray(squared[0])


def _check_alone(
    metric: Metric | PairwiseMetric, vectors: FloatArray, table: Float64Array, among: _Among, tolerance: float
) -> None:
    """Check that vectors alone, in pairs, and in the whole table are at the distances that they have in a sample."""
    if isinstance(metric, Metric):
        largest = float(np.square(among.rows[among.ids]).sum(axis=1).max(initial=0.0))
        d = vectors.shape[1] + among.rows.shape[1]
        tolerance = max(tolerance, metric.distance_error((d + 4) * 2.0**-53 * 8 * largest))
    for i in range(0, len(vectors), 1 + len(vectors) // ALONE):
        row, j = distances(metric, vectors[i : i + 1], vectors), i - 1
        pair = distances(metric, vectors[i : i + 1], vectors[[j]])
        apart = np.abs(row - table[i]).max(), np.abs(pair - table[i, j]).max(), np.abs(among.row(i) - table[i]).max()
        if not np.max(apart) <= tolerance:  # NaN is not
            problem = "gives two vectors another distance alone than among others; hold what belongs to all in a field."
            raise ParameterError("metric", metric.name, problem)
