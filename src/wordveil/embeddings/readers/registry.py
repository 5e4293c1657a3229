"""The table of embedding formats, and reading by name or by guess."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wordveil.embeddings.wordlist import WordList
from wordveil.errors import ParameterError

from . import (
    fasttext_vec,
    gensim_keyedvectors,
    glove_text,
    npz,
    safetensors_model2vec,
    word2vec_binary,
    word2vec_text,
)
from .base import Block, EmbeddingFormat, Progress, ReadTable, checked_blocks, distinct_words, table_name
from .detection import guess_format

__all__ = ["FORMATS", "Block", "EmbeddingFormat", "Progress", "ReadTable", "format_of", "read_blocks", "read_table"]

FORMATS: dict[str, EmbeddingFormat] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        fasttext_vec,
        gensim_keyedvectors,
        glove_text,
        npz,
        safetensors_model2vec,
        word2vec_binary,
        word2vec_text,
    )
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
    blocks = list(read_blocks(path, form, limit))
    words = WordList.from_encoded([word for block in blocks for word in block.words])
    positions = np.concatenate([block.positions for block in blocks])
    index = distinct_words(path, form, words, positions)
    vectors = np.concatenate([block.vectors for block in blocks])
    return ReadTable(name=table_name(path), words=words, vectors=vectors, index=index)
