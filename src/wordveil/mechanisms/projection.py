"""Projection (PrivEmb): project to few dimensions by a public matrix, then add multivariate Laplace noise there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, FloatArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import InputDomain, VectorMechanism
from wordveil.mechanisms.exact_noise import RealSums
from wordveil.mechanisms.multivariate_laplace import laplace_scale
from wordveil.mechanisms.on_grid import RadialRandomizer
from wordveil.mechanisms.projection_matrices import (
    draw_matrix,
    given_matrix,
    log_union_bound,
    plan_dimensions,
    principal_directions,
    published_dimensions,
    random_rows,
)
from wordveil.mechanisms.rows import checked_rows, multiply_rows
from wordveil.mechanisms.stretch import exact_stretch, spectral_stretch
from wordveil.parameters import check_choice, check_delta, check_positive, check_whole
from wordveil.promises.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.vocabulary.table import Embeddings

DIRECTIONS = ("gaussian", "orthonormal", "principal")
_OF_WORDS = ("exact", "union-bound")  # sensitivities that hold between the words of one vocabulary
SENSITIVITIES = ("exact", "spectral", "union-bound", "published")
_DRAWN_ONCE = "the public matrix was fixed once, before any result was looked at"


@dataclass(frozen=True, kw_only=True)
class Projection(VectorMechanism):
    """Release w = Phi x + z, z multivariate Laplace in R^m at rate epsilon/Delta, Delta the stretch of a public Phi.

    directions chooses Phi (m x d): "gaussian" has N(0, 1/m) entries, "orthonormal" has random orthonormal rows,
    "principal" the m principal directions of the public table, either rounded to 2^-20 and shrunk so that nothing is
    stretched; `matrix` gives any other.

    sensitivity chooses Delta:
        "exact": the largest stretch of *this* Phi over all pairs of words of the vocabulary, computed.
        "spectral": its largest singular value; for any input, such as sentence vectors. 1 for orthonormal rows.
        "union-bound": 1 + beta, with m large enough for all pairs of words; Gaussian Phi only.
        "published": 1 + beta, with m from the paper's formula; Gaussian Phi only.

    Guarantee:
        epsilon-metric DP for the Euclidean distance. "exact": certified, between words of this vocabulary.
        "spectral": certified for every pair of vectors (proved, Delta = 1, for orthonormal and principal rows).
        "union-bound": certified; delta is the chance of an unlucky matrix, paid once per matrix, not per token; a bad
        pair then loses epsilon * stretch/Delta. "published": not verified for a vocabulary. The release is
        the real sum of the real product and the noise, rounded to a public grid.

    Attributes:
        epsilon: Loss per unit of Euclidean distance between inputs, in (0, inf).
        dimensions: m; None plans it from beta and delta where the sensitivity has a plan.
        directions: "gaussian", "orthonormal" or "principal".
        sensitivity: "exact", "spectral", "union-bound" or "published".
        beta: Stretch allowed beyond 1, for "union-bound" and "published", in (0, inf).
        delta: Chance of an unlucky matrix, for the same two, in (0, 1).
        seed: Public seed of Phi; it is not noise and protects nothing.
        matrix: Rows of a given public Phi, in place of `directions` and `seed`.

    Raises:
        ParameterError: If a parameter is outside its domain or two of them do not fit.

    Reference:
        Feyisetan, Kasiviswanathan (2021), Private Release of Text Embedding Vectors, Algorithm 1 (PrivEmb,
        M2 in its experiments) and Proposition 5.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = Projection(epsilon=5.0, dimensions=1).fit(colours)
        >>> randomizer.release(colours.vectors, RandomSource.seeded_for_tests(1)).shape
        (5, 1)
        >>> randomizer.guarantee().standing
        <Standing.CERTIFIED: 'certified'>
        >>> anything = Projection(epsilon=5.0, dimensions=10, directions="orthonormal", sensitivity="spectral")
        >>> anything.for_dimensions(50).stretch
        1.0
    """

    certifies_vocabulary: ClassVar[bool] = True
    certificate_method = "stretch"
    name: ClassVar[str] = "projection"
    paper: ClassVar[str] = "Feyisetan & Kasiviswanathan 2021, Algorithm 1"
    epsilon: float
    dimensions: int | None = None
    directions: str = "gaussian"
    sensitivity: str = "exact"
    beta: float = 0.9
    delta: float = 1e-6
    seed: int = 0
    matrix: Sequence[Sequence[float]] | None = field(default=None)

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_choice("directions", self.directions, DIRECTIONS)
        check_choice("sensitivity", self.sensitivity, SENSITIVITIES)
        check_positive("beta", self.beta)
        check_delta(self.delta)
        check_whole("seed", self.seed, 0)
        if self.matrix is not None:
            object.__setattr__(self, "matrix", given_matrix(self.matrix))
        planned = self.sensitivity in ("union-bound", "published")
        if planned and (self.matrix is not None or self.directions != "gaussian"):
            raise ParameterError("sensitivity", self.sensitivity, "holds for directions='gaussian' alone.")
        if self.dimensions is None and self.matrix is None and not planned:
            raise ParameterError("dimensions", None, f"must be given with sensitivity={self.sensitivity!r}.")
        if self.dimensions is not None:
            check_whole("dimensions", self.dimensions)
        if self.matrix is not None and self.dimensions not in (None, len(self.matrix)):
            raise ParameterError("dimensions", self.dimensions, f"must be {len(self.matrix)}, the rows of matrix.")

    @classmethod
    def examples(cls) -> tuple[Projection, ...]:
        return (
            cls(epsilon=2.0, dimensions=2),
            *(cls(epsilon=2.0, directions=name, sensitivity="spectral", dimensions=2) for name in DIRECTIONS),
            cls(epsilon=2.0, sensitivity="union-bound"),
            cls(epsilon=2.0, sensitivity="published"),
        )

    @property
    def needs_vocabulary(self) -> bool:
        return self.sensitivity in _OF_WORDS or (self.directions == "principal" and self.matrix is None)

    def constants(self, embeddings: Embeddings) -> dict[str, float]:
        fitted = self.fit(embeddings)
        numbers = {"dimensions": float(fitted.dimensions), "stretch": fitted.stretch}
        if self.sensitivity == "union-bound":
            numbers["delta"] = math.exp(log_union_bound(len(embeddings), fitted.dimensions, self.beta))
        return numbers

    def fit(self, embeddings: Embeddings) -> FittedProjection:
        """Draw or derive Phi for a vocabulary and compute Delta.

        `ParameterError` if m exceeds d for orthonormal or principal rows, the union bound exceeds delta at a given m,
        or the vocabulary is too small.
        """
        d, v = embeddings.dimensions, len(embeddings)
        if not self.needs_vocabulary:
            return self.for_dimensions(d)
        if self.sensitivity == "union-bound":
            m = self.dimensions or plan_dimensions(v, self.beta, self.delta)
            if log_union_bound(v, m, self.beta) > np.log(self.delta):
                needed = plan_dimensions(v, self.beta, self.delta)
                raise ParameterError("dimensions", m, f"must be at least {needed} for {v} words, or raise beta.")
            return self._bind(self._matrix(d, m), 1 + self.beta)
        if self.directions == "principal" and self.matrix is None:
            matrix = principal_directions(embeddings.vectors, self.dimensions or d)
        else:
            matrix = self._matrix(d, self.dimensions)
        widest = self._widest(matrix)
        if self.sensitivity == "spectral":
            return self._bind(matrix, widest)
        stretch = exact_stretch(embeddings.vectors, matrix)
        if stretch == 0:
            problem = "finds no pair of words apart from each other; use 'spectral'."
            raise ParameterError("sensitivity", "exact", problem)
        return self._bind(matrix, min(stretch, widest))

    def for_dimensions(self, dimensions: int) -> FittedProjection:
        """Return the randomizer for any vectors of d dimensions, where Delta needs no vocabulary.

        `ParameterError` for "exact", "union-bound" and principal directions, which speak of one vocabulary.
        """
        if self.sensitivity in _OF_WORDS:
            problem = "covers the words of a vocabulary only; for any vectors use 'spectral', best with "
            problem += "directions='orthonormal'. Where every row is a word's vector, give that vocabulary."
            raise ParameterError("sensitivity", self.sensitivity, problem)
        if self.needs_vocabulary:
            problem = "needs a public vocabulary; give one, or use 'orthonormal'."
            raise ParameterError("directions", "principal", problem)
        if self.sensitivity == "published":
            least = published_dimensions(dimensions, self.beta, self.delta)
            if (self.dimensions or least) < least:
                raise ParameterError("dimensions", self.dimensions, f"must be at least {least}, or raise beta.")
            return self._bind(self._matrix(dimensions, self.dimensions or least), 1 + self.beta)
        matrix = self._matrix(dimensions, self.dimensions)
        return self._bind(matrix, self._widest(matrix))

    @property
    def _orthonormal(self) -> bool:
        return self.matrix is None and self.directions != "gaussian"

    def _matrix(self, d: int, m: int | None) -> Float64Array:
        if self.matrix is None:
            return (random_rows if self.directions == "orthonormal" else draw_matrix)(m or d, d, self.seed)
        matrix = np.array(self.matrix)
        if matrix.shape[1] != d:
            raise ParameterError("matrix", f"shape {matrix.shape}", f"must have {d} columns.")
        return matrix

    def _widest(self, matrix: Float64Array) -> float:
        return 1.0 if self._orthonormal else spectral_stretch(matrix)

    def _bind(self, matrix: Float64Array, stretch: float) -> FittedProjection:
        return FittedProjection(
            mechanism=self, dimensions=len(matrix), matrix=np.ascontiguousarray(matrix), stretch=stretch
        )


@dataclass(frozen=True, kw_only=True)
class FittedProjection(RadialRandomizer):
    """A projection bound to its public matrix Phi, shape (m, d), and its stretch Delta; m dimensions are released."""

    mechanism: Projection
    dimensions: int
    matrix: Float64Array = field(repr=False, compare=False)
    stretch: float

    @property
    def largest_stretch(self) -> float:
        return self.stretch

    @property
    def inputs(self) -> InputDomain:
        return "vocabulary vectors" if self.mechanism.sensitivity in _OF_WORDS else "any vectors"

    @property
    def input_dimensions(self) -> int:
        return int(self.matrix.shape[1])

    def guarantee(self) -> MetricDP:
        kind = self.mechanism.sensitivity
        delta, standing = 0.0, Standing.CERTIFIED
        assumptions: tuple[str, ...] = ()
        if kind == "exact":
            assumptions = ("both inputs are words of the vocabulary whose pairs were searched",)
        elif kind == "spectral":
            standing = Standing.PROVED if self.mechanism._orthonormal else Standing.CERTIFIED
        else:
            delta = self.mechanism.delta
            standing = Standing.CERTIFIED if kind == "union-bound" else Standing.PUBLISHED
            assumptions = (_DRAWN_ONCE, "delta is the chance of an unlucky matrix, paid once for all its releases")
        return MetricDP(
            epsilon=self.mechanism.epsilon,
            delta=delta,
            metric="euclidean",
            unit=PrivacyUnit.VECTOR,
            standing=standing,
            assumptions=assumptions,
        )

    def decoding_space(self, embeddings: Embeddings) -> Embeddings:
        """Return the vocabulary with projected vectors and the same candidates: noisy vectors live there."""
        projected = multiply_rows(embeddings.vectors.astype(np.float64), np.ascontiguousarray(self.matrix.T))
        table = embeddings.of_rows(list(embeddings.words), projected, name=f"{embeddings.header.name} (projected)")
        barred = np.setdiff1d(np.arange(len(embeddings)), embeddings.candidates)
        return table.without_outputs([embeddings.words[int(i)] for i in barred]) if barred.size else table

    @cached_property
    def scale(self) -> float:
        """Delta/epsilon, rounded up, in the units of the embedding."""
        return laplace_scale(self.stretch, self.mechanism.epsilon)

    def sums(self, vectors: FloatArray) -> RealSums:
        rows = checked_rows(vectors, self.matrix.shape[1])
        sums = RealSums(rows=rows, matrix=np.ascontiguousarray(self.matrix.T), scale=self.scale)
        checked_rows(sums.centres()[0], self.dimensions, scale=self.scale)
        return sums
