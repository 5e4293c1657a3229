"""NumPy's .npy: a short header, then raw numbers. Pickled objects and structured types are refused."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import MALFORMED
from wordveil.documents.vectors.base import OutputPlan, RawArray, VectorFormat, VectorReader
from wordveil.errors import DataFormatError


def read_npy_header(path: str, stream: Any) -> RawArray:
    """Return the array whose header a stream stands at; the stream then stands at the numbers."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with suppress(KeyError, *MALFORMED):
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = readers[version](stream)
        return RawArray(path=path, shape=shape, dtype=dtype, offset=stream.tell(), fortran=fortran)
    raise DataFormatError(path, "not a readable .npy array.", remedy="Write it with numpy.save.")


def npy_header(shape: tuple[int, ...], dtype: str, *, fortran: bool = False) -> bytes:
    """Return the header of an array, as NumPy writes it."""
    buffer = io.BytesIO()
    facts = {"descr": dtype, "fortran_order": fortran, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(buffer, facts)
    return buffer.getvalue()


class _NpyReader(VectorReader):
    name = "vectors"

    def opened(self, path: Path) -> BinaryIO:
        return path.open("rb")

    def find(self, name: str | None) -> None:
        if name is not None:
            problem = f"an .npy file names no array, so none is {name!r}."
            raise DataFormatError(self.path, problem, remedy="Leave it out.")
        self._array = array = read_npy_header(self.path, self.file)
        self.rows, self.dimensions = self.check_matrix(array.shape, array.dtype)
        if os.fstat(self.file.fileno()).st_size < array.offset + array.size:
            raise DataFormatError(self.path, "the file is shorter than its header says.", remedy="Fetch it again.")
        self.kind = array.dtype.name

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        return self._array.blocks(self.file, start, size)


class Npy(VectorFormat):
    """NumPy .npy files."""

    name, ending, has_names, reader = "npy", ".npy", False, _NpyReader

    def prefix(self, plan: OutputPlan) -> bytes:
        return npy_header((plan.rows, plan.dimensions), plan.dtype)

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        return rows
