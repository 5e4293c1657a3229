"""A vocabulary as certificates see it: its distinct vectors, and how much output mass sits on each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.pair_maximum import PairMaximum, PairProblem
from wordveil.kernels.pair_tiles import NormaliserSums, PairTiles
from wordveil.metrics.distances import Metric, coordinate_rows, is_known, is_norm
from wordveil.promises.certificates import identity
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class DistinctVectors:
    """The places of a vocabulary, between which pairs are looked at: its distinct vectors, whatever words share one."""

    coordinates: Float64Array  # `metric.coordinates` of the distinct vectors, shape (u, d)
    measure: Float64Array  # output mass on each, shape (u,): the candidates there, or the sum of their base measure
    ids: IdArray  # lowest id with each vector, shape (u,), int32, ascending
    metric: Metric

    @classmethod
    def of(cls, embeddings: Embeddings, metric: Metric, base: Float64Array | None = None) -> DistinctVectors:
        """Collect the distinct vectors of a vocabulary, whose candidates are outputs of measure `base`, None for 1.

        `ParameterError` if the base measure has another shape, a negative or non-finite entry, or no mass.
        """
        if base is None:
            base = np.ones(len(embeddings.candidates))
        if base.shape != embeddings.candidates.shape or not np.all(np.isfinite(base)) or base.min() < 0:
            problem = f"must hold {len(embeddings.candidates)} finite non-negative numbers."
            raise ParameterError("base", base.shape, problem)
        if not base.sum() > 0:
            raise ParameterError("base", 0, "must give some candidate a positive weight.")
        ids = np.unique(embeddings.canonical)
        place = np.searchsorted(ids, embeddings.canonical[embeddings.candidates])
        return cls(
            coordinates=coordinate_rows(metric, embeddings.vectors)(ids),
            measure=np.asarray(np.bincount(place, weights=base, minlength=len(ids)), dtype=np.float64),
            ids=ids,
            metric=metric,
        )

    @cached_property
    def outputs(self) -> Int64Array:
        """Places of the words that may be output, ascending."""
        return np.flatnonzero(self.measure)

    @property
    def distance_error(self) -> float:
        """How far distances that pairs are judged by may be off: of a root or an angle the tolerance covers it."""
        if is_known(self.metric) or is_norm(self.metric):
            return 0.0
        d = self.coordinates.shape[1]
        return self.metric.distance_error((d + 4) * 2.0**-53 * 4 * float(np.square(self.coordinates).sum(axis=1).max()))

    def digest(self) -> str:
        """Return a SHA-256 of all that losses depend on, by which work is resumed; `CertificateError` if unnamed."""
        state = hashlib.sha256(np.ascontiguousarray(self.coordinates).tobytes())
        state.update(self.measure.tobytes())
        state.update(identity(self.metric).encode())
        return state.hexdigest()

    @cached_property
    def _tiles(self) -> PairTiles:
        return PairTiles(self.coordinates, self.metric)

    @property
    def block_error(self) -> float:
        """How far a distance of `block` may be from the metric's own, in its unit."""
        return self._tiles.distance_error()

    def block(self, first: Int64Array, second: Int64Array) -> Float64Array:
        """Return the distances between two lots of places, shape (n, k)."""
        return self._tiles.between(first, second)

    def judged(self, first: Int64Array, second: Int64Array, rough: Float64Array) -> Float64Array:
        """Return the distances of pairs by direct differences, as `block`, which gave the rough ones, hides a hair."""
        return self._tiles.of_pairs(first, second)

    def sums(self, rate: float, cap: float) -> NormaliserSums:
        return NormaliserSums(self._tiles, self.measure, rate=rate, cap=cap)

    def maximum(self, problem: PairProblem, places: Int64Array) -> PairMaximum:
        """Return the pass that finds the worst pair of some places, numbered among themselves; the problem is of all.

        Of a place that is no output what it finds is a bound: the normalizers alone do not say where the loss is most.
        """
        every = len(places) == len(self.ids)
        tiles = self._tiles if every else PairTiles(self.coordinates[places], self.metric)
        return PairMaximum(tiles, problem.among(places))
