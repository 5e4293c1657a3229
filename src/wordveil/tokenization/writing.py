"""Released ids to released texts, a batch at a time.

Post-processing: it sees gaps, released ids and declared shapes, never a private text. A text comes out as
`detokenize` and the casing functions would write it by itself; what is done here for all texts at once is choosing
the gaps and gathering the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, ReleasedText
from wordveil.tokenization.detokenization import apply_casing, apply_shapes, detokenize, is_clitic
from wordveil.tokenization.encoded import EncodedBatch

__all__ = ["Writer"]

_SLAB = 1 << 16  # pieces gathered at a time


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes released ids of one vocabulary.

    Attributes:
        words: The v words.
        casing: "sentence", "vocabulary", or "shape" (then the batch must carry shapes).
        cased: Whether the vocabulary tells case apart.
        mask: What is written for a released id of -1, whatever the casing; "" leaves the token out.
    """

    words: Sequence[str]
    casing: Literal["sentence", "vocabulary", "shape"] = "sentence"
    cased: bool = False
    mask: str = ""

    def write(self, encoded: EncodedBatch, released: IdArray) -> list[ReleasedText]:
        """Return the released texts, in order.

        Args:
            encoded: The batch; its ids are not looked at.
            released: Released ids, shape (t,), in [-1, v).
        """
        pieces, clitic = self._pieces(encoded.gaps, released)
        if self.casing == "shape" or (not self.mask and bool((released < 0).any())):
            texts = _one_by_one(encoded, released, pieces)
        else:
            texts = _all_at_once(encoded, released, pieces, clitic)
        return list(map(self._cased, texts)) if self.casing == "sentence" else texts

    def _pieces(self, gaps: list[str], released: IdArray) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
        """Gaps, mask and the words needed in one array, and which words are a contraction's second part.

        With g gaps, word i lies at g + 1 + i in the first array, so that the mask is word -1, and at i in the second.
        """
        v, first = len(self.words), len(gaps) + 1
        pieces = np.empty(first + v, dtype=object)
        pieces[:first] = [*gaps, self.mask]
        clitic, needed = np.zeros(v + 1, np.bool_), np.zeros(v + 1, np.bool_)
        needed[released] = True
        for i in np.flatnonzero(needed[:-1]).tolist():
            word = self.words[i]
            pieces[first + i] = word
            clitic[i] = is_clitic(word)
        return pieces, clitic

    def _cased(self, text: ReleasedText) -> ReleasedText:
        cased = apply_casing(text, "sentence", cased=self.cased)
        # What casing makes of a mask that opens a sentence.
        return ReleasedText(cased.replace(self.mask[0] + self.mask[1:].capitalize(), self.mask)) if self.mask else cased


def _all_at_once(
    encoded: EncodedBatch, released: IdArray, pieces: NDArray[np.object_], clitic: NDArray[np.bool_]
) -> list[ReleasedText]:
    """Write texts in which every token keeps its place."""
    counts, gaps = encoded.counts, len(encoded.gaps)
    stops = 2 * np.cumsum(counts) + np.arange(1, len(counts) + 1)  # a text is one gap longer than its tokens
    starts = stops - 2 * counts - 1
    before = np.arange(len(released)) * 2 + np.repeat(np.arange(len(counts)), counts)
    index = np.empty(int(stops[-1]) if len(counts) else 0, np.int32)
    # Two words that meet without a gap get a space, unless the right one is a contraction's second part.
    index[before] = np.where((encoded.before == 0) & ~clitic[released], 1, encoded.before)
    opening = np.cumsum(counts) - counts
    index[starts[counts > 0]] = encoded.before[opening[counts > 0]]
    index[before + 1] = gaps + 1 + released
    index[stops - 1] = encoded.closing
    texts = list[ReleasedText]()
    slab, base, limit = list[str](), 0, 0
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - start > _SLAB:
            parts = (index[first : min(first + _SLAB, stop)] for first in range(start, stop, _SLAB))
            texts.append(ReleasedText("".join("".join(pieces[part].tolist()) for part in parts)))
            continue
        if stop > limit:
            base, limit = start, max(stop, start + _SLAB)
            slab = pieces[index[base:limit]].tolist()
        texts.append(ReleasedText("".join(slab[start - base : stop - base])))
    return texts


def _one_by_one(encoded: EncodedBatch, released: IdArray, pieces: NDArray[np.object_]) -> list[ReleasedText]:
    """Write texts whose words are cased one by one or may be missing."""
    first = len(encoded.gaps) + 1
    texts, start = list[ReleasedText](), 0
    for count, closing in zip(encoded.counts.tolist(), encoded.closing.tolist(), strict=True):
        some = slice(start, start + count)
        words = pieces[first + released[some]].tolist()
        if encoded.shapes is not None:
            words = apply_shapes(words, np.where(released[some] < 0, 0, encoded.shapes[some]).astype(np.uint8))
        texts.append(detokenize(pieces[np.append(encoded.before[some], closing)].tolist(), words))
        start += count
    return texts
