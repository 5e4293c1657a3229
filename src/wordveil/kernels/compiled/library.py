"""Finds and loads a compiled kernel library. Functions return None where none is available; callers then use NumPy.

The environment variable WORDVEIL_ENGINE forces a choice: "numpy" or the name of a level. Calls release the
interpreter lock, so that threads run side by side.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

from wordveil.errors import ParameterError
from wordveil.kernels.compiled.building import LEVELS, built_directories, library_name

__all__ = ["ENGINES", "NUMPY", "available_engines", "engine_name", "load", "pointer", "require", "text_library"]

NUMPY = "numpy"
ENGINES = (NUMPY, *LEVELS)
"""Names of engines, from the one that always works to the fastest."""
VARIABLE = "WORDVEIL_ENGINE"


def engine_name() -> str:
    """Return the engine of kernels made now: "numpy", or the level of a compiled library.

    Raises:
        ParameterError: If WORDVEIL_ENGINE names an engine that is unknown or cannot run here.
    """
    wanted = os.environ.get(VARIABLE)
    found = available_engines()
    if not wanted:
        return found[-1]
    if wanted not in found:
        raise ParameterError(
            VARIABLE,
            wanted,
            f"must be one of {', '.join(found)} here; build others: python -m wordveil.kernels.compiled",
        )
    return wanted


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
    """Return the library of a level.

    Raises:
        ParameterError: If it cannot be used here, as when a fitted object travelled to another machine.
    """
    library = load(level)
    if library is None:
        raise ParameterError("engine", level, "cannot run here; build it with: python -m wordveil.kernels.compiled")
    return library


def text_library() -> ctypes.CDLL | None:
    """Return the library that reads and writes text on any processor; None where it is not built, or not wanted."""
    return None if os.environ.get(VARIABLE) == NUMPY else _text_library()


@cache
def _text_library() -> ctypes.CDLL | None:
    return _open("text")


def pointer(array: Any) -> ctypes.c_void_p:
    """Return where an array lies, which must outlive the call; None stands for NULL."""
    return ctypes.c_void_p(None if array is None else array.__array_interface__["data"][0])


def _open(level: str) -> ctypes.CDLL | None:
    path = _path(level)
    if path is None:
        return None
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None  # built on another system


def _path(level: str) -> Path | None:
    name = library_name(level)
    return next((directory / name for directory in built_directories() if (directory / name).is_file()), None)
