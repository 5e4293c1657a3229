"""A trigram model of public text: how likely a word is after two others. It sums to one after every two of them.

    P(w | u, v) = seen(u, v, w) + left(u, v) P(w | v)        P(w | v) = seen(v, w) + left(v) P(w)

What was seen is stored, discounted by Kneser and Ney's estimate (`counting`); what is left over in each context, pruned
n-grams included, goes to the shorter one. The file holds a byte for each probability, in steps of a twentieth; what is
left is computed from these, so that rounding and pruning leave the sums at one.

Reference: Chen, Goodman (1999), An empirical study of smoothing techniques for language modeling, section 2 and 3
(interpolated, modified Kneser-Ney).
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import MALFORMED, Float32Array, Int64Array
from wordveil.denoising.reading import STATES
from wordveil.errors import ChecksumError, DataFormatError
from wordveil.files.atomic import write_whole
from wordveil.vocabulary.table import Embeddings

PACKAGED = Path(__file__).parent / "default.npz"
UNREADABLE = (*MALFORMED, KeyError, TypeError, AttributeError, RuntimeError, MemoryError, OverflowError)
"""What a file that is no archive of arrays, or a malformed one, raises when it is read."""
STEP = 0.06  # of a probability's logarithm in the file
_NAMES = ("frequency", "unigram", "followers", "right", "seen", "thirds", "third", "third_seen", "facts")
_EMPTY = -1
BLOCK = 1 << 15  # keys looked up at a time


def probabilities(codes: NDArray[np.uint8]) -> Float32Array:
    """Return what the bytes of a file stand for: exp(-STEP * code)."""
    return np.asarray(np.exp(-STEP * np.arange(256))[codes], dtype=np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """The model, over n = v + 4 states: words, and those of `reading`.

    Attributes:
        frequency: Share of each state in the text, shape (n,), positive.
        unigram: P(w) where nothing of what stands before was seen with it, shape (n,), positive.
        followers: How many pairs are stored for each left state, shape (n,).
        right: Their right states, ascending for each left one, shape (b,).
        seen: Codes of seen(v, w), shape (b,), uint8.
        thirds: How many triples are stored for each pair, shape (b,).
        third: Their last states, ascending for each pair, shape (t,).
        third_seen: Codes of seen(u, v, w), shape (t,), uint8.
        facts: Checksum of the vocabulary, what it was made from, and sentences that were kept out of it.
    """

    frequency: Float32Array = field(repr=False)
    unigram: Float32Array = field(repr=False)
    followers: NDArray[Any] = field(repr=False)
    right: NDArray[Any] = field(repr=False)
    seen: NDArray[np.uint8] = field(repr=False)
    thirds: NDArray[Any] = field(repr=False)
    third: NDArray[Any] = field(repr=False)
    third_seen: NDArray[np.uint8] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)

    @property
    def held_out(self) -> list[str]:
        """Public sentences that it was not made from, to try things on."""
        return list(self.facts["held_out"])

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of its arrays and facts."""
        digest = hashlib.sha256(json.dumps(dict(self.facts), sort_keys=True).encode())
        for name in _NAMES[:-1]:
            digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return digest.hexdigest()

    @cached_property
    def _pairs(self) -> _Stored:
        return _Stored.of(self.followers, self.right, self.seen, len(self.unigram))

    @cached_property
    def _triples(self) -> _Stored:
        return _Stored.of(self.thirds, self.third, self.third_seen, len(self.unigram))

    def pairs(self, left: NDArray[Any], right: NDArray[Any]) -> tuple[Float32Array, NDArray[np.int32]]:
        """Return P(right | left) of states, and the number of each pair for `triples`, -1 where it is not stored."""
        stored, n = self._pairs, len(self.unigram)
        number = stored.numbers.find(left.astype(np.int64) * n + right)
        return stored.seen[number] + stored.left[left] * self.unigram[right], number

    def triples(self, pair: NDArray[np.int32], last: NDArray[Any], after: Float32Array) -> Float32Array:
        """Return P(last | pair), given the numbers of `pairs` and its P(last | second of the pair)."""
        stored, n = self._triples, len(self.unigram)
        number = stored.numbers.find(np.where(pair < 0, np.int64(-2), pair.astype(np.int64) * n + last))
        return np.asarray(stored.seen[number] + stored.left[pair] * after)

    def check(self, embeddings: Embeddings) -> None:
        """Raise `ChecksumError` where it is over other words."""
        if self.facts["vocabulary"] != embeddings.checksum_in_use:
            raise ChecksumError(
                f"the prior is over the words of {self.facts['name']!r}, not of {embeddings.header.name!r}; make one "
                "with: wordveil prior build"
            )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file, whole or not at all; equal priors give equal bytes."""
        arrays = {name: getattr(self, name) for name in _NAMES[:-1]}
        facts = np.frombuffer(json.dumps(dict(self.facts), sort_keys=True).encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, facts=facts, **arrays)
        write_whole(Path(path), buffer.getvalue())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Prior:
        """Read a file that `save` wrote; `DataFormatError` if it is none."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _NAMES}
            facts = json.loads(arrays.pop("facts").tobytes())
            prior = cls(facts=facts, **arrays)
            n, b = len(prior.unigram), len(prior.right)
            sound = len(prior.followers) == n == facts["words"] + STATES and prior.followers.sum() == b
            sound = sound and len(prior.thirds) == len(prior.seen) == b and prior.thirds.sum() == len(prior.third)
            if not sound or len(prior.third) != len(prior.third_seen):
                raise ValueError
        except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
            raise DataFormatError(Path(path), "is no prior of `wordveil prior build`.") from error
        return prior


