"""Randomness as an argument: keyed, cryptographic, one stream per document.

A `RandomSource` owns one 128-bit key (a run). Every document gets a stream of its own, placed by a keyed hash of
the document's id *and* its content, so a retried document draws the same noise (a retry releases nothing new), a
changed document never reuses noise, and equal documents with different ids draw independently. Within a document,
independent *lanes* let a sampler consume normals and radii side by side, so that cutting a document into chunks
never changes what is drawn.

The generator is AES-128 in counter mode (`randomgen.AESCounter`), which does not hide the *time* a draw takes. Whoever
holds a run key can remove all of that run's noise: keys never appear in a repr, an error or a log.
"""

from __future__ import annotations

import hashlib
import math
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter

from wordveil.errors import ParameterError, WordveilError

BitArray = NDArray[np.uint64]
"""Random 64-bit integers."""

KEY_BYTES = 16
NONCE_BITS = 80
LANE_BITS = 8
BLOCK_BITS = 40  # AES blocks a lane may use: 2**40 blocks are 16 TiB of draws


class NoiseGenerator(Protocol):
    """The part of `numpy.random.Generator` that samplers may use."""

    def random(self, size: Any = None) -> Any:
        """Uniforms in [0, 1), multiples of 2**-53."""

    @property
    def bit_generator(self) -> Any:
        """What `random_bits` takes 64-bit words from, without the checks of a generator's own methods."""

    def standard_normal(self, size: Any = None) -> Any:
        """Standard normal variates."""


def random_bits(generator: NoiseGenerator, size: tuple[int, ...]) -> BitArray:
    """Return uniform 64-bit integers of the given shape."""
    return np.asarray(generator.bit_generator.random_raw(math.prod(size)), dtype=np.uint64).reshape(size)


def multiply_high(a: BitArray, b: BitArray | np.uint64) -> BitArray:
    """Return floor(a * b / 2**64) elementwise for 64-bit words: a uniform word times a count, without bias."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    high: BitArray = a1 * b1 + (middle >> half) + (other >> half)
    return high


def document_nonce(key: bytes, document_id: str, content: str | bytes) -> int:
    """Return the 80-bit place of a document, a text or the bytes of a row, in the run's counter space.

    It is BLAKE2b-80 of both, keyed. Two of n documents collide with probability below n**2 * 2**-81.
    """
    name = document_id.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(len(name).to_bytes(8, "little"), key=key, digest_size=NONCE_BITS // 8)
    digest.update(name)
    digest.update(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little")


def _refuse_pickling(_: object) -> NoReturn:
    raise WordveilError("What carries its run's key and cannot be pickled: make a RandomSource in each process.")


class _LaneGenerator(np.random.Generator):
    """A generator that may be kept by whoever asked for a lane: a fork gives it a key of its own, too."""

    def __init__(self, bits: Any) -> None:
        super().__init__(bits)
        _KEY_HOLDERS.add(self)

    def _rekey(self) -> None:
        self.bit_generator.state = AESCounter(key=int.from_bytes(os.urandom(KEY_BYTES), "little"), counter=0).state

    __reduce__ = _refuse_pickling


class _AesLane:
    """One AES counter region, repositioned for each document without rebuilding the generator."""

    def __init__(self, key: bytes) -> None:
        self._bits = AESCounter(key=int.from_bytes(key, "little"), counter=0)
        self.generator = _LaneGenerator(self._bits)
        self._state = self._bits.state

    def seat(self, counter: int) -> None:
        # The engine encrypts four consecutive counters at a time; offset 64 means "buffer spent".
        words = [((counter + i) >> (64 * half)) & (2**64 - 1) for i in range(4) for half in (0, 1)]
        inner = self._state["s"]
        inner["counter"] = np.array(words, dtype=np.uint64)
        inner["offset"] = 64
        self._state["has_uint32"] = 0
        self._state["uinteger"] = 0
        self._bits.state = self._state


class Stream:
    """The noise of one document at a time: `seat` moves it, `lane(i)` hands out an independent generator.

    One stream object serves many documents in turn; it is not shared between threads.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._nonce = 0
        self._lanes: dict[int, _AesLane] = {}
        self._seated: dict[int, NoiseGenerator] = {}
        _KEY_HOLDERS.add(self)

    def _rekey(self) -> None:
        self._key = os.urandom(KEY_BYTES)
        self._lanes = {}
        self._seated = {}

    def seat(self, nonce: int) -> Stream:
        """Move to the start of the document with this nonce."""
        self._nonce = nonce
        self._seated = {}
        return self

    def lane(self, index: int) -> NoiseGenerator:
        """Return the document's generator number `index` in [0, 256); repeated calls go on where it stands."""
        if index not in self._seated:
            if not 0 <= index < 2**LANE_BITS:
                raise ParameterError("index", index, "must be in [0, 256).")
            if index not in self._lanes:
                self._lanes[index] = _AesLane(self._key)
            self._lanes[index].seat(((self._nonce << LANE_BITS) | index) << BLOCK_BITS)
            self._seated[index] = self._lanes[index].generator
        return self._seated[index]

    __reduce__ = _refuse_pickling

    def __repr__(self) -> str:
        return "Stream(key hidden)"


