"""NumPy's .npy: a short header, then raw numbers. Pickled objects and structured types are refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import MALFORMED
from wordveil.documents.vectors.base import OutputPlan, VectorFormat, VectorReader, check_matrix, raw_blocks
from wordveil.errors import DataFormatError


def read_npy_header(path: str, stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and the type; the stream then stands at the numbers."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = readers[version](stream)
    except (KeyError, *MALFORMED):
        broken = True
    else:
        return shape, fortran, dtype
    assert broken
    raise DataFormatError(path, "not a readable .npy array.", remedy="Write it with numpy.save.")


def npy_header(plan: OutputPlan) -> bytes:
    """Return the header of the released array."""
    return npy_header_of((plan.rows, plan.dimensions), np.dtype(plan.dtype), fortran=False)


def npy_header_of(shape: tuple[int, ...], dtype: np.dtype[Any], *, fortran: bool) -> bytes:
    """Return the header of an array, as NumPy writes it."""
    buffer = io.BytesIO()
    facts = {"descr": dtype.str, "fortran_order": fortran, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(buffer, facts)
    return buffer.getvalue()


class _NpyReader(VectorReader):
    def __init__(self, path: Path) -> None:
        self.path, self.name = str(path), "vectors"
        self._stream = path.open("rb")
        try:
            shape, self._fortran, self._dtype = read_npy_header(self.path, self._stream)
            self.rows, self.dimensions = check_matrix(self.path, shape, self._dtype)
            self._offset = self._stream.tell()
            if path.stat().st_size < self._offset + self.rows * self.dimensions * self._dtype.itemsize:
                raise DataFormatError(path, "the file is shorter than its header says.", remedy="Fetch it again.")
        except BaseException:
            self._stream.close()
            raise
        self.kind = self._dtype.name

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        shape = (self.rows, self.dimensions)
        return raw_blocks(
            self.path, self._stream, self._offset, self._dtype, shape, fortran=self._fortran, start=start, size=size
        )

    def close(self) -> None:
        self._stream.close()


class Npy(VectorFormat):
    """NumPy .npy files."""

    name, ending, has_names = "npy", ".npy", False

    def open(self, path: Path, name: str | None) -> VectorReader:
        if name is not None:
            raise DataFormatError(path, f"an .npy file names no array, so none is {name!r}.", remedy="Leave it out.")
        return _NpyReader(path)

    def prefix(self, plan: OutputPlan) -> bytes:
        return npy_header(plan)

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        return rows
