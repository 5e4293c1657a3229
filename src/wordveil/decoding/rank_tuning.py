"""Choosing c of rank softmax on public data: the share of near neighbours among the outputs, for a grid of c.

Only the public vocabulary and test noise are used. Given the nearest word x* of a noisy vector the law of the output is
known, so that one draw of noise serves every c and no output is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.decoding.rank_softmax import UNIFORM, by_distance
from wordveil.errors import ParameterError
from wordveil.kernels.nearest import NearestWords
from wordveil.mechanisms.base import VectorMechanism
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

DEFAULT_GRID = (0.0003, 0.0006, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)


@dataclass(frozen=True, kw_only=True)
class RankTuning:
    """What tuning found."""

    c: float  # the value with the largest mean share of near neighbours over the epsilons
    grid: tuple[float, ...]  # the values tried
    epsilons: tuple[float, ...]  # the epsilons tried
    original: tuple[tuple[float, ...], ...]  # share of outputs equal to the input, a row a c, a column an epsilon
    near: tuple[tuple[float, ...], ...]  # share of outputs among the input's nearest words, itself excluded, likewise


def tune_rank_softmax(
    mechanism: Callable[[float], VectorMechanism],
    embeddings: Embeddings,
    epsilons: Sequence[float],
    *,
    grid: Sequence[float] = DEFAULT_GRID,
    sample: int = 200,
    neighbours: int = 100,
    seed: int = 0,
) -> RankTuning:
    """Return the c of a grid whose outputs are most often near neighbours of the input, on average over epsilons.

    Args:
        mechanism: Epsilon to the vector mechanism to be decoded, such as `lambda e: MultivariateLaplace(epsilon=e)`.
        embeddings: The public vocabulary.
        epsilons: The epsilons c should serve, at least one.
        grid: Values of c to try, at least one, each in [0, inf).
        sample: Candidate words used as inputs, spread evenly over the vocabulary, at least 1.
        neighbours: How many nearest words count as near, at least 1.
        seed: Seed of the test noise; tuning is public and repeatable.

    Raises:
        ParameterError: If nothing is to be tried, or fewer than two words may be output.
    """
    candidates = embeddings.candidates
    for name, given in (("epsilons", epsilons), ("grid", grid)):
        if not len(given) or min(given) < 0:
            raise ParameterError(name, tuple(given), "must hold at least one number, none negative.")
    if sample < 1 or neighbours < 1 or len(candidates) < 2:
        raise ParameterError("sample", sample, "and neighbours must be at least 1, with two words that may be output.")
    inputs = candidates[np.unique(np.linspace(0, len(candidates) - 1, min(sample, len(candidates))).astype(np.int64))]
    search = NearestWords(embeddings.vectors, candidates)
    near = search.top(embeddings.vectors[inputs], min(neighbours + 1, len(candidates)))[0]
    source = RandomSource.seeded_for_tests(seed)
    original = np.empty((len(grid), len(epsilons)))
    close = np.empty_like(original)
    for column, epsilon in enumerate(epsilons):
        fitted = mechanism(epsilon).fit(embeddings)
        noisy = fitted.randomize(embeddings.vectors[inputs], fitted.sample(source.stream(f"{epsilon}"), len(inputs)))
        space = fitted.decoding_space(embeddings)
        nearest = NearestWords(space.vectors, candidates).nearest(noisy)
        own, others = _ranks(space, nearest, inputs, near)
        for row, c in enumerate(grid):
            original[row, column] = _chance(own, c * epsilon, len(candidates)).mean()
            close[row, column] = _chance(others, c * epsilon, len(candidates)).sum(axis=1).mean()
    return RankTuning(
        c=float(grid[int(close.mean(axis=1).argmax())]),
        grid=tuple(map(float, grid)),
        epsilons=tuple(map(float, epsilons)),
        original=tuple(map(tuple, original.tolist())),
        near=tuple(map(tuple, close.tolist())),
    )


def _ranks(space: Embeddings, nearest: IdArray, inputs: IdArray, near: IdArray) -> tuple[Float64Array, Float64Array]:
    """Return the rank from x* of each input, shape (n,), and of its near words, shape (n, k), inf for itself."""
    own, others = np.empty(len(inputs)), np.empty(near.shape)
    for i, centre in enumerate(nearest):
        order = by_distance(space.vectors, centre, space.candidates)
        rank = np.empty(len(order))
        rank[order] = np.arange(len(order))
        own[i] = rank[np.searchsorted(space.candidates, inputs[i])]
        others[i] = rank[np.searchsorted(space.candidates, near[i])]
        others[i, near[i] == inputs[i]] = np.inf
    return own, others


def _chance(ranks: Float64Array, decay: float, v: int) -> Float64Array:
    """Return the probability of each rank under the truncated geometric law; 0 for an infinite rank."""
    if decay * v < UNIFORM:
        return np.where(np.isfinite(ranks), 1 / v, 0.0)
    return np.asarray(np.exp(-decay * ranks) * (np.expm1(-decay) / np.expm1(-decay * v)))
