"""The decoder contract: noisy vectors to word ids, seeing nothing but what was released and public data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from wordveil.arrays import Float64Array, IdArray
from wordveil.mechanisms.base import Progress
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings

__all__ = ["DECODER_LANE", "Decoder", "FittedDecoder"]

DECODER_LANE = 128
"""First lane a decoder may draw from; vector mechanisms stay below it."""


class Decoder(ABC):
    """Parameters of a decoder: a frozen dataclass of public values."""

    name: ClassVar[str]
    paper: ClassVar[str]

    @abstractmethod
    def fit(self, embeddings: Embeddings) -> FittedDecoder:
        """Bind to a public vocabulary; only its candidates are ever returned."""


class FittedDecoder(ABC):
    """A decoder bound to a vocabulary; whatever it does, the guarantee of its input vectors stands.

    Attributes:
        draw_width: Eight-byte values drawn per vector.
        draw_arrays: How many arrays `sample` returns.
    """

    draw_width: ClassVar[int] = 0
    draw_arrays: ClassVar[int] = 0

    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw for n vectors; deterministic decoders draw nothing."""
        return ()

    @abstractmethod
    def decode(
        self, vectors: Float64Array, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        """Return one candidate id per released vector, shape (n,), for vectors of shape (n, d)."""
