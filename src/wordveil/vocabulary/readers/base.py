"""What every embedding reader has in common: blocks of rows, checks, and the assembly of a whole table.

A reader turns one file format into blocks of words and float32 rows, in file order. The checks here run on
every block of every format, so that a malformed file stops the reading and never yields half a table. Readers
do not decide which words may be output and do not change values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordveil.arrays import Float32Array, Int64Array
from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.vocabulary.wordlist import WordIndex, WordList, build_index, first_duplicate

Progress = Callable[[int, float], None]
"""Called after each block with the rows read so far and the share of the file read, in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Consecutive rows of a file."""

    words: Sequence[bytes]  # n words as UTF-8 bytes, not yet checked
    vectors: Float32Array  # shape (n, d), float32
    positions: Int64Array  # place of each row in the file in the format's unit, shape (n,), int64
    share: float = 1.0  # share of the file read up to here, in [0, 1]


@dataclass(frozen=True, kw_only=True)
class EmbeddingFormat:
    """One file format: its name, how to recognize it, how to read it."""

    name: str  # public name, as in `wordveil.vocabulary.readers.FORMATS`
    unit: str  # what positions count: "line" (1-based), "offset" (bytes) or "row" (0-based)
    read: Callable[[Path, int | None], Iterator[Block]]  # yields the blocks of a file, all or up to so many rows


@dataclass(frozen=True, kw_only=True)
class ReadTable:
    """A whole file in memory, named as it is less endings, checked: distinct words, finite vectors, their index."""

    name: str
    words: WordList
    vectors: Float32Array
    index: WordIndex


def read_blocks(path: Path, form: EmbeddingFormat, limit: int | None = None) -> Iterator[Block]:
    """Yield the blocks of a file, up to a limit of rows, each checked for values, width, empty words and UTF-8."""
    if limit is not None and limit < 1:
        raise ParameterError("limit", limit, "must be at least 1, or None for all rows.")
    dimensions: int | None = None
    for block in form.read(path, limit):
        width = block.vectors.shape[1]
        if dimensions is not None and width != dimensions:
            problem = f"has {width} values where earlier rows have {dimensions}."
            raise file_error(path, form, problem, int(block.positions[0]), "Mend or remove the row.")
        dimensions = width
        _check_finite(path, form, block)
        _check_text(path, form, block)
        yield block
    if dimensions is None:
        raise EmbeddingFormatError(path, "holds no vectors.", remedy="Check that the download is complete.")


def distinct_words(path: Path, form: EmbeddingFormat, words: WordList, positions: Int64Array) -> WordIndex:
    """Return the index of the words of a file; an `EmbeddingFormatError` if a word occurs twice."""
    index = build_index(words)
    duplicate = first_duplicate(words, index)
    if duplicate is not None:
        earlier, later = (int(positions[i]) for i in duplicate)
        problem = f"the word {words[duplicate[1]]!r} occurred before, at {form.unit} {earlier}."
        raise file_error(path, form, problem, later, "Keep one of the two rows.")
    return index


def file_error(path: Path, form: EmbeddingFormat, problem: str, position: int, remedy: str) -> EmbeddingFormatError:
    """Return an error that names the position in the format's own unit."""
    if form.unit == "row":
        return EmbeddingFormatError(path, f"row {position}: {problem}", remedy=remedy)
    return EmbeddingFormatError(path, problem, **{form.unit: position}, remedy=remedy)


def table_name(path: Path) -> str:
    """Return a file's name without compression and format endings, as the default name of its table."""
    name = path.name
    for ending in (".gz", ".zip", ".txt", ".vec", ".bin", ".npz", ".kv", ".safetensors"):
        name = name.removesuffix(ending)
    return name or path.name


def _check_finite(path: Path, form: EmbeddingFormat, block: Block) -> None:
    # The sum of absolute values is finite exactly if all are, short of overflow: cheap to test first.
    with np.errstate(invalid="ignore"):
        total = np.abs(block.vectors).sum(dtype=np.float64)
    if np.isfinite(total):
        return
    finite = np.isfinite(block.vectors)
    row, column = np.unravel_index(int(np.argmin(finite)), finite.shape)
    problem = f"value {column + 1} is {block.vectors[row, column]}, not a finite float32."
    raise file_error(path, form, problem, int(block.positions[row]), "Mend or remove the row.")


def _check_text(path: Path, form: EmbeddingFormat, block: Block) -> None:
    if b"" in block.words:
        position = int(block.positions[list(block.words).index(b"")])
        raise file_error(path, form, "the word is empty.", position, "Remove the row.")
    try:
        b"\n".join(block.words).decode("utf-8")
    except UnicodeDecodeError:
        for word, position in zip(block.words, block.positions.tolist(), strict=True):
            try:
                word.decode("utf-8")
            except UnicodeDecodeError:
                remedy = "Convert the file to UTF-8, or remove the row."
                raise file_error(path, form, "the word is not valid UTF-8.", position, remedy) from None
