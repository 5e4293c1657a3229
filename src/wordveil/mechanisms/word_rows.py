"""Finding the word that a vector belongs to, for mechanisms whose noise depends on the word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.parameters import as_floats
from wordveil.vocabulary.table import Embeddings


class WordRows:
    """An index from the exact rows of a public table to word ids.

    Args:
        embeddings: The public vocabulary; words with equal vectors are found as the first of them.
    """

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
        """Return the id of each row, shape (n,), int32.

        Args:
            vectors: Rows of the vocabulary's table, shape (n, d), float32 or the same values in float64.

        Raises:
            ParameterError: If the shape is wrong or a row is no word's vector; the row is not shown.
        """
        given = as_floats("vectors", vectors)
        if given.ndim != 2 or given.shape[1] != self._vectors.shape[1]:
            raise ParameterError("vectors", f"shape {given.shape}", f"must be (n, {self._vectors.shape[1]}).")
        with np.errstate(over="ignore", invalid="ignore"):
            rows = given.astype(np.float32)
        place = np.minimum(np.searchsorted(self._sorted, self._keys(rows)), len(self._sorted) - 1)
        ids = self._ids[place]
        if not np.array_equal(self._vectors[ids], given):
            raise ParameterError(
                "vectors", "<hidden>", "must be rows of the vocabulary: this mechanism's noise depends on the word."
            )
        return np.asarray(ids, dtype=np.int32)
