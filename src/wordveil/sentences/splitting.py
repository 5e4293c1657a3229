"""Cuts a text into sentences by public rules, in linear time.

A sentence ends at `.`, `!`, `?` or an ellipsis before white space, at a blank line, and where a line opens with a list
mark. What follows from the characters around a full stop decides whether it ends one: titles, initials, decimals, list
numbers and what goes on in lower case do not. How many sentences there are is disclosed by every release, so the rules
are part of what a promise assumes. They are for English; text without any capital letter is cut at every full stop.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from wordveil.arrays import PrivateText

RULES = "sentences-1"
"""The name of these rules: noise depends on it, so that other rules never share any."""

_LISTED = tomllib.loads(Path(__file__).with_name("lists.toml").read_text(encoding="utf-8"))
LISTS = {name: frozenset(words.split()) for name, words in _LISTED.items()}
"""Name of a list in lists.toml -> its words."""

_CLOSING = "\"'”’)\\]»"
_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSING}]{{0,3}}(?=\s)")  # from the first of them on: linear time
_BREAK = re.compile(r"\n[ \t\r]*\n\s*|\n[ \t]*(?=(?:[-*•‣–—]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])[ \t])")
_LIST_MARK = re.compile(r"\s*(?:[-*•‣–—]\s*)?\(?(?:\d{1,3}|[A-Za-z])[.)]")
_NEXT = re.compile(r"[\s\"'“”‘’(\[«*•-]{0,40}(\w[\w'’]{0,20})?")
_LAST = 24  # characters before a full stop that are looked at: no abbreviation is longer


def split_sentences(text: PrivateText) -> list[PrivateText]:
    """Return the sentences of a text in order, without the white space around them.

    Returns:
        At least one sentence unless the text is all white space; each holds a letter or a digit, unless none does.

    Example:
        >>> split_sentences(PrivateText("Dr. Lee saw 2.5 mg at 5 p.m. on Monday. “Fine!” she said. No change"))
        ['Dr. Lee saw 2.5 mg at 5 p.m. on Monday.', '“Fine!” she said.', 'No change']
    """
    capitals = not text.islower()
    found = list[str]()
    for block in _BREAK.split(text):
        start = 0
        for end in _END.finditer(block):
            if _ends(block, start, end, capitals=capitals):
                found.append(block[start : end.end()].strip())
                start = end.end()
        found.append(block[start:].strip())
    return _with_words([sentence for sentence in found if sentence])


def _with_words(pieces: list[str]) -> list[PrivateText]:
    """Join what holds neither letter nor digit to the sentence before it, at the beginning to the one after."""
    joined, waiting = list[list[str]](), list[str]()
    for piece in pieces:
        if any(map(str.isalnum, piece)):
            joined.append([*waiting, piece])
            waiting = []
        else:
            (joined[-1] if joined else waiting).append(piece)
    return [PrivateText(" ".join(sentence)) for sentence in joined or ([waiting] if waiting else [])]


def _ends(block: str, start: int, end: re.Match[str], *, capitals: bool) -> bool:
    """Whether a mark with white space after it ends the sentence that began at `start`."""
    following = _NEXT.match(block, end.end())
    word = (following and following[1]) or ""
    if capitals and word[:1].islower():
        return False
    if not end[0].startswith(".") or len(end[0]) > 1 or not word:
        return True
    before = block[max(start, end.start() - _LAST) : end.start()].split()[-1:]
    last = before[0].lstrip("\"'“‘([«") if before else ""
    return not _goes_on(last, word) and not _LIST_MARK.fullmatch(block, start, end.end())


def _goes_on(last: str, word: str) -> bool:
    """Whether a full stop belongs to the abbreviation before it, given the word after it."""
    plain = last.lower()
    if plain in LISTS["abbreviations"] or (plain in LISTS["before_numbers"] and word[:1].isdigit()):
        return True
    if len(last) == 1 and last.isupper() and last != "I":
        return True  # an initial
    acronym = "." in last and last.replace(".", "").isalpha() and last.isupper()
    return acronym and word.lower() not in LISTS["starters"]
