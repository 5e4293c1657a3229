"""Which words can be nearest to a query: best scores of groups of words, and the groups within the proven bound.

Through Triton where it is there, otherwise in plain PyTorch: the same groups, the same bounds, hence the same answers.
Nothing of shape (n, v) is made; the largest array holds one float32 number for 32 words of each query of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from wordveil.kernels.gpu.backend import TensorDescriptor, launch, processors, torch, uses_triton
from wordveil.kernels.gpu.packing import DeviceWords, PackedQueries
from wordveil.kernels.gpu.screen_kernels import collect, screen

WIDE = 1024  # groups that one step of `collect` looks at
PRODUCT = 1 << 24  # scores of one product in plain PyTorch
LOWEST = -3e38
WAVES = 4  # programs a processor gets, one after the other: the last wave, perhaps not full, costs little
LEAST_SPAN = 4  # tiles of a program, so that few queries still spread over the card and starting costs little


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Shape of the screen's work; performance only: answers do not depend on it."""

    rows: int = 128  # queries of a tile
    words: int = 256  # words of a tile, 64, 128 or 256
    depth: int = 64  # columns loaded at a time, 32 or 64
    lanes: int = 8  # groups that the words of a tile fall into
    warps: int = 8  # warps of a program
    stages: int = 4  # loads under way at a time


def default_tiles(device: Any) -> Tiles:
    """Return tiles for a device: large where there are tensor memory units (compute capability 9), else moderate.

    On a Hopper card the default is compiled to matrix instructions of 64 x 256 with four loads under way, in 196 KiB of
    shared memory; on older ones these tiles would not fit, or spill.
    """
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (9, 0):
        return Tiles(words=128, depth=32)
    return Tiles()


class Hits(NamedTuple):
    """Groups that may hold a query's nearest words."""

    group: Any  # group numbers, int32, shape (n, room); beyond a query's count they mean nothing
    counts: Any  # how many groups a query has, int32, shape (n,); above `room`, only the first are listed


class Screen:
    """The screen over one set of words."""

    def __init__(self, words: DeviceWords, tiles: Tiles) -> None:
        self.words, self.tiles = words, tiles
        self.device = words.screen.device
        self.triton = uses_triton(self.device)
        self.blocks = len(words.screen) // tiles.words
        self.groups = self.blocks * tiles.lanes
        self.width = tiles.words // tiles.lanes
        self._depth = min(tiles.depth, 32) if words.columns % tiles.depth else tiles.depth
        facts = words.facts.view(3, self.blocks, self.width, tiles.lanes)
        self.facts = facts.amax(dim=2).reshape(3, self.groups).contiguous()

    def columns(self, group: Any) -> Any:
        """Return the columns of groups, shape (..., width), some of them beyond the last word."""
        first = torch.div(group, self.tiles.lanes, rounding_mode="floor") * self.tiles.words + group % self.tiles.lanes
        return first[..., None] + torch.arange(self.width, device=self.device) * self.tiles.lanes

    def maxima(self, queries: PackedQueries) -> Any:
        """Return the best score of every group, float32, shape (padded rows, groups)."""
        left = queries.screen
        out = torch.empty((len(left), self.groups), dtype=torch.float32, device=self.device)
        if self.triton:
            self._launch(left, out)
            return out
        height = max(1, PRODUCT // (len(left) * self.tiles.words))
        for low in range(0, self.blocks, height):
            high = min(low + height, self.blocks)
            right = self.words.screen[low * self.tiles.words : high * self.tiles.words]
            # In float32: bfloat16 products are exact there, as they are where the card's own TF32 takes them.
            scores = left.float() @ right.float().T
            grouped = scores.view(len(left), high - low, self.width, self.tiles.lanes).amax(dim=2)
            out[:, low * self.tiles.lanes : high * self.tiles.lanes] = grouped.flatten(1)
        return out

    def _launch(self, left: Any, out: Any) -> None:
        tiles = self.tiles
        high = len(left) // tiles.rows
        parts = -(-WAVES * processors(self.device) // high)
        span = max(LEAST_SPAN, -(-self.blocks // parts))
        launch(
            self.device,
            screen,
            (high, -(-self.blocks // span)),
            TensorDescriptor.from_tensor(left, [tiles.rows, self._depth]),
            TensorDescriptor.from_tensor(self.words.screen, [tiles.words, self._depth]),
            *(out, self.groups, self.blocks, span),
            COLUMNS=self.words.columns,
            ROWS=tiles.rows,
            WORDS=tiles.words,
            DEPTH=self._depth,
            LANES=tiles.lanes,
            WIDEN=self.device.type == "cpu",
            num_warps=tiles.warps,
            num_stages=tiles.stages,
        )

    def hits(self, maxima: Any, queries: PackedQueries, k: int, room: int) -> Hits:
        """Return the groups that can hold one of the k nearest, k at most the number of groups."""
        n = len(queries.scales)
        maxima = maxima[:n]
        if not self.triton:
            return self._plain_hits(maxima, queries, k, room)
        floors = torch.full((n,), LOWEST, device=self.device) if k == 1 else self._floors(maxima, queries, k)
        group = torch.zeros((n, room), dtype=torch.int32, device=self.device)
        counts = torch.empty(n, dtype=torch.int32, device=self.device)
        launch(
            self.device,
            collect,
            (n,),
            *(maxima, self.groups, queries.scales, self.facts, floors, queries.allowance, group, counts, room),
            GIVEN=k > 1,
            WIDE=WIDE,
        )
        return Hits(group=group, counts=counts)

    def _bounds(self, queries: PackedQueries) -> Any:
        return queries.scales[:, :1] * self.facts[0] + queries.scales[:, 1:] * self.facts[1] + self.facts[2]

    def _floors(self, maxima: Any, queries: PackedQueries, k: int) -> Any:
        """Return a score that at least k words certainly reach: each maximum stands for one word."""
        return torch.topk(maxima - self._bounds(queries), k, dim=1).values[:, -1].contiguous()

    def _plain_hits(self, maxima: Any, queries: PackedQueries, k: int, room: int) -> Hits:
        floors = self._floors(maxima, queries, k) - queries.allowance
        hit = maxima + self._bounds(queries) >= floors[:, None]
        counts = hit.sum(dim=1)
        row, group = torch.nonzero(hit, as_tuple=True)
        slot = torch.arange(len(row), device=self.device) - (torch.cumsum(counts, 0) - counts)[row]
        kept = slot < room
        listed = torch.zeros((len(maxima), room), dtype=torch.int32, device=self.device)
        listed[row[kept], slot[kept]] = group[kept].int()
        return Hits(group=listed, counts=counts.int())
