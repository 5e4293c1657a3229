"""Nearest: the word whose vector is closest to the released one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wordveil.arrays import Progress, ReleasedIds, ReleasedVectors
from wordveil.decoding.base import Decoder, SearchingDecoder
from wordveil.kernels.nearest import NearestWords
from wordveil.randomness import Draws
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Nearest(Decoder):
    """Return the candidate at the smallest Euclidean distance, lowest id on ties; exact.

    Guarantee:
        Post-processing: the guarantee of the vectors stands.

    Reference:
        Feyisetan et al. (2020), Algorithm 1, line 5.

    Example:
        >>> import numpy as np
        >>> from wordveil import Decoded, Embeddings, MultivariateLaplace, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = Decoded(mechanism=MultivariateLaplace(epsilon=4.0), decoder=Nearest()).fit(colours)
        >>> released = randomizer.release(colours.ids(["red", "cat"]), RandomSource.seeded_for_tests(1))
        >>> all(-1 < i < 5 for i in released)
        True
        >>> Nearest().fit(colours).decode(np.array([[4.2, 4.1]]), ())
        array([3], dtype=int32)
    """

    name: ClassVar[str] = "nearest"
    paper: ClassVar[str] = "Feyisetan et al. 2020, Algorithm 1"

    def fit(self, embeddings: Embeddings) -> FittedNearest:
        return FittedNearest(words=NearestWords(embeddings.vectors, embeddings.candidates))


@dataclass(frozen=True, kw_only=True)
class FittedNearest(SearchingDecoder):
    """Nearest decoding over one vocabulary's candidates."""

    words: NearestWords

    def decode(
        self, vectors: ReleasedVectors, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        return ReleasedIds(self.words.nearest(vectors, threads=threads, progress=progress))
