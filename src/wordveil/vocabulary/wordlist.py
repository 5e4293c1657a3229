"""Words as one block of UTF-8 bytes with offsets: cheap to map, lazy to decode.

Word i is `blob[offsets[i] : offsets[i + 1] - 1]`; every word is followed by one newline byte, so the block is
also a readable text file. The offsets decide, not the newlines: a word may hold any character, U+0085, spaces
and newlines included. This module does not look words up; see `word_index`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import final, overload

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Int64Array

ByteArray = NDArray[np.uint8]


@final
class WordList(Sequence[str]):
    """A read-only sequence of words over one block of UTF-8 bytes, each word followed by a newline."""

    __slots__ = ("blob", "offsets")

    def __init__(self, blob: ByteArray, offsets: Int64Array) -> None:
        self.blob = blob
        self.offsets = offsets

    @classmethod
    def from_encoded(cls, words: Sequence[bytes]) -> WordList:
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, words), dtype=np.int64, count=len(words)) + 1, out=offsets[1:])
        return cls(np.frombuffer(b"\n".join(words) + b"\n", dtype=np.uint8), offsets)

    @classmethod
    def from_lines(cls, data: bytes) -> WordList:
        """Split a block at the byte 0x0A, a last one optional: U+0085, U+2028 and carriage returns belong to a word."""
        whole = data if data.endswith(b"\n") else data + b"\n"
        blob = np.frombuffer(whole, dtype=np.uint8)
        ends = np.flatnonzero(blob == 0x0A) + 1
        return cls(blob, np.concatenate(([0], ends)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"word {index} is outside 0..{len(self) - 1}.")
        return self.encoded(position).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        data = self.blob.tobytes()
        lines = data.decode("utf-8").split("\n")
        # One split is several times faster than v slices; it is right unless a word itself holds a newline.
        if len(lines) == len(self) + 1:
            yield from lines[:-1]
            return
        bounds = self.offsets.tolist()
        for start, end in pairwise(bounds):
            yield data[start : end - 1].decode("utf-8")

    def encoded(self, position: int) -> bytes:
        return self.blob[self.offsets[position] : self.offsets[position + 1] - 1].tobytes()

    def __repr__(self) -> str:
        return f"<WordList of {len(self)} words>"


def encode_queries(words: Sequence[str]) -> WordList:
    """Encode words to be looked up; a lone surrogate becomes bytes that no valid entry can hold."""
    return WordList.from_encoded([word.encode("utf-8", "surrogatepass") for word in words])
