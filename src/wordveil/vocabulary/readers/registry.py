"""The table of embedding formats, and reading by name, or by a guess from a file's name and first bytes."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from wordveil.arrays import Float32Array
from wordveil.errors import EmbeddingFormatError
from wordveil.parameters import check_choice
from wordveil.vocabulary.readers import npz, safetensors_model2vec, word2vec_binary
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat, ReadTable, distinct_words, read_blocks, table_name
from wordveil.vocabulary.readers.sources import DAMAGE, is_zip, open_source
from wordveil.vocabulary.readers.text_lines import TEXT_FORMATS, text_header
from wordveil.vocabulary.wordlist import WordList

_HEAD = 1 << 16


def guess_format(path: Path) -> str:
    """Return the name of the format that a path most likely holds.

    `EmbeddingFormatError` if the file is empty, or a folder holds no known model; `FileNotFoundError` if there is
    nothing at the path.
    """
    if path.is_dir():
        if (path / "model.safetensors").is_file():
            return "safetensors_model2vec"
        remedy = "Give a vocabulary written by wordveil, a model2vec folder, or an embedding file."
        raise EmbeddingFormatError(path, "is a folder without a known model.", remedy=remedy)
    if is_zip(path) and _is_npz(path):
        return "npz"
    with open_source(path) as source:
        head = source.read(_HEAD)
    if not head:
        raise EmbeddingFormatError(path, "is empty.", remedy="Check that the download is complete.")
    if head.startswith(b"\x93NUMPY"):
        remedy = "Save it with its words as an .npz file."
        raise EmbeddingFormatError(path, "is an array without words.", remedy=remedy)
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        remedy = "Load it with the program that wrote it and save plain vectors: save_word2vec_format in gensim."
        raise EmbeddingFormatError(path, "is a pickle, which can run any code and is not loaded.", remedy=remedy)
    if path.suffix == ".safetensors" or head[8:10] == b'{"':
        return "safetensors_model2vec"
    return _guess_text(path, head)


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, *DAMAGE):
        return path.suffix == ".npz"
    return bool(names) and all(name.endswith(".npy") for name in names)


def _guess_text(path: Path, head: bytes) -> str:
    """Tell the text formats and the binary one apart by the header and the first row."""
    counts = text_header(head)
    body = head[head.index(b"\n") + 1 :] if counts else head
    line = body.split(b"\n", 1)[0].rstrip(b"\r")
    if counts and not _looks_like_text(line):
        return "word2vec_binary"
    if b"\0" in head:
        remedy = "Give a text file of words and numbers, or name what it is with --format."
        raise EmbeddingFormatError(path, "is in no format that can be recognized.", remedy=remedy)
    if line.endswith(b" ") or ".vec" in path.suffixes:
        return "fasttext_vec"
    return "word2vec_text" if counts else "glove_text"


def _looks_like_text(line: bytes) -> bool:
    """Return whether the row after a header is text: it ends in a number, or at least holds no odd bytes."""
    with suppress(ValueError):
        float(line.rstrip(b" ").rpartition(b" ")[2])
        return True
    with suppress(UnicodeDecodeError):
        return line.decode("utf-8").isprintable()
    return False


_BINARY = (npz.FORMAT, safetensors_model2vec.FORMAT, word2vec_binary.FORMAT)
FORMATS: dict[str, EmbeddingFormat] = {
    form.name: form for form in sorted((*TEXT_FORMATS, *_BINARY), key=lambda form: form.name)
}


def format_of(path: Path, name: str | None) -> EmbeddingFormat:
    """Return the format with a name, or the one guessed from the file if the name is None.

    `ParameterError` if there is no such format; `EmbeddingFormatError` if the file is of no known format;
    `FileNotFoundError` if there is nothing at the path.
    """
    chosen = guess_format(path) if name is None else name
    check_choice("format", chosen, FORMATS)
    return FORMATS[chosen]


def read_table(path: Path, *, format_name: str | None = None, limit: int | None = None) -> ReadTable:
    """Read a whole file into memory, or nothing where it is malformed."""
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
