"""Tokens and gaps to the arrays of a batch, where no kernels are compiled: every distinct token is read once a call.

Texts are cut one at a time, so that their pieces are numbered while they are in the processor's cache. Nearly all
tokens are words with a gap before them, which arrays put together. Around public words, which are all gap, gaps are
written one by one.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray
from wordveil.text.readings import Reading

KEPT = 1 << 17
"""Distinct tokens beyond which a call forgets what it read: its memory is bounded, whatever texts hold."""

Places = NDArray[np.int64]


def numbering() -> defaultdict[str, int]:
    """Return what numbers strings in the order in which they are asked for."""
    return defaultdict(count().__next__)


class Assembler:
    """Puts the texts of one call together from the readings of tokens, which `read` returns."""

    def __init__(self, read: Callable[[Sequence[str]], Sequence[Reading]]) -> None:
        self._read = read
        self._forget()

    def _forget(self) -> None:
        self._numbers = numbering()
        self._public = dict[int, str]()  # the words of tokens that are all gap
        self._inner = numbering()  # gaps before the ids of readings; the first of a reading is empty
        # of every reading, end to end: how many ids, then of each id itself, its shape, and the gap before it
        self._known: list[NDArray[Any]] = [np.empty(0, kind) for kind in (np.int64, np.int32, np.uint8, np.int32)]

    def __call__(self, split: Iterable[Sequence[str]]) -> dict[str, Any]:
        """Return the fields of an `EncodedBatch` but for `last`, given texts as pieces that alternate gap and token."""
        if len(self._numbers) > KEPT:
            self._forget()
        gaps, sizes, tokens, outer = numbering(), list[int](), array("q"), array("i")
        assert (gaps[""], gaps[" "]) == (0, 1), "as every batch begins"
        for pieces in split:
            sizes.append(len(pieces) // 2)
            tokens.extend(map(self._numbers.__getitem__, pieces[1::2]))
            outer.extend(map(gaps.__getitem__, pieces[::2]))
        self._read_new()
        return self._together(np.asarray(tokens), np.asarray(outer), np.array(sizes, np.int64), gaps)

    def _read_new(self) -> None:
        first = len(self._known[0])
        readings = self._read(list(islice(self._numbers, first, None)))
        self._public |= {first + i: reading.gaps[0] for i, reading in enumerate(readings) if not reading.ids}
        inner = (gap for reading in readings for gap in reading.gaps[: len(reading.ids)])
        new = (
            map(len, (reading.ids for reading in readings)),
            chain.from_iterable(reading.ids for reading in readings),
            chain.from_iterable(reading.shapes for reading in readings),
            map(self._inner.__getitem__, inner),
        )
        self._known = [
            np.concatenate((old, np.fromiter(found, old.dtype))) for old, found in zip(self._known, new, strict=True)
        ]

    def _together(self, tokens: Places, outer: IdArray, sizes: Places, gaps: defaultdict[str, int]) -> dict[str, Any]:
        """Return the fields, given the numbers of tokens and of the gaps around them, and the tokens of each text."""
        lengths, ids, shapes, inner = self._known
        counts, texts = lengths[tokens], np.repeat(np.arange(len(sizes)), sizes)  # of each token
        ends = np.cumsum(counts)
        taken = np.repeat((np.cumsum(lengths) - lengths)[tokens] - ends + counts, counts) + np.arange(counts.sum())
        used = np.bincount(inner[taken], minlength=len(self._inner)).tolist()
        places = [gaps[gap] if times else 0 for gap, times in zip(self._inner, used, strict=True)]
        before = np.array(places, np.int32)[inner[taken]]
        opening, closing = outer[np.arange(len(tokens)) + texts], outer[np.cumsum(sizes + 1) - 1]
        full = counts > 0
        if not full.all():
            words = [self._public.get(token) for token in tokens.tolist()]
            opening, closing = _around_public(words, outer, sizes, gaps)
        before[(ends - counts)[full]] = opening[full]
        return {
            "gaps": list(gaps),
            "ids": ids[taken],
            "before": before,
            "closing": closing,
            "counts": np.bincount(texts, counts, len(sizes)).astype(np.int64),
            "exempt": np.bincount(texts, ~full, len(sizes)).astype(np.int64),
            "shapes": shapes[taken],
        }


def _around_public(
    words: Sequence[str | None], outer: IdArray, sizes: Places, gaps: defaultdict[str, int]
) -> tuple[IdArray, IdArray]:
    """Return the gap before each token and the one that ends each text, public words (None for others) in the gaps.

    The gap before a public word is 0: nobody asks for it, and one for each of a long row of them would fill memory.
    """
    known, following = list(gaps), iter(outer.tolist())
    opening, closing, left = list[int](), list[int](), iter(words)
    for size in sizes.tolist():
        parts = [known[next(following)]]
        for word in islice(left, size):
            own = known[next(following)]
            if word is None:
                opening.append(gaps["".join(parts)])
                parts = [own]
            else:
                opening.append(0)
                parts += word, own
        closing.append(gaps["".join(parts)])
    return np.array(opening, np.int32), np.array(closing, np.int32)
