"""What a screen's number type rounds away, and how far its scores can then lie from the exact ones.

Let q, x be a query and a word, both centred on the mean word (which leaves distances alone and shortens vectors),
q', x' their roundings to the screen's type, and K the columns of the product. The screen's score differs from
q.x - |x|^2/2 by at most

    |q - q'||x| + |q'||x - x'| + c (|q'||x'| + 1.02 |x|^2/2) + |h| + 2K 2^-126,    c = 2.02 (K + 2) 2^-24

where the residual norms are measured, not estimated; |x|^2/2 rides along as extra columns of rounding error h; c bounds
float32 summation in any order, twice over; and the last term is what flushing to zero can lose. In the code the bound
is scale[0] length + scale[1] residue + own: two factors of the query, three facts of the word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray

SAFE = 1 + 1e-9  # covers the rounding of norms and bounds themselves
TINY = 2.0**-126
CHUNK = 1 << 14


class Narrowed(NamedTuple):
    """Rows in the screen's type, as bits, and the float64 rows those bits stand for."""

    bits: NDArray[Any]
    values: Float64Array


class ScreenedQueries(NamedTuple):
    """Queries as a screen reads them."""

    factor: NDArray[Any]  # left factor of the product, shape (n, columns): bits of bfloat16, or float32
    norms: Float64Array  # norms of the centred queries, shape (n,)
    scales: Float64Array  # their factors of length and residue in the bound, shape (n, 2)


def mean_word(vectors: Float32Array, outputs: IdArray) -> Float64Array:
    """Return the outputs' mean, shape (d,), in float32: a word less the mean is exact to float64 rounding."""
    total = np.zeros(vectors.shape[1])
    for low in range(0, len(outputs), CHUNK):
        total += vectors[outputs[low : low + CHUNK]].sum(axis=0, dtype=np.float64)
    return (total / len(outputs)).astype(np.float32).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumberType:
    """The type that a screen multiplies in, and the shape of its factors."""

    bfloat16: bool  # whether numbers are bfloat16, kept as uint16 bits; float32 otherwise
    d: int  # dimensions of the vectors
    columns: int  # columns K of the product, at least d + `extra`; those beyond are 0

    @property
    def extra(self) -> int:
        """Columns that |x|^2/2 is split into: 24 bits take three of bfloat16."""
        return 3 if self.bfloat16 else 1

    @property
    def dtype(self) -> Any:
        return np.uint16 if self.bfloat16 else np.float32

    @property
    def summing(self) -> float:
        """The factor c of the module's bound."""
        return 2.02 * (self.columns + 2) * 2.0**-24

    def narrow(self, rows: Float64Array) -> Narrowed:
        """Round to nearest, ties to even; numbers below 2**-126, which products would flush, become 0."""
        single = rows.astype(np.float32)
        if self.bfloat16:
            raw = single.view(np.uint32)
            raw = (raw + (0x7FFF + ((raw >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
            single = raw.view(np.float32)
        single[np.abs(single) < TINY] = 0.0
        bits = (single.view(np.uint32) >> 16).astype(np.uint16) if self.bfloat16 else single
        return Narrowed(bits, single.astype(np.float64))

    def words(self, centred: Float64Array) -> tuple[NDArray[Any], Float64Array]:
        """Return the words' factor, shape (n, columns), and the facts length, residue, own of each, shape (3, n)."""
        factor: NDArray[Any] = np.zeros((len(centred), self.columns), dtype=self.dtype)
        narrowed = self.narrow(centred)
        factor[:, : self.d] = narrowed.bits
        squared = np.einsum("ij,ij->i", centred, centred)
        left = 0.5 * squared
        for column in range(self.d, self.d + self.extra):
            part = self.narrow(left)
            factor[:, column] = part.bits
            left = left - part.values
        residue = centred - narrowed.values
        own = 0.51 * self.summing * squared + np.abs(left) + 2 * self.columns * TINY + 2.0**-50 * squared
        facts = np.stack([np.sqrt(squared), np.sqrt(np.einsum("ij,ij->i", residue, residue)), own])
        return factor, facts * SAFE

    def queries(self, centred: Float64Array) -> ScreenedQueries:
        narrowed = self.narrow(centred)
        factor: NDArray[Any] = np.zeros((len(centred), self.columns), dtype=self.dtype)
        factor[:, : self.d] = narrowed.bits
        factor[:, self.d : self.d + self.extra] = self.narrow(np.array([-1.0])).bits
        norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        return ScreenedQueries(factor, norms, self.scales(centred, narrowed.values))

    def scales(self, centred: Float64Array, narrowed: Float64Array) -> Float64Array:
        """Return the queries' factors of length and residue in the bound, shape (n, 2)."""
        norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        short = np.sqrt(np.einsum("ij,ij->i", narrowed, narrowed))
        rest = centred - narrowed
        residue = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        scales = np.column_stack([residue + self.summing * short + 2.0**-50 * norms, (1 + self.summing) * short])
        return np.asarray(scales * SAFE)
