"""safetensors: a length, a JSON header, raw little-endian numbers; read and written directly, so without an extra.

Metadata of the input is not copied: it may say anything.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.documents.vectors.base import (
    OutputPlan,
    VectorFormat,
    VectorReader,
    check_matrix,
    copy_values,
    pick,
    raw_blocks,
)
from wordveil.errors import DataFormatError
from wordveil.files.atomic import sync

__all__ = ["Safetensors"]

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "<u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip
_WIDTHS = {name: np.dtype(kind).itemsize for name, kind in _TYPES.items()} | {
    "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8,
}  # fmt: skip
_MAX_HEADER = 100_000_000
_REMEDY = "Fetch the file again; it may be cut off."


class _SafetensorsReader(VectorReader):
    def __init__(self, path: Path, name: str | None) -> None:
        self.path = str(path)
        self._stream = path.open("rb")
        try:
            self._entries, self._base = self._header(path.stat().st_size)
            usable = [n for n, e in self._entries.items() if len(e["shape"]) == 2 and e["dtype"] in _TYPES]
            self.name = pick(self.path, name, usable, "tensor")
            self.others = tuple(n for n in self._entries if n != self.name)
            entry = self._entries[self.name]
            self._dtype = np.dtype(_TYPES[entry["dtype"]])
            self.rows, self.dimensions = check_matrix(self.path, entry["shape"], self._dtype)
            self._check(entry)
        except BaseException:
            self._stream.close()
            raise
        self.kind = entry["dtype"]

    def _header(self, size: int) -> tuple[dict[str, Any], int]:
        length = int.from_bytes(self._stream.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, _MAX_HEADER):
            raise DataFormatError(self.path, "the header does not fit the file.", remedy=_REMEDY)
        try:
            entries = dict(json.loads(self._stream.read(length), object_pairs_hook=_without_repeats))
            entries.pop("__metadata__", None)
            good = all(_fits(entry, size - 8 - length) for entry in entries.values()) and _are_apart(entries)
        except (ValueError, TypeError, KeyError):
            good = False
        if not good:
            raise DataFormatError(self.path, "the header is malformed.", remedy=_REMEDY)
        return entries, 8 + length

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        offset = self._base + self._entries[self.name]["data_offsets"][0]
        shape = (self.rows, self.dimensions)
        for block in raw_blocks(
            self.path, self._stream, offset, self._dtype, shape, fortran=False, start=start, size=size
        ):
            # bfloat16 is the upper half of a float32.
            yield (block.astype("<u4") << np.uint32(16)).view("<f4") if self.kind == "BF16" else block

    def entry(self, name: str) -> tuple[dict[str, Any], int]:
        """Return another tensor's type and shape, and its number of bytes.

        Raises:
            DataFormatError: If its type is none of the format's, or its bytes are not those of its values.
        """
        entry = self._entries[name]
        self._check(entry)
        first, last = entry["data_offsets"]
        return {"dtype": entry["dtype"], "shape": list(entry["shape"])}, last - first

    def _check(self, entry: dict[str, Any]) -> None:
        """Refuse a tensor that holds anything but values: it might be what must not be released."""
        first, last = entry["data_offsets"]
        if entry["dtype"] not in _WIDTHS:
            raise DataFormatError(self.path, "a tensor to keep has an unknown type.", remedy="Leave it out.")
        if last - first != math.prod(entry["shape"]) * _WIDTHS[entry["dtype"]]:
            raise DataFormatError(self.path, "a tensor's shape does not fit its bytes.", remedy=_REMEDY)

    def copy_tensor(self, name: str, target: Any) -> None:
        """Copy another tensor's values."""
        first, last = self._entries[name]["data_offsets"]
        self._stream.seek(self._base + first)
        copy_values(self.path, self._stream, target, last - first, truths=self._entries[name]["dtype"] == "BOOL")

    def close(self) -> None:
        self._stream.close()


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a name that stands for two things is no name."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _fits(entry: Any, room: int) -> bool:
    """Whether a tensor's shape is one and its bytes lie inside the file."""
    first, last = entry["data_offsets"]
    whole = all(type(number) is int and number >= 0 for number in (*entry["shape"], first, last))
    return whole and first <= last <= room and isinstance(entry["dtype"], str)


def _are_apart(entries: dict[str, Any]) -> bool:
    """Whether no two tensors share bytes: a kept one must not hold what is released with noise."""
    places = sorted((first, last) for first, last in (e["data_offsets"] for e in entries.values()) if first < last)
    return all(end <= start for (_, end), (start, _) in pairwise(places))


class Safetensors(VectorFormat):
    """safetensors files."""

    name, ending, has_names = "safetensors", ".safetensors", True

    def open(self, path: Path, name: str | None) -> VectorReader:
        return _SafetensorsReader(path, name)

    def prefix(self, plan: OutputPlan) -> bytes:
        kind = {"<f4": "F32", "<f8": "F64"}[plan.dtype]
        end = plan.rows * plan.row_bytes
        header: dict[str, Any] = {
            plan.name: {"dtype": kind, "shape": [plan.rows, plan.dimensions], "data_offsets": [0, end]}
        }
        for name in plan.keep:
            assert isinstance(plan.reader, _SafetensorsReader)
            facts, length = plan.reader.entry(name)
            header[name] = {**facts, "data_offsets": [end, end + length]}
            end += length
        text = json.dumps(header).encode("utf-8")
        text += b" " * (8 * math.ceil(len(text) / 8) - len(text))  # numbers begin at a multiple of eight bytes
        return len(text).to_bytes(8, "little") + text

    def finish(self, plan: OutputPlan, rows: Path, merged: Path) -> Path:
        if plan.keep:
            assert isinstance(plan.reader, _SafetensorsReader)
            with rows.open("r+b") as file:
                file.truncate(len(self.prefix(plan)) + plan.rows * plan.row_bytes)
                file.seek(0, os.SEEK_END)
                for name in plan.keep:
                    plan.reader.copy_tensor(name, file)
                sync(file)
        return rows
