"""What an array format does: hand out rows block by block, and frame rows that were written one after the other.

Nothing here draws noise or knows a mechanism. A reader never holds more than a block (and, for Parquet, a row
group); pickled objects are never loaded. The output of every format is its rows, raw and little-endian, between a
prefix and a suffix, or rewritten in one bounded pass at the end: that is what makes all of them resumable.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import DataFormatError, ParameterError

COPY_BYTES = 1 << 22


class VectorReader(AbstractContextManager["VectorReader"]):
    """An (n, d) array in a file, read in row order; a context manager."""

    path: str  # the file, as the caller named it
    name: str  # name of the array, tensor or column; "vectors" where the format has no names
    rows: int  # n
    dimensions: int  # d, at least 1
    kind: str  # type of the numbers, as the file names it
    others: tuple[str, ...] = ()  # names of what else the file holds

    def __init__(self, path: Path, name: str | None) -> None:
        """Open the array of this name, or the only one."""
        self.path, self.file = str(path), self.opened(path)
        try:
            self.find(name)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def opened(self, path: Path) -> Any:
        """Return the open file."""

    @abstractmethod
    def find(self, name: str | None) -> None:
        """Find the array of this name, or the only one, and say what it is."""

    @abstractmethod
    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows from `start` on, in blocks of at most `size` rows of a real number type."""

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_matrix(self, shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[int, int]:
        """Return (n, d) of an array that can be released.

        Raises:
            DataFormatError: Unless it has two axes, d >= 1, and holds integers or floats of at most 64 bits.
        """
        if len(shape) != 2 or shape[1] < 1 or shape[0] < 0:
            remedy = "It must have shape (n, d) with d >= 1: reshape it."
            raise DataFormatError(self.path, f"the array has shape {tuple(shape)}.", remedy=remedy)
        if dtype.kind not in "fiu" or dtype.itemsize > 8:
            remedy = "It must hold integers or floats of at most 64 bits: convert it."
            raise DataFormatError(self.path, f"the array holds {dtype}.", remedy=remedy)
        return int(shape[0]), int(shape[1])

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse a file in which a name stands for two things: one might be kept for the other."""
        if len(set(names)) != len(names):
            problem = "two of its columns, arrays or tensors have one name."
            raise DataFormatError(self.path, problem, remedy="Rename them.")

    def pick(self, name: str | None, usable: Sequence[str], what: str) -> str:
        """Return the wanted name, or the only usable one."""
        if name is not None and name in usable:
            return name
        # Names may be private, as those of people: they are counted and not shown.
        if not usable or name is not None:
            missing = f"no {what} of numbers" + ("" if name is None else f" named {name!r}")
            raise DataFormatError(self.path, f"{missing} among its {len(usable)}.", remedy="Check file and name.")
        if len(usable) > 1:
            raise ParameterError("column", None, f"must be given: the file holds {len(usable)} that could be meant.")
        return usable[0]

    def copy_values(self, source: Any, target: Any, length: int, *, truths: bool) -> None:
        """Copy the bytes of an array to keep, at which `source` stands, a few megabytes at a time.

        Of truths each byte is true or false: seven of its bits are no part of the value.
        """
        for done in range(0, length, COPY_BYTES):
            data = _exactly(self.path, source, min(COPY_BYTES, length - done))
            target.write((np.frombuffer(data, dtype=np.uint8) != 0).tobytes() if truths else data)


@dataclass(frozen=True, kw_only=True)
class OutputPlan:
    """What an output file will hold."""

    rows: int
    dimensions: int
    dtype: str
    name: str
    keep: tuple[str, ...]
    reader: VectorReader

    @property
    def row_bytes(self) -> int:
        return self.dimensions * np.dtype(self.dtype).itemsize


class VectorFormat(ABC):
    """One array format."""

    name: str
    ending: str
    has_names: bool
    reader: type[VectorReader]

    @abstractmethod
    def prefix(self, plan: OutputPlan) -> bytes:
        """Return what stands before the rows in the file of rows."""

    @abstractmethod
    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        """Complete the file of rows, or write a complete file to `merged`; return which of the two it is.

        Called again from the start after an interruption; the answer's bytes are on the disk.
        """


@dataclass(frozen=True, kw_only=True)
class RawArray:
    """Raw numbers in a stream."""

    path: str  # the file, for errors
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int  # where they begin
    fortran: bool = False  # whether columns come first

    @property
    def size(self) -> int:
        """Their bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def blocks(self, stream: BinaryIO | Any, start: int, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a matrix in a stream that seeks, from `start` on, `size` at a time."""
        rows, columns = self.shape
        width, dtype = self.dtype.itemsize, self.dtype
        for low in range(start, rows, size):
            count = min(size, rows - low)
            if self.fortran:
                block = np.empty((count, columns), dtype=dtype)
                for column in range(columns):
                    stream.seek(self.offset + (column * rows + low) * width)
                    block[:, column] = np.frombuffer(_exactly(self.path, stream, count * width), dtype=dtype)
            else:
                if low == start:
                    stream.seek(self.offset + low * columns * width)
                data = _exactly(self.path, stream, count * columns * width)
                block = np.frombuffer(data, dtype=dtype).reshape(count, columns)
            yield block


def _exactly(path: str, stream: BinaryIO | Any, length: int) -> bytes:
    data: bytes = stream.read(length)
    if len(data) != length:
        raise DataFormatError(path, "the file ends before its last row.", remedy="Fetch it again; it may be cut off.")
    return data
