"""The calls into writing.c: released ids and gaps to released texts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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


class TextWriter:
    """Writes the parts of one batch with writing.c, in order."""

    def __init__(self, settings: WriterSettings, *, shapes: bool) -> None:
        library = text_library()
        assert library is not None
        self._library = library
        self._gaps: tuple[list[str], int, bytes, NDArray[np.int64]] | None = None
        words, mask, cased_mask = settings.words, settings.mask.encode(), settings.cased_mask.encode()
        self._kept: list[Any] = [settings, mask, cased_mask]
        own = _Settings(
            words=Strings(pointer(words.blob), pointer(words.offsets), len(words.offsets) - 1),
            mask=ctypes.cast(mask, ctypes.c_void_p),
            cased_mask=ctypes.cast(cased_mask, ctypes.c_void_p),
            mask_size=len(mask),
            kinds=pointer(settings.characters.kinds),
            upper=pointer(settings.characters.upper),
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

    def write(
        self,
        gaps: list[str],
        released: IdArray,
        before: IdArray,
        closing: IdArray,
        counts: NDArray[np.int64],
        shapes: NDArray[np.uint8] | None,
        last: NDArray[np.bool_],
    ) -> Iterator[str | None]:
        """Yield the texts that end in this part; None for one that is left to the caller."""
        data, offsets = self._packed(gaps)
        given = [np.ascontiguousarray(array) for array in (released, before, closing, counts)]
        batch = _Batch(
            Strings(ctypes.cast(data, ctypes.c_void_p), pointer(offsets), len(gaps)),
            *map(pointer, (*given, shapes, last)),
            len(counts),
        )
        start, ends, left = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_uint8)()
        count = self._library.wordveil_writer_write(
            self._writer, *map(ctypes.byref, (batch, start, ends, left))
        )
        if not count:
            return
        written = memoryview((ctypes.c_char * ends[count - 1]).from_address(start.value or 0))
        first = 0
        for stop, is_left in zip(ends[:count], left[:count], strict=True):
            yield None if is_left else str(written[first:stop], "utf-8", "surrogatepass")
            first = stop

    def _packed(self, gaps: list[str]) -> tuple[bytes, NDArray[np.int64]]:
        """Return the gaps end to end; parts of one batch may share them."""
        if self._gaps is None or self._gaps[0] is not gaps or self._gaps[1] != len(gaps):
            packed = packed_strings([gap.encode("utf-8", "surrogatepass") for gap in gaps])
            self._gaps = gaps, len(gaps), *packed
        return self._gaps[2:]
