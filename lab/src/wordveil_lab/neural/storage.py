"""Files of a model directory, each written whole or not at all, and read without running any code they hold."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wordveil.api import DataFormatError, write_whole
from wordveil_lab.neural.backend import torch

__all__ = ["load_tensors", "read_json", "save_tensors", "write_json", "write_json_lines"]


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object."""
    write_whole(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_json_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line."""
    write_whole(path, "".join(json.dumps(value) + "\n" for value in values).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        DataFormatError: If it is none.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataFormatError(path, "must hold one JSON object.")
    return value


def save_tensors(path: Path, value: Mapping[str, Any]) -> None:
    """Write tensors, numbers and strings in nested dictionaries."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    write_whole(path, buffer.getvalue())


def load_tensors(path: Path) -> dict[str, Any]:
    """Return what `save_tensors` wrote, on the CPU; a file that asks for code to be run is refused.

    Raises:
        DataFormatError: If the file is damaged or holds anything else.
    """
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError, pickle.UnpicklingError):
        value = None
    if not isinstance(value, dict):
        raise DataFormatError(path, "is no model file of wordveil, or is damaged.", remedy="Train the model again.")
    return value