class RandomSource:
    """One run's randomness: a secret key and the document streams under it.

    `RandomSource()` draws a fresh key from the operating system. A child process made by fork gets a fresh key of its
    own then, under which no id can repeat anything. A key that was given stays: a retry under an id finds the noise of
    its first attempt whichever worker it comes to, and as noise is placed by content too, workers share none but that
    of equal documents of equal ids. Streams that were handed out before a fork draw other noise in either case, for
    both processes would go on from one place. Pickling is refused, because the pickle would carry the key.

    Args:
        key: 16 secret bytes, of an interrupted run that is being resumed or of the caller's; None draws a fresh key.

    Raises:
        ParameterError: If the key is not 16 bytes.
    """

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and len(key) != KEY_BYTES:
            raise ParameterError("key", "<hidden>", f"must be {KEY_BYTES} bytes.")
        self._key = os.urandom(KEY_BYTES) if key is None else bytes(key)
        self._is_given, self._is_orphan = key is not None, False
        self.is_test_source = False
        self.lasts = key is not None  # whether its owner keeps the key after what is drawn; a run's own goes with it
        _KEY_HOLDERS.add(self)

    @classmethod
    def seeded_for_tests(cls, seed: int) -> RandomSource:
        """Return a source anyone can repeat, by any integer: for tests, examples and benchmarks, never a release."""
        source = cls(hashlib.blake2b(str(seed).encode(), digest_size=KEY_BYTES).digest())
        source.is_test_source, source._is_given, source.lasts = True, False, False
        return source

    @classmethod
    def public(cls, label: str) -> Stream:
        """Return a stream anyone can repeat, for what is public by its nature, such as a sample of a vocabulary.

        The label says what it serves: equal labels draw the same, others independently.
        """
        return cls.seeded_for_tests(0).stream(label)

    def export_key(self) -> bytes:
        """Return the secret run key, to be kept in a 0600 file until the run has succeeded."""
        return self._key

    def check_repeats(self) -> None:
        """Refuse ids where a retry would draw other noise: in a fork, under a key that only this process has.

        `WordveilError` if the key was drawn before a fork, and drawn again in this child of it.
        """
        if self._is_orphan:
            raise WordveilError(
                "This process was forked after its key was drawn, and has a key of its own: under the same id another "
                "worker would release the document a second time. Give the key, source=RandomSource(key), and every "
                "worker draws the same; or leave out the ids."
            )

    def kept(self) -> RandomSource:
        """Return a source of the same key, which somebody keeps: it repeats what it drew wherever it is given again."""
        other = RandomSource(self._key)
        other.is_test_source = self.is_test_source
        return other

    def stream(self, document_id: str = "", content: str = "") -> Stream:
        """Return a new stream seated at the given document; an empty id is a document like any other."""
        return Stream(self._key).seat(document_nonce(self._key, document_id, content))

    def fresh_stream(self) -> Stream:
        """Return a stream that no other call shares: its document id is drawn from the operating system."""
        return self.stream(os.urandom(16).hex())

    def nonces(self, ids: Iterable[str], contents: Iterable[str | bytes]) -> list[int]:
        """Return each document's nonce, in order."""
        return [document_nonce(self._key, i, content) for i, content in zip(ids, contents, strict=True)]

    def documents(self, nonces: Sequence[int], counts: Sequence[int]) -> DocumentStreams:
        """Return the streams of a batch of documents; `counts` are their numbers of tokens."""
        return DocumentStreams(Stream(self._key), nonces, counts)

    def _rekey(self) -> None:
        if not self._is_given:
            self._key, self._is_orphan = os.urandom(KEY_BYTES), True
            self.is_test_source = False

    __reduce__ = _refuse_pickling

    def __repr__(self) -> str:
        return f"RandomSource({'TEST SOURCE, ' if self.is_test_source else ''}key hidden)"


