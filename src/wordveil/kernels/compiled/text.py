"""The calls into reading.c and writing.c: texts to token ids and gaps, and released ids and gaps to texts.

What either leaves alone is for the caller. A reader belongs to one call of an encoder: its tables hold private strings
and are freed with it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import BoolArray, IdArray, Int64Array
from wordveil.kernels.compiled.library import call, pointer, text_library

CODES = (*range(0x530), *range(0x2000, 0x2070))
"""The characters that reading.c has tables of."""


class Strings(ctypes.Structure):
    """`strings` of text.h."""

    _fields_ = (("bytes", ctypes.c_void_p), ("offsets", ctypes.c_void_p), ("count", ctypes.c_int64))

    @classmethod
    def of(cls, blob: NDArray[np.uint8], offsets: Int64Array) -> Strings:
        """Return where packed strings lie, which must outlive the call."""
        return cls(pointer(blob), pointer(offsets), len(offsets) - 1)


class _ReaderFields(ctypes.Structure):
    """`settings` of words.h."""

    _fields_ = (
        ("words", Strings),
        *((name, ctypes.c_void_p) for name in ("hashes", "ids", "directory")),
        ("shift", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("classes", "lower")),
        *((name, Strings) for name in ("public_keys", "public_words", "parts")),
        ("full_words", ctypes.c_void_p),
        ("key", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("cased", "html", "numbers")),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedWords:
    """A vocabulary's words and their sorted hashes, as `vocabulary.wordlist` makes them."""

    blob: NDArray[np.uint8]  # UTF-8 bytes of all words, each with one more byte behind it
    offsets: Int64Array  # start of each word and end of the last, int64, shape (v + 1,)
    hashes: NDArray[np.uint64]  # ascending, uint64, shape (v,)
    ids: IdArray  # the id of each hash, shape (v,)

    @property
    def shift(self) -> int:
        """Bits of a hash that the directory does not look at."""
        return 64 - max(1, len(self.hashes).bit_length())

    @cached_property
    def directory(self) -> IdArray:
        """First slot of the hashes that begin with each pattern of 64 - shift bits, and their number."""
        starts = np.arange(1 << 64 - self.shift, dtype=np.uint64) << np.uint64(self.shift)
        return np.append(np.searchsorted(self.hashes, starts), len(self.hashes)).astype(np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Characters:
    """Tables over `CODES`: classes (bits of words.h) and lower case, or what a sign inside a word is folded to."""

    classes: NDArray[np.uint8]
    lower: NDArray[np.uint16]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReaderSettings:
    """What texts are read with."""

    words: PackedWords
    characters: Characters
    public: Mapping[
        str, str
    ]  # public words as listed, by their caseless form; a word beyond ASCII is left alone for them
    parts: dict[str, int]  # ids of the full words that parts of contractions stand for
    cased: bool  # whether the vocabulary tells case apart
    html: bool  # whether tags are read
    numbers: bool  # whether a simple number is an unknown word; otherwise numbers are left alone


@dataclass(frozen=True, slots=True)
class Left:
    """What stretches left alone read as, end to end: counts of tokens and public words; one gap more than tokens."""

    counts: list[int]
    exempt: list[int]
    ids: Iterable[int]
    shapes: Iterable[int]
    gaps: Iterable[str]


def packed_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], Int64Array]:
    """Return strings in UTF-8 end to end, and their offsets."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets


def new_strings(strings: Any, of: ctypes.c_void_p | None, which: int, known: int) -> list[str]:
    """Return those of a list of some object of C, by its function for them, from a number on."""
    start, offsets = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
    count = strings(of, ctypes.c_int64(which), ctypes.byref(start), ctypes.byref(offsets))
    if count == known:
        return []
    ends = offsets[known : count + 1]
    data = ctypes.string_at((start.value or 0) + ends[0], ends[-1] - ends[0])
    return [str(data[i - ends[0] : j - ends[0]], "utf-8", "surrogatepass") for i, j in pairwise(ends)]


class CompiledReader:
    """Reads texts with reading.c; `read_left` reads the stretches that were left alone, each once."""

    def __init__(self, settings: ReaderSettings, read_left: Callable[[list[str]], Left]) -> None:
        library = text_library()
        assert library is not None
        self._library = library
        self._read_left = read_left
        self._gaps, self._left = list[str](), 0
        words, characters, own = settings.words, settings.characters, _ReaderFields()
        own.words = Strings.of(words.blob, words.offsets)
        own.hashes, own.ids, own.directory = map(pointer, (words.hashes, words.ids, words.directory))
        own.shift = words.shift
        own.classes, own.lower = pointer(characters.classes), pointer(characters.lower)
        full = np.array(list(settings.parts.values()), np.int32)
        own.full_words = pointer(full)
        lists = {"public_keys": settings.public, "public_words": settings.public.values(), "parts": settings.parts}
        packed = {name: packed_strings(strings) for name, strings in lists.items()}
        for name, (blob, offsets) in packed.items():
            setattr(own, name, Strings.of(blob, offsets))
        self._kept = settings, full, packed
        own.key = int.from_bytes(os.urandom(8), "little")
        own.cased, own.html, own.numbers = settings.cased, settings.html, settings.numbers
        library.wordveil_reader.restype = ctypes.c_void_p
        library.wordveil_reader_size.restype = library.wordveil_reader_strings.restype = ctypes.c_int64
        self._reader = ctypes.c_void_p(library.wordveil_reader(ctypes.byref(own)))

    def __del__(self) -> None:
        if hasattr(self, "_reader"):
            self._library.wordveil_reader_free(self._reader)

    def read(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the fields of an `EncodedBatch` of these texts but for `last`."""
        library, reader = self._library, self._reader
        packed = packed_strings(texts)
        library.wordveil_reader_read(reader, ctypes.byref(Strings.of(*packed)))
        left = self._new_strings(1, self._left)
        if left:
            self._left += len(left)
            self._learn(self._read_left(left))
        tokens = library.wordveil_reader_size(reader)
        ids, before, shapes = np.empty(tokens, np.int32), np.empty(tokens, np.int32), np.empty(tokens, np.uint8)
        closing = np.empty(len(texts), np.int32)
        counts, exempt = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
        library.wordveil_reader_take(reader, *map(pointer, (ids, before, shapes, closing, counts, exempt)))
        self._gaps += self._new_strings(0, len(self._gaps))
        return {
            "gaps": self._gaps, "ids": ids, "before": before, "closing": closing, "counts": counts, "exempt": exempt,
            "shapes": shapes,
        }  # fmt: skip

    def _new_strings(self, which: int, known: int) -> list[str]:
        """Return the gaps (0) or the stretches left alone (1) from a number on."""
        return new_strings(self._library.wordveil_reader_strings, self._reader, which, known)

    def _learn(self, left: Left) -> None:
        counts, exempt = np.array(left.counts, np.int64), np.array(left.exempt, np.int64)
        ids = np.fromiter(left.ids, np.int32)
        shapes = np.fromiter(left.shapes, np.uint8)
        packed = packed_strings(left.gaps)
        learn, arrays = self._library.wordveil_reader_learn, (counts, exempt, ids, shapes)
        call(learn, self._reader, len(counts), *arrays, Strings.of(*packed))


