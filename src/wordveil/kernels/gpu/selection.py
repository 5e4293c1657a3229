"""Selection on a graphics card: the rows and the law of `kernels.selection`, drawn by masses.

One pass over the vocabulary gives the mass of each block of outputs; a draw picks a block by those masses, then a word
inside it, from 128 random bits, by sums of integers that floats were rounded to: hence the slack.
The random words come from the caller, whose secure source draws them on the processor; the card's own generator is not
cryptographic and is never used.

Why `masses_slack` holds here: squared distances are float64 products with the same number of
terms, in another order; the exponent takes 3.5 roundings (square, root, rate with the constant of the power of 2,
product); the card's power of 2 errs by at most 2**-22, four units of 2**-24, and the base measure by two, of the eight
counted; blocks are summed in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.gpu.backend import free_bytes, launch, open_device, processors, torch, uses_triton
from wordveil.kernels.gpu.selection_kernels import block_masses, block_weights
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics.distances import is_norm
from wordveil.randomness import BitArray

ROWS, COLUMNS, DEPTH = 64, 64, 16  # tile of `block_masses`; fixed, so that a row's bits never depend on its batch
PLAIN_ROWS = 128  # rows of a product in plain PyTorch, likewise
MOST_INPUTS = 8192  # inputs whose masses are made together
TOKENS = 1 << 14  # tokens drawn together
LOW = 0xFFFFFFFF


class _Rows(NamedTuple):
    """Inputs on the device: rows of the product, float64, shape (n, K), and their canonical ids, shape (n,)."""

    left: Any
    own: Any


class GpuSelection(ChannelRows):
    """Rows of an exponential-family channel, as the processor has them in a norm, drawn from on a graphics card.

    The device is "cuda", "cuda:1", or "cpu" for CPU tensors, which is for checks; `engine` is "cuda", or "torch-cpu" on
    CPU tensors. `MissingExtraError` if PyTorch is not installed; `ParameterError` if the device cannot be used here, or
    the metric is no norm.
    """

    def __init__(self, rows: SelectionRows, *, device: str = "cuda") -> None:
        if not is_norm(rows.metric):
            problem = "has no kernel on a graphics card; use device='cpu' or a norm."
            raise ParameterError("metric", rows.metric.name, problem)
        self.device = open_device(device)
        self.engine = "torch-cpu" if self.device.type == "cpu" else "cuda"
        self.triton = uses_triton(self.device)
        self._rows = rows
        self.outputs, self.canonical, self.blocks, self.width = rows.outputs, rows.canonical, rows.blocks, rows.width
        self.metric, self.rate, self.cap, self.base = rows.metric, rows.rate, rows.cap, rows.base
        self._scale = -rows.rate * math.log2(math.e)
        self._floor = -math.inf if math.isinf(rows.cap) else self._scale * rows.cap
        packed = rows.lay_out()
        self._k: int = -(-packed.shape[1] // DEPTH) * DEPTH
        right = torch.zeros((self.blocks, self._k, self.width), dtype=torch.float64, device=self.device)
        right[:, : packed.shape[1]] = torch.from_numpy(packed)
        self._right = right
        # Each output's canonical id, and its base measure, 0 where a block has no word.
        names = np.full((self.blocks, self.width), -1, dtype=np.int32)
        shares = np.zeros((self.blocks, self.width), dtype=np.float32)
        for block in range(self.blocks):
            low, high = rows._edges[block], rows._edges[block + 1]
            names[block, : high - low] = rows.canonical[rows.outputs[low:high]]
            shares[block, : high - low] = 1.0 if rows._base is None else rows._base[block, : high - low]
        self._names, self._shares = torch.from_numpy(names).to(self.device), torch.from_numpy(shares).to(self.device)
        self._inner_units = torch.from_numpy(rows._inner_units).to(self.device)
        self._edges = torch.from_numpy(rows._edges).to(self.device)

    def weights(self, ids: IdArray) -> Float64Array:
        return self._rows.weights(ids)

    def log_normalizers(
        self, ids: IdArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> Float64Array:
        return self._rows.log_normalizers(ids, threads=threads, progress=progress)

    def arithmetic_slack(self) -> float:
        return self._rows.masses_slack()

    def draw(
        self, ids: IdArray, bits: BitArray, *, threads: int | None = None, progress: Progress | None = None
    ) -> IdArray:
        answer = np.empty(len(ids), dtype=np.int32)
        inputs, row_of = np.unique(self.canonical[ids], return_inverse=True)
        order = np.argsort(row_of, kind="stable")
        starts = np.searchsorted(row_of[order], np.arange(0, len(inputs) + 1))
        # Inputs that are done together: their masses and sums take at most a quarter of the free memory.
        fitting = free_bytes(self.device) // 4 // (8 * self._k + 32 * self.blocks)
        height = max(ROWS, min(MOST_INPUTS, fitting))
        for low in range(0, len(inputs), height):
            high = min(low + height, len(inputs))
            rows = self._inputs(inputs[low:high])
            bounds = self._mass_bounds(rows)
            for start in range(starts[low], starts[high], TOKENS):
                tokens = order[start : min(start + TOKENS, starts[high])]
                row = torch.from_numpy(row_of[tokens] - low).to(self.device)
                random = torch.from_numpy(np.ascontiguousarray(bits[tokens]).view(np.int64)).to(self.device)
                answer[tokens] = self.outputs[self._positions(rows, bounds, row, random).cpu().numpy()]
                if progress is not None:
                    progress(len(tokens))
        return answer

    def _inputs(self, canonical: IdArray) -> _Rows:
        left = np.zeros((len(canonical), self._k))
        packed = self._rows._left(canonical, len(canonical))
        left[:, : packed.shape[1]] = packed
        own = torch.from_numpy(np.array(canonical, dtype=np.int32)).to(self.device)
        return _Rows(torch.from_numpy(left).to(self.device), own)

    def masses(self, ids: IdArray) -> Any:
        """Return the mass of every output block for each canonical input: a float32 tensor of shape (n, blocks)."""
        return self._masses(self._inputs(ids))

    def _masses(self, rows: _Rows) -> Any:
        n = len(rows.left)
        out = torch.empty((n, self.blocks), dtype=torch.float32, device=self.device)
        if not self.triton:
            for block in range(self.blocks):
                for low in range(0, n, PLAIN_ROWS):
                    part = slice(low, low + PLAIN_ROWS)
                    out[part, block] = self._plain(rows.left[part], rows.own[part], block).sum(1, dtype=torch.float64)
            return out
        high = -(-n // ROWS)
        # Eight programs a processor hide each other's waits and fill the last wave; no block's sum crosses programs.
        span = -(-self.blocks // -(-8 * processors(self.device) // high))
        launch(
            self.device,
            block_masses,
            (high, -(-self.blocks // span)),
            *(rows.left, self._right, rows.own, self._names, self._shares, out),
            *(n, self.blocks, span, self.width, self._scale, self._floor),
            K=self._k,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            DEPTH=DEPTH,
            num_warps=4,
            num_stages=3,
        )
        return out

    def _plain(self, left: Any, own: Any, block: int) -> Any:
        """Return weights of up to 128 rows over one block in plain PyTorch, float32, shape (n, width)."""
        padded = torch.zeros((PLAIN_ROWS, self._k), dtype=torch.float64, device=self.device)
        padded[: len(left)] = left
        squared = (padded @ self._right[block])[: len(left)].float().clamp_min(0.0)
        squared[own[:, None] == self._names[block][None, :]] = 0.0
        exponent = (torch.sqrt(squared) * self._scale).clamp_min(self._floor)
        return torch.exp2(exponent) * self._shares[block]

    def _mass_bounds(self, rows: _Rows) -> Any:
        """Return running sums of the integer masses of the blocks, int64, shape (n, blocks)."""
        masses = self._masses(rows).double() * self._rows._mass_unit
        return torch.cumsum(torch.round(masses).long(), dim=1)

    def _positions(self, rows: _Rows, bounds: Any, row: Any, random: Any) -> Any:
        """Return the place in `outputs` that each token's two random words fall into."""
        mine = bounds[row]
        block = (mine <= _multiply_high(random[:, 0], mine[:, -1])[:, None]).sum(1)
        weights = self._within(rows, row, block)
        counts = torch.round(weights.double() * self._inner_units[block][:, None]).long()
        inner = torch.cumsum(counts, dim=1)
        column = (inner <= _multiply_high(random[:, 1], inner[:, -1])[:, None]).sum(1)
        return self._edges[block] + column

    def _within(self, rows: _Rows, row: Any, block: Any) -> Any:
        """Return the weights of each token's block, float32, shape (tokens, width)."""
        out = torch.empty((len(row), self.width), dtype=torch.float32, device=self.device)
        if not self.triton:
            for some in torch.unique(block).tolist():
                which = torch.nonzero(block == some)[:, 0]
                for part in torch.split(which, PLAIN_ROWS):
                    out[part] = self._plain(rows.left[row[part]], rows.own[row[part]], some)
            return out
        # In the order of blocks, so that programs side by side read the same words.
        order = torch.argsort(block)
        sorted_out = torch.empty_like(out)
        launch(
            self.device,
            block_weights,
            (len(row),),
            *(rows.left, self._right, rows.own, self._names, self._shares, row[order], block[order], sorted_out),
            *(self.width, self._scale, self._floor),
            K=self._k,
            WIDE=1 << (self.width - 1).bit_length(),
        )
        out[order] = sorted_out
        return out


def _multiply_high(a: Any, b: Any) -> Any:
    """Return floor(a * b / 2**64) for 64-bit words a, held in int64, and b in [0, 2**62].

    `kernels.selection.multiply_high` on int64: every true value fits 64 bits, so wrapped products and sums hold its
    bits, and masks undo the sign that a shift to the right drags in.
    """
    a0, a1 = a & LOW, (a >> 32) & LOW
    b0, b1 = b & LOW, (b >> 32) & LOW
    middle = a1 * b0 + ((a0 * b0 >> 32) & LOW)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + ((middle >> 32) & LOW) + ((other >> 32) & LOW)
