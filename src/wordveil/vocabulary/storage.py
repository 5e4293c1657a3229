"""wordveil's own on-disk form: a directory of mapped arrays, written all or nothing.

    header.json      VocabularyHeader
    vectors.npy      (v, d) float32
    words.txt        all words, UTF-8, each followed by a newline
    offsets.npy      (v + 1,) int64, start of each word in words.txt
    index_hashes.npy (v,) uint64 ascending, and index_ids.npy (v,) int32: word -> id
    candidates.npy   ids that may be output, int32 ascending
    canonical.npy    (v,) int32, lowest id with an equal row

Opening maps the files and checks their shapes; it reads neither words nor vectors. Checksums are compared by
`Embeddings.verify`, not here.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import MALFORMED, Float32Array, IdArray, Int64Array
from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.files.atomic import sync, write_whole
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.wordlist import WordIndex, WordList

HEADER_FILE = "header.json"
_REMEDY = "Import the source again; the directory is damaged or was not written by wordveil."


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """The parts of a vocabulary, mapped or in memory."""

    header: VocabularyHeader
    words: WordList
    vectors: Float32Array  # shape (v, d), float32, C-contiguous
    index: WordIndex  # word -> id
    candidates: IdArray  # ids that may be output, ascending, int32
    canonical: IdArray  # lowest id with an equal row, shape (v,), int32


def is_vocabulary(path: Path) -> bool:
    """Return whether a path is a directory in this form."""
    return (path / HEADER_FILE).is_file() and (path / "index_hashes.npy").is_file()


def open_table(directory: Path) -> StoredTable:
    """Map a vocabulary directory; an `EmbeddingFormatError` if a file is missing, or does not fit the header."""
    header_path = directory / HEADER_FILE
    try:
        text = header_path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddingFormatError(header_path, f"cannot be read ({error}).", remedy=_REMEDY) from None
    header = VocabularyHeader.from_json(text, path=header_path)
    v = header.rows

    def mapped(name: str, dtype: type[np.generic], *shape: int | None) -> NDArray[Any]:
        return load_array(directory / f"{name}.npy", dtype, shape, remedy=_REMEDY, mapped=True)

    candidates = mapped("candidates", np.int32, None)
    if not 0 < candidates.size <= v or not 0 <= candidates[0] <= candidates[-1] < v:
        raise EmbeddingFormatError(directory / "candidates.npy", f"must hold 1 to {v} ids.", remedy=_REMEDY)
    return StoredTable(
        header=header,
        words=_map_words(directory, mapped("offsets", np.int64, v + 1)),
        vectors=mapped("vectors", np.float32, v, header.dimensions),
        index=WordIndex(hashes=mapped("index_hashes", np.uint64, v), ids=mapped("index_ids", np.int32, v)),
        candidates=candidates,
        canonical=mapped("canonical", np.int32, v),
    )


def replace_header(directory: Path, header: VocabularyHeader) -> None:
    """Write a new header.json in one step; the arrays stay as they are."""
    write_whole(directory / HEADER_FILE, header.to_json().encode("utf-8"))


class VocabularyWriter:
    """Builds a vocabulary in a temporary directory beside its destination and renames it into place.

    Use as a context manager: append blocks of rows, write the remaining parts, then `commit`. Leaving the block without
    `commit` removes everything that was written.
    """

    def __init__(self, destination: Path) -> None:
        require_free(destination)
        destination.parent.mkdir(parents=True, exist_ok=True)
        self._destination = destination
        self.directory = destination.parent / f".{destination.name}.partial-{secrets.token_hex(4)}"
        self.directory.mkdir()
        self._matrix = (self.directory / "vectors.npy").open("wb")
        self._digest = hashlib.sha256()
        self.rows = 0
        self.dimensions = 0

    def append(self, vectors: Float32Array) -> None:
        """Add rows of shape (n, d) to the matrix; d is fixed by the first block."""
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        if not self.rows:
            self.dimensions = rows.shape[1]
            self._matrix.write(_npy_header(0, self.dimensions))
        self._digest.update(rows.data)
        self._matrix.write(rows.data)
        self.rows += len(rows)

    def finish_matrix(self) -> tuple[Float32Array, bytes]:
        """Close vectors.npy; return it mapped, with the digest of the rows as they were appended."""
        self._matrix.seek(0)
        self._matrix.write(_npy_header(self.rows, self.dimensions))
        sync(self._matrix)
        self._matrix.close()
        shape = self.rows, self.dimensions
        matrix = load_array(self.directory / "vectors.npy", np.float32, shape, remedy=_REMEDY, mapped=True)
        return matrix, self._digest.digest()

    def finish_rest(self, table: StoredTable) -> None:
        write_whole(self.directory / "words.txt", table.words.blob.tobytes())
        arrays: dict[str, NDArray[Any]] = {
            "offsets.npy": table.words.offsets,
            "index_hashes.npy": table.index.hashes,
            "index_ids.npy": table.index.ids,
            "candidates.npy": table.candidates,
            "canonical.npy": table.canonical,
        }
        for name, array in arrays.items():
            with (self.directory / name).open("wb") as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array), version=(1, 0))
                sync(stream)
        replace_header(self.directory, table.header)

    def commit(self) -> None:
        """Give the finished directory its name, unless something came into being there meanwhile."""
        require_free(self._destination)
        os.rename(self.directory, self._destination)

    def __enter__(self) -> VocabularyWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._matrix.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def require_free(destination: Path) -> None:
    """Refuse to write over anything: a vocabulary in use must not change under its readers."""
    if destination.is_symlink() or (destination.exists() and (not destination.is_dir() or any(destination.iterdir()))):
        raise ParameterError("destination", str(destination), "already exists; remove it or choose another name.")


def _npy_header(rows: int, dimensions: int) -> bytes:
    """Return a .npy header of 128 bytes whatever the row count, so that it can be rewritten in place."""
    facts = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dimensions}), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + facts.ljust(117).encode("ascii") + b"\n"


def load_array(
    path: Path, dtype: type[np.generic], shape: tuple[int | None, ...], *, remedy: str, mapped: bool = False
) -> NDArray[Any]:
    """Load an array, or map it read-only; an `EmbeddingFormatError` if it is not of this type and shape, None for any.

    An empty one is read in any case, since nothing can be mapped.
    """
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, *MALFORMED) as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=remedy) from None
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " by columns"
        problem = f"holds {array.dtype} {array.shape}{order}, expected {np.dtype(dtype)} {shape}."
        raise EmbeddingFormatError(path, problem, remedy=remedy)
    return np.asarray(array)


def _map_words(directory: Path, offsets: Int64Array) -> WordList:
    path = directory / "words.txt"
    try:
        blob = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError) as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=_REMEDY) from None
    if offsets[0] != 0 or offsets[-1] != blob.size:
        problem = f"ends at {offsets[-1]}, words.txt has {blob.size} bytes."
        raise EmbeddingFormatError(directory / "offsets.npy", problem, remedy=_REMEDY)
    return WordList(blob, offsets)
