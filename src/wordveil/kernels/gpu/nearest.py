"""Exact nearest words on a graphics card: a bfloat16 screen with a proven bound, float64 differences decide.

The screen leaves a few groups of 32 words a query. Where one of their words is nearer than all others by more than
float64 rounding, the card has the answer; where words tie or nearly tie, the processor decides by the arithmetic of
its own search. A query whose groups do not fit into their buffer is compared with every word. So the answers are those
of `kernels.nearest.NearestWords`, whatever the card.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, FloatArray, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.gpu.backend import free_bytes, launch, open_device, processors, torch
from wordveil.kernels.gpu.packing import pack_queries, pack_words
from wordveil.kernels.gpu.screen_kernels import rescore
from wordveil.kernels.gpu.screening import Hits, Screen, Tiles, default_tiles
from wordveil.kernels.rescoring import Pairs, decide, decide_all

LARGEST_NORM = 1e15  # of queries and words: beyond it float32 scores could overflow, and the processor answers
ROOM = 16  # groups listed for one query, and 4 more for each neighbour beyond the first
DIFFERENCES = 1 << 25  # float64 differences held at a time
ROWS_ON_CPU = 1024  # queries of a chunk of CPU tensors


class GpuNearestWords:
    """Nearest words among a public set of outputs, searched on a graphics card; `NearestWords` says the rest.

    The device is "cuda", "cuda:1", or "cpu" for CPU tensors, which is for checks; `engine` is "cuda", or "torch-cpu" on
    CPU tensors. Tiles are the shape of the screen's work, None for the default; the answers do not depend on it.
    `MissingExtraError` if PyTorch is not installed; `ParameterError` if the device cannot be used here.
    """

    def __init__(
        self, vectors: Float32Array, outputs: IdArray, *, device: str = "cuda", tiles: Tiles | None = None
    ) -> None:
        self.device = open_device(device)
        self.engine = "torch-cpu" if self.device.type == "cpu" else "cuda"
        self.outputs = outputs
        self._vectors = vectors
        self.screen = Screen(pack_words(vectors, outputs, self.device), tiles or default_tiles(self.device))

    def nearest(self, queries: FloatArray, *, threads: int | None = None, progress: Progress | None = None) -> IdArray:
        answer = np.empty(len(queries), dtype=np.int32)
        for span, some, pairs in self._chunks(queries, 1, progress):
            if pairs is None:
                answer[span] = decide_all(some, self._vectors, self.outputs, 1)[0][:, 0]
            else:
                answer[span] = self._settle(some, pairs)
        return answer

    def top(
        self, queries: FloatArray, k: int, *, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[IdArray, Float64Array]:
        if not 1 <= k <= len(self.outputs):
            raise ParameterError("k", k, f"must be in [1, {len(self.outputs)}], the number of words searched.")
        ids, squared = np.empty((len(queries), k), dtype=np.int32), np.empty((len(queries), k))
        for span, some, pairs in self._chunks(queries, k, progress):
            if pairs is None:
                ids[span], squared[span] = decide_all(some, self._vectors, self.outputs, k)
            else:
                ids[span], squared[span] = decide(some, self._vectors, self.outputs, pairs, k)
        return ids, np.sqrt(squared)

    def _settle(self, queries: Float64Array, pairs: Pairs) -> IdArray:
        """Return the nearest of each query's candidates; most queries have but one, which needs no arithmetic."""
        starts = np.searchsorted(pairs.rows, np.arange(len(queries) + 1))
        answer = np.asarray(self.outputs[pairs.columns[starts[:-1]]], dtype=np.int32)
        many = np.flatnonzero(np.diff(starts) > 1)
        if len(many):
            inside = np.isin(pairs.rows, many)
            some = Pairs(np.searchsorted(many, pairs.rows[inside]), pairs.columns[inside])
            answer[many] = decide(queries[many], self._vectors, self.outputs, some, 1)[0][:, 0]
        return answer

    def _chunks(self, queries: FloatArray, k: int, progress: Progress | None) -> Any:
        """Yield (span, queries, candidates) of every chunk; no candidates where only direct differences will do."""
        rows = np.require(queries, requirements=["C", "W"])  # PyTorch warns of arrays that cannot be written
        height = self.chunk_rows(k)
        for low in range(0, len(rows), height):
            span = slice(low, min(low + height, len(rows)))
            moved = torch.from_numpy(rows[span]).to(self.device).double()
            if not bool(torch.isfinite(moved).all()):
                raise ParameterError("queries", "<hidden>", "must be finite.")
            largest = max(float(torch.linalg.vector_norm(moved, dim=1).max()), self.screen.words.largest)
            # Written so that NaN and infinity from overflow take the direct path too.
            pairs = self.candidates(moved, k) if largest <= LARGEST_NORM else None
            yield span, np.asarray(rows[span], dtype=np.float64), pairs
            if progress is not None:
                progress(span.stop - low)

    def chunk_rows(self, k: int = 1) -> int:
        """Return how many queries are done at a time: what fits a quarter of the free memory, at most a full card."""
        tiles, d = self.screen.tiles, self.screen.words.table.shape[1]
        arrays = 1 if self.screen.triton and k == 1 else 4
        row_bytes = 4 * arrays * self.screen.groups + 2 * self.screen.words.columns + 48 * d + 8 * self._room(k)
        most = ROWS_ON_CPU if self.device.type == "cpu" else tiles.rows * processors(self.device)
        fitting = free_bytes(self.device) // 4 // row_bytes // tiles.rows * tiles.rows
        return int(max(tiles.rows, min(most, fitting)))

    def _room(self, k: int) -> int:
        return ROOM + 4 * (k - 1)

    def candidates(self, rows: Any, k: int) -> Pairs:
        """Return every word that can be among the k nearest, at least k for each query.

        Queries are float64, shape (n, d), on the device, finite and of norm at most 1e15.
        """
        if k > self.screen.groups:
            row, column = self._among_all(rows, k)
            return Pairs(row.cpu().numpy(), column.cpu().numpy())
        packed = pack_queries(rows, self.screen.words, self.screen.tiles.rows)
        hits = self.screen.hits(self.screen.maxima(packed), packed, k, self._room(k))
        if k == 1 and self.screen.triton:
            chosen, open_ = self.winners(rows, hits)
        else:
            chosen = torch.zeros(len(rows), dtype=torch.int64, device=self.device)
            open_ = torch.ones(len(rows), dtype=torch.bool, device=self.device)
        return self._complete(rows, hits, k, chosen, open_)

    def winners(self, rows: Any, hits: Hits) -> tuple[Any, Any]:
        """Return the nearest word of each query by float64 differences, and where that is not settled."""
        n, d = rows.shape
        tiles = self.screen.tiles
        chosen = torch.empty(n, dtype=torch.int64, device=self.device)
        least = torch.empty(n, dtype=torch.float64, device=self.device)
        second = torch.empty_like(least)
        room = hits.group.shape[1]
        launch(
            self.device,
            rescore,
            (n,),
            *(rows.contiguous(), self.screen.words.table, hits.group, hits.counts, chosen, least, second),
            *(self.screen.words.count, d, room),
            WORDS=tiles.words,
            LANES=tiles.lanes,
            DEPTH=32,
        )
        settled = (second > least * (1 + _rounding(d))) & (hits.counts <= room) & (hits.counts > 0)
        return chosen, ~settled

    def _complete(self, rows: Any, hits: Hits, k: int, chosen: Any, open_: Any) -> Pairs:
        """Return the settled words, and the candidates of all other queries."""
        full = hits.counts > hits.group.shape[1]
        settled = torch.nonzero(~open_)[:, 0]
        parts = [(settled, chosen[settled])]
        for some, search in ((open_ & ~full, self._among_hits), (open_ & full, self._among_all)):
            which = torch.nonzero(some)[:, 0]
            if len(which):
                kept, columns = search(rows[which], k, hits, which)
                parts.append((which[kept], columns))
        found, columns = (torch.cat(part) for part in zip(*parts, strict=True))
        order = torch.argsort(found, stable=True)
        return Pairs(found[order].cpu().numpy(), columns[order].cpu().numpy())

    def _among_hits(self, rows: Any, k: int, hits: Hits, which: Any) -> tuple[Any, Any]:
        """Return (row, column) of the words of each row's groups that can be among its k nearest."""
        words, counts = self.screen.words, hits.counts[which]
        wide = int(counts.max())
        height = max(1, DIFFERENCES // (wide * self.screen.width * rows.shape[1]))
        parts = []
        for low in range(0, len(rows), height):
            span = slice(low, low + height)
            column = self.screen.columns(hits.group[which[span], :wide].long())
            listed = torch.arange(wide, device=self.device) < counts[span, None]
            real = (listed[:, :, None] & (column < words.count)).flatten(1)
            column = column.flatten(1).clamp_max(words.count - 1)
            gap = rows[span, None, :] - words.table[column].double()
            squared = torch.where(real, torch.square(gap).sum(dim=2), torch.inf)
            row, place = _near(squared, k, rows.shape[1])
            parts.append((row + low, column[row, place]))
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _among_all(self, rows: Any, k: int, *_: Any) -> tuple[Any, Any]:
        """Return (row, column) of the words, of all words, that can be among each row's k nearest."""
        table, d = self.screen.words.table, rows.shape[1]
        parts = []
        height = max(1, DIFFERENCES // len(table))
        for low in range(0, len(rows), height):
            some = rows[low : low + height]
            squared = torch.empty((len(some), len(table)), dtype=torch.float64, device=self.device)
            step = max(1, DIFFERENCES // (len(some) * d))
            for start in range(0, len(table), step):
                gap = some[:, None, :] - table[start : start + step].double()
                squared[:, start : start + step] = torch.square(gap).sum(dim=2)
            row, column = _near(squared, k, d)
            parts.append((row + low, column))
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def _rounding(d: int) -> float:
    """Return by how much, relatively, two float64 sums of d squares of the same rows can differ, with room to spare."""
    return (d + 16) * 2.0**-50


def _near(squared: Any, k: int, d: int) -> tuple[Any, Any]:
    """Return (row, column) of the entries that rounding could put among the k least of their row."""
    limit = torch.kthvalue(squared, k, dim=1).values * (1 + _rounding(d))
    row, column = torch.nonzero(squared <= limit[:, None], as_tuple=True)
    return row, column
