""".npz archives with the words and the matrix as two arrays.

Words are an array of strings, or one newline-joined string, under `words`, `vocab`, `vocabulary` or `keys`; the
matrix is under `vectors`, `embeddings` or `matrix`. Pickled members are refused, never loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.sources import DAMAGE, is_zip

_WORD_NAMES = ("words", "vocab", "vocabulary", "keys")
_MATRIX_NAMES = ("vectors", "embeddings", "matrix")
_BLOCK_ROWS = 1 << 14
_REMEDY = "Save it as numpy.savez(path, words=array_of_strings, vectors=float32_matrix)."


def blocks_of(path: Path, words: list[bytes], vectors: NDArray[Any], limit: int | None) -> Iterator[Block]:
    """Yield rows of whole arrays in blocks of float32, if words and rows match; shared by formats that hold arrays."""
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or 0 in vectors.shape:
        problem = f"the matrix is {vectors.dtype} with shape {vectors.shape}, expected numbers of shape (v, d)."
        raise EmbeddingFormatError(path, problem, remedy=_REMEDY)
    if len(words) != len(vectors):
        raise EmbeddingFormatError(path, f"holds {len(words)} words and {len(vectors)} rows.", remedy=_REMEDY)
    rows = len(words) if limit is None else min(limit, len(words))
    for first in range(0, rows, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, rows)
        with np.errstate(over="ignore", invalid="ignore"):
            block = np.asarray(vectors[first:last], dtype=np.float32)
        positions = np.arange(first, last, dtype=np.int64)
        yield Block(words=words[first:last], vectors=block, positions=positions, share=last / rows)


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    if not is_zip(path):
        raise EmbeddingFormatError(path, "is no .npz archive.", remedy=_REMEDY)
    try:
        # Opened here, because NumPy leaves the file open if the archive is damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            words = archive[_pick(path, archive.files, _WORD_NAMES)]
            vectors = archive[_pick(path, archive.files, _MATRIX_NAMES)]
    except EmbeddingFormatError:
        raise
    except (OSError, KeyError, *DAMAGE) as error:
        raise EmbeddingFormatError(path, f"cannot be read as .npz ({error}).", remedy=_REMEDY) from None
    return blocks_of(path, _encoded(path, words), vectors, limit)


def _pick(path: Path, names: list[str], known: tuple[str, ...]) -> str:
    for name in known:
        if name in names:
            return name
    problem = f"holds {', '.join(names) or 'nothing'}, but none of {', '.join(known)}."
    raise EmbeddingFormatError(path, problem, remedy=_REMEDY)


def _encoded(path: Path, words: NDArray[Any]) -> list[bytes]:
    if words.dtype.kind == "S":
        listed = [bytes(word) for word in words.ravel().tolist()]
        return listed if words.ndim else listed[0].split(b"\n")
    if words.dtype.kind not in "UT":
        raise EmbeddingFormatError(path, f"the words are {words.dtype}, expected strings.", remedy=_REMEDY)
    texts = [str(word) for word in words.ravel().tolist()]
    return [text.encode("utf-8", "surrogatepass") for text in (texts if words.ndim else texts[0].split("\n"))]


FORMAT = EmbeddingFormat(name="npz", unit="row", read=_read)
