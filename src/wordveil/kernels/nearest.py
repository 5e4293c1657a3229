"""Exact nearest words of many vectors: float32 tiles screen, float64 direct differences decide.

A tile is one matrix product of queries and words with |y|^2/2 as an extra column, so that its scores
q.y - |y|^2/2 rank words by Euclidean distance. Only the maximum of each group of columns is kept. Afterwards the
groups whose maximum lies within the proven rounding bound of the best are scored again and every word within the
bound is rescored by the float64 sum of squared differences. The answer therefore equals the float64 oracle's,
lowest id on ties, whatever the screen's rounding. No (n, v) array is made.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import NUMPY, engine_name
from wordveil.kernels.compiled.nearest_words import CompiledScreen
from wordveil.kernels.threads import map_chunks

__all__ = ["NearestWords"]

ROWS = 512
COLUMNS = 2048
FINE_GROUP = 64  # columns per kept maximum when more than one neighbour is asked for
REDO_ROWS = 16
UNIT32 = 2.0**-24
LARGEST_NORM = 1e15  # of queries and words: beyond it float32 scores could overflow, and the float64 path answers


class NearestWords:
    """Nearest words among a public set of outputs.

    Args:
        vectors: All vectors, float32, shape (v, d).
        outputs: Ids searched, int32, sorted ascending, at least one.

    Attributes:
        engine: What screens: "numpy", or a compiled kernel's name. The answers are the same.
    """

    def __init__(self, vectors: Float32Array, outputs: IdArray) -> None:
        self._vectors = vectors
        self.outputs = outputs
        self.engine = engine_name()
        self._compiled: CompiledScreen | None = None
        if self.engine != NUMPY:
            whole = np.ascontiguousarray(vectors, dtype=np.float32)
            with np.errstate(over="ignore", invalid="ignore"):  # such words are answered for by the float64 path
                self._compiled = CompiledScreen(
                    engine=self.engine, vectors=whole, outputs=np.ascontiguousarray(outputs, dtype=np.int32)
                )
            self._largest = self._compiled.largest + float(np.linalg.norm(self._compiled.centre))
            return
        self._tiles, self._words = self._pack(vectors, outputs)
        norms = self._words[-1].astype(np.float64)
        self._largest_half = float(norms.max())
        self._largest = math.sqrt(2 * self._largest_half) * (1 + 4 * UNIT32)

    @staticmethod
    def _pack(vectors: Float32Array, outputs: IdArray) -> tuple[int, Float32Array]:
        """Return the number of tiles and the words as columns, shape (d + 1, tiles * 2048), last row |y|^2/2."""
        tiles = -(-len(outputs) // COLUMNS)
        words = np.zeros((vectors.shape[1] + 1, tiles * COLUMNS), dtype=np.float32)
        for low in range(0, len(outputs), COLUMNS):
            rows = vectors[outputs[low : low + COLUMNS]]
            words[:-1, low : low + len(rows)] = rows.T
            exact = rows.astype(np.float64)
            with np.errstate(over="ignore"):  # an infinite half norm sends every query to the float64 path
                words[-1, low : low + len(rows)] = 0.5 * np.einsum("ij,ij->i", exact, exact)
        return tiles, words

    def nearest(
        self, queries: FloatArray, *, threads: int | None = None, progress: Callable[[int], None] | None = None
    ) -> IdArray:
        """Return the id of the nearest output of each query, lowest id on ties.

        Args:
            queries: Shape (n, d), finite.
            threads: Threads to use; the answer does not depend on it.
            progress: Called with the number of rows done since the last call.

        Returns:
            Shape (n,), int32.
        """
        return self.top(queries, 1, threads=threads, progress=progress)[0][:, 0]

    def top(
        self,
        queries: FloatArray,
        k: int,
        *,
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[IdArray, Float64Array]:
        """Return the k nearest outputs of each query, nearest first, lowest id first on ties.

        Args:
            queries: Shape (n, d), finite.
            k: Neighbours asked for, in [1, number of outputs].
            threads: Threads to use; the answer does not depend on it.
            progress: Called with the number of rows done since the last call.

        Returns:
            Ids, int32, and Euclidean distances, float64, both of shape (n, k).

        Raises:
            ParameterError: If k is out of range or a query is not finite.
        """
        if not 1 <= k <= len(self.outputs):
            raise ParameterError("k", k, f"must be in [1, {len(self.outputs)}], the number of words searched.")
        rows = np.asarray(queries, dtype=np.float64)
        if not np.all(np.isfinite(rows)):
            raise ParameterError("queries", "<hidden>", "must be finite.")
        ids = np.empty((len(rows), k), dtype=np.int32)
        squared = np.empty((len(rows), k))
        spans = [slice(low, low + ROWS) for low in range(0, len(rows), ROWS)]
        for span, (some_ids, some_squared) in zip(
            spans, map_chunks(lambda s: self._chunk(rows[s], k), spans, threads), strict=True
        ):
            ids[span], squared[span] = some_ids, some_squared
            if progress is not None:
                progress(len(some_ids))
        return ids, np.sqrt(squared)

    def _chunk(self, rows: Float64Array, k: int) -> tuple[IdArray, Float64Array]:
        norms = np.linalg.norm(rows, axis=1)
        if max(norms.max(), self._largest) > LARGEST_NORM:
            return self._direct(rows, k)
        if self._compiled is not None:
            return self._decide(rows, *self._compiled.candidates(rows, k), k)
        left = np.zeros((ROWS, rows.shape[1] + 1), dtype=np.float32)
        left[: len(rows), :-1] = rows
        left[:, -1] = -1.0
        width = COLUMNS if k == 1 else FINE_GROUP
        maxima = self._screen(left, width)[: len(rows)]
        bound = self._bound(norms, rows.shape[1])
        if k <= maxima.shape[1]:
            best = np.partition(maxima, maxima.shape[1] - k, axis=1)[:, -k].astype(np.float64)
        else:
            best = np.full(len(rows), -np.inf)
        threshold = best - 2 * bound
        pair_rows, pair_columns = self._candidates(left, maxima, threshold, width)
        return self._decide(rows, pair_rows, pair_columns, k)

    def _screen(self, left: Float32Array, width: int) -> Float32Array:
        """Return the largest score of every group of `width` columns, shape (512, groups)."""
        per_tile = COLUMNS // width
        maxima = np.empty((ROWS, self._tiles * per_tile), dtype=np.float32)
        tile = np.empty((ROWS, COLUMNS), dtype=np.float32)
        for t in range(self._tiles):
            np.matmul(left, self._words[:, t * COLUMNS : (t + 1) * COLUMNS], out=tile)
            real = len(self.outputs) - t * COLUMNS
            if real < COLUMNS:
                tile[:, real:] = -np.inf
            grouped = tile.reshape(ROWS, per_tile, width)
            np.max(grouped, axis=2, out=maxima[:, t * per_tile : (t + 1) * per_tile])
        return maxima

    def _bound(self, norms: Float64Array, d: int) -> Float64Array:
        """Return how far a float32 score can lie from the exact one, per query.

        Rounding q to float32 moves q.y by at most 2**-24 |q||y|, rounding |y|^2/2 by 2**-24 of itself, and a dot
        product of d + 1 float32 terms is off by at most (d + 2) 2**-24 times the sum of absolute products; 1.01
        covers the second-order terms. Underflow adds at most (d + 1) 2**-126.
        """
        magnitude = norms * self._largest + self._largest_half
        return np.asarray((d + 4) * UNIT32 * 1.01 * magnitude + (d + 1) * 2.0**-126)

    def _candidates(
        self, left: Float32Array, maxima: Float32Array, threshold: Float64Array, width: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, column) of every word whose float32 score reaches its row's threshold."""
        groups, rows = np.nonzero(threshold <= maxima.T)
        parts_rows, parts_columns = [], []
        edges = np.append(np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1]))), len(groups))
        for low, high in itertools.pairwise(edges):
            first = int(groups[low]) * width
            block = self._words[:, first : first + width]
            for start in range(low, high, REDO_ROWS):
                some = rows[start : min(start + REDO_ROWS, high)]
                padded = np.zeros((REDO_ROWS, left.shape[1]), dtype=np.float32)
                padded[: len(some)] = left[some]
                scores = np.matmul(padded, block)[: len(some)]
                # The second product may round differently from the first; the threshold already allows for both.
                i, j = np.nonzero(scores >= threshold[some, None])
                parts_rows.append(some[i])
                parts_columns.append(first + j)
        pair_rows, pair_columns = np.concatenate(parts_rows), np.concatenate(parts_columns)
        real = pair_columns < len(self.outputs)
        return pair_rows[real], pair_columns[real]

    def _decide(
        self, rows: Float64Array, pair_rows: NDArray[np.int64], pair_columns: NDArray[np.int64], k: int
    ) -> tuple[IdArray, Float64Array]:
        """Rescore the candidates in float64 and keep the k nearest of each row."""
        if np.bincount(pair_rows, minlength=len(rows)).min() < k:
            return self._direct(rows, k)  # a screen that kept too few words is not trusted with any row
        squared = np.empty(len(pair_rows))
        for low in range(0, len(pair_rows), 1 << 14):
            span = slice(low, low + (1 << 14))
            difference = rows[pair_rows[span]] - self._vectors[self.outputs[pair_columns[span]]]
            squared[span] = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((pair_columns, squared, pair_rows))
        first = np.searchsorted(pair_rows[order], np.arange(len(rows)))
        chosen = order[first[:, None] + np.arange(k)]
        return self.outputs[pair_columns[chosen]], squared[chosen]

    def _direct(self, rows: Float64Array, k: int) -> tuple[IdArray, Float64Array]:
        """Answer by direct differences alone, one query at a time: huge queries or words only."""
        ids = np.empty((len(rows), k), dtype=np.int32)
        squared = np.empty((len(rows), k))
        words = self._vectors[self.outputs].astype(np.float64)
        for i, row in enumerate(rows):
            difference = row - words
            scores = np.einsum("ij,ij->i", difference, difference)
            order = np.lexsort((self.outputs, scores))[:k]
            ids[i], squared[i] = self.outputs[order], scores[order]
        return ids, squared
