"""The two kinds of mechanism and the contract each fulfils.

    VectorMechanism --fit--> VectorRandomizer     vectors to vectors
    WordMechanism   --fit--> WordRandomizer       word ids to word ids

A mechanism is a frozen keyword-only dataclass of public parameters; `fit(embeddings)` returns a *new* object bound
to a public vocabulary, and nothing mutates. A randomizer carries its claim (`guarantee()`) beside its sampler, and
separates drawing from applying: `sample` consumes a document's stream, `randomize` is deterministic given the draws.
That separation is what makes a row's output independent of the batch it travels in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.promises.guarantees import Guarantee
from wordveil.randomness import Draws, RandomSource, Stream
from wordveil.vocabulary.table import Embeddings

__all__ = ["Progress", "VectorMechanism", "VectorRandomizer", "WordMechanism", "WordRandomizer"]

Progress = Callable[[int], None]
"""Called with the number of tokens or rows done since the last call."""


class VectorMechanism(ABC):
    """Parameters of a mechanism from vectors to vectors.

    Attributes:
        name: The mechanism's name on the command line and in reports.
        paper: Where it comes from.
    """

    name: ClassVar[str]
    paper: ClassVar[str]

    @abstractmethod
    def fit(self, embeddings: Embeddings) -> VectorRandomizer:
        """Bind to a public vocabulary; mechanisms that need none return a randomizer all the same."""


class VectorRandomizer(ABC):
    """A vector mechanism ready to draw.

    Attributes:
        dimensions: Number of columns of what it releases: d, or m for a projection.
    """

    dimensions: int

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one released vector promises."""

    @abstractmethod
    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw for the next n vectors of the document the stream is seated at, one lane for each law."""

    @abstractmethod
    def randomize(self, vectors: FloatArray, draws: Draws) -> Float64Array:
        """Return the noisy vectors, shape (n, d) (or (n, m) for a projection), in row order."""

    def decoding_space(self, embeddings: Embeddings) -> Embeddings:
        """Return the vocabulary as a decoder must see it: with its vectors where the noisy vectors live."""
        return embeddings

    def disclosed(self) -> tuple[str, ...]:
        """What every release shows whatever the noise, a sentence each, beyond what the pipeline shows by itself."""
        return ()

    def advice(self) -> str:
        """What a user should know beyond the guarantee, with what to use instead; empty where there is nothing."""
        return ""

    def release(self, vectors: FloatArray, source: RandomSource) -> Float64Array:
        """Randomize rows with a fresh stream of the source: the one-call form for small arrays.

        Args:
            vectors: Shape (n, d).
            source: `RandomSource()` for a release.

        Returns:
            Float64, in row order; not rounded to a public grid (see the release of vectors for that).
        """
        return self.randomize(vectors, self.sample(source.fresh_stream(), len(vectors)))


class WordMechanism(ABC):
    """Parameters of a mechanism from words to words.

    Attributes:
        name: The mechanism's name on the command line and in reports.
        paper: Where it comes from.
    """

    name: ClassVar[str]
    paper: ClassVar[str]

    @abstractmethod
    def fit(self, embeddings: Embeddings) -> WordRandomizer:
        """Bind to a public vocabulary."""


class WordRandomizer(ABC):
    """A word mechanism bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary.
        draw_width: Eight-byte values drawn per token: callers bound memory with it.
        answers_unknown: Whether `randomize` takes ids of -1, unknown tokens, and answers for them itself; else a
            public word stands in for each.
    """

    embeddings: Embeddings
    draw_width: int
    answers_unknown: ClassVar[bool] = False

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one released word promises."""

    @abstractmethod
    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw for the next n tokens of the document the stream is seated at, one lane for each law."""

    @abstractmethod
    def randomize(
        self, ids: IdArray, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        """Return the released ids, shape (n,), given input ids in [0, v) and their draws."""

    def disclosed(self) -> tuple[str, ...]:
        """What every release shows whatever the noise, a sentence each, beyond what the pipeline shows by itself."""
        return ()

    def advice(self) -> str:
        """What a user should know beyond the guarantee, with what to use instead; empty where there is nothing."""
        return ""

    def for_batch_job(self) -> WordRandomizer:
        """Return a randomizer that may keep work keyed by input words for one job on the owner's machine.

        The outputs are the same. Services must not use it: what is kept shows in the timing of later requests.
        """
        return self

    def release(self, ids: IdArray, source: RandomSource, *, threads: int | None = None) -> IdArray:
        """Randomize ids with a fresh stream of the source: the one-call form for small batches."""
        return self.randomize(ids, self.sample(source.fresh_stream(), len(ids)), threads=threads)
