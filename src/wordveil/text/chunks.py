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
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import IdArray, PrivateText
from wordveil.errors import ParameterError
from wordveil.text.patterns import digit_pattern

__all__ = ["LONG", "LONGEST", "Chunks", "cut_at_spaces", "portions"]

LONG = 1 << 20
"""Characters of a text that are worked on at a time."""

LONGEST = 1 << 23
"""A text with a longer stretch without white space before a letter cannot be worked on in pieces, and is refused."""

_IBAN_OPENS = re.compile("[A-Z]{2}[0-9]{2}")
_DIGIT = re.compile("[0-9]")
# Before a letter these are in no number, no IBAN and no address.
_NO_TOKEN = re.compile(r"[ \n](?![A-Z])|[。、，](?=[\u3040-\u9fff])")
_MOST_TYPES = 1 << 19  # of a portion: some 200 MB if all are new
_MOST_CHUNKS = 3 << 21  # more than a block of a run has
_IBAN_GROUPS = 8  # groups after the first one, at most
_TAG_CHARACTERS = 2001  # "<", a letter, and at most so many up to ">"
_CAPITALS_AND_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunks:
    """The texts of a batch as numbered chunks with one space between neighbours.

    Attributes:
        types: The distinct chunks; private.
        numbers: Position in `types` of every chunk, all texts end to end, int32.
        ends: End of each text, or piece of one, in `numbers`; each has at least one chunk.
        last: Whether each piece is the last one of its text.
    """

    types: list[str]
    numbers: IdArray
    ends: NDArray[np.int64]
    last: NDArray[np.bool_]

    def parts(self, size: int) -> Iterator[Chunks]:
        """Yield the chunks again, at least `size` at a time, cut where pieces end."""
        start = first = 0
        while first < len(self.ends):
            stop = int(np.searchsorted(self.ends, start + size)) + 1
            ends = self.ends[first:stop]
            yield Chunks(self.types, self.numbers[start : ends[-1]], ends - start, self.last[first:stop])
            start, first = int(ends[-1]), stop

    def __repr__(self) -> str:
        return f"Chunks({len(self.numbers)} chunks of {len(self.ends)} texts)"


def cut_at_spaces(texts: Iterable[PrivateText], *, markup: Literal["none", "html"] = "none") -> Chunks:
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
    return _numbered(((text, True) for text in texts), markup, sys.maxsize, sys.maxsize)


def portions(texts: Iterable[PrivateText], *, markup: Literal["none", "html"] = "none") -> Iterator[Chunks]:
    """Cut texts as `cut_at_spaces`, in portions that need little memory; long texts come in several pieces."""
    pieces = ((piece, last) for text in texts for piece, last in _pieces(text, markup))
    while len((chunks := _numbered(pieces, markup, _MOST_TYPES, _MOST_CHUNKS)).ends):
        yield chunks


def _pieces(text: str, markup: Literal["none", "html"]) -> Iterator[tuple[str, bool]]:
    """Cut a long text where no token can be, and say which piece is the last one."""
    start = 0
    while len(text) - start > LONG:
        places = (found.end() for found in _NO_TOKEN.finditer(text, start + LONG, start + LONGEST))
        letters = (place for place in places if text[place : place + 1].isalpha())
        stop = next((place for place in letters if markup == "none" or not _in_tag(text, place)), 0)
        if not stop and len(text) - start > LONGEST:
            raise ParameterError(
                "text",
                f"<{len(text)} characters>",
                f"must have a space or line end before a letter in every {LONGEST} characters; break it into lines.",
            )
        if not stop:
            break
        yield text[start:stop], False
        start = stop
    yield text[start:], True


def _in_tag(text: str, place: int) -> bool:
    first = max(0, place - 2 * _TAG_CHARACTERS)
    return text.rfind("<", first, place) > text.rfind(">", first, place)


def _numbered(
    pieces: Iterable[tuple[str, bool]], markup: Literal["none", "html"], most_types: int, most_chunks: int
) -> Chunks:
    """Number the chunks of pieces until there are enough."""
    number_of = defaultdict[str, int](count().__next__)
    parts, lengths, last, total = [np.empty(0, np.int32)], list[int](), list[bool](), 0
    for piece, is_last in pieces:
        cut = piece.split(" ")
        # Numbering the chunks while they are fresh costs one hash each; all later work is per type or vectorized.
        parts.append(np.fromiter(map(number_of.__getitem__, cut), np.int32, len(cut)))
        lengths.append(len(cut))
        last.append(is_last)
        total += len(cut)
        if total > most_chunks or len(number_of) > most_types:
            break
    numbers = np.concatenate(parts)
    ends = np.cumsum(np.array(lengths, np.int64))
    types = list(number_of)
    bound = _bound(types, numbers, ends, markup)
    if bound.any():
        for first, stop in _runs(bound):
            numbers[first] = number_of[" ".join([types[i] for i in numbers[first : stop + 1].tolist()])]
        joined = np.flatnonzero(bound) + 1
        numbers, ends, types = np.delete(numbers, joined), ends - np.searchsorted(joined, ends), list(number_of)
    return Chunks(types, numbers, ends, np.array(last, np.bool_))


def _bound(
    types: list[str], numbers: IdArray, ends: NDArray[np.int64], markup: Literal["none", "html"]
) -> NDArray[np.bool_]:
    """Whether each chunk may share a token with the next one, shape (chunks,)."""
    inside = np.ones(len(numbers), np.bool_)  # whether there is a chunk after this one in its text
    inside[ends - 1] = False
    # No type holds a space, so no match crosses one.
    joined = " ".join(types)
    type_ends = np.cumsum(np.fromiter(map(len, types), np.int64, len(types)) + 1)
    digits = _holding(_DIGIT, joined, type_ends)
    # The pattern of all digits is slow, and needed for few types in most languages.
    for i in [i for i, chunk in enumerate(types) if not chunk.isascii()]:
        digits[i] |= digit_pattern().search(types[i]) is not None
    bound = digits[numbers] & inside
    bound[:-1] &= digits[numbers[1:]]
    if types and (opens := _holding(_IBAN_OPENS, joined, type_ends)).any():
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
    """First position and end of every run of set entries."""
    edges = np.flatnonzero(np.diff(bound, prepend=False, append=False))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
