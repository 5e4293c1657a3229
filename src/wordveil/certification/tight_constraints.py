"""Tight constraints: a public base measure that flattens the normalizer, so that the rate alone is the loss.

If sum_y b(y) e^(-rate dist(x, y)) = 1 for every x, the normalizer costs nothing and epsilon = rate. The solution may
be negative somewhere and is never exact, so it is clipped at zero (and at a floor that 64-bit sampling needs), and the
loss of what is left is certified over all pairs: epsilon = rate + Lip(ln Z_b). The system is solved by conjugate
gradients, legal because e^(-rate dist) is positive definite for metrics of negative type: the norms and the angle.
The mechanism that draws with b is `mechanisms.tight`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Unpack

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.certification.normalizer_lipschitz import ExactLoss, LossComputation, PassOptions
from wordveil.certification.pair_spaces import DistinctVectors
from wordveil.errors import ParameterError
from wordveil.kernels.pair_tiles import NormaliserSums, PairTiles
from wordveil.mechanisms.tight import MOST_OUTPUTS, TightConstraints
from wordveil.metrics.distances import coordinate_rows
from wordveil.parameters import check_delta, check_positive
from wordveil.vocabulary.table import Embeddings

_FLOOR = 1e-3


def solve_tight_constraints(
    mechanism: TightConstraints,
    embeddings: Embeddings,
    rate: float,
    *,
    tolerance: float = 1e-8,
    most_iterations: int = 2000,
    **options: Unpack[PassOptions],
) -> tuple[Float64Array, ExactLoss]:
    """Find a base measure that flattens the normalizer at one rate, and certify the loss it leaves.

    The measure is over the candidates, shape (candidates,), in [0, 1], the largest 1, in numbers that float32 holds.
    Metric and cap are the mechanism's; its epsilon does not matter. Constraints hold at the candidates, the certificate
    at all words. Steps end at a relative residual of `tolerance`, in (0, 1), or after `most_iterations`: the
    certificate holds all the same. `ParameterError` if a parameter is outside its domain, or more words may be output
    than can be solved for.
    """
    check_positive("rate", rate)
    check_delta(tolerance, name="tolerance")
    vectors, place_of = np.unique(embeddings.canonical[embeddings.candidates], return_inverse=True)
    if len(vectors) > MOST_OUTPUTS:
        problem = f"are more than the {MOST_OUTPUTS} that a base measure is solved for; bar some, or certify santext."
        raise ParameterError("embeddings", f"{len(vectors)} output words", problem)
    metric = mechanism.metric
    tiles = PairTiles(coordinate_rows(metric, embeddings.vectors)(vectors), metric)

    def product(measure: Float64Array) -> Float64Array:
        sums = NormaliserSums(tiles, measure, rate=rate, cap=math.inf)
        for visited in sums.steps(options.get("threads")):
            if (progress := options.get("progress")) is not None:
                progress(visited)
        return sums.values[: tiles.v]

    solution = _conjugate_gradients(product, tiles.v, tolerance, most_iterations)
    # Negatives and dust are removed; equal words share what is left.
    positive = np.where(solution > _FLOOR * solution.max(), solution, 0.0)
    base = (positive / np.bincount(place_of, minlength=len(solution)))[place_of]
    base = base / base.max()
    # Rounded to what a certificate stores, so that the loss is certified for exactly the measure that draws.
    base = np.where(base > _FLOOR, base, 0.0).astype(np.float32).astype(np.float64)
    return base, tight_loss(mechanism, embeddings, base, rate, **options)


def tight_loss(
    mechanism: TightConstraints, embeddings: Embeddings, base: Float64Array, rate: float, **options: Unpack[PassOptions]
) -> ExactLoss:
    """Return the exact loss that a base measure over the candidates leaves at a rate, whoever made the measure."""
    vocabulary = DistinctVectors.of(embeddings, mechanism.metric, base)
    return LossComputation(vocabulary, **options).metric(rate, mechanism.cap(rate, len(base)))


def _conjugate_gradients(
    product: Callable[[Float64Array], Float64Array], n: int, tolerance: float, most_iterations: int
) -> Float64Array:
    """Solve K b = 1 for a positive definite K given by its products, from a start that gets the mean right."""
    start = np.ones(n)
    image = product(start)
    x = start * (image.sum() / (image @ image))
    residual = 1.0 - image * (x[0] / start[0])
    direction = residual.copy()
    square = float(residual @ residual)
    for _ in range(most_iterations):
        if math.sqrt(square / n) <= tolerance:
            break
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0:
            break  # rounding has eaten what is left of definiteness; the certificate judges what was reached
        length = square / curvature
        x += length * direction
        residual -= length * image
        previous, square = square, float(residual @ residual)
        direction = residual + (square / previous) * direction
    return np.asarray(x)
