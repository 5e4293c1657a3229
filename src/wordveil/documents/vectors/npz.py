"""NumPy's .npz: a zip of .npy members, stored or deflated. The output is stored; other members are copied as bytes."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.documents.vectors.base import (
    OutputPlan,
    VectorFormat,
    VectorReader,
    check_matrix,
    check_names,
    copy_bytes,
    pick,
    raw_blocks,
)
from wordveil.documents.vectors.npy import npy_header, read_npy_header
from wordveil.errors import DataFormatError

__all__ = ["Npz"]

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class _NpzReader(VectorReader):
    def __init__(self, path: Path, name: str | None) -> None:
        self.path = str(path)
        self._zip = self._opened(path)
        try:
            names = [n.removesuffix(".npy") for n in self._zip.namelist() if n.endswith(".npy")]
            check_names(self.path, names)
            usable = names if name is not None else [n for n in names if self._is_matrix(n)]
            self.name = pick(self.path, name, usable or names, "array")
            self.others = tuple(n for n in names if n != self.name)
            shape, self._fortran, self._dtype, self._offset = self._header(self.name)
            self.rows, self.dimensions = check_matrix(self.path, shape, self._dtype)
            if self._info(self.name).file_size < self._offset + self.rows * self.dimensions * self._dtype.itemsize:
                raise DataFormatError(path, "the array is shorter than its header says.", remedy="Fetch it again.")
            if self._fortran and self._info(self.name).compress_type != zipfile.ZIP_STORED:
                raise DataFormatError(
                    path, "the array lies column by column under compression.", remedy="Save it in C order."
                )
        except BaseException:
            self._zip.close()
            raise
        self.kind = self._dtype.name

    @staticmethod
    def _opened(path: Path) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            broken = True
        assert broken
        raise DataFormatError(path, "not a readable .npz file.", remedy="Write it with numpy.savez.")

    def _info(self, name: str) -> zipfile.ZipInfo:
        return self._zip.getinfo(f"{name}.npy")

    def _header(self, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
        problem = False
        try:
            with self._zip.open(self._info(name)) as member:
                shape, fortran, dtype = read_npy_header(self.path, member)
                return shape, fortran, dtype, member.tell()
        except _DAMAGE:
            problem = True
        assert problem
        raise DataFormatError(self.path, "a member of the file cannot be read.", remedy="Fetch it again.")

    def _is_matrix(self, name: str) -> bool:
        shape, _, dtype, _ = self._header(name)
        return len(shape) == 2 and dtype.kind in "fiu"

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        damaged = False
        try:
            with self._zip.open(self._info(self.name)) as member:
                shape = (self.rows, self.dimensions)
                yield from raw_blocks(
                    self.path, member, self._offset, self._dtype, shape, fortran=self._fortran, start=start, size=size
                )
        except _DAMAGE:
            damaged = True
        if damaged:
            raise DataFormatError(self.path, "the array is damaged.", remedy="Fetch the file again.")

    def copy_member(self, name: str, target: Any) -> None:
        """Copy another member's bytes."""
        with self._zip.open(self._info(name)) as member:
            copy_bytes(member, target)

    def close(self) -> None:
        self._zip.close()


class Npz(VectorFormat):
    """NumPy .npz files."""

    name, ending, has_names = "npz", ".npz", True

    def open(self, path: Path, name: str | None) -> VectorReader:
        return _NpzReader(path, name)

    def prefix(self, plan: OutputPlan) -> bytes:
        return npy_header(plan)

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        with merged.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
                # A ZipInfo of its own has a fixed date: equal content gives equal bytes.
                with rows.open("rb") as source, self._member(out, plan.name) as target:
                    copy_bytes(source, target)
                for name in plan.keep:
                    assert isinstance(plan.reader, _NpzReader)
                    with self._member(out, name) as target:
                        plan.reader.copy_member(name, target)
            file.flush()
            os.fsync(file.fileno())
        return merged

    @staticmethod
    def _member(out: zipfile.ZipFile, name: str) -> Any:
        return out.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)
