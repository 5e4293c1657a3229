"""Cuts texts at the spaces that no token can span, so that each distinct piece is tokenized once in a batch.

Few of a text's chunks are new: in reviews, one of twenty. A chunk read alone gives the tokens it gives inside its
text unless a token could hold the space beside it. By `patterns`, only these can:

- a number, and then there is a digit (Unicode N) on both sides of the space;
- an IBAN, and then two capitals and two digits open it and each later group opens with a capital or a digit;
- a tag, where markup is read, and then it opens on the left with "<".

Chunks that *may* belong together by these conditions are joined again, whether or not they do. No other alternative
holds a space or looks past one: to every look-around, a space is what the end of a text is. This module does not
tokenize and knows no vocabulary. What it numbers is private and must not outlive the batch.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText
from wordveil.tokenization.patterns import digit_pattern

__all__ = ["Chunks", "cut_at_spaces"]

_IBAN_OPENS = re.compile("[A-Z]{2}[0-9]{2}")
_LONG = 1 << 20  # characters split at a time
_IBAN_GROUPS = 8  # groups after the first one, at most
_TAG_CHARACTERS = 2001  # "<", a letter, and at most so many up to ">"
_CAPITALS_AND_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunks:
    """The texts of a batch as numbered chunks with one space between neighbours.

    Attributes:
        types: The distinct chunks; private.
        numbers: Position in `types` of every chunk, all texts end to end, int32.
        ends: End of each text in `numbers`; every text has at least one chunk.
    """

    types: list[str]
    numbers: IdArray
    ends: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Chunks({len(self.numbers)} chunks of {len(self.ends)} texts)"


def cut_at_spaces(texts: Sequence[PrivateText], *, markup: Literal["none", "html"] = "none") -> Chunks:
    """Cut texts into chunks, each of which a tokenizer with this markup reads as it would inside its text.

    Args:
        texts: The batch.
        markup: The tokenizer's markup.

    Returns:
        The chunks; joined with single spaces they give the texts back.

    Example:
        >>> chunks = cut_at_spaces([PrivateText("on 12 May, on")])
        >>> [chunks.types[i] for i in chunks.numbers]
        ['on', '12', 'May,', 'on']
    """
    number_of = defaultdict[str, int](count().__next__)
    parts, lengths = [np.empty(0, np.int32)], list[int]()
    for text in texts:
        lengths.append(0)
        for pieces in _split(text):
            # Numbering the pieces while they are fresh costs one hash each; all later work is per type or vectorised.
            parts.append(np.fromiter(map(number_of.__getitem__, pieces), np.int32, len(pieces)))
            lengths[-1] += len(pieces)
    numbers = np.concatenate(parts)
    ends = np.cumsum(np.array(lengths, np.int64))
    types = list(number_of)
    inside = np.ones(len(numbers), np.bool_)  # whether there is a chunk after this one in its text
    inside[ends - 1] = False
    bound = _bound(types, numbers, inside, markup)
    if not bound.any():
        return Chunks(types, numbers, ends)
    kept = np.concatenate(([True], ~bound[:-1]))
    for first, last in _runs(bound):
        numbers[first] = number_of[" ".join([types[i] for i in numbers[first : last + 2].tolist()])]
    return Chunks(list(number_of), numbers[kept], np.cumsum(kept)[ends - 1])


def _split(text: str) -> Iterator[list[str]]:
    """Split at every space, so much of a long text at a time that its pieces need little memory."""
    start = 0
    while len(text) - start > _LONG and (cut := text.find(" ", start + _LONG)) >= 0:
        yield text[start:cut].split(" ")
        start = cut + 1
    yield text[start:].split(" ")


def _bound(
    types: list[str], numbers: IdArray, inside: NDArray[np.bool_], markup: Literal["none", "html"]
) -> NDArray[np.bool_]:
    """Whether each chunk may share a token with the next one, shape (chunks,)."""
    # No type holds a space, so no match crosses one.
    joined = " ".join(types)
    ends = np.cumsum(np.fromiter(map(len, types), np.int64, len(types)) + 1)
    digits = _holding(digit_pattern(), joined, ends)[numbers]
    bound = digits & inside
    bound[:-1] &= digits[1:]
    if ends.size and (opens := _holding(_IBAN_OPENS, joined, ends)).any():
        _bind_ibans(bound, np.flatnonzero(opens[numbers]), types, numbers, inside)
    if markup == "html" and "<" in joined:
        _bind_tags(bound, types, numbers, inside)
    return bound


def _holding(pattern: re.Pattern[str], joined: str, ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each type holds a match, shape (types,)."""
    holding = np.zeros(len(ends), np.bool_)
    found = np.fromiter((match.start() for match in pattern.finditer(joined)), np.int64)
    holding[np.searchsorted(ends, found, side="right")] = True
    return holding


def _bind_ibans(
    bound: NDArray[np.bool_],
    openings: NDArray[np.intp],
    types: list[str],
    numbers: IdArray,
    inside: NDArray[np.bool_],
) -> None:
    for opening in openings.tolist():
        for at in range(opening, opening + _IBAN_GROUPS):
            if not inside[at] or types[numbers[at + 1]][:1] not in _CAPITALS_AND_DIGITS:
                break
            bound[at] = True


def _bind_tags(bound: NDArray[np.bool_], types: list[str], numbers: IdArray, inside: NDArray[np.bool_]) -> None:
    opens = np.fromiter((chunk.rfind("<") > chunk.rfind(">") for chunk in types), np.bool_, len(types))
    ends = np.fromiter(("<" in chunk or ">" in chunk for chunk in types), np.bool_, len(types))
    for opening in np.flatnonzero(opens[numbers]).tolist():
        for at in range(opening, opening + _TAG_CHARACTERS):
            if not inside[at]:
                break
            bound[at] = True
            if ends[numbers[at + 1]]:
                break


def _runs(bound: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First and last position of every run of set entries."""
    edges = np.diff(np.concatenate(([False], bound, [False])).astype(np.int8))
    return zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True)
