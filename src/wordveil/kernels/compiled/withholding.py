"""The calls into withholding.c: texts to redacted texts, and what it counts.

What it cannot read is for the caller. Its tables hold private strings, so they are emptied now and then and freed with
the object. An object serves one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from wordveil.kernels.compiled.library import pointer, withholding_library
from wordveil.kernels.compiled.text import Strings, new_strings, packed_strings

ASK = 8
"""The kind of a part of which the lists are to be asked; those before it are in the order of `Kind`."""
LONGEST = 60
"""Letters of the longest word that withholding.c looks up."""
_REMEMBERED = 1 << 16  # units and gaps
_COUNTS = ("word", "name", "number", "link", "kept")

Part = tuple[int, int, int]


class _Fields(ctypes.Structure):
    """`settings` of withholding.c."""

    _fields_ = (
        ("words", Strings),
        ("bits", ctypes.c_void_p),
        ("key", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("strict", "titles", "calendar", "lowest", "highest")),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class WithholdingSettings:
    """What texts are redacted with."""

    bits: Mapping[str, int]  # of each word in small letters what the lists say of it, in the bits of withholding.c
    strict: bool  # whether the rule is strict
    titles: bool  # whether titles are kept
    calendar: bool  # whether months and weekdays are kept
    numbers: tuple[int, int] | None  # the least and the largest whole number that is kept; None keeps none
    # the tokens of a unit, each with its first and last byte and its kind, or `ASK`
    parts: Callable[[str], Sequence[Part]]
    layout: Callable[[str], str]  # what is shown of a gap


class CompiledWithholding:
    """Redacts texts with withholding.c."""

    def __init__(self, settings: WithholdingSettings) -> None:
        library = withholding_library()
        assert library is not None
        self._library, self._settings = library, settings
        library.wordveil_withholding.restype = library.wordveil_withheld.restype = ctypes.c_void_p
        library.wordveil_withhold.restype = library.wordveil_withholding_strings.restype = ctypes.c_int64
        self._words = packed_strings(settings.bits)
        self._bits = np.fromiter(settings.bits.values(), np.uint16, len(settings.bits))
        self._pass: ctypes.c_void_p | None = None
        self._open()

    def _open(self) -> None:
        chosen = self._settings
        lowest, highest = chosen.numbers or (0, -1)
        fields = _Fields(Strings.of(*self._words), pointer(self._bits), int.from_bytes(os.urandom(8), "little"))
        fields.strict, fields.titles, fields.calendar = chosen.strict, chosen.titles, chosen.calendar
        fields.lowest, fields.highest = lowest, highest
        self._pass = ctypes.c_void_p(self._library.wordveil_withholding(ctypes.byref(fields)))
        self._met = [0, 0]  # units and gaps learned

    def _close(self) -> None:
        if self._pass is not None:
            self._library.wordveil_withholding_free(self._pass)
            self._pass = None

    def __del__(self) -> None:
        if hasattr(self, "_pass"):
            self._close()

    def release(self, texts: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        """Return the redacted texts, and the tokens "kept" and those hidden, by printed kind."""
        if max(self._met) >= _REMEMBERED:
            self._close()
            self._open()
        packed, from_start = packed_strings(texts), True
        strings = Strings.of(*packed)
        while self._library.wordveil_withhold(self._pass, ctypes.byref(strings), ctypes.c_int64(from_start)):
            try:
                self._learn()
            except BaseException:  # an interrupt: what was met and what was learned no longer agree
                self._close()
                self._open()
                raise
            from_start = False
        ends, counts = ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_int64)()
        start = self._library.wordveil_withheld(self._pass, ctypes.byref(ends), ctypes.byref(counts))
        stops = ends[: 2 * len(texts)]
        written = ctypes.string_at(start or 0, max(stops, default=0))
        released = [written[low:high].decode() for low, high in zip(stops[::2], stops[1::2], strict=True)]
        return released, dict(zip(_COUNTS, counts[: len(_COUNTS)], strict=True))

    def _learn(self) -> None:
        parts = [self._settings.parts(unit) for unit in self._new_strings(0)]
        flat: Any = np.fromiter(chain.from_iterable(chain.from_iterable(parts)), np.int32)
        counts = np.fromiter(map(len, parts), np.int64, len(parts))
        self._library.wordveil_withholding_units(self._pass, ctypes.c_int64(len(parts)), *map(pointer, (counts, flat)))
        packed = packed_strings(map(self._settings.layout, self._new_strings(1)))
        self._library.wordveil_withholding_gaps(self._pass, ctypes.byref(Strings.of(*packed)))

    def _new_strings(self, which: int) -> list[str]:
        """Return the units (0) or gaps (1) that were met since the last time."""
        found = new_strings(self._library.wordveil_withholding_strings, self._pass, which, self._met[which])
        self._met[which] += len(found)
        return found
