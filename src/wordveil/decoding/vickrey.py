"""Vickrey: the nearest or the second nearest word, at odds set by their distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float64Array, Progress, ReleasedIds, ReleasedVectors
from wordveil.decoding.base import Decoder, SearchingDecoder
from wordveil.kernels.nearest import NearestWords
from wordveil.parameters import check_draws, check_within
from wordveil.randomness import Draws
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Vickrey(Decoder):
    """Output the nearest word with probability (1-t) dist2/(t dist1 + (1-t) dist2), else the second nearest.

    dist1 <= dist2 are their Euclidean distances from the noisy vector. Where the fraction is 0/0 (both distances are
    0, or t = 1 and dist1 = 0) the nearest word is output.

    Guarantee:
        Post-processing: the guarantee of the vectors stands.

    Attributes:
        t: Public; 0 is nearest decoding, 1 always gives the second nearest. In [0, 1].

    Raises:
        ParameterError: If t is outside [0, 1].

    Edge cases:
        With one candidate it is always output.

    Reference:
        Xu, Aggarwal, Feyisetan, Teissier (2021), On a Utilitarian Approach to Privacy Preserving Text Generation.

    Example:
        >>> import numpy as np
        >>> from wordveil import Decoded, Embeddings, MultivariateLaplace, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = Decoded(mechanism=MultivariateLaplace(epsilon=4.0), decoder=Vickrey(t=0.5)).fit(colours)
        >>> released = randomizer.release(colours.ids(["red", "cat"]), RandomSource.seeded_for_tests(1))
        >>> all(-1 < i < 5 for i in released)
        True
        >>> first_probability(np.array([1.0]), np.array([3.0]), t=0.5)  # distances 1 and 3
        array([0.75])
    """

    name: ClassVar[str] = "vickrey"
    paper: ClassVar[str] = "Xu et al. 2021, Vickrey mechanism"
    t: float = 0.5

    def __post_init__(self) -> None:
        check_within("t", self.t, 1)

    def fit(self, embeddings: Embeddings) -> FittedVickrey:
        return FittedVickrey(t=self.t, words=NearestWords(embeddings.vectors, embeddings.candidates))


@dataclass(frozen=True, kw_only=True)
class FittedVickrey(SearchingDecoder):
    """Vickrey decoding over one vocabulary's candidates."""

    draws: ClassVar[int] = 1
    t: float
    words: NearestWords = field(repr=False, compare=False)

    def decode(
        self, vectors: ReleasedVectors, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        check_draws(draws, (len(vectors),))
        if len(self.words.outputs) == 1:
            return ReleasedIds(self.words.nearest(vectors, threads=threads, progress=progress))
        ids, distances = self.words.top(vectors, 2, threads=threads, progress=progress)
        first = draws[0] < first_probability(distances[:, 0], distances[:, 1], self.t)
        return ReleasedIds(np.where(first, ids[:, 0], ids[:, 1]).astype(np.int32))


def first_probability(nearer: Float64Array, farther: Float64Array, t: float) -> Float64Array:
    """Return the probability of the nearest word by distances and t, shape (n,); 1 where the formula is 0/0."""
    whole = t * nearer + (1 - t) * farther
    return np.where(whole > 0, (1 - t) * farther / np.where(whole > 0, whole, 1.0), 1.0)
