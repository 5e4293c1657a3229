"""Words and queries as the screen reads them: bfloat16 with |x|^2/2 as three more columns, and proven error bounds.

The bound is that of `kernels.screening`, with c = (4K + 64) 2^-24 for K columns of the product. Products of bfloat16
numbers are exact in float32. c allows for a matrix unit that cuts every addend, b at a time, to 2^-23 of the largest:
at most (b + 2) 2^-23 a step and K/b steps, below 3K 2^-24 for b >= 4. The rest of c covers the float32 arithmetic on
scores and bounds that follows.

Bounds are kept as three float32 numbers a word (length, residue, own) and two a query, each rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from wordveil.arrays import Float32Array, IdArray
from wordveil.kernels.gpu.backend import torch
from wordveil.kernels.screening import mean_word

CHUNK = 1 << 14
WIDEST = 256  # words are padded to whole tiles of the widest kind
COLUMNS = 32  # columns are padded to a multiple of this
PADDING = 3e38  # stands for |x|^2/2 of rows that hold no word
TINY = 2.0**-126
SAFE = 1 + 2.0**-18  # covers the rounding of norms and bounds themselves
LEAST = 2.0**-62  # of a factor of a bound, so that products of two stay in float32's range
ROUNDING = 2.0**-50


@dataclass(frozen=True, kw_only=True)
class DeviceWords:
    """The words searched, on a device."""

    centre: Any = field(repr=False)  # mean word, float64, shape (d,)
    table: Any = field(repr=False)  # the words themselves, float32, shape (count, d)
    screen: Any = field(repr=False)  # centred words and |x|^2/2, bfloat16, shape (padded, K)
    facts: Any = field(repr=False)  # rows length, residue, own of the bounds, float32, shape (3, padded)
    largest: float  # largest norm of a word, the centre's added

    @property
    def count(self) -> int:
        """Number of words."""
        return len(self.table)

    @property
    def columns(self) -> int:
        """Columns K of the product."""
        return int(self.screen.shape[1])


class PackedQueries(NamedTuple):
    """Queries on a device."""

    screen: Any  # centred queries, bfloat16, shape (padded, K), the last columns -1 where words hold |x|^2/2
    scales: Any  # factors of length and residue in the bounds, float32, shape (n, 2)
    allowance: Any  # what rounding of a float64 distance can hide in a score, float32, shape (n,)


def pack_words(vectors: Float32Array, outputs: IdArray, device: Any) -> DeviceWords:
    """Lay the words of some ascending ids out on a PyTorch device, of all vectors, float32, shape (v, d)."""
    count, d = len(outputs), vectors.shape[1]
    padded, columns = -(-count // WIDEST) * WIDEST, -(-(d + 3) // COLUMNS) * COLUMNS
    centre = torch.from_numpy(mean_word(vectors, outputs)).to(device)
    table = torch.empty((count, d), dtype=torch.float32, device=device)
    screen = torch.zeros((padded, columns), dtype=torch.bfloat16, device=device)
    screen[:, d] = PADDING
    facts = torch.zeros((3, padded), dtype=torch.float32, device=device)
    longest = 0.0
    for low in range(0, count, CHUNK):
        span = slice(low, min(low + CHUNK, count))
        table[span] = torch.from_numpy(np.ascontiguousarray(vectors[outputs[span]], dtype=np.float32))
        centred = table[span].double() - centre
        screen[span], facts[:, span] = _pack(centred, columns)
        longest = max(longest, float(torch.linalg.vector_norm(centred, dim=1).max()))
    largest = (longest + float(torch.linalg.vector_norm(centre))) * SAFE
    return DeviceWords(centre=centre, table=table, screen=screen, facts=facts, largest=largest)


def pack_queries(rows: Any, words: DeviceWords, height: int) -> PackedQueries:
    """Lay queries out for a screen of words whose tiles are `height` rows high; rows of zeros fill the last.

    Queries are float64, shape (n, d), on the words' device, of norm at most 1e15.
    """
    n, d = rows.shape
    centred = rows - words.centre
    narrowed = _narrow(centred)
    screen = torch.zeros((-(-n // height) * height, words.columns), dtype=torch.bfloat16, device=rows.device)
    screen[:n, :d] = narrowed
    screen[:, d : d + 3] = -1.0
    norms = torch.linalg.vector_norm(centred, dim=1)
    short = torch.linalg.vector_norm(narrowed.double(), dim=1)
    residue = torch.linalg.vector_norm(centred - narrowed.double(), dim=1)
    c = _summing(words.columns)
    scales = torch.stack([residue + c * short + ROUNDING * norms, (1 + c) * short], dim=1)
    allowance = (d + 16) * ROUNDING * torch.square(norms + words.largest)
    return PackedQueries(screen=screen, scales=_upward(scales), allowance=_upward(allowance))


def _summing(columns: int) -> float:
    return (4 * columns + 64) * 2.0**-24


def _upward(numbers: Any) -> Any:
    return (numbers * SAFE).clamp_min(LEAST).float()


def _narrow(rows: Any) -> Any:
    """Round to bfloat16; numbers below 2**-126, which products would flush, become 0."""
    short = rows.float().bfloat16()
    return torch.where(short.abs() < TINY, torch.zeros_like(short), short)


def _pack(centred: Any, columns: int) -> tuple[Any, Any]:
    """Return words as rows of the product, shape (n, K), and their bounds, shape (3, n)."""
    n, d = centred.shape
    factor = torch.zeros((n, columns), dtype=torch.bfloat16, device=centred.device)
    narrowed = _narrow(centred)
    factor[:, :d] = narrowed
    squared = torch.square(centred).sum(dim=1)
    left = 0.5 * squared
    for column in range(d, d + 3):
        factor[:, column] = _narrow(left)
        left = left - factor[:, column].double()
    residue = torch.linalg.vector_norm(centred - narrowed.double(), dim=1)
    own = 0.51 * _summing(columns) * squared + left.abs() + 2 * columns * TINY + ROUNDING * squared
    lengths = _upward(torch.stack([torch.sqrt(squared), residue]))
    return factor, torch.cat([lengths, (own * SAFE).float()[None]])
