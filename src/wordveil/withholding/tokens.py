r"""A text cut into tokens and what stands between them, by a public rule of characters.

    text --units between blanks--> tokens, each of one kind, and gaps: the layout

A unit that is no word or number (an address, a path, letters outside plain ASCII, format characters) is one token and
never kept. What stands between tokens is layout, of a fixed list of characters. Nothing here looks at a word list
but for the spelling of each token alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from wordveil.withholding.kinds import Kind, kind_of
from wordveil.withholding.words import PublicWords, Spelling

MARKS = frozenset(".,;:!?'\"()[]{}<>*/&%$+=#@_~|^`-–—‐‑‘’“”…•£€§°")
"""The marks that a release may hold, besides blank and newline; square brackets become round ones."""
_WHOLE = MARKS - {"`"}  # those that part words
OTHER = "[other]"
"""What stands for any other character between tokens, and for several in a row."""

_UNIT = re.compile(r"\S+")
_UNIT_OR_BREAK = re.compile(r"<br\s*/?>|(?:(?!<br\s*/?>)\S)+")
_SIMPLE = re.compile(r"[\"'“‘(*\[]*([A-Za-z]+(?:['’][A-Za-z]+)?)['’]?[.,;:!?)\"”’*…\]]*")
_AROUND = "\"'“”‘’()[]{}<>,.;:!?*…—–-•&"
_TOKEN = re.compile(r"[A-Za-z0-9]+(?:['’][A-Za-z0-9]+)*")
_FIGURES = re.compile(r"[0-9][0-9/]*")
_ACRONYM = re.compile(r"[A-Za-z](?:\.[A-Za-z])+")
_SENTENCES = re.compile(r"[A-Za-z']+[.][A-Z][A-Za-z']+")  # the blank between two was forgotten
_LINK = re.compile(r"@|://|www\.|[\\#=~^|_]|\.[A-Za-z][A-Za-z'’]|^/|/[^\s/]*/")
_ADDRESS = re.compile(r"@|://|www\.|[\\/]|\.[A-Za-z]{2,}$")
_BREAK = re.compile(r"\r\n?|<br\s*/?>")
_BRACKETS = str.maketrans("[]", "()")


@dataclass(slots=True)
class Tokens:
    """A text in parts."""

    texts: list[str]  # the n tokens
    spellings: list[Spelling]  # what the lists say of each
    gaps: list[str]  # the n + 1 stretches before, between and after the tokens

    def __len__(self) -> int:
        return len(self.texts)


def tokenize(text: str, words: PublicWords) -> Tokens:
    """Cut any string into parts; joined in order they are the string."""
    texts, spellings, gaps = list[str](), list[Spelling](), list[str]()
    end, spelling = 0, words.spelling
    for unit in (_UNIT_OR_BREAK if "<br" in text else _UNIT).finditer(text):
        whole = unit[0]
        if _BREAK.fullmatch(whole):
            continue
        simple = _SIMPLE.fullmatch(whole)
        if simple:
            low, high = simple.span(1)
            parts: list[tuple[int, int, Kind | None]] = [(low, high, None)]
        else:
            parts = list(parts_of(whole))
        offset = unit.start()
        for low, high, fixed in parts:
            gaps.append(text[end : offset + low])
            end = offset + high
            texts.append(whole[low:high])
            spellings.append(spelling(whole[low:high]) if fixed is None else Spelling(fixed))
    gaps.append(text[end:])
    return Tokens(texts, spellings, gaps)


def parts_of(unit: str) -> Iterator[tuple[int, int, Kind | None]]:
    """Yield the tokens of a unit, each with its kind where no list is to be asked."""
    core = unit.strip(_AROUND)
    if not any(map(str.isalnum, core)):
        return
    low = unit.index(core)
    high = low + len(core)
    if _is_foreign(core):
        yield low, high, Kind.LINK if _ADDRESS.search(core) else kind_of(core)
    elif _LINK.search(core) and not _SENTENCES.fullmatch(core):
        yield low, high, Kind.NUMBER if _FIGURES.fullmatch(core) else Kind.LINK
    elif _ACRONYM.fullmatch(core):
        yield low, high, kind_of(core) if core[0].isupper() else Kind.LETTER
    else:
        yield from ((low + found.start(), low + found.end(), None) for found in _TOKEN.finditer(core))


def _is_foreign(core: str) -> bool:
    """Whether a unit holds letters, accents, digits or signs outside plain ASCII, or characters that are not seen.

    What no list of characters holds, and a backtick, which stands for an accent, cut no word in pieces.
    """
    if core.isascii() and core.isprintable() and "`" not in core:
        return False
    odd = [i for i, c in enumerate(core) if not (c < "\x7f" and c.isprintable() and c != "`") and c not in _WHOLE]
    if any(core[i] > "\x7f" and _is_part_of_a_word(core[i]) for i in odd):
        return True
    spelled = [i for i, c in enumerate(core) if c.isalnum()]
    return any(spelled[0] < i < spelled[-1] for i in odd)


def _is_part_of_a_word(character: str) -> bool:
    """Whether a character is part of a word wherever it stands: circled letters are, and skin tones of emoji not."""
    category = unicodedata.category(character)
    accent = category == "Sk" and character < "\U00010000"
    return category[0] in "LMNC" or accent or character.isupper() or character.islower()


@lru_cache(maxsize=1 << 12)
def layout(gap: str) -> str:
    r"""Return what a release shows of the characters between two tokens: no square bracket, nothing unlisted.

    Example:
        >>> layout(" [*] \u200b\U0001f600\U0001f600\t")
        ' (*) [other] '
    """
    if gap == " ":
        return gap
    shown = "".join(map(_shown, with_lines(gap)))
    return re.sub("\0+", OTHER, shown.translate(_BRACKETS))


def with_lines(gap: str) -> str:
    """Return a gap with a newline for every line break, of whatever system, or as a tag."""
    return _BREAK.sub("\n", gap) if "\r" in gap or "<br" in gap else gap


def _shown(character: str) -> str:
    if character in MARKS or character in " \n":
        return character
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) == "Cf" else "\0"
