"""What a text is between tokenizer and mechanism: gaps around token ids, for one text or for a batch.

The batch form is a few arrays and the list of its distinct gaps, so that it is cheap to cut, to write from and to
send to another process. Both hold no private character but those of the public gap list and of the words the user
listed as public; the ids are private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateIds
from wordveil.text.readings import UNKNOWN

__all__ = ["EncodedBatch", "EncodedText", "tokens_per_document", "tokens_per_text"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedText:
    """One text as gaps around token ids; still private, so its `repr` shows counts only.

    Attributes:
        gaps: m + 1 strings of public gap characters (and public words); `gaps[i]` precedes token i.
        ids: Token ids, shape (m,), int32; -1 stands for an unknown token, a number below for one of a kind.
        shapes: Casing shapes, shape (m,), uint8: 0 lower or mixed, 1 Capitalized, 2 UPPER; None unless asked for.
        exempt: How many public words passed verbatim into the gaps.
    """

    gaps: list[str]
    ids: PrivateIds
    shapes: NDArray[np.uint8] | None
    exempt: int

    @property
    def unknown(self) -> int:
        """How many tokens are outside the vocabulary."""
        return int(np.count_nonzero(self.ids == UNKNOWN))

    def __repr__(self) -> str:
        return f"EncodedText(tokens={len(self.ids)}, unknown={self.unknown}, exempt={self.exempt})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EncodedBatch:
    """n texts, or pieces of long ones, end to end, with t tokens in all; still private.

    Attributes:
        gaps: The distinct gaps; the first is empty, the second one space.
        ids: Token ids, shape (t,), int32; -1 stands for an unknown token, a number below for one of a kind.
        before: Position in `gaps` of the gap before each token, shape (t,), int32.
        closing: Position in `gaps` of the gap that ends each text, shape (n,), int32.
        counts: Tokens of each text, shape (n,), int64.
        exempt: How many public words of each text passed verbatim into the gaps, shape (n,), int64.
        shapes: Casing shapes, shape (t,), uint8, as in `EncodedText`; None unless asked for.
        last: Whether each piece is the last one of its text, shape (n,).
    """

    gaps: list[str]
    ids: PrivateIds
    before: IdArray
    closing: IdArray
    counts: NDArray[np.int64]
    exempt: NDArray[np.int64]
    shapes: NDArray[np.uint8] | None
    last: NDArray[np.bool_]

    def texts(self) -> list[EncodedText]:
        """Return the texts one by one."""
        table = np.array(self.gaps, dtype=object)
        ends = np.cumsum(self.counts)
        encoded = []
        for end, count, closing, exempt in zip(
            ends.tolist(), self.counts.tolist(), self.closing.tolist(), self.exempt.tolist(), strict=True
        ):
            some = slice(end - count, end)
            gaps = [*table[self.before[some]].tolist(), self.gaps[closing]]
            shapes = None if self.shapes is None else self.shapes[some]
            encoded.append(EncodedText(gaps, PrivateIds(self.ids[some]), shapes, exempt))
        return encoded

    def without_ids(self) -> EncodedBatch:
        """Return the batch as a writer needs it: without what only the mechanism may see."""
        return replace(self, ids=PrivateIds(np.empty(0, np.int32)))  # a slice would keep them

    def __repr__(self) -> str:
        return f"EncodedBatch(texts={len(self.counts)}, tokens={len(self.ids)})"


def tokens_per_text(parts: Sequence[EncodedBatch]) -> NDArray[np.int64]:
    """Return the number of tokens of each text of a batch that was encoded in parts, shape (texts,)."""
    if not parts:
        return np.empty(0, np.int64)
    running = np.cumsum(np.concatenate([part.counts for part in parts]))
    return np.asarray(np.diff(running[np.concatenate([part.last for part in parts])], prepend=0))


def tokens_per_document(counts: NDArray[np.int64], documents: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Turn the number of tokens of each text into that of each document, which may have any number of texts."""
    running = np.concatenate(([0], np.cumsum(counts)))
    return np.asarray(np.diff(running[np.cumsum([0, *map(len, documents)])]))
