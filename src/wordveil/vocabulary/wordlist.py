"""Words as one block of UTF-8 bytes with offsets, cheap to map and lazy to decode; and word -> id without a dict.

Word i is `blob[offsets[i] : offsets[i + 1] - 1]`; every word is followed by one newline byte, so the block is
also a readable text file. The offsets decide, not the newlines: a word may hold any character, U+0085, spaces
and newlines included.

A look-up bisects sorted 64-bit hashes and then compares the bytes of the word itself, so that equal hashes cost
time and never correctness. The hash is part of the on-disk form: changing it means a new format version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final, overload

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import BoolArray, IdArray, Int64Array
from wordveil.kernels.compiled.text import PackedWords

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


HashArray = NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_CHUNK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class WordIndex:
    """Sorted hashes of all words, and the ids they belong to, ascending among equal hashes; both of shape (v,)."""

    hashes: HashArray
    ids: IdArray

    def find(self, words: WordList, queries: WordList) -> IdArray:
        """Return the id of each query among the words this index was built from, -1 where it is absent: int32."""
        found = np.full(len(queries), -1, dtype=np.int32)
        wanted = hash_words(queries)
        slots = np.searchsorted(self.hashes, wanted)
        open_ = np.arange(len(queries))
        # One pass settles all queries unless distinct words share a hash; then the next slot is tried.
        while open_.size:
            at = slots[open_]
            inside = at < len(self.hashes)
            open_, at = open_[inside], at[inside]
            same_hash = self.hashes[at] == wanted[open_]
            open_, at = open_[same_hash], at[same_hash]
            ids = np.asarray(self.ids[at])
            equal = _equal_words(words, ids, queries, open_)
            found[open_[equal]] = ids[equal]
            open_ = open_[~equal]
            slots[open_] += 1
        return found

    def packed(self, words: WordList) -> PackedWords:
        return PackedWords(blob=words.blob, offsets=words.offsets, hashes=self.hashes, ids=self.ids)


def build_index(words: WordList) -> WordIndex:
    """Sort the hashes of all words; equal hashes keep the order of their ids."""
    hashes = hash_words(words)
    order = np.argsort(hashes)
    if np.any(hashes[order[1:]] == hashes[order[:-1]]):
        # The fast sort leaves equal hashes in any order; a stable one puts the lowest id first.
        order = np.argsort(hashes, kind="stable")
    return WordIndex(hashes=hashes[order], ids=order.astype(np.int32))


def first_duplicate(words: WordList, index: WordIndex) -> tuple[int, int] | None:
    """Return (earlier id, later id) of the first repeated word, or None if all words differ."""
    repeats = np.flatnonzero(index.hashes[1:] == index.hashes[:-1])
    seen: dict[bytes, int] = {}
    for position in np.unique(index.ids[np.concatenate((repeats, repeats + 1))]).tolist():
        earlier = seen.setdefault(words.encoded(position), position)
        if earlier != position:
            return earlier, position
    return None


def hash_words(words: WordList) -> HashArray:
    """Return one 64-bit hash per word, shape (v,).

    For bytes b_0 .. b_m of a word: h = mix(sum_i (b_i + 1) * P^i mod 2^64), with an odd constant P and a
    splitmix64 finalizer. Not keyed: a crafted vocabulary can slow look-ups down, it cannot make them wrong.
    """
    out = np.empty(len(words), dtype=np.uint64)
    for first in range(0, len(words), _CHUNK):
        last = min(first + _CHUNK, len(words))
        offsets = words.offsets[first : last + 1]
        out[first:last] = _hash_chunk(words.blob[offsets[0] : offsets[-1]], offsets - offsets[0])
    return out


def _hash_chunk(blob: ByteArray, offsets: Int64Array) -> HashArray:
    lengths = np.diff(offsets)
    powers = np.full(int(lengths.max()), _BASE, dtype=np.uint64)
    powers[0] = 1
    powers = np.cumprod(powers, dtype=np.uint64)
    inside = np.arange(blob.size) - np.repeat(offsets[:-1], lengths)
    terms = (blob.astype(np.uint64) + np.uint64(1)) * powers[inside]
    # Sums wrap modulo 2^64 on purpose, so a difference of running sums is the exact sum of one word.
    sums = np.zeros(blob.size + 1, dtype=np.uint64)
    np.cumsum(terms, out=sums[1:])
    mixed = sums[offsets[1:] - 1] - sums[offsets[:-1]]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX2
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def _equal_words(words: WordList, ids: IdArray, queries: WordList, positions: NDArray[np.intp]) -> BoolArray:
    """Compare words[ids[j]] with queries[positions[j]] byte by byte, shape (len(ids),)."""
    at, end = words.offsets[ids], words.offsets[ids + 1]
    query_at, query_end = queries.offsets[positions], queries.offsets[positions + 1]
    equal = np.asarray(end - at == query_end - query_at)
    lengths = np.where(equal, end - at, 0)
    total = int(lengths.sum())
    if total == 0:
        return equal
    ends = np.cumsum(lengths)
    inside = np.arange(total) - np.repeat(ends - lengths, lengths)
    differs = words.blob[np.repeat(at, lengths) + inside] != queries.blob[np.repeat(query_at, lengths) + inside]
    counts = np.zeros(total + 1, dtype=np.int64)
    np.cumsum(differs, out=counts[1:])
    return np.asarray(equal & (counts[ends] == counts[ends - lengths]))
