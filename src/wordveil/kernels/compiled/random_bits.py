"""The call into drawing.c: the random words of many documents at once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels.compiled.library import pointer, text_library

__all__ = ["aes_bits", "can_draw"]


def can_draw() -> bool:
    """Whether kernels for drawing are compiled, wanted, and can run on this processor."""
    library = text_library()
    return library is not None and bool(library.wordveil_can_draw())


def aes_bits(key: bytes, nonces: Sequence[int], counts: NDArray[np.int64], lane: int, skip: int) -> NDArray[np.uint64]:
    """Return the words of one lane of each document, all end to end.

    Args:
        key: The run key, 16 bytes.
        nonces: The place of each document, 80 bits.
        counts: How many words of each.
        lane: In [0, 256).
        skip: Words of the first document that are left out.
    """
    library = text_library()
    assert library is not None
    assert 0 <= lane < 256
    places = b"".join([nonce.to_bytes(10, "little") for nonce in nonces])
    words = np.empty(int(counts.sum()), np.uint64)
    library.wordveil_draw(
        ctypes.c_char_p(key), ctypes.c_char_p(places), pointer(counts),
        *map(ctypes.c_int64, (len(nonces), lane, skip)), pointer(words),
    )  # fmt: skip
    return words
