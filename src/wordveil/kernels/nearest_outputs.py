"""The outputs nearest to each input by any metric, exactly: the float64 distances decide, lowest id first on ties.

`CoordinateSearch` is for metrics that are a Euclidean distance of some coordinates: the float32 search of
`kernels.nearest` proposes, with a proven margin for the rounding of the words to float32. `BlockSearch` is for all
others, which give whole rows of distances.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, IdArray, Int64Array
from wordveil.kernels.distance_sources import DistanceSource
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.threads import filled, map_chunks

SPARE = 4  # outputs asked for beyond k, so that most rows are certain at once
WIDER = 8  # how many times more the next attempt asks for
MOST = 512  # beyond it, whole rows of distances cost less
ROWS = 256  # inputs rescored at a time
TILE = 1 << 20  # distances of one block of whole rows: 8 MB

Coordinates = Callable[[IdArray], Float64Array]


class BlockSearch:
    """Search among some outputs, ascending, by whole rows of distances.

    `canonical` is the lowest id with the same distances to all words, shape (v,); only such ids are searched from.
    """

    def __init__(self, source: DistanceSource, outputs: IdArray) -> None:
        self._source, self._outputs, self.canonical = source, outputs, source.canonical

    def nearest(self, inputs: IdArray, k: int, *, threads: int | None = None) -> Int64Array:
        """Return the places in the list of the k nearest outputs, shape (n, k), nearest first, lowest on ties."""
        height = max(1, TILE // len(self._outputs))
        places = np.empty((len(inputs), k), dtype=np.int64)
        return filled(places, height, lambda s: _smallest(self._source.block(inputs[s], self._outputs), k), threads)


class CoordinateSearch:
    """Search among some outputs, ascending, by squared differences of coordinates, each row from its own word."""

    def __init__(self, coordinates: Coordinates, outputs: IdArray, canonical: IdArray) -> None:
        self._coordinates, self.canonical = coordinates, canonical
        # Words with one vector get the same bits, whatever the metric's arithmetic makes of their places in a batch.
        distinct, which = np.unique(canonical[outputs], return_inverse=True)
        self._words = coordinates(distinct.astype(np.int32))[which.ravel()]
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = self._words.astype(np.float32)
            residue = np.linalg.norm(self._words - narrow, axis=1).max()
        self._residue = float(residue) * (1 + 1e-9)
        usable = np.isfinite(self._residue) and np.isfinite(narrow).all()
        self._near = NearestWords(narrow, np.arange(len(outputs), dtype=np.int32)) if usable else None

    def nearest(self, inputs: IdArray, k: int, *, threads: int | None = None) -> Int64Array:
        rows = self._coordinates(inputs)
        places = np.empty((len(rows), k), dtype=np.int64)
        left, wanted = np.arange(len(rows)), k + SPARE
        while len(left) and self._near is not None and wanted <= min(MOST, len(self._words)):
            certain, found = self._attempt(rows[left], k, wanted, threads)
            places[left[certain]] = found[certain]
            left, wanted = left[~certain], wanted * WIDER
        for row, found in zip(left, map_chunks(lambda row: self._direct(rows[row], k), left, threads), strict=True):
            places[row] = found
        return places

    def _attempt(self, rows: Float64Array, k: int, wanted: int, threads: int | None) -> tuple[BoolArray, Int64Array]:
        """Return which rows are certain, and the k nearest of the outputs whose float32 form is among the nearest."""
        assert self._near is not None
        ids, reached = self._near.top(rows, wanted, threads=threads)
        proposed = np.sort(ids, axis=1).astype(np.int64)
        squared = filled(np.empty(proposed.shape), ROWS, lambda s: self._squared(rows[s], proposed[s]), threads)
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        last = np.sqrt(np.take_along_axis(squared, order[:, -1:], axis=1)[:, 0])
        # An output not proposed has a float32 form at least `reached` away, and itself at most `residue` less; a
        # float64 sum of d squares is off by a relative (d + 2) 2^-53, and both sides are such sums.
        rounding = (rows.shape[1] + 8) * 2.0**-52
        certain = last * (1 + rounding) < reached[:, -1] * (1 - rounding) - self._residue
        return certain, np.take_along_axis(proposed, order, axis=1)

    def _squared(self, rows: Float64Array, places: Int64Array) -> Float64Array:
        difference = (self._words[places] - rows[:, None, :]).reshape(-1, rows.shape[1])
        return np.asarray(np.einsum("ij,ij->i", difference, difference).reshape(places.shape))

    def _direct(self, row: Float64Array, k: int) -> Int64Array:
        difference = self._words - row
        return np.asarray(_smallest(np.einsum("ij,ij->i", difference, difference)[None, :], k)[0])


OutputSearch = BlockSearch | CoordinateSearch


def own_first(words: IdArray, lists: IdArray) -> IdArray:
    """Return lists of nearest words, shape (n, k), with the word itself in front.

    Words with an equal vector tie with it at distance 0, so that it may stand behind them, or not at all.
    """
    strangers = lists != words[:, None]
    order = np.argsort(~strangers, axis=1, kind="stable")[:, : lists.shape[1] - 1]
    return np.concatenate((words[:, None], np.take_along_axis(lists, order, axis=1)), axis=1)


def _smallest(rows: Float64Array, k: int) -> Int64Array:
    """Return the places of the k smallest entries of each row, smallest first, lowest place on ties."""
    reached = np.partition(rows, k - 1, axis=1)[:, k - 1]
    places = np.empty((len(rows), k), dtype=np.int64)
    for i, (row, limit) in enumerate(zip(rows, reached, strict=True)):
        near = np.flatnonzero(row <= limit)
        places[i] = near[np.argsort(row[near], kind="stable")[:k]]
    return places
