"""safetensors files of vectors: a length, a JSON header, raw little-endian numbers.

Metadata of the input is not copied: it may say anything.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.documents.vectors.base import OutputPlan, RawArray, VectorFormat, VectorReader
from wordveil.files.atomic import sync
from wordveil.files.safetensors import NUMBERS, SafetensorsFile, widened


class _SafetensorsReader(VectorReader):
    def opened(self, path: Path) -> SafetensorsFile:
        return SafetensorsFile(path)

    def find(self, name: str | None) -> None:
        tensors = self.file.tensors
        usable = [n for n, tensor in tensors.items() if len(tensor.shape) == 2 and tensor.kind in NUMBERS]
        self.name = self.pick(name, usable, "tensor")
        self.others = tuple(n for n in tensors if n != self.name)
        self.kind, shape, start, _ = tensors[self.name]
        self._array = RawArray(path=self.path, shape=shape, dtype=np.dtype(NUMBERS[self.kind]), offset=start)
        self.rows, self.dimensions = self.check_matrix(shape, self._array.dtype)
        self.file.checked(self.name)

    def blocks(self, start: int, size: int) -> Iterator[NDArray[Any]]:
        for block in self._array.blocks(self.file.stream, start, size):
            yield widened(block, self.kind)

    def copy_tensor(self, name: str, target: Any) -> None:
        kind, _, start, size = self.file.tensors[name]
        self.file.stream.seek(start)
        self.copy_values(self.file.stream, target, size, truths=kind == "BOOL")


class Safetensors(VectorFormat):
    """safetensors files."""

    name, ending, has_names, reader = "safetensors", ".safetensors", True, _SafetensorsReader

    def prefix(self, plan: OutputPlan) -> bytes:
        kind = {"<f4": "F32", "<f8": "F64"}[plan.dtype]
        end = plan.rows * plan.row_bytes
        header: dict[str, Any] = {
            plan.name: {"dtype": kind, "shape": [plan.rows, plan.dimensions], "data_offsets": [0, end]}
        }
        for name in plan.keep:
            assert isinstance(plan.reader, _SafetensorsReader)
            tensor = plan.reader.file.checked(name)  # anything but values might be what must not be released
            place = [end, end + tensor.size]
            header[name] = {"dtype": tensor.kind, "shape": list(tensor.shape), "data_offsets": place}
            end += tensor.size
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
