"""The call into ceilings.c, on arrays that Python owns; `Ceilings` decides what is computed."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array
from wordveil.kernels.compiled.library import call, require

SIDE = 32  # rows, and columns, that ceilings.c takes together
LANES = 16


def ceiling_sums(
    engine: str,
    inputs: tuple[NDArray[np.int16], NDArray[np.int32]],
    packed: tuple[NDArray[np.int16], NDArray[np.int32], Float32Array],
    *,
    scale: float,
    lowest: float,
    shift: int,
) -> Float32Array:
    """Return what `wordveil_ceilings` sums over every block, shape (n, blocks), of inputs and their squared lengths."""
    placed, squares = inputs
    words, norms, _ = packed
    n, k = len(placed), words.shape[2] * 2
    height = -(-n // SIDE) * SIDE
    left, own = np.zeros((height, k), dtype=np.int16), np.zeros(height, dtype=np.int32)
    left[:n, : placed.shape[1]], own[:n] = placed, squares
    out = np.empty((height, len(norms)), dtype=np.float32)
    numbers = ctypes.c_float(scale), ctypes.c_float(lowest), ctypes.c_int(shift)
    call(require(engine).wordveil_ceilings, left, own, height, *packed, k, *norms.shape, *numbers, out)
    return out[:n]