Draws = tuple[NDArray[Any], ...]
"""What a mechanism draws for n tokens: arrays whose first axis has length n."""


LaneBits = Callable[[bytes, Sequence[int], NDArray[np.int64], int, int], BitArray]
"""Draws from a lane of many documents, as their streams would: of a key, nonces, counts, a lane and what is skipped."""


class DocumentStreams:
    """The streams of a batch of documents, of these nonces and counts of tokens, drawn from in token order.

    The stream given is moved from document to document.
    """

    def __init__(self, stream: Stream, nonces: Sequence[int], counts: Sequence[int]) -> None:
        self._stream = stream
        self._documents = list(zip(nonces, counts, strict=True))
        self.total = sum(counts)

    def chunks(self, sample: Callable[[Stream, int], Draws], size: int) -> Iterator[Draws]:
        """Yield `sample`'s draws for `size` tokens at a time (the last chunk may be shorter).

        A document that is cut by a chunk's end goes on where its stream stood, so the draws do not depend on `size`,
        provided `sample` uses one lane for each law it draws from.
        """
        if size < 1:
            raise ParameterError("size", size, "must be at least 1.")
        parts: list[Draws] = []
        room, stream = size, Stream(self._stream._key)  # one of its own: others may draw in between
        for nonce, count in self._documents:
            stream.seat(nonce)
            while count > 0:
                taken = min(count, room)
                parts.append(sample(stream, taken))
                count, room = count - taken, room - taken
                if room == 0:
                    yield _join(parts)
                    parts, room = [], size
        if parts:
            yield _join(parts)

    def lane_bits(self, lane: int, size: int, width: int = 1, draw: LaneBits | None = None) -> Iterator[BitArray]:
        """Yield words from one lane of each token's document, those of `size` tokens at a time (the last may be fewer).

        Of a lane in [0, 256), so many words for each token as the width says. `draw` can draw for many documents at
        once; None draws from one after the other.
        """
        if draw is None:
            for (drawn,) in self.chunks(lambda stream, n: (random_bits(stream.lane(lane), (n * width,)),), size):
                yield drawn
            return
        nonces = [nonce for nonce, _ in self._documents]
        counts = np.array([count * width for _, count in self._documents], np.int64)
        ends = np.cumsum(counts)
        for start in range(0, self.total * width, size * width):
            stop = min(start + size * width, self.total * width)
            first, last = (int(np.searchsorted(ends, place, side="right")) for place in (start, stop - 1))
            own = counts[first : last + 1].copy()
            skip = start - int(ends[first] - own[0])
            own[0] -= skip
            own[-1] -= ends[last] - stop
            yield draw(self._stream._key, nonces[first : last + 1], own, lane, skip)


def _join(parts: list[Draws]) -> Draws:
    return parts[0] if len(parts) == 1 else tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


_KEY_HOLDERS: weakref.WeakSet[RandomSource | Stream | _LaneGenerator] = weakref.WeakSet()


def _rekey_after_fork() -> None:
    for holder in list(_KEY_HOLDERS):
        holder._rekey()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rekey_after_fork)
