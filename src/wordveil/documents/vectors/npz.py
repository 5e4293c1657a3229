"""NumPy's .npz: a zip of .npy members, stored or deflated. The output is stored; kept members are written anew.

What else a member holds, a comment in its header or bytes behind its values, is not copied.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from wordveil.documents.vectors.base import COPY_BYTES, OutputPlan, RawArray, VectorFormat, VectorReader
from wordveil.documents.vectors.npy import npy_header, read_npy_header
from wordveil.errors import DataFormatError
from wordveil.files.atomic import sync

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_KEPT_KINDS = "biufcSUmM"
"""Kinds of arrays that are their values: objects are pickles, records and wide floats have bytes between."""
_WIDEST = {"f": 8, "c": 16}
_LOCAL_HEADER = 30


class _NpzReader(VectorReader):
    def opened(self, path: Path) -> zipfile.ZipFile:
        with suppress(*_DAMAGE, UnicodeDecodeError):
            file = zipfile.ZipFile(path)
            if all(info.header_offset >= 0 for info in file.infolist()):
                return file
        raise DataFormatError(path, "not a readable .npz file.", remedy="Write it with numpy.savez.")

    def find(self, name: str | None) -> None:
        names = [n.removesuffix(".npy") for n in self.file.namelist() if n.endswith(".npy")]
        self.check_names(names)
        self._check_apart()
        usable = names if name is not None else [n for n in names if self._is_matrix(n)]
        self.name = self.pick(name, usable or names, "array")
        self.others = tuple(n for n in names if n != self.name)
        self._array = array = self._header(self.name)
        self.rows, self.dimensions = self.check_matrix(array.shape, array.dtype)
        if self._info(self.name).file_size < array.offset + array.size:
            raise DataFormatError(self.path, "the array is shorter than its header says.", remedy="Fetch it again.")
        if array.fortran and self._info(self.name).compress_type != zipfile.ZIP_STORED:
            problem = "the array lies column by column under compression."
            raise DataFormatError(self.path, problem, remedy="Save it in C order.")
        self.kind = array.dtype.name

    def _info(self, name: str) -> zipfile.ZipInfo:
        found: zipfile.ZipInfo = self.file.getinfo(f"{name}.npy")
        return found

    def _header(self, name: str) -> RawArray:
        with suppress(*_DAMAGE), self.file.open(self._info(name)) as member:
            return read_npy_header(self.path, member)
        raise DataFormatError(self.path, "a member of the file cannot be read.", remedy="Fetch it again.")

    def _is_matrix(self, name: str) -> bool:
        array = self._header(name)
        return len(array.shape) == 2 and array.dtype.kind in "fiu"

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        with suppress(*_DAMAGE), self.file.open(self._info(self.name)) as member:
            yield from self._array.blocks(member, start, size)
            return
        raise DataFormatError(self.path, "the array is damaged.", remedy="Fetch the file again.")

    def _check_apart(self) -> None:
        """Refuse members that share bytes: a kept one must not hold what is released with noise."""
        stream: Any = self.file.fp
        places = []
        for info in self.file.infolist():
            stream.seek(info.header_offset)
            local = stream.read(_LOCAL_HEADER)
            name_and_extra = sum(int.from_bytes(local[place : place + 2], "little") for place in (26, 28))
            start = info.header_offset
            places.append((start, start + _LOCAL_HEADER + name_and_extra + info.compress_size))
        places = [*sorted(places), (self.file.start_dir, self.file.start_dir)]
        if any(end > start for (_, end), (start, _) in pairwise(places)):
            raise DataFormatError(self.path, "members of the file share bytes.", remedy="Write it with numpy.savez.")

    def check_kept(self, name: str) -> None:
        """Refuse another member that holds more than values."""
        array = self._header(name)
        dtype = array.dtype
        if dtype.kind not in _KEPT_KINDS or dtype.itemsize > _WIDEST.get(dtype.kind, dtype.itemsize):
            remedy = "Save numbers or text, or leave it out."
            raise DataFormatError(self.path, f"an array to keep holds {dtype.name}.", remedy=remedy)
        if self._info(name).file_size < array.offset + array.size:
            raise DataFormatError(self.path, "an array to keep is shorter than its header says.", remedy="Fetch again.")

    def copy_member(self, name: str, target: Any) -> None:
        """Write another member's values under a header of our own."""
        array = self._header(name)
        target.write(npy_header(array.shape, array.dtype.str, fortran=array.fortran))
        with self.file.open(self._info(name)) as member:
            member.seek(array.offset)
            self.copy_values(member, target, array.size, truths=array.dtype.kind == "b")


class Npz(VectorFormat):
    """NumPy .npz files."""

    name, ending, has_names, reader = "npz", ".npz", True, _NpzReader

    def prefix(self, plan: OutputPlan) -> bytes:
        for name in plan.keep:
            assert isinstance(plan.reader, _NpzReader)
            plan.reader.check_kept(name)
        return npy_header((plan.rows, plan.dimensions), plan.dtype)

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        with merged.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as out:
                # A ZipInfo of its own has a fixed date: equal content gives equal bytes.
                with rows.open("rb") as source, self._member(out, plan.name) as target:
                    shutil.copyfileobj(source, target, COPY_BYTES)
                for name in plan.keep:
                    assert isinstance(plan.reader, _NpzReader)
                    with self._member(out, name) as target:
                        plan.reader.copy_member(name, target)
            sync(file)
        return merged

    @staticmethod
    def _member(out: zipfile.ZipFile, name: str) -> Any:
        return out.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)
