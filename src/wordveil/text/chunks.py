"""Cuts long texts where no token can be, so that they are worked on in pieces, and texts into portions.

A stretch between spaces gives, read alone, the tokens it gives inside its text unless a token could hold the space
beside it. By `patterns`, only these can:

- a number, and then there is a digit (Unicode N) on both sides of the space;
- an IBAN, and then two capitals and two digits open it and each later group opens with a capital or a digit;
- a tag, where markup is read, and then it opens on the left with "<".

No other alternative holds a space or looks past one: to every look-around, a space is what the end of a text is, and
so is a line end, which only a tag can span. The compiled reader (`kernels/compiled/reading.c`) leaves stretches alone
by these conditions; here, a piece begins before a letter that is no capital, and outside a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError

__all__ = ["LONG", "LONGEST", "portions"]

LONG = 1 << 20
"""Characters of a text that are worked on at a time."""

LONGEST = 1 << 23
"""A text with a longer stretch without white space before a letter cannot be worked on in pieces, and is refused."""

# Before a letter these are in no number, no IBAN and no address.
_NO_TOKEN = re.compile(r"[ \n](?![A-Z])|[。、，](?=[\u3040-\u9fff])")
_TAG_CHARACTERS = 2001  # "<", a letter, and at most so many up to ">"


def portions(
    texts: Iterable[PrivateText], *, markup: Literal["none", "html"] = "none"
) -> Iterator[tuple[list[str], list[bool]]]:
    """Yield texts, long ones in several pieces, about `LONG` characters at a time.

    Args:
        texts: The batch.
        markup: The tokenizer's markup.

    Yields:
        Pieces, and whether each is the last one of its text.
    """
    pieces, last, size = list[str](), list[bool](), 0
    for text in texts:
        for piece, is_last in _pieces(text, markup):
            pieces.append(piece)
            last.append(is_last)
            size += len(piece)
            if size >= LONG:
                yield pieces, last
                pieces, last, size = [], [], 0
    if pieces:
        yield pieces, last


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
