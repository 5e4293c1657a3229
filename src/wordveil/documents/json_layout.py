"""The layout of flat JSON objects, which the records of a file mostly share.

What lies before, between and after the texts of one record becomes patterns. A record that they match has the same
members in the same order, so that all that was decided of the one holds for the other, and only its texts are new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from json.decoder import scanstring  # type: ignore[attr-defined]

Gap = Callable[[str, int], "re.Match[str] | None"]

_SPACE = r"[ \t\n\r]*+"
_NAME = r'"([^"\\\x00-\x1f]*+)"'
# Values that are copied, and in which nothing has to be decided: all but objects, lists and strings with escapes.
_PLAIN = r'(?:"[^"\\\x00-\x1f]*+"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)'
_member = re.compile(rf"[{{,]{_SPACE}{_NAME}{_SPACE}:{_SPACE}").match
_rest = re.compile(rf"{_PLAIN}?{_SPACE}").match
_MOST_MEMBERS, _LONGEST_NAME = 100, 1000  # beyond them making the patterns takes longer than they spare


def layout_of(text: str, at: int, texts: Collection[str], is_copied: Callable[[str], bool]) -> tuple[Gap, ...]:
    """Return what matches the gaps of the object at `at`, which was walked to its end without a finding.

    Each gap but the last ends with the quote that begins a text, of the members of the names `texts`. There are none
    where the object has members that are left out, are no plain values, or lead deeper.
    """
    gaps, gap = list[Gap](), ""
    for _ in range(_MOST_MEMBERS):
        named = _member(text, at)
        if named is None or len(named[1]) > _LONGEST_NAME:
            return ()
        gap += rf'{"," if gaps or gap else "{"}{_SPACE}"{re.escape(named[1])}"{_SPACE}:{_SPACE}'
        at = named.end()
        if named[1] in texts and text[at] == '"':
            at = scanstring(text, at + 1, True)[1]
            gaps.append(re.compile(f'{gap}"').match)
            gap = ""
        elif is_copied(named[1]):
            gap += _PLAIN
        else:
            return ()
        gap += _SPACE
        found = _rest(text, at)
        at = found.end() if found else at
        if text[at] == "}":
            return (*gaps, re.compile(f"{gap}}}").match)
    return ()
