"""What mechanisms share whose Gaussian noise depends on the word: the word that a vector belongs to is found.

Only rows of the vocabulary's table are inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import InputDomain
from wordveil.mechanisms.exact_noise import NormalLaw, RealSums
from wordveil.mechanisms.on_grid import GridRandomizer
from wordveil.mechanisms.rows import row_distances
from wordveil.mechanisms.worst_pairs import noise_classes_first, worst_words
from wordveil.parameters import as_floats
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import Pair
from wordveil.vocabulary.table import Embeddings


class WordRows:
    """An index from the exact rows of a public table to word ids; of words with equal vectors the first is found."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._vectors = embeddings.vectors
        self._ids = np.unique(embeddings.canonical)
        rows = self._vectors[self._ids]
        seed = 0
        while True:
            # A fixed public hash; it is drawn again in the unlikely case that two rows share a value.
            generator = np.random.Generator(np.random.PCG64(seed))
            self._factors = generator.integers(0, 2**63, rows.shape[1], dtype=np.uint64) * 2 + 1
            keys = self._keys(rows)
            if len(np.unique(keys)) == len(keys):
                break
            seed += 1
        order = np.argsort(keys)
        self._ids, self._sorted = self._ids[order], keys[order]

    def _keys(self, rows: Float32Array) -> NDArray[np.uint64]:
        bits = np.ascontiguousarray(rows + np.float32(0)).view(np.uint32)  # -0.0 + 0 is 0.0
        return np.asarray((bits * self._factors).sum(axis=1, dtype=np.uint64))

    def find(self, vectors: FloatArray) -> IdArray:
        """Return the id of each row, shape (n,), of the vocabulary's table: float32, or the same values in float64.

        `ParameterError` if the shape is wrong or a row is no word's vector; the row is not shown.
        """
        given = as_floats("vectors", vectors)
        if given.ndim != 2 or given.shape[1] != self._vectors.shape[1]:
            raise ParameterError("vectors", f"shape {given.shape}", f"must be (n, {self._vectors.shape[1]}).")
        with np.errstate(over="ignore", invalid="ignore"):
            rows = given.astype(np.float32)
        place = np.minimum(np.searchsorted(self._sorted, self._keys(rows)), len(self._sorted) - 1)
        ids = self._ids[place]
        if not np.array_equal(self._vectors[ids], given):
            problem = "must be rows of the vocabulary: this mechanism's noise depends on the word."
            raise ParameterError("vectors", "<hidden>", problem)
        return np.asarray(ids, dtype=np.int32)


@dataclass(frozen=True, kw_only=True)
class FittedWordNoise(GridRandomizer):
    """Gaussian noise of each word's own size: `sigmas`, shape (v,), in the units of the embedding."""

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
        # A word without noise explains the point nearest to its own vector and nothing else.
        points = np.rint(np.asarray(vectors, dtype=np.float64)[silent] / self.grid) * self.grid
        same = (outputs[:, None, :] == points[None]).all(axis=2)
        logs[:, silent] = np.where(same, np.inf, -np.inf)
        return np.asarray(logs)

    @property
    def law(self) -> NormalLaw:
        return NormalLaw(self.dimensions)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(np.mean(self.sigmas**2)))  # over all words: one grid for all, or it would tell the word

    def sums(self, vectors: FloatArray) -> RealSums:
        # As many words are drawn for a word without noise as for any other.
        scales = self.sigmas[self.rows.find(vectors)]
        return RealSums(rows=np.asarray(vectors, dtype=np.float64), scale=scales)