@cache
def load_prior() -> Prior:
    """Return the prior of the embedded vocabulary."""
    return Prior.load(PACKAGED)


class _Stored(NamedTuple):
    """The stored n-grams of one length."""

    numbers: _Table
    seen: Float32Array  # their probabilities, and a last 0 for those that are not stored
    left: Float32Array  # what is left over in each context, and a last 1 for those that are not stored

    @classmethod
    def of(cls, counts: NDArray[Any], last: NDArray[Any], codes: NDArray[np.uint8], n: int) -> _Stored:
        """Take so many n-grams of each context, with their last states, below n, and their codes."""
        contexts, seen = np.repeat(np.arange(len(counts), dtype=np.int64), counts), probabilities(codes)
        # 1 less the sum of each context's probabilities; the codes were rounded so that this is positive.
        ends, sums = np.cumsum(counts, dtype=np.int64), np.append(0.0, np.cumsum(seen, dtype=np.float64))
        left = (1 - (sums[ends] - sums[ends - counts])).astype(np.float32)
        numbers = _Table.of(contexts * n + last.astype(np.int64))
        return cls(numbers, np.append(seen, np.float32(0)), np.append(left, np.float32(1)))


@dataclass(frozen=True)
class _Table:
    """Numbers of sorted keys by open addressing: what is absent mostly costs one look."""

    keys: Int64Array
    numbers: NDArray[np.int32]
    shift: int

    @classmethod
    def of(cls, keys: Int64Array) -> _Table:
        bits = max(4, int(3 * max(len(keys), 1) - 1).bit_length())
        home = _hashed(keys, 64 - bits)
        order = np.argsort(home, kind="stable")
        # In the order of their homes, each key lies at its home or right behind the key before it.
        steps = np.arange(len(keys))
        place = steps + np.maximum.accumulate(home[order] - steps) if len(keys) else steps
        size = max(1 << bits, int(place[-1]) + 1 if len(keys) else 0) + 1  # the last stays empty: every search ends
        table = cls(np.full(size, _EMPTY, np.int64), np.full(size, -1, np.int32), 64 - bits)
        table.keys[place], table.numbers[place] = keys[order], order
        return table

    def find(self, wanted: Int64Array) -> NDArray[np.int32]:
        flat, found = wanted.ravel(), np.empty(wanted.size, np.int32)
        for start in range(0, len(flat), BLOCK):  # worked on in the processor's cache: a third of the time
            found[start : start + BLOCK] = self._find(flat[start : start + BLOCK])
        return found.reshape(wanted.shape)

    def _find(self, flat: Int64Array) -> NDArray[np.int32]:
        place = _hashed(flat, self.shift)
        held = self.keys[place]
        found = np.where(held == flat, self.numbers[place], np.int32(-1))
        rest = np.flatnonzero((held != flat) & (held != _EMPTY))
        while rest.size:
            place[rest] += 1
            held = self.keys[place[rest]]
            hit = held == flat[rest]
            found[rest[hit]] = self.numbers[place[rest[hit]]]
            rest = rest[~hit & (held != _EMPTY)]
        return np.asarray(found)


def _hashed(keys: Int64Array, shift: int) -> Int64Array:
    return np.asarray((keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)).astype(np.int64)


def public_sentences(count: int) -> list[str]:
    """Return so many public sentences from all over the sources of the packaged model, at most as many as it has."""
    sentences = load_prior().held_out
    step = max(1, len(sentences) // max(1, count))
    return sentences[::step][:count]
