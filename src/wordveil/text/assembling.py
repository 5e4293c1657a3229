"""Tokens and gaps to the arrays of a batch, where no kernels are compiled: every distinct token is read once a call.

Nearly all tokens are words with a gap before them, which arrays put together. Around public words, which are all gap,
gaps are written one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
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
        self._readings: list[Reading] = []

    def __call__(self, split: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return the fields of an `EncodedBatch` but for `last`, given texts as pieces that alternate gap and token."""
        if len(self._numbers) > KEPT:
            self._forget()
        gaps = numbering()
        assert (gaps[""], gaps[" "]) == (0, 1), "as every batch begins"
        sizes = np.fromiter((len(pieces) // 2 for pieces in split), np.int64, len(split))
        tokens = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(p[1::2] for p in split)), np.int64)
        outer = np.fromiter(map(gaps.__getitem__, chain.from_iterable(p[::2] for p in split)), np.int32)
        self._readings += self._read(list(islice(self._numbers, len(self._readings), None)))
        used = np.bincount(tokens, minlength=len(self._readings)) > 0
        readings = [self._readings[place] for place in np.flatnonzero(used).tolist()]
        return _together(readings, np.cumsum(used)[tokens] - 1, outer, sizes, gaps)


def _together(
    readings: Sequence[Reading], tokens: Places, outer: IdArray, sizes: Places, gaps: defaultdict[str, int]
) -> dict[str, Any]:
    """Return the fields, given the reading of each token, the gaps around them, and the number of tokens of texts."""
    lengths = np.fromiter((len(reading.ids) for reading in readings), np.int64, len(readings))
    counts, texts = lengths[tokens], np.repeat(np.arange(len(sizes)), sizes)  # of each token
    ends = np.cumsum(counts)
    taken = np.repeat(np.cumsum(lengths)[tokens] - ends, counts) + np.arange(counts.sum())
    # Of a reading the first gap and the last are empty, but of a public word's, which is one gap.
    inner = (gap for reading in readings if reading.ids for gap in reading.gaps[:-1])
    before = np.fromiter(map(gaps.__getitem__, inner), np.int32)[taken]
    opening, closing = outer[np.arange(len(tokens)) + texts], outer[np.cumsum(sizes + 1) - 1]
    if not counts.all():
        words = [None if reading.ids else reading.gaps[0] for reading in readings]
        opening, closing = _around_public([words[token] for token in tokens.tolist()], outer, sizes, gaps)
    full = counts > 0
    before[(ends - counts)[full]] = opening[full]
    return {
        "gaps": list(gaps),
        "ids": np.fromiter(chain.from_iterable(reading.ids for reading in readings), np.int32)[taken],
        "before": before,
        "closing": closing,
        "counts": np.bincount(texts, counts, len(sizes)).astype(np.int64),
        "exempt": np.bincount(texts, ~full, len(sizes)).astype(np.int64),
        "shapes": np.fromiter(chain.from_iterable(reading.shapes for reading in readings), np.uint8)[taken],
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
