"""NumPy's .npy: a short header, then raw numbers. Pickled objects and structured types are refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import MALFORMED
from wordveil.documents.vectors.base import OutputPlan, RawArray, VectorFormat, VectorReader, check_matrix
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
    def __init__(self, path: Path, name: str | None) -> None:
        if name is not None:
            raise DataFormatError(path, f"an .npy file names no array, so none is {name!r}.", remedy="Leave it out.")
        self.path, self.name = str(path), "vectors"
        self._stream = path.open("rb")
        try:
            self._array = array = read_npy_header(self.path, self._stream)
            self.rows, self.dimensions = check_matrix(self.path, array.shape, array.dtype)
            if path.stat().st_size < array.offset + array.size:
                raise DataFormatError(path, "the file is shorter than its header says.", remedy="Fetch it again.")
        except BaseException:
            self._stream.close()
            raise
        self.kind = array.dtype.name

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        return self._array.blocks(self._stream, start, size)

    def close(self) -> None:
        self._stream.close()


class Npy(VectorFormat):
    """NumPy .npy files."""

    name, ending, has_names, reader = "npy", ".npy", False, _NpyReader

    def prefix(self, plan: OutputPlan) -> bytes:
        return npy_header((plan.rows, plan.dimensions), plan.dtype)

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        return rows
