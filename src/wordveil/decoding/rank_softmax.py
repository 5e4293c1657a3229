"""Rank softmax: a near neighbour of the nearest word, with probability falling by its rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array, Progress, ReleasedIds, ReleasedVectors
from wordveil.decoding.base import Decoder, SearchingDecoder
from wordveil.kernels.nearest import NearestWords
from wordveil.parameters import check_draws, check_positive, check_within
from wordveil.randomness import Draws
from wordveil.vocabulary.table import Embeddings

UNIFORM = 2.0**-60  # below this decay * v the law is uniform to float64
NEAR = 256  # ranks up to here are found by the screened search, later ones by whole rows of distances


@dataclass(frozen=True, kw_only=True)
class RankSoftmax(Decoder):
    """Find the word x* nearest to the noisy vector; output its i-th nearest with probability ~ exp(-c epsilon i).

    i = 0 is x* itself, and i runs over all candidates: a truncated geometric law. The true word plays no part.

    Guarantee:
        Post-processing: the guarantee of the vectors stands, whatever epsilon and c are here.

    Attributes:
        epsilon: The epsilon of the mechanism whose vectors are decoded, in (0, inf).
        c: Public; how fast the law falls, in [0, inf). 0 is uniform over all candidates. The default is the paper's
            for GloVe of 300 dimensions; choose it for your vocabulary with `tune_rank_softmax`, or on the command line
            with `wordveil calibrate --decoder rank-softmax`.

    Raises:
        ParameterError: If a parameter is outside its domain.

    Reference:
        Asghar, Carpentier, Zhao, Kaafar (2025), d_X-Privacy for Text and the Curse of Dimensionality, section 7.

    Example:
        >>> import numpy as np
        >>> from wordveil import Decoded, Embeddings, MultivariateLaplace, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> softmax = RankSoftmax(epsilon=4.0, c=0.2)
        >>> randomizer = Decoded(mechanism=MultivariateLaplace(epsilon=4.0), decoder=softmax).fit(colours)
        >>> released = randomizer.release(colours.ids(["red", "cat"]), RandomSource.seeded_for_tests(1))
        >>> all(-1 < i < 5 for i in released)
        True
        >>> truncated_geometric(np.array([0.0, 0.5, 0.9]), decay=4.0 * 0.2, v=5)  # ranks from three uniforms
        array([0, 0, 2])
    """

    name: ClassVar[str] = "rank-softmax"
    paper: ClassVar[str] = "Asghar et al. 2025, section 7"
    epsilon: float
    c: float = 0.04

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_within("c", self.c)

    def fit(self, embeddings: Embeddings) -> FittedRankSoftmax:
        return FittedRankSoftmax(
            decay=self.c * self.epsilon,
            vectors=embeddings.vectors,
            words=NearestWords(embeddings.vectors, embeddings.candidates),
        )


@dataclass(frozen=True, kw_only=True)
class FittedRankSoftmax(SearchingDecoder):
    """Rank-softmax decoding over one vocabulary's candidates; decay is c * epsilon."""

    draws: ClassVar[int] = 1
    decay: float
    vectors: Float32Array = field(repr=False, compare=False)
    words: NearestWords = field(repr=False, compare=False)

    def decode(
        self, vectors: ReleasedVectors, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        check_draws(draws, (len(vectors),))
        nearest = self.words.nearest(vectors, threads=threads, progress=progress)
        ranks = truncated_geometric(draws[0], self.decay, len(self.words.outputs))
        return ReleasedIds(self.neighbours(nearest, ranks, threads=threads))

    def neighbours(self, nearest: IdArray, ranks: Int64Array, *, threads: int | None = None) -> IdArray:
        """Return each x*'s neighbour of its rank, 0 for x* itself, (n,), found once for all the rows of one x*."""
        answer = np.array(nearest, dtype=np.int32)
        near = (ranks > 0) & (ranks < NEAR)
        if near.any():
            centres, place = np.unique(nearest[near], return_inverse=True)
            lists = self.words.top(self.vectors[centres], int(ranks[near].max()) + 1, threads=threads)[0]
            answer[near] = lists[place, ranks[near]]
        far = np.flatnonzero(ranks >= NEAR)
        far = far[np.argsort(nearest[far], kind="stable")]
        centres, starts = np.unique(nearest[far], return_index=True)
        for centre, low, high in zip(centres, starts, [*starts[1:], len(far)], strict=False):
            rows = far[low:high]
            outputs = self.words.outputs
            answer[rows] = outputs[by_distance(self.vectors, centre, outputs)[ranks[rows]]]
        return answer


def by_distance(vectors: Float32Array, centre: Any, outputs: IdArray) -> Int64Array:
    """Return the places of outputs by their distance from a word, lowest id first on ties."""
    difference = vectors[centre].astype(np.float64) - vectors[outputs]
    return np.argsort(np.einsum("ij,ij->i", difference, difference), kind="stable")


def truncated_geometric(uniforms: Float64Array, decay: float, v: int) -> Int64Array:
    """Turn uniforms in [0, 1) into ranks in [0, v) with probability proportional to exp(-decay * rank), by inversion.

    i = floor(log1p(-U (1 - q^v))/log q), q = exp(-decay); decay = 0 is uniform. Both of shape (n,).
    """
    # expm1 and log1p keep the digits of a small decay; below UNIFORM even they divide 0 by 0, and the law is uniform.
    even = decay * v < UNIFORM
    places = uniforms * v if even else -np.log1p(uniforms * math.expm1(-decay * v)) / decay
    return np.asarray(np.minimum(np.floor(places), v - 1).astype(np.int64))
