"""word2vec binary: a text header, then per row the word, one space and d little-endian float32 values.

Google's tool writes a newline after each vector and gensim does not; a newline before a word is skipped either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.sources import open_source
from wordveil.vocabulary.readers.text_lines import text_header

_CHUNK = 1 << 22
_MAX_HEADER = 64
_MAX_WORD = 1 << 14
_REMEDY = "Fetch the file again; it may be cut off."


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    with open_source(path) as source:
        data = source.read(_CHUNK)
        counts = text_header(data[:_MAX_HEADER])
        if counts is None or 0 in counts:
            problem = "must begin with a line of two positive integers: rows and dimensions."
            raise EmbeddingFormatError(path, problem, offset=0, remedy=_REMEDY)
        rows, d = counts
        base = data.index(b"\n") + 1
        data = data[base:]
        wanted = rows if limit is None else min(rows, limit)
        done = 0
        while done < wanted:
            block, used = _parse_rows(path, data, base, d, wanted - done)
            if block is None:
                # A vector can be larger than a chunk, so the next read is at least one vector long.
                more = source.read(max(_CHUNK, 4 * d))
                if not more:
                    problem = f"ends within row {done}; the header says {rows} rows of {d} values."
                    raise EmbeddingFormatError(path, problem, offset=base + len(data), remedy=_REMEDY)
                data += more
                continue
            done += len(block.words)
            data, base = data[used:], base + used
            yield Block(words=block.words, vectors=block.vectors, positions=block.positions, share=source.share())
        # Bytes after the last row: then the header does not tell the truth about the file.
        if wanted == rows and (data + source.read(_MAX_HEADER)).strip(b"\r\n"):
            problem = f"goes on after the {rows} rows that the header announces."
            remedy = "Correct the header, or fetch the file again."
            raise EmbeddingFormatError(path, problem, offset=base, remedy=remedy)


def _parse_rows(path: Path, data: bytes, base: int, d: int, wanted: int) -> tuple[Block | None, int]:
    """Parse the whole rows at the start of `data`; return them and the bytes used, or None if there are none."""
    words: list[bytes] = []
    word_at: list[int] = []
    vector_at: list[int] = []
    place = 0
    while len(words) < wanted:
        start = place + 1 if data[place : place + 1] == b"\n" else place
        space = data.find(b" ", start, start + _MAX_WORD)
        if space < 0:
            if len(data) >= start + _MAX_WORD:
                problem = f"no space follows within {_MAX_WORD} bytes, so this is no word."
                raise EmbeddingFormatError(path, problem, offset=base + start, remedy=_REMEDY)
            break
        end = space + 1 + 4 * d
        if end > len(data):
            break
        words.append(data[start:space])
        word_at.append(base + start)
        vector_at.append(space + 1)
        place = end
    if not words:
        return None, 0
    raw = np.frombuffer(data, dtype=np.uint8)[np.array(vector_at)[:, None] + np.arange(4 * d)]
    vectors = raw.view("<f4").astype(np.float32, copy=False)
    return Block(words=words, vectors=vectors, positions=np.array(word_at, dtype=np.int64)), place


FORMAT = EmbeddingFormat(name="word2vec_binary", unit="offset", read=_read)
