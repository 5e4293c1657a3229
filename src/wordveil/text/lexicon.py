"""The distinct chunks of a batch as token ids and gaps, and the batch put together from them.

Everything here is arrays over chunks and tokens; Python loops run over distinct chunks and over the rare chunks
that hold no token. Nothing here looks words up or cuts texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateIds
from wordveil.text.chunks import Chunks
from wordveil.text.encoded import EncodedBatch
from wordveil.text.readings import UNKNOWN, Reading

__all__ = ["GapNumbers", "Lexicon", "expanded"]


class GapNumbers(defaultdict[str, int]):
    """Numbers for the gaps of a batch, given out as they are asked for: 0 for the empty one, 1 for one space."""

    def __init__(self) -> None:
        super().__init__(count().__next__)
        _ = self[""], self[" "]


@dataclass(frozen=True, slots=True, repr=False, eq=False, kw_only=True)
class Lexicon:
    """The c distinct chunks of a batch, with t tokens in all; private.

    Attributes:
        starts: First token of each chunk in `ids`, shape (c,).
        counts: Tokens of each chunk, shape (c,).
        ids: Token ids, shape (t,).
        before: Number of the gap before each token inside its chunk, shape (t,).
        closing: Number of the gap that ends each chunk, shape (c,); of a chunk without tokens, all of it.
        exempt: Public words in each chunk, shape (c,).
        shapes: Casing shapes, shape (t,), or None.
        numbers: The numbers of the gaps.
    """

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    ids: IdArray
    before: IdArray
    closing: IdArray
    exempt: NDArray[np.int64]
    shapes: NDArray[np.uint8] | None
    numbers: GapNumbers

    def assemble(self, chunks: Chunks) -> EncodedBatch:
        """Return the texts that consist of these chunks, one space between neighbours."""
        counts = self.counts[chunks.numbers]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        places = np.arange(total) + np.repeat(self.starts[chunks.numbers] - (ends - counts), counts)
        before = self.before[places]
        closing = self.closing[chunks.numbers[chunks.ends - 1]]
        self._join_neighbours(chunks, counts, ends - counts, before)
        self._join_around_empty(chunks, counts, ends - counts, before, closing)
        return EncodedBatch(
            gaps=list(self.numbers),
            ids=PrivateIds(self.ids[places]),
            before=before,
            closing=closing,
            counts=_per_text(ends, chunks.ends),
            exempt=_per_text(np.cumsum(self.exempt[chunks.numbers]), chunks.ends),
            shapes=None if self.shapes is None else self.shapes[places],
            last=chunks.last,
        )

    def _join_neighbours(
        self, chunks: Chunks, counts: NDArray[np.int64], firsts: NDArray[np.int64], before: IdArray
    ) -> None:
        """Write the gaps between chunks that both hold tokens: closing gap, space, opening gap."""
        has_tokens = counts > 0
        follows = has_tokens.copy()
        follows[:1] = False
        follows[chunks.ends[:-1]] = False  # the first chunk of a text
        follows[1:] &= has_tokens[:-1]
        at = np.flatnonzero(follows)
        left = self.closing[chunks.numbers[at - 1]]
        opening = firsts[at]
        right = before[opening]
        plain = (left | right) == 0
        before[opening[plain]] = 1
        rest = np.flatnonzero(~plain)
        pairs = left[rest].astype(np.int64) << 32 | right[rest]
        number_of = defaultdict[int, int](count().__next__)
        pair_numbers = np.fromiter(map(number_of.__getitem__, pairs.tolist()), np.int32, len(pairs))
        gaps = list(self.numbers)
        joined = [self.numbers[f"{gaps[pair >> 32]} {gaps[pair & 0xFFFFFFFF]}"] for pair in number_of]
        before[opening[rest]] = np.array(joined, np.int32)[pair_numbers]

    def _join_around_empty(
        self,
        chunks: Chunks,
        counts: NDArray[np.int64],
        firsts: NDArray[np.int64],
        before: IdArray,
        closing: IdArray,
    ) -> None:
        """Write the gaps that contain chunks without tokens."""
        empty = np.concatenate(([False], counts == 0, [False]))
        borders = np.zeros(len(counts) + 1, np.bool_)
        borders[chunks.ends] = True
        # A run of such chunks ends where a chunk has tokens or another text begins.
        opens = np.flatnonzero(empty[1:-1] & (~empty[:-2] | borders[:-1]))
        stops = np.flatnonzero(empty[1:-1] & (~empty[2:] | borders[1:])) + 1
        owners = np.searchsorted(chunks.ends, opens, side="right")
        text_ends = chunks.ends[owners].tolist()
        text_starts = np.concatenate(([0], chunks.ends))[owners].tolist()
        gaps = list(self.numbers)
        own = self.closing[chunks.numbers]
        for first, stop, text, start, end in zip(
            opens.tolist(), stops.tolist(), owners.tolist(), text_starts, text_ends, strict=True
        ):
            parts = [gaps[i] for i in own[max(first - 1, start) : stop].tolist()]
            if stop == end:
                closing[text] = self.numbers[" ".join(parts)]
            else:
                opening = firsts[stop]
                before[opening] = self.numbers[" ".join([*parts, gaps[before[opening]]])]


def _per_text(running: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn running sums over chunks into sums per text."""
    return np.diff(running[ends - 1], prepend=0)


