"""The calls into ceilings.c: words and inputs laid out for its products, and the sums over blocks.

`kernels.ceilings` says which distances and bounds these are; this module hands over the pointers.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import pointer, require

__all__ = ["SIDE", "CompiledCeilings", "Shrinking"]

SIDE = 32  # rows, and columns, that ceilings.c takes together
LANES = 16


class Shrinking(NamedTuple):
    """How halved squared norms are lessened: |x|^2 / 2 becomes kept |x|^2 / 2 - flush."""

    kept: float
    flush: float


@dataclass(frozen=True, kw_only=True)
class CompiledCeilings:
    """Layout and sums of one engine.

    Attributes:
        engine: Level of the library.
        d: Dimensions of the vectors.
    """

    engine: str
    d: int

    @property
    def _pair(self) -> int:
        return int(require(self.engine).wordveil_pair())

    @property
    def k(self) -> int:
        """Columns of the product; bfloat16 comes in whole tiles."""
        k = self.d + int(require(self.engine).wordveil_ceiling_columns())
        return k if self._pair == 1 else -(-k // SIDE) * SIDE

    def room(self, blocks: int, columns: int) -> NDArray[Any]:
        """Return room for the words of all blocks, `columns` of each, a multiple of 32."""
        shape = (blocks, columns // LANES, self.k // self._pair, LANES, self._pair)
        return np.empty(shape, dtype=np.float32 if self._pair == 1 else np.uint16)

    def lay_words(self, vectors: Float32Array, shrinking: Shrinking, out: NDArray[Any]) -> None:
        """Lay one block's words, shape (n, d), into its part of `room`."""
        self._lay(vectors, out.shape[0] * LANES, shrinking, True, out)

    def sums(
        self,
        inputs: Float32Array,
        factor: NDArray[Any],
        base: Float32Array | None,
        *,
        shrinking: Shrinking,
        scale: float,
        lowest: float,
    ) -> Float32Array:
        """Return sums of b exp(max(scale sqrt(h), lowest)) over every block, shape (n, blocks).

        Args:
            inputs: Centred vectors, shape (n, d).
            factor: Words in their layout, one block after another.
            base: Base measure b, shape (blocks, columns), or None for 1.
            shrinking: Of the inputs' norms.
            scale: Negative.
            lowest: In [-86, 0).
        """
        (n, blocks), columns = (len(inputs), len(factor)), factor.shape[1] * LANES
        height = -(-n // SIDE) * SIDE
        left = np.empty((height, self.k), dtype=factor.dtype)
        self._lay(inputs, n, shrinking, False, left)
        out = np.empty((height, blocks), dtype=np.float32)
        log2e = math.log2(math.e)
        require(self.engine).wordveil_ceilings(
            pointer(left),
            ctypes.c_int64(height),
            pointer(factor),
            *map(ctypes.c_int64, (self.k, blocks, columns)),
            pointer(base),
            *map(ctypes.c_float, (scale * log2e, lowest * log2e)),
            pointer(out),
        )
        return out[:n]

    def _lay(self, vectors: Float32Array, lines: int, shrinking: Shrinking, words: bool, out: NDArray[Any]) -> None:
        """Lay vectors out as so many lines: rows of a left factor, or, for words, columns in tiles."""
        vectors = np.ascontiguousarray(vectors)
        too_wide = require(self.engine).wordveil_ceiling_factor(
            pointer(vectors),
            *map(ctypes.c_int64, (len(vectors), self.d, self.k, lines)),
            *map(ctypes.c_double, shrinking),
            ctypes.c_int(words),
            pointer(out),
        )
        if too_wide:
            raise ParameterError("d", self.d, "is more than the compiled kernels take; set WORDVEIL_ENGINE=numpy.")
