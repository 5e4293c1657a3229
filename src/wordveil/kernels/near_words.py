"""The words within a truncation distance of every word, as sparse rows: size first, then the rows themselves.

Beyond the truncation distance all words of TEM weigh the same, so the rows hold all that its law depends on. The size
is counted in a pass of its own, because the number of pairs can come out anywhere between v and v**2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.distance_sources import DistanceSource
from wordveil.kernels.threads import map_chunks

TILE = 1 << 21  # distances of one block: 16 MB
PAIR_BYTES = 4 + 8 + 8  # position, distance, cumulative weight
WORD_BYTES = 8 + 8 + 8 + 8  # start of the row, total, total of near words, normalizer


@dataclass(frozen=True, kw_only=True)
class NearSize:
    """How large the rows are, before they are made.

    Attributes:
        words: Number of inputs v.
        pairs: Pairs (input, output) closer than the truncation distance; inputs that share a row are counted once.
    """

    words: int
    pairs: int

    @property
    def bytes(self) -> int:
        """Memory that rows ready to draw from take, in bytes."""
        return PAIR_BYTES * self.pairs + WORD_BYTES * (self.words + 1)

    def __str__(self) -> str:
        return f"{self.pairs:,} pairs of {self.words:,} words, {self.bytes / 2**20:,.1f} MiB"


@dataclass(frozen=True, kw_only=True)
class NearWords:
    """Sparse rows of distances below a cap.

    Attributes:
        cap: The truncation distance.
        error: How far a distance may be from the metric claimed.
        starts: Shape (v + 1,), int64: row x is entries starts[x] to starts[x + 1]; empty where x is not canonical.
        positions: Places in the list of outputs, ascending in each row, int32.
        distances: Their distances, float64.
        canonical: The lowest id with the same row, shape (v,).
    """

    cap: float
    error: float
    starts: NDArray[np.int64] = field(repr=False)
    positions: IdArray = field(repr=False)
    distances: Float64Array = field(repr=False)
    canonical: IdArray = field(repr=False)


def near_size(
    source: DistanceSource,
    outputs: IdArray,
    cap: float,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NearSize:
    """Count the pairs closer than the cap.

    Args:
        source: Distances.
        outputs: Ids that may be output, sorted.
        cap: Truncation distance, > 0.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call.
    """
    _check_cap(cap)
    counted = 0
    for near, _ in _blocks(source, outputs, cap, threads, progress):
        counted += len(near[0])
    return NearSize(words=len(source.canonical), pairs=counted)


def near_words(
    source: DistanceSource,
    outputs: IdArray,
    cap: float,
    size: NearSize,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NearWords:
    """Collect the pairs closer than the cap.

    Args:
        source: Distances.
        outputs: Ids that may be output, sorted.
        cap: Truncation distance, > 0.
        size: What `near_size` found for the same arguments.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call.

    Raises:
        ParameterError: If the size is that of other arguments.
    """
    _check_cap(cap)
    v = len(source.canonical)
    counts = np.zeros(v, dtype=np.int64)
    positions, distances = np.empty(size.pairs, dtype=np.int32), np.empty(size.pairs)
    done = 0
    for (words, columns), found in _blocks(source, outputs, cap, threads, progress):
        if done + len(found) > size.pairs:
            break
        counts += np.bincount(words, minlength=v)
        positions[done : done + len(found)], distances[done : done + len(found)] = columns, found
        done += len(found)
    else:
        if done == size.pairs and v == size.words:
            starts = np.concatenate(([0], np.cumsum(counts)))
            return NearWords(
                cap=cap,
                error=source.error,
                starts=starts,
                positions=positions,
                distances=distances,
                canonical=source.canonical,
            )
    raise ParameterError("size", str(size), "is not that of these words and this cap; count again with near_size.")


def _blocks(
    source: DistanceSource, outputs: IdArray, cap: float, threads: int | None, progress: Progress | None
) -> Iterator[tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Float64Array]]:
    """Yield ((words, output positions), distances) of the pairs closer than the cap, sorted, always in equal blocks."""
    words = np.unique(source.canonical)
    height = max(1, TILE // len(outputs))
    starts = range(0, len(words), height)

    def near(start: int) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Float64Array]:
        some = words[start : start + height]
        block = source.block(some, outputs)
        rows, columns = np.nonzero(block < cap)
        return (some[rows].astype(np.int64), columns), block[rows, columns]

    for start, found in zip(starts, map_chunks(near, starts, threads), strict=True):
        yield found
        if progress is not None:
            progress(min(height, len(words) - start))


def _check_cap(cap: float) -> None:
    if not cap > 0:
        raise ParameterError("cap", cap, "must be in (0, inf].")