def expanded(lexicon: Lexicon, readings: Sequence[Reading]) -> Lexicon:
    """Return the lexicon with the readings of compound and public tokens written out.

    Args:
        lexicon: Its chunks lie in `ids` one after the other; an id of -2 - i stands for `readings[i]`.
        readings: The readings.
    """
    compound = np.flatnonzero(lexicon.ids < UNKNOWN)
    chunks = np.unique(np.searchsorted(lexicon.starts + lexicon.counts, compound, side="right"))
    out = _Written(lexicon, readings)
    written = np.array([out.write(chunk) for chunk in chunks.tolist()], np.int64)
    changed = {name: getattr(lexicon, name).copy() for name in ("starts", "counts", "closing", "exempt")}
    for name, values in zip(changed, written.T, strict=True):
        changed[name][chunks] = values
    # The chunks written out go behind the others, which stay where they are.
    changed["starts"][chunks] += len(lexicon.ids)
    shapes = None
    if lexicon.shapes is not None:
        shapes = np.concatenate((lexicon.shapes, np.array(out.shapes, np.uint8)))
    return replace(
        lexicon,
        **changed,
        ids=np.concatenate((lexicon.ids, np.array(out.ids, np.int32))),
        before=np.concatenate((lexicon.before, np.array(out.before, np.int32))),
        shapes=shapes,
    )


class _Written:
    """Chunks written out one after the other."""

    def __init__(self, lexicon: Lexicon, readings: Sequence[Reading]) -> None:
        # Lists: reading single entries of arrays is slow.
        self._starts, self._counts = lexicon.starts.tolist(), lexicon.counts.tolist()
        self._codes, self._before = lexicon.ids.tolist(), lexicon.before.tolist()
        self._shapes = None if lexicon.shapes is None else lexicon.shapes.tolist()
        self._closing = lexicon.closing.tolist()
        self._gaps, self._numbers = list(lexicon.numbers), lexicon.numbers
        self._readings = readings
        self.ids, self.before, self.shapes = list[int](), list[int](), list[int]()

    def write(self, chunk: int) -> tuple[int, int, int, int]:
        """Append one chunk; returns its start, its number of tokens, its closing gap and its public words."""
        first = len(self.ids)
        exempt = 0
        waiting = ""
        start = self._starts[chunk]
        for place in range(start, start + self._counts[chunk]):
            code, gap = self._codes[place], waiting + self._gaps[self._before[place]]
            if code >= UNKNOWN:
                self._token(code, gap, self._shapes[place] if self._shapes else 0)
                waiting = ""
                continue
            ids, gaps, shapes = self._readings[-2 - code]
            waiting = gap + gaps[0]
            for id_, inner, shape in zip(ids, gaps[1:], shapes, strict=True):
                self._token(id_, waiting, shape)
                waiting = inner
            exempt += not ids
        closing = self._numbers[waiting + self._gaps[self._closing[chunk]]]
        return first, len(self.ids) - first, closing, exempt

    def _token(self, id_: int, gap: str, shape: int) -> None:
        self.ids.append(id_)
        self.before.append(self._numbers[gap])
        self.shapes.append(shape)