class _WriterFields(ctypes.Structure):
    """`settings` of writing.c."""

    _fields_ = (
        ("words", Strings),
        *((name, ctypes.c_void_p) for name in ("mask", "cased_mask")),
        ("mask_size", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("kinds", "upper")),
        *((name, ctypes.c_int64) for name in ("sentences", "cased", "shapes")),
    )


class _Batch(ctypes.Structure):
    """`batch` of writing.c."""

    _fields_ = (
        ("gaps", Strings),
        ("surrogates", Strings),
        *((name, ctypes.c_void_p) for name in ("released", "before", "closing", "counts", "shapes", "last")),
        ("count", ctypes.c_int64),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Uppercase:
    """Tables over `CODES`: kinds (bits of writing.c), and upper case or one of its signs for what has none as long."""

    kinds: NDArray[np.uint8]
    upper: NDArray[np.uint16]


@dataclass(frozen=True, kw_only=True, eq=False)
class WriterSettings:
    """What texts are written with."""

    words: PackedWords
    characters: Uppercase
    mask: str  # what is written for an id of -1; "" leaves the whole text to the caller
    cased_mask: str  # what casing by sentences may make of it, as long in bytes
    sentences: bool  # whether to case by sentences
    cased: bool  # whether the vocabulary tells case apart


class Part(Protocol):
    """What is asked of an `EncodedBatch`."""

    @property
    def gaps(self) -> list[str]: ...
    @property
    def before(self) -> IdArray: ...
    @property
    def closing(self) -> IdArray: ...
    @property
    def counts(self) -> Int64Array: ...
    @property
    def shapes(self) -> NDArray[np.uint8] | None: ...
    @property
    def last(self) -> BoolArray: ...


class CompiledWriter:
    """Writes the parts of one batch with writing.c, in order."""

    def __init__(self, settings: WriterSettings, *, shapes: bool) -> None:
        library = text_library()
        assert library is not None
        self._library = library
        self._gaps: tuple[list[str], int, tuple[NDArray[np.uint8], Int64Array]] | None = None
        words, characters = settings.words, settings.characters
        masks, ends = packed_strings([settings.mask, settings.cased_mask])
        self._kept = settings, masks
        own = _WriterFields(
            words=Strings.of(words.blob, words.offsets),
            mask=pointer(masks),
            cased_mask=pointer(masks[ends[1] :]),
            mask_size=int(ends[1]),
            kinds=pointer(characters.kinds),
            upper=pointer(characters.upper),
            sentences=settings.sentences,
            cased=settings.cased,
            shapes=shapes,
        )
        library.wordveil_writer.restype = ctypes.c_void_p
        library.wordveil_writer_write.restype = ctypes.c_int64
        self._writer = ctypes.c_void_p(library.wordveil_writer(ctypes.byref(own)))

    def __del__(self) -> None:
        if hasattr(self, "_writer"):
            self._library.wordveil_writer_free(self._writer)

    def write(self, part: Part, released: IdArray, surrogates: Sequence[str]) -> Iterator[str | None]:
        """Yield the texts that end in this part, None for one left alone; ids from v on stand for `surrogates`."""
        gaps, others = self._packed(part.gaps), packed_strings(surrogates)
        arrays = released, part.before, part.closing, part.counts, part.shapes, part.last
        given = [None if array is None else np.ascontiguousarray(array) for array in arrays]
        batch = _Batch(Strings.of(*gaps), Strings.of(*others), *map(pointer, given), len(part.counts))
        start, ends, left = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_uint8)()
        count = self._library.wordveil_writer_write(self._writer, *map(ctypes.byref, (batch, start, ends, left)))
        if not count:
            return
        written = memoryview((ctypes.c_char * ends[count - 1]).from_address(start.value or 0))
        first = 0
        for stop, is_left in zip(ends[:count], left[:count], strict=True):
            yield None if is_left else str(written[first:stop], "utf-8", "surrogatepass")
            first = stop

    def _packed(self, gaps: list[str]) -> tuple[NDArray[np.uint8], Int64Array]:
        """Return the gaps end to end; parts of one batch may share them."""
        if self._gaps is None or self._gaps[0] is not gaps or self._gaps[1] != len(gaps):
            self._gaps = gaps, len(gaps), packed_strings(gaps)
        return self._gaps[2]
