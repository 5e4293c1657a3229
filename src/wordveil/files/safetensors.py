"""Reads safetensors files: a length, a JSON header, raw little-endian numbers; directly, so without an extra.

The header's own metadata is not read: it may say anything.
"""

from __future__ import annotations

import json
import math
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import DataFormatError

NUMBERS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "<u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip
"""Types of numbers, and how NumPy reads them."""

_WIDTHS = {name: np.dtype(kind).itemsize for name, kind in NUMBERS.items()} | {
    "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8,
}  # fmt: skip
_MAX_HEADER = 100_000_000
_REMEDY = "Fetch the file again; it may be cut off."


class Tensor(NamedTuple):
    """An entry of the header: type, shape, and where its bytes begin in the file and how many they are."""

    kind: str
    shape: tuple[int, ...]
    start: int
    size: int


class SafetensorsFile(AbstractContextManager["SafetensorsFile"]):
    """An open file, `stream`, and the entries of its header by name, `tensors`; a context manager.

    Raises:
        DataFormatError: If the header does not fit the file, names a tensor twice, or places tensors outside of it or
            over one another: one that is copied must not hold another that is released with noise.
    """

    def __init__(self, path: Path, *, error: type[DataFormatError] = DataFormatError) -> None:
        self._path, self._error = path, error
        self.stream = path.open("rb")
        try:
            self.tensors = self._header(path.stat().st_size)
        except BaseException:
            self.stream.close()
            raise

    def _header(self, size: int) -> dict[str, Tensor]:
        length = int.from_bytes(self.stream.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, _MAX_HEADER):
            raise self._error(self._path, "the header does not fit the file.", offset=0, remedy=_REMEDY)
        try:
            entries = dict(json.loads(self.stream.read(length), object_pairs_hook=_without_repeats))
            entries.pop("__metadata__", None)
            tensors = {name: _entry(entry, 8 + length, size) for name, entry in entries.items()}
            places = sorted((one.start, one.start + one.size) for one in tensors.values() if one.size)
            good = all(end <= start for (_, end), (start, _) in pairwise(places))
        except (ValueError, TypeError, KeyError):
            good = False
        if not good:
            raise self._error(self._path, "the header is malformed.", remedy=_REMEDY)
        return tensors

    def checked(self, name: str) -> Tensor:
        """Return a tensor that holds its values and nothing else."""
        tensor = self.tensors[name]
        if tensor.kind not in _WIDTHS:
            raise self._error(self._path, "a tensor has an unknown type.", remedy="Leave it out.")
        if tensor.size != math.prod(tensor.shape) * _WIDTHS[tensor.kind]:
            raise self._error(self._path, "a tensor's shape does not fit its bytes.", remedy=_REMEDY)
        return tensor

    def read(self, name: str) -> NDArray[Any]:
        tensor = self.checked(name)
        if tensor.kind not in NUMBERS:
            raise self._error(self._path, "a tensor holds no numbers.", remedy="Convert it.")
        self.stream.seek(tensor.start)
        flat = np.frombuffer(self.stream.read(tensor.size), dtype=NUMBERS[tensor.kind])
        return widened(flat, tensor.kind).reshape(tensor.shape)

    def close(self) -> None:
        self.stream.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def widened(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Return values as numbers NumPy knows: bfloat16 is the upper half of a float32."""
    return (values.astype("<u4") << np.uint32(16)).view("<f4") if kind == "BF16" else values


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _entry(entry: Any, base: int, size: int) -> Tensor:
    shape, (first, last) = entry["shape"], entry["data_offsets"]
    whole = all(type(number) is int and number >= 0 for number in (*shape, first, last))
    if not (whole and first <= last <= size - base and isinstance(entry["dtype"], str)):
        raise ValueError
    return Tensor(entry["dtype"], tuple(shape), base + first, last - first)
