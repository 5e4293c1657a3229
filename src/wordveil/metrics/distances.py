"""Metrics on the vocabulary: closed forms, coordinates of a user's own with a closed form, and whole matrices.

A `Metric` is g(||T(x) - T(y)||) with a public map T (`coordinates`) and an increasing g (`from_squared`), so one exact
tile kernel serves them all. A user's own metric derives from `Euclidean` or `Angular` and brings a T; any other is the
matrix of its distances, `Precomputed`. `squared_euclidean` is not here because it is not a metric.

What a kernel may take for granted is asked of the code that runs, never of an ancestor: `is_norm` looks at the
`from_squared` in use, `is_known` at the exact class.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.metrics.table import DistanceTable
from wordveil.parameters import as_floats, check_within

TILE = 256
SAMPLE = 128
"""Words whose triples are checked against the triangle inequality where it cannot be proved: two million triples."""
LARGEST_CHECKED = 3000
"""Words of a matrix up to which every triple is checked: 13 billion comparisons."""


class Metric(ABC):
    """A metric on word vectors, computed in float64.

    A class of a user's own needs a name of its own, and takes its `from_squared` from `Euclidean` or `Angular`: fitting
    refuses it otherwise. What a row comes to must not depend on other rows of the call, whose choice is private: what
    belongs to the whole vocabulary, such as a mean, is computed beforehand and held in a field, as in `Mahalanobis`.
    Fitting checks that on a sample.
    """

    name: ClassVar[str]

    @abstractmethod
    def coordinates(self, vectors: FloatArray) -> Float64Array:
        """Map vectors, (n, d), each by itself, to the float64 rows whose Euclidean distance the metric is made of."""

    def from_squared(self, squared: FloatArray) -> None:
        """Turn squared Euclidean distances of coordinates, any shape, into distances, in place, each by itself."""
        np.sqrt(squared, out=squared)

    def distance_error(self, squared_error: float) -> float:
        """Return how far a distance can be off when its squared Euclidean distance is off by `squared_error`."""
        return float(np.sqrt(squared_error))


@dataclass(frozen=True, kw_only=True)
class Euclidean(Metric):
    """The Euclidean distance of the vectors as they are, in the units of the embedding."""

    name: ClassVar[str] = "euclidean"

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
        return _directions(vectors, _lengths(vectors), slice(None))

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
        whitening: S^(-1/2), shape (d, d) or (d, m); copied, and read-only from then on.
        label: What matrix that is, in a few words; the name holds its checksum besides.

    Raises:
        ParameterError: If it is no finite matrix.
    """

    whitening: Float64Array = field(repr=False)
    label: str = field(default="", repr=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Exact name, which tells two matrices apart."""
        digest = hashlib.sha256(repr(self.whitening.shape).encode() + self.whitening.tobytes()).hexdigest()
        return f"mahalanobis ({self.label}{', ' if self.label else ''}matrix {digest[:12]})"

    def __post_init__(self) -> None:
        own = np.array(as_floats("whitening", self.whitening), order="C")
        if own.ndim != 2 or 0 in own.shape or not np.all(np.isfinite(own)):
            raise ParameterError("whitening", f"shape {own.shape}", "must be a finite matrix of shape (d, m).")
        own.flags.writeable = False
        object.__setattr__(self, "whitening", own)

    def coordinates(self, vectors: FloatArray) -> Float64Array:
        # Products and sums one after another, so that a row's bits depend on neither its batch nor the machine.
        out = np.zeros((len(vectors), self.whitening.shape[1]))
        for low in range(0, len(vectors), TILE):
            columns, part = np.asarray(vectors[low : low + TILE], dtype=np.float64).T, out[low : low + TILE]
            for column, line in zip(columns, self.whitening, strict=True):
                part += column[:, None] * line
        return out


class VocabularyMetric(ABC):
    """A metric that belongs to one vocabulary: words, not vectors, are its points."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Exact name of the metric."""

    @abstractmethod
    def bind(self, vectors: FloatArray, checksum: str) -> Precomputed:
        """Return its matrix for the vocabulary with these vectors, shape (v, d), and this SHA-256."""


@dataclass(frozen=True, kw_only=True)
class Precomputed(VocabularyMetric):
    """A metric given as the matrix of distances between the words of one vocabulary.

    Attributes:
        label: What the distances are, in a few words.
        vocabulary: SHA-256 of the vocabulary whose words they are between (`embeddings.checksum_in_use`).
        table: The matrix.
        error: How far an entry may be from the metric's distance, in its unit; counted as slack. So is a rounding that
            the triangle inequality may lack, unless all are multiples of the last bit of the longest.

    The triangle inequality is checked over all triples of up to 3 000 words (a third of a second at 1 000, ten seconds
    at 3 000); of a larger matrix, on a sample of 128 words, and what is promised in it is then unverified.

    Raises:
        ParameterError: If the error is negative, or the triangle inequality fails beyond it where it is checked.

    Example:
        >>> matrix = DistanceTable(np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> Precomputed(label="edit distance", vocabulary="5f2c", table=matrix).name
        'edit distance of vocabulary 5f2c, matrix 41aa8c19a6ab'
    """

    label: str
    vocabulary: str
    table: DistanceTable
    error: float = 0.0

    def __post_init__(self) -> None:
        check_within("error", self.error)
        if not self.label.isprintable():
            raise ParameterError("label", self.label, "must be text on one line, without control characters.")
        if not isinstance(self.table, DistanceTable):
            raise ParameterError("table", type(self.table).__name__, "must be a DistanceTable of the matrix.")
        if self.is_checked:
            excess, (row, column) = self.table.triangle_excess
            if excess > triangle_tolerance(self.error, self.table.matrix):
                raise ParameterError("metric", self.label, f"breaks the triangle inequality at rows {row}, {column}.")
        else:
            ids, sample = self.table.sample(SAMPLE)
            check_triangle(self.label, sample, ids, triangle_tolerance(self.error, sample))

    @property
    def is_checked(self) -> bool:
        """Whether the triangle inequality is checked over all triples of words, not on a sample."""
        return len(self.table) <= LARGEST_CHECKED

    @property
    def counted_error(self) -> float:
        """The error that slack counts: the one given, and half of what the triangle inequality lacks.

        A loss is at most 2 * rate * (dist + what is lacking), of which slack holds 4 * rate * error.
        """
        return max(self.error, self.table.triangle_excess[0] / 2) if self.is_checked else 1.5 * self.error

    @property
    def name(self) -> str:
        return f"{self.label} of vocabulary {self.vocabulary[:12]}, matrix {self.table.checksum[:12]}"

    def bind(self, vectors: FloatArray, checksum: str) -> Precomputed:
        if checksum != self.vocabulary or len(vectors) != len(self.table):
            problem = f"does not belong to vocabulary {checksum[:12]} of {len(vectors)} words."
            raise ParameterError("metric", self.name, problem)
        return self


@dataclass(frozen=True, kw_only=True)
class PathMatrix(Precomputed):
    """Shortest paths in a graph, which `rank_metric` computes exactly: the triangle inequality is a theorem."""

    @property
    def counted_error(self) -> float:
        return self.error


AnyMetric = Metric | VocabularyMetric
"""What a selection mechanism can measure distance by."""


def coordinate_rows(metric: Metric, vectors: FloatArray) -> Callable[[Any], Float64Array]:
    """Return what gives coordinates of some rows of a public table, shape (v, d), by their ids or a slice.

    A class of a user's own is asked once, of the whole table, so that no word's depend on the words asked with it.
    """
    if type(metric) is Angular:
        return partial(_directions, vectors, _lengths(vectors))
    if is_known(metric):
        return partial(_coordinates, metric, vectors)
    whole: Float64Array = np.asarray(metric.coordinates(vectors), dtype=np.float64)
    return whole.__getitem__


def _lengths(vectors: FloatArray) -> Float64Array:
    lengths = np.empty((len(vectors), 1))
    for low in range(0, len(vectors), TILE):
        rows = np.asarray(vectors[low : low + TILE], dtype=np.float64)
        # Running sums, unlike those of a norm, go in one order on every machine.
        lengths[low : low + TILE] = np.sqrt(np.cumsum(rows * rows, axis=1)[:, -1:])
    if not np.all(lengths > 0):
        problem = "is a zero vector, which has no angle; remove it or use 'euclidean'."
        raise ParameterError("vectors", f"row {int(np.flatnonzero(lengths == 0)[0])}", problem)
    return lengths


def _directions(vectors: FloatArray, lengths: Float64Array, rows: Any) -> Float64Array:
    return np.ascontiguousarray(vectors[rows] / lengths[rows])


def _coordinates(metric: Metric, vectors: FloatArray, rows: Any) -> Float64Array:
    return metric.coordinates(vectors[rows])


def is_norm(metric: Metric) -> bool:
    """Return whether the distance is the Euclidean distance of the coordinates, so that relative errors stay relative.

    Kernels that take the root themselves ask this: a class that computes distances in its own way is no norm to them,
    whatever it is derived from.
    """
    return getattr(metric.from_squared, "__func__", None) is Metric.from_squared


def is_known(metric: object) -> bool:
    """Return whether every axiom is a theorem, or was checked on every triple: by the exact class, not by a base."""
    if type(metric) is Precomputed:
        return metric.is_checked
    return type(metric) in (Euclidean, Angular, Mahalanobis, PathMatrix)


def triangle_tolerance(error: float, table: Float64Array) -> float:
    """Return by how much three distances, each with this error, may break the triangle inequality."""
    return 3 * error + 4 * 2.0**-53 * float(np.max(table, initial=0.0, where=np.isfinite(table)))


def check_triangle(name: str, table: Float64Array, ids: NDArray[np.integer], tolerance: float) -> None:
    """Raise if three words, by these ids, break the triangle inequality by more than the tolerance."""
    for middle in range(len(table)):
        gap = table - (table[:, middle][:, None] + table[middle][None, :])
        if gap.max() > tolerance:
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            problem = f"breaks the triangle inequality at rows {ids[i]}, {ids[middle]}, {ids[j]}."
            raise ParameterError("metric", name, problem)
