"""How much of a vector store's retrieval survives a release: recall@k of private against original neighbours.

The figure is computed from the private vectors. It is for their owner; publishing it is a disclosure that no
guarantee here covers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array
from wordveil.documents.vectors import VectorReader, open_vectors, vector_format
from wordveil.errors import ParameterError
from wordveil.kernels.nearest import NearestWords

LARGEST = 1e15  # of a coordinate: beyond it float32 neighbours mean nothing
BLOCK_VALUES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class RetrievalMeasurement:
    """Recall of neighbours, computed from private vectors: for their owner."""

    recall: float  # mean share of the k original neighbours that are among the k private ones, in [0, 1]
    chance: float  # the share that random neighbours would have, k/(n - 1)
    k: int  # neighbours asked for
    sampled: int  # rows asked about, evenly spaced
    rows: int  # n

    def sentence(self) -> str:
        """The figure with its warning, for the owner."""
        return (
            f"recall@{self.k} of private against original neighbours: {self.recall:.3f} (chance {self.chance:.2g}; "
            f"{self.sampled:,} of {self.rows:,} rows asked). Computed from the private vectors: publishing it is a "
            "disclosure"
        )


def measure_retrieval(
    original: str | os.PathLike[str],
    released: str | os.PathLike[str],
    *,
    column: str | None = None,
    k: int = 10,
    sample: int = 500,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RetrievalMeasurement:
    """Compare the nearest rows of a sample of rows, in the original file and in the released one.

    For each sampled row, its k nearest other rows by Euclidean distance (float32 rows, float64 differences, lowest row
    on ties) are searched among all rows: once among the originals, once, from the released row, among the released.

    Args:
        original: The private file.
        released: What was released from it, row for row.
        column: Which array of the original; None for the only one.
        k: Neighbours asked for, at least 1; n - 1 where there are fewer.
        sample: Rows asked about, at least 1.
        threads: Threads to use; the answer does not depend on it.
        progress: Called with rows searched and rows to search.

    Raises:
        ParameterError: If a parameter is outside its domain, the files differ in their rows, there are fewer than two,
            or a value exceeds 1e15.
    """
    if k < 1 or sample < 1:
        raise ParameterError("k", (k, sample), "and sample must be at least 1.")
    named = vector_format(released).has_names  # the released array has the original's name
    with open_vectors(original, column) as first, open_vectors(released, first.name if named else None) as second:
        if first.rows != second.rows:
            raise ParameterError("released", f"{second.rows} rows", f"must have {first.rows}, like the original.")
        if first.rows < 2:
            raise ParameterError("original", f"{first.rows} rows", "must have at least 2, to have neighbours.")
        k = min(k, first.rows - 1)
        asked = np.unique(np.linspace(0, first.rows - 1, min(sample, first.rows)).astype(np.int64))
        search = _Search(asked, k, threads, progress, 2 * first.rows)
        before, after = search.neighbours(first), search.neighbours(second)
    kept = [len(np.intersect1d(a, b)) for a, b in zip(before, after, strict=True)]
    return RetrievalMeasurement(
        recall=float(np.mean(kept)) / k, chance=k / (first.rows - 1), k=k, sampled=len(asked), rows=first.rows
    )


@dataclass
class _Search:
    """Exact nearest rows of some rows of a file, a block at a time."""

    asked: NDArray[np.int64]
    k: int
    threads: int | None
    progress: Callable[[int, int], None] | None
    total: int
    done: int = 0

    def neighbours(self, reader: VectorReader) -> NDArray[np.int64]:
        """Return the k nearest other rows of each row asked about, shape (rows asked, k)."""
        size = max(1, BLOCK_VALUES // reader.dimensions)
        queries = self._queries(reader, size)
        near = np.empty((len(queries), 0), dtype=np.int64)
        far = np.empty((len(queries), 0))
        low = 0
        for block in reader.blocks(0, size):
            searched = NearestWords(block.astype(np.float32), np.arange(len(block), dtype=np.int32))
            ids, distances = searched.top(queries, min(self.k + 1, len(block)), threads=self.threads)
            both, apart = np.hstack((near, ids.astype(np.int64) + low)), np.hstack((far, distances))
            apart = np.where(both == self.asked[:, None], np.inf, apart)  # the row itself is left out
            order = np.lexsort((both, apart), axis=1)[:, : self.k]  # lowest row first on ties
            near, far = np.take_along_axis(both, order, 1), np.take_along_axis(apart, order, 1)
            low += len(block)
            self.done += len(block)
            if self.progress is not None:
                self.progress(self.done, self.total)
        return near[:, : self.k]

    def _queries(self, reader: VectorReader, size: int) -> Float64Array:
        parts, low = [], 0
        for block in reader.blocks(0, size):
            if not (np.abs(block.astype(np.float64)) <= LARGEST).all():
                raise ParameterError("vectors", "<hidden>", f"must be within {LARGEST:g} to measure retrieval.")
            here = self.asked[(self.asked >= low) & (self.asked < low + len(block))]
            parts.append(block[here - low].astype(np.float32).astype(np.float64))
            low += len(block)
        return np.concatenate(parts)
