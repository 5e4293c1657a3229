"""The table of embedding formats, and reading by name or by guess."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wordveil.arrays import Float32Array
from wordveil.errors import ParameterError
from wordveil.vocabulary.readers import npz, safetensors_model2vec, word2vec_binary
from wordveil.vocabulary.readers.base import (
    Block,
    EmbeddingFormat,
    ReadTable,
    checked_blocks,
    distinct_words,
    table_name,
)
from wordveil.vocabulary.readers.detection import guess_format
from wordveil.vocabulary.readers.text_lines import TEXT_FORMATS
from wordveil.vocabulary.wordlist import WordList

_BINARY = (npz.FORMAT, safetensors_model2vec.FORMAT, word2vec_binary.FORMAT)
FORMATS: dict[str, EmbeddingFormat] = {
    form.name: form for form in sorted((*TEXT_FORMATS, *_BINARY), key=lambda form: form.name)
}


def format_of(path: Path, name: str | None) -> EmbeddingFormat:
    """Return the format with a name, or the one guessed from the file if the name is None.

    Raises:
        ParameterError: If there is no such format.
        EmbeddingFormatError: If the file is of no known format.
        FileNotFoundError: If there is nothing at the path.
    """
    chosen = guess_format(path) if name is None else name
    if chosen not in FORMATS:
        raise ParameterError("format", chosen, f"must be one of {', '.join(FORMATS)}.")
    return FORMATS[chosen]


def read_blocks(path: Path, form: EmbeddingFormat, limit: int | None = None) -> Iterator[Block]:
    """Yield the checked blocks of a file, in file order.

    Raises:
        ParameterError: If the limit is not positive.
        EmbeddingFormatError: At the first row that is not valid.
    """
    if limit is not None and limit < 1:
        raise ParameterError("limit", limit, "must be at least 1, or None for all rows.")
    return checked_blocks(path, form, limit)


def read_table(path: Path, *, format_name: str | None = None, limit: int | None = None) -> ReadTable:
    """Read a whole file into memory.

    Raises:
        EmbeddingFormatError: If the file is malformed; nothing is returned then.
    """
    form = format_of(path, format_name)
    words: list[bytes] = []
    places = []
    matrix = np.empty((0, 0), dtype=np.float32)
    for block in read_blocks(path, form, limit):
        matrix = _with_room(matrix, len(words), block)
        matrix[len(words) : len(words) + len(block.words)] = block.vectors
        words.extend(block.words)
        places.append(block.positions)
    packed = WordList.from_encoded(words)
    index = distinct_words(path, form, packed, np.concatenate(places))
    return ReadTable(name=table_name(path), words=packed, vectors=matrix[: len(words)], index=index)


def _with_room(matrix: Float32Array, rows: int, block: Block) -> Float32Array:
    """Return the matrix, moved to a larger one if the block does not fit after its first `rows` rows.

    The size is guessed from the share of the file that has been read; pages beyond the last row are never
    touched and cost nothing. A list of blocks, joined at the end, would touch all memory twice.
    """
    needed = rows + len(block.vectors)
    if needed <= len(matrix):
        return matrix
    guess = needed if block.share >= 1 else int(1.05 * needed / max(block.share, 0.01)) + 1
    grown = np.empty((guess, block.vectors.shape[1]), dtype=np.float32)
    grown[:rows] = matrix[:rows] if rows else 0.0
    return grown
