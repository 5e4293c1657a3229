"""What mechanisms share whose Gaussian noise depends on the word: only rows of the vocabulary's table are inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.mechanisms.base import InputDomain, VectorRandomizer
from wordveil.mechanisms.rows import row_distances
from wordveil.mechanisms.word_rows import WordRows
from wordveil.mechanisms.worst_pairs import noise_classes_first, worst_words
from wordveil.parameters import check_draws
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import Pair
from wordveil.randomness import Draws, Stream
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class FittedWordNoise(VectorRandomizer):
    """Gaussian noise of each word's own size.

    Attributes:
        dimensions: The d of the vectors.
        embeddings: The public vocabulary.
        sigmas: Standard deviation of each word's noise, shape (v,), in the units of the embedding.
        rows: Finds a vector's word.
    """

    dimensions: int
    embeddings: Embeddings = field(repr=False)
    sigmas: Float64Array = field(repr=False, compare=False)
    rows: WordRows = field(repr=False, compare=False)

    @property
    def inputs(self) -> InputDomain:
        return "vocabulary vectors"

    def worst_pairs(
        self, n: int = 8, seed: int = 0, *, claim: Guarantee | None = None, embeddings: Embeddings | None = None
    ) -> list[Pair]:
        relation = self.related(claim)
        pairs = worst_words(self.embeddings, relation, count=n, vectors=True, seed=seed)
        if relation.edges is not None:  # nothing is claimed of other pairs
            return pairs
        return noise_classes_first(self.embeddings, relation, self.sigmas, pairs)

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array:
        own = self.sigmas[self.rows.find(vectors)]
        silent = own == 0
        safe = np.where(silent, 1.0, own)
        logs = -np.square(row_distances(outputs, vectors) / safe) / 2 - outputs.shape[1] * np.log(safe)
        # A word without noise explains its own vector and nothing else.
        same = (outputs[:, None, :] == np.asarray(vectors, dtype=np.float64)[None, silent, :]).all(axis=2)
        logs[:, silent] = np.where(same, np.inf, -np.inf)
        return np.asarray(logs)

    def sample(self, stream: Stream, n: int) -> Draws:
        return (stream.lane(0).standard_normal((n, self.dimensions)),)

    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        sigmas = self.sigmas[self.rows.find(vectors)]
        check_draws(draws, (len(sigmas), self.dimensions))
        return ReleasedVectors(np.asarray(np.asarray(vectors, dtype=np.float64) + draws[0] * sigmas[:, None]))
