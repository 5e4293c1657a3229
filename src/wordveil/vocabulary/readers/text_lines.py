"""The text formats of GloVe, word2vec and fastText: "word number number ..." on each line.

word2vec has a first line of rows and dimensions, GloVe none, and fastText (whose lines end in spaces) mostly one.

Each line is split from the right by the number of dimensions, because words may contain spaces; only the byte
0x0A ends a line, because words may contain U+0085 and other characters that `str.splitlines` cuts at. Without a
header the number of dimensions is the commonest column count of the first lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from wordveil.arrays import Int64Array
from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.numbers import PADDING, parse_numbers
from wordveil.vocabulary.readers.sources import Source, open_source

# Measured: the positions of all numbers in half a megabyte of text stay in the second-level cache.
_CHUNK = 1 << 19
_MAX_LINE = 1 << 24
_SAMPLE_LINES = 1000
_DECIMAL = re.compile(rb"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\Z|[-+]?\d+(?:\.\d*)?[eE][-+]?\d+\Z")
_HEADER_REMEDY = "Fetch the file again, or correct the header."
_REMEDY = "Each line must be a word and the same number of values, separated by single spaces."


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """Where the words and numbers of n lines are in a buffer, and in which lines the word holds a space."""

    starts: Int64Array
    word_ends: Int64Array
    number_starts: Int64Array
    number_ends: Int64Array
    spaced: Int64Array


def text_header(head: bytes) -> tuple[int, int] | None:
    """Return (rows, dimensions) if a file's first line is a count header, else None."""
    match = re.match(rb"(\d{1,18})[ \t](\d{1,9})[ \t]*\r?\n", head)
    return (int(match[1]), int(match[2])) if match else None


def text_blocks(path: Path, limit: int | None, *, header: str) -> Iterator[Block]:
    """Yield the rows of a text file, plain, .gz or .zip, whose header of counts is "none", "required" or "optional".

    The `EmbeddingFormatError` names the first line that is not valid, or a header that does not fit the file.
    """
    with open_source(path) as source:
        pieces = _line_pieces(source)
        first = next(pieces, b"")
        counts = text_header(first) if header != "none" else None
        if counts is None and header == "required":
            problem = "must begin with a line of two integers: rows and dimensions."
            raise EmbeddingFormatError(path, problem, line=1, remedy="Add it, or read the file as glove_text.")
        if counts is not None:
            if 0 in counts:
                problem = f"the header says {counts[0]} rows and {counts[1]} dimensions; both must be positive."
                raise EmbeddingFormatError(path, problem, line=1, remedy=_HEADER_REMEDY)
            first = first[first.index(b"\n") + 1 :] or next(pieces, b"")
        d = counts[1] if counts is not None else _common_columns(first)
        skipped = 0 if counts is None else 1
        rows = 0
        piece = first
        while piece and (limit is None or rows < limit):
            block = _parse_piece(path, piece, d, rows + skipped + 1, source.share())
            if limit is not None and rows + len(block.words) > limit:
                left = {name: getattr(block, name)[: limit - rows] for name in ("words", "vectors", "positions")}
                block = replace(block, **left)
            rows += len(block.words)
            yield block
            piece = next(pieces, b"")
        if counts is not None and limit is None and rows != counts[0]:
            problem = f"the header says {counts[0]} rows, the file has {rows}."
            raise EmbeddingFormatError(path, problem, line=1, remedy=_HEADER_REMEDY)


def _line_pieces(source: Source) -> Iterator[bytes]:
    """Yield the file as pieces of whole lines, each ending in one newline; blank lines at the end are dropped."""
    carry = b""
    while data := source.read(_CHUNK):
        data = carry + data
        # The last line stays behind with the line ends after it: they may turn out to be the end of the file.
        cut = data.rfind(b"\n", 0, len(data.rstrip(b"\r\n"))) + 1
        carry = data[cut:]
        if len(carry) > _MAX_LINE:
            problem = f"a line is longer than {_MAX_LINE} bytes."
            raise EmbeddingFormatError(source.path, problem, remedy="This is no text embedding file.")
        if cut:
            yield data[:cut]
    rest = carry.rstrip(b"\r\n")
    if rest:
        yield rest + b"\n"


def _common_columns(piece: bytes) -> int:
    """Return the commonest number of columns after the word in the first lines, at least 1."""
    lines = piece.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
    counts = np.array([line.rstrip(b" \r").count(b" ") for line in lines if line], dtype=np.int64)
    return max(1, int(np.bincount(counts).argmax())) if counts.size else 1


def _parse_piece(path: Path, piece: bytes, d: int, first_line: int, share: float) -> Block:
    data = bytes(PADDING) + piece
    lines = _locate(path, data, d, first_line)
    values, wrong = parse_numbers(data, lines.number_starts.ravel(), lines.number_ends.ravel())
    if wrong is not None:
        row, column = divmod(wrong, d)
        problem = f"value {column + 1} of {d} is not a number."
        raise EmbeddingFormatError(path, problem, line=first_line + row, remedy=_REMEDY)
    bounds = zip(lines.starts.tolist(), lines.word_ends.tolist(), strict=True)
    words = [data[start:end] for start, end in bounds]
    for row in lines.spaced.tolist():
        # A word that ends in a decimal fraction after a space: that is a value too many, not a word.
        if _DECIMAL.match(words[row].rpartition(b" ")[2]):
            problem = f"has more than {d} values."
            raise EmbeddingFormatError(path, problem, line=first_line + row, remedy=_REMEDY)
    positions = np.arange(first_line, first_line + len(words), dtype=np.int64)
    return Block(words=words, vectors=values.reshape(-1, d), positions=positions, share=share)


def _locate(path: Path, data: bytes, d: int, first_line: int) -> _Lines:
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == 0x0A)
    starts = np.concatenate(([PADDING], newlines[:-1] + 1))
    ends = newlines - (text[newlines - 1] == 0x0D)
    while (blank := (text[ends - 1] == 0x20) & (ends > starts)).any():
        ends = ends - blank
    spaces = np.flatnonzero(text == 0x20)
    last = np.searchsorted(spaces, ends)
    counts = last - np.searchsorted(spaces, starts)
    enough = counts >= d
    if not enough.all():
        row = int(np.argmin(enough))
        raise _too_few(path, data[starts[row] : ends[row]], d, first_line + row)
    spaced = np.flatnonzero(counts > d)
    # Without spaces in words or at the ends of lines, all spaces are borders.
    plain = spaces.size == len(ends) * d and not spaced.size
    borders = spaces.reshape(-1, d) if plain else spaces[(last - d)[:, None] + np.arange(d)]
    number_ends = np.concatenate((borders[:, 1:], ends[:, None]), axis=1)
    return _Lines(
        starts=starts, word_ends=borders[:, 0], number_starts=borders + 1, number_ends=number_ends, spaced=spaced
    )


def _too_few(path: Path, line: bytes, d: int, number: int) -> EmbeddingFormatError:
    found = line.count(b" ")
    problem, remedy = f"has {found} values, expected {d}.", _REMEDY
    if not line:
        problem = "is blank."
    elif not found and b"\t" in line:
        problem, remedy = "its columns are separated by tabs.", "Write single spaces between them."
    elif not found and number == 1:
        problem, remedy = "holds a word without values.", "Give a file of words with their vectors."
    return EmbeddingFormatError(path, problem, line=number, remedy=remedy)


TEXT_FORMATS = tuple(
    EmbeddingFormat(name=name, unit="line", read=partial(text_blocks, header=header))
    for name, header in (("fasttext_vec", "optional"), ("glove_text", "none"), ("word2vec_text", "required"))
)
