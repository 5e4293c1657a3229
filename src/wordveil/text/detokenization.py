"""Released words and gaps to released text, and the casing of that text.

Everything here is post-processing: it sees gaps (declared as disclosed) and words that a mechanism released, never the
private text. The one exception is `apply_shapes`, whose shapes come from the private text; who calls it declares them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import ReleasedText
from wordveil.errors import ParameterError

_CLOSING = "\"'”’»)\\]"
_OPENING = "\"'“‘«(\\[¿¡"
_LETTER = r"[^\W\d_]"
_SENTENCE = rf"(?<=[.!?…])[{_CLOSING}]*(?:[ \t\r\n\xa0]|<[A-Za-z/][^<>]{{0,30}}>)+[{_OPENING}]*{_LETTER}"
# One character set in front lets `re` skip to the few places where something can happen.
_STARTS = re.compile(rf"([.!?…]{_SENTENCE})")
_STARTS_AND_I = re.compile(rf"([.!?…i](?:{_SENTENCE}|(?<=i)(?<![\w'’\-]i)(?![\w\-]|\.\w)))")
_FIRST = re.compile(rf"(?:[^\w<]|<[A-Za-z/][^<>]{{0,30}}+>)*{_LETTER}")


def detokenize(gaps: Sequence[str], words: Sequence[str]) -> ReleasedText:
    """Put released words into the gaps.

    Where two words meet without a gap (a contraction was split, or an emoji stood on a word), a space is inserted
    unless the right one is a contraction's second part. A dropped word takes one of its two surrounding spaces
    with it: an empty word. Both follow from the m + 1 gaps and the m words alone.

    Example:
        >>> detokenize(["", "", " ", "."], ["do", "n't", "go"]), detokenize(["", "", ""], ["can", "not"])
        ("don't go.", 'can not')
    """
    if len(gaps) != len(words) + 1:
        raise ParameterError("gaps", len(gaps), f"must hold one more entry than the {len(words)} words.")
    gaps, words = _without_dropped(gaps, words)
    pieces = [""] * (2 * len(words) + 1)
    pieces[::2] = gaps
    pieces[1::2] = words
    inner = pieces[2:-1:2]
    if "" in inner:
        for i, gap in enumerate(inner):
            if not gap and not is_clitic(words[i + 1]):
                pieces[2 * i + 2] = " "
    return ReleasedText("".join(pieces))


def is_clitic(word: str) -> bool:
    """Whether a word is a contraction's second part, which stands without a space."""
    return word[:1] in ("'", "’") or word.lower() == "n't"


def _without_dropped(gaps: Sequence[str], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Merge the gaps around empty words, leaving no doubled space and none before closing punctuation."""
    if "" not in words:
        return list(gaps), list(words)
    kept_gaps, kept_words = list[str](), list[str]()
    left = [gaps[0]] if gaps[0] else []  # parts of the gap before the next word: a string would be copied by each
    for word, gap in zip(words, gaps[1:], strict=True):
        if word:
            kept_words.append(word)
            kept_gaps.append("".join(left))
            left = []
        elif left and left[-1].endswith(" ") and (not gap or gap[0] in " \n\r\t.,;:!?)]}…"):
            left[-1:] = [left[-1][:-1]] if len(left[-1]) > 1 else []
        elif not left and not kept_words:
            gap = gap.removeprefix(" ")
        left += [gap] if gap else []
    return [*kept_gaps, "".join(left)], kept_words


def apply_casing(text: ReleasedText, *, cased: bool = False) -> ReleasedText:
    """Case released text by rules that look at nothing else.

    The first letter of the text is capitalized, and the first after `.`, `!`, `?` or an ellipsis followed by white
    space or a tag, and the pronoun i, unless the words come from a vocabulary that tells case apart.

    Example:
        >>> apply_casing(ReleasedText("maybe i'm late. (so it goes)"))
        "Maybe I'm late. (So it goes)"
    """
    # Splitting leaves the loop over pieces to the expression engine; every second one ends in a letter to be cased.
    pieces = (_STARTS if cased else _STARTS_AND_I).split(text)
    pieces[1::2] = map(_capitalized_end, pieces[1::2])
    written = "".join(pieces)
    if first := _FIRST.match(written):
        written = _capitalized_end(first[0]) + written[first.end() :]
    return ReleasedText(written)


@lru_cache(4096)  # of released text; a dozen endings are nearly all
def _capitalized_end(found: str) -> str:
    upper = found[-1].upper()
    return found[:-1] + upper if len(upper) == 1 else found


def apply_shapes(words: Sequence[str], shapes: NDArray[np.uint8]) -> list[str]:
    """Give m released words the casing shapes of the private tokens they stand for, (m,), as in `EncodedText.shapes`.

    Guarantee:
        None: the shapes are copied from the private text. The caller declares casing as disclosed.
    """
    if len(words) != len(shapes):
        raise ParameterError("shapes", len(shapes), f"must hold one entry for each of the {len(words)} words.")
    cased = list(words)
    for i in np.flatnonzero(shapes).tolist():
        cased[i] = cased[i].upper() if shapes[i] == 2 else cased[i][:1].upper() + cased[i][1:]
    return cased
