"""Nearest: the word whose vector is closest to the released one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wordveil.arrays import Float64Array, IdArray
from wordveil.decoding.base import Decoder, FittedDecoder
from wordveil.embeddings.table import Embeddings
from wordveil.kernels.nearest import NearestWords
from wordveil.mechanisms.base import Progress
from wordveil.randomness import Draws

__all__ = ["FittedNearest", "Nearest"]


@dataclass(frozen=True, kw_only=True)
class Nearest(Decoder):
    """Return the candidate at the smallest Euclidean distance, lowest id on ties; exact.

    Guarantee:
        Post-processing: the guarantee of the vectors stands.

    Reference:
        Feyisetan et al. (2020), Algorithm 1, line 5.
    """

    name: ClassVar[str] = "nearest"
    paper: ClassVar[str] = "Feyisetan et al. 2020, Algorithm 1"

    def fit(self, embeddings: Embeddings) -> FittedNearest:
        return FittedNearest(words=NearestWords(embeddings.vectors, embeddings.candidates))


@dataclass(frozen=True, kw_only=True)
class FittedNearest(FittedDecoder):
    """Nearest decoding over one vocabulary's candidates."""

    words: NearestWords

    def decode(
        self, vectors: Float64Array, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        return self.words.nearest(vectors, threads=threads, progress=progress)
