"""Released ids to released texts, a batch at a time.

Post-processing: it sees gaps, released ids and declared shapes, never a private text. A text comes out as
`detokenize` and the casing functions would write it by itself; what is done here for all texts at once is choosing
the gaps and gathering the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wordveil.arrays import IdArray, ReleasedIds, ReleasedText
from wordveil.text.detokenization import (
    SentenceCasing,
    apply_shapes,
    detokenize,
    is_clitic,
    without_dropped,
)
from wordveil.text.encoded import EncodedBatch
from wordveil.text.surrogates import Surrogates

__all__ = ["Writer"]

_SLAB = 1 << 14  # pieces gathered at a time


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes released ids of one vocabulary.

    Attributes:
        words: The v words.
        casing: "sentence", "vocabulary", or "shape" (then the batch must carry shapes).
        cased: Whether the vocabulary tells case apart.
        mask: What is written for a released id of -1, whatever the casing; "" leaves the token out.
        typed: What reads the released ids above those of words; None where there are none.
    """

    words: Sequence[str]
    casing: Literal["sentence", "vocabulary", "shape"] = "sentence"
    cased: bool = False
    mask: str = ""
    typed: Surrogates | None = None

    def write(self, encoded: EncodedBatch, released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts, in order.

        Args:
            encoded: The batch; its ids are not looked at.
            released: Released ids, shape (t,), in [-1, v), above for surrogates.
        """
        return self.write_parts([encoded], released)

    def write_parts(self, parts: Sequence[EncodedBatch], released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts of a batch that was encoded in parts; `released` has the ids of all end to end."""
        page = _Page(self)
        write = _all_at_once
        if self.casing == "shape" or (not self.mask and bool((released < 0).any())):
            write = _OneByOne()
        casing = SentenceCasing(cased=self.cased)
        texts, begun, start = list[ReleasedText](), list[str](), 0
        for part in parts:
            stop = start + int(part.counts.sum())
            words = page.open(part.gaps, released[start:stop] + 1)
            for text, last in zip(write(part, words, page), part.last.tolist(), strict=True):
                begun.append(casing.feed(text, last=last) if self.casing == "sentence" else text)
                if last:
                    texts.append(self._whole(begun))
                    begun.clear()
            start = stop
        return texts

    def _whole(self, pieces: list[str]) -> ReleasedText:
        text = "".join(pieces)
        if self.casing == "sentence" and self.mask:
            # What casing makes of a mask that opens a sentence.
            text = text.replace(self.mask[0] + self.mask[1:].capitalize(), self.mask)
        return ReleasedText(text)


class _Page:
    """What a batch is written from, in one array: the mask at 0, word i at 1 + i, then surrogates, then gaps.

    Attributes:
        pieces: The array; only words asked for so far are in it.
        words: How many entries are mask and words: v + 1. What stands behind them changes with each part.
        clitic: Which of the words are a contraction's second part, shape (v + 1,).
        gaps: Position of the first gap.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.words = self.gaps = len(writer.words) + 1
        self.pieces = np.empty(self.words, dtype=object)
        self.pieces[0] = writer.mask
        self.clitic = np.zeros(self.words, np.bool_)
        self._decoded = np.zeros(self.words, np.bool_)

    def open(self, gaps: list[str], words: IdArray) -> IdArray:
        """Lay out the gaps of a part, its surrogates, and the words that no part before needed.

        Args:
            gaps: The gaps.
            words: Released ids, each 1 more than it is.

        Returns:
            Where in `pieces` each token's text stands.
        """
        more, words = self._surrogates(words)
        more += gaps
        self.gaps = self.words + len(more) - len(gaps)
        if self.words + len(more) > len(self.pieces):
            self.pieces = np.concatenate((self.pieces[: self.words], np.empty(2 * len(more), dtype=object)))
        self.pieces[self.words : self.words + len(more)] = more
        needed = np.zeros(self.words, np.bool_)
        needed[words[words < self.words]] = True
        needed[0] = False
        for i in np.flatnonzero(needed & ~self._decoded).tolist():
            word = self._writer.words[i - 1]
            self.pieces[i] = word
            self.clitic[i] = is_clitic(word)
        self._decoded |= needed
        return words

    def _surrogates(self, words: IdArray) -> tuple[list[str], IdArray]:
        """Return the distinct surrogates of a part and the tokens' places with these behind the words."""
        typed = self._writer.typed
        some = np.flatnonzero(words >= self.words)
        if typed is None or not some.size:
            return [], words
        numbers, places = np.unique(words[some], return_inverse=True)
        words = words.copy()
        words[some] = self.words + places
        return [typed.text(number - 1) for number in numbers.tolist()], words


def _all_at_once(encoded: EncodedBatch, words: IdArray, page: _Page) -> Iterator[str]:
    """Write texts in which every token keeps its place."""
    ends = np.cumsum(encoded.counts)
    opening = (ends - encoded.counts)[encoded.counts > 0]
    pairs = np.empty((len(words), 2), np.int32)  # the gap before each token, and its word
    # Two words that meet without a gap get a space, unless the right one is a contraction's second part.
    clitic = page.clitic[np.where(words < page.words, words, 0)] if page.gaps > page.words else page.clitic[words]
    pairs[:, 0] = encoded.before + ((encoded.before == 0) & ~clitic)
    pairs[opening, 0] = encoded.before[opening]
    pairs[:, 0] += page.gaps
    pairs[:, 1] = words
    index, slab, base, start = pairs.ravel(), list[str](), 0, 0
    for stop, closing in zip((2 * ends).tolist(), encoded.closing.tolist(), strict=True):
        if stop - base > len(slab):
            base = start
            slab = page.pieces[index[base : max(stop, base + _SLAB)]].tolist()
        yield "".join(slab[start - base : stop - base]) + encoded.gaps[closing]
        start = stop


class _OneByOne:
    """Writes texts whose words are cased one by one or may be missing; goes on with a text in the next part."""

    def __init__(self) -> None:
        self._gap = ""  # between the words written of the text and those to come
        self._begun = False  # whether a word of the text was written

    def __call__(self, encoded: EncodedBatch, words: IdArray, page: _Page) -> Iterator[str]:
        """Yield the texts or pieces of texts."""
        start = 0
        rows = zip(encoded.counts.tolist(), encoded.closing.tolist(), encoded.last.tolist(), strict=True)
        for count, closing, last in rows:
            some = slice(start, start + count)
            own = page.pieces[words[some]].tolist()
            if encoded.shapes is not None:
                plain = (words[some] == 0) | (words[some] >= page.words)
                own = apply_shapes(own, np.where(plain, 0, encoded.shapes[some]).astype(np.uint8))
            yield self._written(page.pieces[page.gaps + np.append(encoded.before[some], closing)].tolist(), own, last)
            start += count

    def _written(self, gaps: list[str], words: list[str], last: bool) -> str:
        gaps[0] = self._gap + gaps[0]
        gaps, words = without_dropped(gaps, words, begun=self._begun)
        if self._begun and words and not gaps[0] and not is_clitic(words[0]):
            gaps[0] = " "
        self._begun = not last and (self._begun or bool(words))
        self._gap = "" if last else gaps[-1]
        return detokenize(gaps if last else [*gaps[:-1], ""], words)
