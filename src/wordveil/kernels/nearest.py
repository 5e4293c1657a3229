"""Exact nearest words of many vectors: a rounded screen leaves few words, float64 direct differences decide.

A screen (NumPy's float32 product, or a bfloat16 product in matrix registers or on a card) returns every word that,
within the proven bound on its rounding, can be nearest. They are rescored by the float64 sum of squared differences, so
that the answer equals the float64 oracle's, lowest id on ties, whatever the screen, the tile and the threads. No (n, v)
array is made.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import NUMPY, kernel_engine
from wordveil.kernels.compiled.nearest_words import CompiledScreen
from wordveil.kernels.rescoring import decide, decide_all
from wordveil.kernels.threads import by_spans, even_size
from wordveil.kernels.tile_screen import TileScreen
from wordveil.parameters import as_floats

FEWEST = 128  # queries that are worth a thread of their own
LARGEST_NORM = 1e15  # of queries and words: beyond it float32 scores could overflow, and the float64 path answers


class NearestWords:
    """Nearest words among a public set of outputs: ids, int32, ascending, at least one, of vectors, shape (v, d).

    `engine` is what screens, "numpy" or "amx"; the answers are the same.
    """

    def __init__(self, vectors: Float32Array, outputs: IdArray) -> None:
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self.outputs = np.ascontiguousarray(outputs, dtype=np.int32)
        self.engine = kernel_engine("nearest.c")
        kind: type[TileScreen | CompiledScreen] = TileScreen if self.engine == NUMPY else CompiledScreen
        with np.errstate(over="ignore", invalid="ignore"):  # such words are answered for by the float64 path
            self._screen = kind(self._vectors, self.outputs)
        self._largest = self._screen.largest + float(np.linalg.norm(self._screen.centre))

    def nearest(self, queries: FloatArray, *, threads: int | None = None, progress: Progress | None = None) -> IdArray:
        """Return the id, int32, of the nearest output of each query, shape (n, d), finite; lowest id on ties."""
        return self.top(queries, 1, threads=threads, progress=progress)[0][:, 0]

    def top(
        self, queries: FloatArray, k: int, *, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[IdArray, Float64Array]:
        """Return the k nearest outputs of each query, shape (n, d), nearest first, lowest id first on ties.

        Ids, int32, and Euclidean distances, float64, both of shape (n, k). `ParameterError` if k is out of range, or a
        query is not finite or has another number of dimensions.
        """
        if not 1 <= k <= len(self.outputs):
            raise ParameterError("k", k, f"must be in [1, {len(self.outputs)}], the number of words searched.")
        rows = as_floats("queries", queries)
        if rows.ndim != 2 or rows.shape[1] != self._vectors.shape[1]:
            raise ParameterError("queries", f"shape {rows.shape}", f"must have shape (n, {self._vectors.shape[1]}).")
        if not np.all(np.isfinite(rows)):
            raise ParameterError("queries", "<hidden>", "must be finite.")
        ids, squared = np.empty((len(rows), k), dtype=np.int32), np.empty((len(rows), k))
        size = even_size(len(rows), self._screen.rows, FEWEST, threads)
        for span, found in by_spans(len(rows), size, lambda s: self._chunk(rows[s], k), threads, progress):
            ids[span], squared[span] = found
        return ids, np.sqrt(squared)

    def _chunk(self, rows: Float64Array, k: int) -> tuple[IdArray, Float64Array]:
        if max(np.linalg.norm(rows, axis=1).max(), self._largest) > LARGEST_NORM:
            return decide_all(rows, self._vectors, self.outputs, k)
        return decide(rows, self._vectors, self.outputs, self._screen.candidates(rows, k), k)
