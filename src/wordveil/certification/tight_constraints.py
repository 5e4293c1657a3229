"""Tight constraints: a public base measure that flattens the normaliser, so that the rate alone is the loss.

If sum_y b(y) e^(-rate dist(x, y)) = 1 for every x, the normaliser costs nothing and epsilon = rate. The solution may
be negative somewhere and is never exact, so it is clipped at zero (and at a floor that 64-bit sampling needs), and the
loss of what is left is certified over all pairs: epsilon = rate + Lip(ln Z_b). The system is solved by conjugate
gradients, legal because e^(-rate dist) is positive definite for metrics of negative type: the norms and the angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray
from wordveil.certification.normaliser_lipschitz import ExactLoss, LossComputation
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import MetricDP, PrivacyUnit, Standing
from wordveil.kernels.pair_tiles import NormaliserSums, PairTiles
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.metrics import Angular, Euclidean, Mahalanobis, Metric

__all__ = ["BASE_TAIL_NATS", "TightSolution", "fit_tight_constraints", "solve_tight_constraints"]

BASE_TAIL_NATS = 22.0
"""Weights stop falling at exp(-22) of the base measure; with the floor, 64-bit sampling can honour what is left."""
_FLOOR = 1e-3

Iteration = Callable[[int, float], None]
"""Called with the iteration and the relative residual."""


@dataclass(frozen=True, kw_only=True)
class TightSolution:
    """An approximate solution, clipped, and the loss certified for it.

    Attributes:
        base: Base measure over the candidates, shape (number of candidates,), in [0, 1], largest 1.
        negative: Share of the distinct output vectors where the solution was below zero.
        iterations: Conjugate gradient steps taken.
        residual: Relative residual of the unclipped solution.
        loss: The exact loss with this base measure, for outputs capped at `loss.cap`.
    """

    base: Float64Array
    negative: float
    iterations: int
    residual: float
    loss: ExactLoss


def solve_tight_constraints(
    embeddings: Embeddings,
    *,
    rate: float,
    metric: Metric | None = None,
    tolerance: float = 1e-8,
    most_iterations: int = 2000,
    threads: int | None = None,
    progress: Iteration | None = None,
) -> TightSolution:
    """Find a base measure that flattens the normaliser, and certify the loss it leaves.

    Args:
        embeddings: The public vocabulary: constraints hold at its candidates, the certificate at all its words.
        rate: Rate of the exponential, 1/distance, in (0, inf).
        metric: A metric of negative type; None for Euclidean.
        tolerance: Relative residual at which to stop, in (0, 1).
        most_iterations: Steps after which to stop in any case; the certificate holds all the same.
        threads: Threads; the answer does not depend on it.
        progress: Called once a step.

    Raises:
        ParameterError: If a parameter is outside its domain, or the metric is not known to be of negative type.

    Reference:
        ElSalamouny, Chatzikokolakis, Palamidessi (2013), A Differentially Private Mechanism of Optimal Utility for a
        Region of Priors, section on tight constraints. Clipping, flooring and certifying are ours.
    """
    chosen = Euclidean() if metric is None else metric
    if not isinstance(chosen, Euclidean | Angular | Mahalanobis):
        raise ParameterError("metric", chosen.name, "is not known to be of negative type; conjugate gradients need it.")
    if not (math.isfinite(rate) and rate > 0):
        raise ParameterError("rate", rate, "must be in (0, inf).")
    if not 0 < tolerance < 1:
        raise ParameterError("tolerance", tolerance, "must be in (0, 1).")
    place_of, vectors = _distinct_outputs(embeddings)
    tiles = PairTiles(chosen.coordinates(embeddings.vectors[vectors]), chosen)

    def product(measure: Float64Array) -> Float64Array:
        sums = NormaliserSums(tiles, measure, rate=rate, cap=math.inf)
        for _ in sums.steps(threads):
            pass
        return sums.sums[: tiles.v]

    solution, iterations, residual = _conjugate_gradients(product, tiles.v, tolerance, most_iterations, progress)
    base = _clipped(solution, place_of)
    vocabulary = DistinctVectors.of(embeddings, chosen, base)
    loss = LossComputation(vocabulary, threads=threads).metric(rate, BASE_TAIL_NATS / rate)
    return TightSolution(
        base=base,
        negative=float(np.mean(solution < 0)),
        iterations=iterations,
        residual=residual,
        loss=loss,
    )


def _distinct_outputs(embeddings: Embeddings) -> tuple[NDArray[np.int64], IdArray]:
    """Return the place of each candidate among the distinct output vectors, and their ids."""
    vectors, place = np.unique(embeddings.canonical[embeddings.candidates], return_inverse=True)
    return np.asarray(place, dtype=np.int64), vectors


def _conjugate_gradients(
    product: Callable[[Float64Array], Float64Array],
    n: int,
    tolerance: float,
    most_iterations: int,
    progress: Iteration | None,
) -> tuple[Float64Array, int, float]:
    """Solve K b = 1 for a positive definite K given by its products, from a start that gets the mean right."""
    start = np.ones(n)
    image = product(start)
    x = start * (image.sum() / (image @ image))
    residual = 1.0 - image * (x[0] / start[0])
    direction = residual.copy()
    square = float(residual @ residual)
    step = 0
    while step < most_iterations and math.sqrt(square / n) > tolerance:
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0:
            break  # rounding has eaten what is left of definiteness; the certificate judges what was reached
        length = square / curvature
        x += length * direction
        residual -= length * image
        previous, square = square, float(residual @ residual)
        direction = residual + (square / previous) * direction
        step += 1
        if progress is not None:
            progress(step, math.sqrt(square / n))
    return x, step, math.sqrt(square / n)


def _clipped(solution: Float64Array, place_of: NDArray[np.int64]) -> Float64Array:
    """Return the base measure over candidates: negatives and dust removed, shared among equal words, largest 1."""
    positive = np.where(solution > _FLOOR * solution.max(), solution, 0.0)
    base = (positive / np.bincount(place_of, minlength=len(solution)))[place_of]
    base = base / base.max()
    return np.asarray(np.where(base > _FLOOR, base, 0.0))


def fit_tight_constraints(
    embeddings: Embeddings, solution: TightSolution, *, metric: Metric | None = None
) -> FittedExponential:
    """Return the word randomizer that draws with a solved base measure.

    Guarantee:
        Metric DP in min(dist, cap), certified, for the vocabulary and metric the solution was made with, which the
        caller must pass again.

    Args:
        embeddings: The vocabulary of the solution.
        solution: From `solve_tight_constraints`.
        metric: The metric of the solution; None for Euclidean.

    Raises:
        ParameterError: If the solution has another number of candidates, or its measure is too uneven to sample.
    """
    if len(solution.base) != len(embeddings.candidates):
        raise ParameterError("solution", len(solution.base), f"must cover {len(embeddings.candidates)} candidates.")
    chosen = Euclidean() if metric is None else metric
    loss = solution.loss
    rows = SelectionRows(
        embeddings.vectors,
        chosen,
        embeddings.candidates,
        embeddings.canonical,
        rate=loss.rate,
        cap=loss.cap,
        base=solution.base,
    )
    slack = rows.arithmetic_slack() + loss.error
    if not math.isfinite(slack):
        raise ParameterError("rate", loss.rate, "gives a base measure too uneven for 64-bit sampling; change it.")
    claim = MetricDP(
        epsilon=loss.epsilon,
        metric=chosen.name,
        slack=slack,
        largest_distance=loss.cap,
        unit=PrivacyUnit.TOKEN,
        standing=Standing.CERTIFIED,
        assumptions=("the base measure was solved and certified for this vocabulary and candidate set",),
    )
    return FittedExponential(embeddings=embeddings, rows=rows, claim=claim)
