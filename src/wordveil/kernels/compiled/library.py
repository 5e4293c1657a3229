"""Finds and loads a compiled kernel library, and draws random words with it.

Functions return None where none is available; callers then use NumPy. The environment variable WORDVEIL_ENGINE forces a
choice: "numpy" or the name of a level. Calls release the interpreter lock, so that threads run side by side.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Int64Array
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.building import LEVELS, built_directories, library_name
from wordveil.randomness import BitArray, DocumentStreams

NUMPY = "numpy"
_PINNED: ContextVar[str | None] = ContextVar("engine", default=None)
ENGINES = (NUMPY, *LEVELS)
"""Names of engines, from the one that always works to the fastest."""
VARIABLE = "WORDVEIL_ENGINE"


def kernel_engine(source: str) -> str:
    """Return what the kernel of a C file, made now, runs on: the fastest of up to `engine_name` that it is built for.

    A kernel is built for those alone that were measured to gain by it (docs/performance.md).
    """
    names = ENGINES[: ENGINES.index(engine_name()) + 1]
    fitting = (name for name in available_engines() if name in names and name != NUMPY and LEVELS[name][0] == source)
    return max(fitting, key=ENGINES.index, default=NUMPY)


def engine_name() -> str:
    """Return the fastest engine that kernels made now may use: "numpy", or the level of a compiled library.

    `ParameterError` if WORDVEIL_ENGINE, or whoever pins one, names an engine that is unknown or cannot run here.
    """
    pinned, found = _PINNED.get(), available_engines()
    wanted = (os.environ.get(VARIABLE) or None) if pinned is None else pinned
    if wanted is None:
        return found[-1]
    if wanted not in found:
        raise ParameterError(
            VARIABLE if pinned is None else "engine",
            wanted,
            f"must be one of {', '.join(found)} here; others need another processor, or a compiler: wordveil doctor.",
        )
    return wanted


@contextmanager
def pinned_engine(name: str | None) -> Iterator[None]:
    """Make kernels of one engine inside the block, whatever WORDVEIL_ENGINE says; None leaves it to that.

    `ParameterError` as for `engine_name`, whether or not a kernel is made.
    """
    token = _PINNED.set(name)
    try:
        engine_name()
        yield
    finally:
        _PINNED.reset(token)


@cache
def available_engines() -> tuple[str, ...]:
    """Return the engines that are built and that this processor can run, slowest first."""
    processor = _open("processor")
    if processor is None:
        return (NUMPY,)
    mask = int(processor.wordveil_levels())
    runnable = [level for bit, level in enumerate(LEVELS) if mask >> bit & 1]
    return (NUMPY, *(level for level in runnable if load(level) is not None))


@cache
def load(level: str) -> ctypes.CDLL | None:
    """Return the library of a level, or None if it is not built, or cannot be used on this system."""
    library = _open(level)
    if library is None:
        return None
    library.wordveil_prepare.restype = ctypes.c_int
    return library if library.wordveil_prepare() == 0 else None


def require(level: str) -> ctypes.CDLL:
    """Return the library of a level; a `ParameterError` where a fitted object travelled to a machine without it."""
    library = load(level)
    if library is None:
        raise ParameterError("engine", level, "cannot run here; build it with: python -m wordveil.kernels.compiled")
    return library


def text_library() -> ctypes.CDLL | None:
    """Return the library that reads and writes text on any processor; None where it is not built, or not wanted."""
    return None if os.environ.get(VARIABLE) == NUMPY else _open("text")


def withholding_library() -> ctypes.CDLL | None:
    """Return the library that redacts on any processor; None where it is not built, or not wanted."""
    return None if os.environ.get(VARIABLE) == NUMPY else _open("withholding")


def pointer(array: Any) -> ctypes.c_void_p:
    """Return where an array lies, which must outlive the call; None stands for NULL."""
    return ctypes.c_void_p(None if array is None else array.__array_interface__["data"][0])


def call(function: Any, *values: Any) -> Any:
    """Call a function of C: arrays by where they lie, structures by reference, numbers as 64 bits, bools as int."""
    return function(*map(_passed, values))


_NUMBERS: dict[type, Any] = {bool: ctypes.c_int, int: ctypes.c_int64, float: ctypes.c_double}


def _passed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return pointer(value)
    if isinstance(value, ctypes.Structure):
        return ctypes.byref(value)
    return _NUMBERS.get(type(value), lambda other: other)(value)


@cache
def _open(name: str) -> ctypes.CDLL | None:
    places = (directory / library_name(name) for directory in built_directories())
    path = next(filter(Path.is_file, places), None)
    try:
        return None if path is None else ctypes.CDLL(str(path))
    except OSError:
        return None  # built on another system


def document_bits(documents: DocumentStreams, lane: int, size: int, width: int = 1) -> Iterator[BitArray]:
    """Yield 64-bit words, `width` for each token, from one lane of its document, those of `size` tokens at a time.

    The words are the same whether drawing.c is there to draw them or not.
    """
    return documents.lane_bits(lane, size, width, None if text_library() is None else _aes_bits)


def _aes_bits(
    key: bytes, nonces: Sequence[int], counts: Int64Array, lane: int, skip: int, *, by_bits: bool = False
) -> NDArray[np.uint64]:
    """Return the words of one lane, in [0, 256), of each document, all end to end, less the first `skip`.

    By the processor's instructions for AES where it has them, unless they are to be found bit by bit.
    """
    library = text_library()
    assert library is not None
    assert 0 <= lane < 256
    places = b"".join([nonce.to_bytes(10, "little") for nonce in nonces])
    words = np.empty(int(counts.sum()), np.uint64)
    keys = map(ctypes.c_char_p, (key, places))
    call(library.wordveil_draw, *keys, counts, len(nonces), lane, skip, by_bits, words)
    return words
