"""The bfloat16 product of the optional library numkong, which needs no compiler here: extra `[fast]`.

The library picks its instructions at run time, of which only AMX is faster here than NumPy. Products of
two bfloat16 numbers are exact in float32 and summed in float32, as the bound of `screening` allows for.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array
from wordveil.errors import MissingExtraError

__all__ = ["LIBRARY", "LibraryProduct", "library_installed", "library_is_fast", "require_library"]

LIBRARY = "numkong"
FAST = ("sapphireamx", "graniteamx")
"""What the library calls the instruction sets that make it faster than NumPy: AMX.

Without AMX its products of bfloat16 took twice the time of NumPy's float32 ones.
"""


def library_installed() -> bool:
    """Return whether the library is installed, without importing it."""
    return importlib.util.find_spec(LIBRARY) is not None


@cache
def library_is_fast() -> bool:
    """Return whether the library is installed and this processor has what makes it fast."""
    if not library_installed():
        return False
    found = require_library().get_capabilities()
    return any(found.get(name, False) for name in FAST)


class LibraryProduct:
    """Bfloat16 products through numkong.

    Args:
        tiles: Factors of the words, bits in uint16, each of shape (words, columns).

    Raises:
        MissingExtraError: If numkong is not installed.
    """

    bfloat16: ClassVar[bool] = True
    align: ClassVar[int] = 32
    tile: ClassVar[tuple[int, int]] = (512, 512)  # 1 MB of scores stays in the second cache

    def __init__(self, tiles: Iterator[NDArray[Any]]) -> None:
        library = require_library()
        self._packed = [(library.dots_pack(library.Tensor(tile, dtype="bf16")), len(tile)) for tile in tiles]

    def all_scores(self, factor: NDArray[Any]) -> Iterator[Float32Array]:
        library = require_library()
        left, out, width = library.Tensor(factor, dtype="bf16"), None, 0
        for right, words in self._packed:
            if words != width:
                out, width = library.Tensor(np.zeros((len(factor), words), dtype=np.float32)), words
            library.dots_packed(left, right, out=out)
            yield np.asarray(out)


@cache
def require_library() -> Any:
    """Return the library's module.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        return importlib.import_module(LIBRARY)
    except ImportError as error:
        raise MissingExtraError(f"The engine {LIBRARY}", LIBRARY, "fast") from error
