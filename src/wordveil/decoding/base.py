"""The decoder contract: noisy vectors to word ids, seeing nothing but what was released and public data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

from wordveil.arrays import Progress, ReleasedIds, ReleasedVectors
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import NUMPY
from wordveil.kernels.nearest import NearestWords
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings

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
    """A decoder bound to a vocabulary: what it does with `draws` uniforms a vector, its input's guarantee stands."""

    draws: ClassVar[int] = 0

    @property
    def engine(self) -> str:
        """What its search runs on."""
        return NUMPY

    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw uniforms for n vectors, an array and a lane for each; deterministic decoders draw nothing."""
        return tuple(stream.lane(DECODER_LANE + i).random(n) for i in range(self.draws))

    def on(self, device: str, space: Embeddings) -> Self:
        """Return the same decoder searching on a device, "cpu" or a card such as "cuda:1", in its own vocabulary.

        `MissingExtraError` if PyTorch is not installed; `ParameterError` if there is no such card, or this decoder does
        not search on one.
        """
        if device == "cpu":
            return self
        raise ParameterError("device", device, "is not supported for this decoder, which searches on the processor.")

    @abstractmethod
    def decode(
        self, vectors: ReleasedVectors, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        """Return one candidate id per released vector, shape (n,), for vectors of shape (n, d)."""


class SearchingDecoder(FittedDecoder):
    """A decoder whose only heavy work is `words`, a search for nearest words."""

    words: NearestWords

    @property
    def engine(self) -> str:
        return self.words.engine

    def on(self, device: str, space: Embeddings) -> Self:
        if device == "cpu":
            return self
        from wordveil.kernels.gpu.nearest import GpuNearestWords  # heavy, and an extra

        moved = GpuNearestWords(space.vectors, self.words.outputs, device=device)
        return replace(self, words=moved)  # type: ignore[type-var]  # every fitted decoder is a dataclass
