"""Generated input for benchmarks: a vocabulary, tokens by Zipf's law, noisy vectors and texts; nothing is read.

Lengths of the vectors spread as those of trained embeddings do. The figures are for speed only: nothing generated
here resembles a language closely enough to judge utility.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from wordveil.api import Embeddings, Float32Array, Float64Array, IdArray, ParameterError

NOISE = 0.6  # length of the noise relative to the median vector
LINE = 60  # tokens in a generated text
BLOCK = 1 << 15  # queries made at a time


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Sizes of one benchmark."""

    vocabulary: int = 70_000
    dimensions: int = 300
    tokens: int = 4096  # tokens to decode, select or sanitize
    threads: int | None = 1
    repeats: int = 3  # runs of each measurement, of which the best counts
    seed: int = 0  # seed of the generated data (never of a release)
    device: str = "cpu"  # "cpu", or a graphics card for wordveil's own lines, "cuda" or "cuda:1"

    def __post_init__(self) -> None:
        for name, least in (("vocabulary", 16), ("dimensions", 1), ("tokens", 1), ("repeats", 1)):
            value = getattr(self, name)
            if value < least:
                raise ParameterError(name, value, f"must be at least {least}.")

    @property
    def flops_per_token(self) -> float:
        """Operations of the product of one vector with the whole vocabulary."""
        return 2.0 * self.vocabulary * self.dimensions

    @cached_property
    def vectors(self) -> Float32Array:
        """Shape (v, d): random directions, median length 4.4, log-normal spread."""
        generator = np.random.Generator(np.random.PCG64(self.seed))
        rows = generator.standard_normal((self.vocabulary, self.dimensions), dtype=np.float32)
        lengths = 4.4 * np.exp(0.25 * generator.standard_normal(self.vocabulary))
        rows *= (lengths / np.linalg.norm(rows, axis=1)).astype(np.float32)[:, None]
        return rows

    @cached_property
    def ids(self) -> IdArray:
        """Shape (tokens,): ids by Zipf's law, rank 1 the most frequent."""
        generator = np.random.Generator(np.random.PCG64(self.seed + 1))
        weights = np.cumsum(1.0 / np.arange(1, self.vocabulary + 1))
        ids: IdArray = np.searchsorted(weights, generator.random(self.tokens) * weights[-1]).astype(np.int32)
        return ids

    @cached_property
    def queries(self) -> Float64Array:
        """Shape (tokens, d): the tokens' vectors plus noise."""
        return np.concatenate(list(self.query_blocks()))

    def query_blocks(self) -> Iterator[Float64Array]:
        """Yield `queries` in blocks, so that ten million of them need not be held at once."""
        for block, low in enumerate(range(0, self.tokens, BLOCK)):
            generator = np.random.Generator(np.random.PCG64([self.seed + 2, block]))
            ids = self.ids[low : low + BLOCK]
            noise = generator.standard_normal((len(ids), self.dimensions))
            noise *= 4.4 * NOISE / np.sqrt(self.dimensions)
            noise += self.vectors[ids]
            yield noise

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vocabulary with its words."""
        return Embeddings.from_arrays(generated_words(self.vocabulary), self.vectors, name="generated")

    @cached_property
    def texts(self) -> list[str]:
        """The tokens as texts of 60 words, with punctuation."""
        words = self.embeddings.words
        spelled = {int(i): words[int(i)] for i in np.unique(self.ids)}
        tokens = [spelled[i] for i in self.ids.tolist()]
        return [" ".join(tokens[low : low + LINE]) + "." for low in range(0, len(tokens), LINE)]


def generated_words(count: int) -> list[str]:
    """Return `count` distinct words of letters, short ones first."""
    lengths = itertools.count(1)
    words = (letters for length in lengths for letters in itertools.product(ascii_lowercase, repeat=length))
    return ["".join(letters) for letters in itertools.islice(words, count)]
