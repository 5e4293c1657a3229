"""The calls into writing.c: released ids and gaps to released texts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray
from wordveil.kernels.compiled.library import pointer, text_library
from wordveil.kernels.compiled.text_reader import PackedWords, Strings, packed_strings

__all__ = ["TextWriter", "Uppercase", "WriterSettings"]


class _Settings(ctypes.Structure):
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
    """What texts are written with.

    Attributes:
        words: The vocabulary.
        characters: The tables.
        mask: What is written for an id of -1; "" leaves the whole text to the caller.
        cased_mask: What casing by sentences may make of it, as long in bytes.
        sentences: Whether to case by sentences.
        cased: Whether the vocabulary tells case apart.
    """

    words: PackedWords
    characters: Uppercase
    mask: str
    cased_mask: str
    sentences: bool
    cased: bool


class Part(Protocol):
    """What is asked of an `EncodedBatch`."""

    @property
    def gaps(self) -> list[str]: ...
    @property
    def before(self) -> IdArray: ...
    @property
    def closing(self) -> IdArray: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @property
    def shapes(self) -> NDArray[np.uint8] | None: ...
    @property
    def last(self) -> NDArray[np.bool_]: ...


class TextWriter:
    """Writes the parts of one batch with writing.c, in order."""

    def __init__(self, settings: WriterSettings, *, shapes: bool) -> None:
        library = text_library()
        assert library is not None
        self._library = library
        self._gaps: tuple[list[str], int, tuple[NDArray[np.uint8], NDArray[np.int64]]] | None = None
        words, characters = settings.words, settings.characters
        masks, ends = packed_strings([settings.mask, settings.cased_mask])
        self._kept = settings, masks
        own = _Settings(
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
        """Yield the texts that end in this part; None for one that is left to the caller.

        Args:
            part: The part.
            released: Released ids, shape (t,), those from v on for `surrogates`.
            surrogates: What is no word.
        """
        gaps, others = self._packed(part.gaps), packed_strings(surrogates)
        arrays = released, part.before, part.closing, part.counts, part.shapes, part.last
        given = [None if array is None else np.ascontiguousarray(array) for array in arrays]
        batch = _Batch(
            Strings.of(*gaps),
            Strings.of(*others),
            *map(pointer, given),
            len(part.counts),
        )
        start, ends, left = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_uint8)()
        count = self._library.wordveil_writer_write(self._writer, *map(ctypes.byref, (batch, start, ends, left)))
        if not count:
            return
        written = memoryview((ctypes.c_char * ends[count - 1]).from_address(start.value or 0))
        first = 0
        for stop, is_left in zip(ends[:count], left[:count], strict=True):
            yield None if is_left else str(written[first:stop], "utf-8", "surrogatepass")
            first = stop

    def _packed(self, gaps: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the gaps end to end; parts of one batch may share them."""
        if self._gaps is None or self._gaps[0] is not gaps or self._gaps[1] != len(gaps):
            self._gaps = gaps, len(gaps), packed_strings(gaps)
        return self._gaps[2]
