"""Arrays of vectors in files: one reader and one framing of the output per format, all streamed."""

from __future__ import annotations

import os
from pathlib import Path

from wordveil.documents.vectors.base import OutputPlan, VectorFormat, VectorReader
from wordveil.documents.vectors.npy import Npy
from wordveil.documents.vectors.npz import Npz
from wordveil.documents.vectors.parquet import ParquetVectors
from wordveil.documents.vectors.safetensors import Safetensors
from wordveil.errors import DataFormatError, ParameterError

__all__ = ["VECTOR_FORMATS", "OutputPlan", "VectorFormat", "VectorReader", "open_vectors", "vector_format"]

VECTOR_FORMATS: dict[str, VectorFormat] = {
    form.ending: form for form in (Npy(), Npz(), ParquetVectors(), Safetensors())
}
"""File ending -> format."""


def vector_format(path: str | os.PathLike[str]) -> VectorFormat:
    """Return the format a file name stands for."""
    form = VECTOR_FORMATS.get(Path(path).suffix.lower())
    if form is None:
        raise ParameterError("path", os.fspath(path), f"must end in one of {', '.join(VECTOR_FORMATS)}.")
    return form


def open_vectors(path: str | os.PathLike[str], name: str | None = None) -> VectorReader:
    """Open the (n, d) array of a file."""
    form = vector_format(path)
    if not Path(path).is_file():
        raise DataFormatError(path, "no such file.", remedy="Check the path.")
    return form.reader(Path(path), name)
