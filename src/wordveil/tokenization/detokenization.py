"""Released words and gaps to released text, and the casing of that text.

Everything here is post-processing: it sees gaps (declared as disclosed) and words that a mechanism released, never
the private text. The one exception is `apply_shapes`, whose shapes come from the private text; who calls it
declares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import ReleasedText
from wordveil.errors import ParameterError

__all__ = ["apply_casing", "apply_shapes", "detokenize", "is_clitic", "without_dropped"]

_CLOSING = "\"'”’»)\\]"
_OPENING = "\"'“‘«(\\[¿¡"
_LETTER = r"[^\W\d_]"
_SENTENCE = rf"(?<=[.!?…])[{_CLOSING}]*(?:[ \t\r\n\xa0]|<[A-Za-z/][^<>]{{0,30}}>)+[{_OPENING}]*{_LETTER}"
# One character set in front lets `re` skip to the few places where something can happen.
_STARTS = re.compile(rf"([.!?…]{_SENTENCE})")
_STARTS_AND_I = re.compile(rf"([.!?…i](?:{_SENTENCE}|(?<=i)(?<![\w'’\-]i)(?![\w\-]|\.\w)))")
_FIRST = re.compile(rf"(?:[^\w<]|<[A-Za-z/][^<>]{{0,30}}>)*+{_LETTER}")

_LONG = 1 << 20  # characters cased at a time: a text of many sentences falls into many strings
_BETWEEN_WORDS = re.compile(rf"[^<]{{33}}(?<={_LETTER}) ")  # a tag holds up to 33 characters


def detokenize(gaps: Sequence[str], words: Sequence[str]) -> ReleasedText:
    """Put released words into the gaps.

    Where two words meet without a gap (a contraction was split, or an emoji stood on a word), a space is inserted
    unless the right one is a contraction's second part. A dropped word takes one of its two surrounding spaces
    with it. Both follow from gaps and released words alone.

    Args:
        gaps: m + 1 strings.
        words: m released words; an empty one stands for a dropped token.

    Returns:
        The text.

    Raises:
        ParameterError: If there is not exactly one gap more than words.

    Example:
        >>> detokenize(["", "", " ", "."], ["do", "n't", "go"]), detokenize(["", "", ""], ["can", "not"])
        ("don't go.", 'can not')
    """
    if len(gaps) != len(words) + 1:
        raise ParameterError("gaps", len(gaps), f"must hold one more entry than the {len(words)} words.")
    gaps, words = without_dropped(gaps, words)
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


def without_dropped(
    gaps: Sequence[str], words: Sequence[str], *, begun: bool = False
) -> tuple[Sequence[str], Sequence[str]]:
    """Merge the gaps around empty words, leaving no doubled space and none before closing punctuation.

    Args:
        gaps: One more than words.
        words: The words; those that are empty go.
        begun: Whether words of the same text were written before these.
    """
    if "" not in words:
        return gaps, words
    kept_gaps, kept_words = [gaps[0]], []
    for word, gap in zip(words, gaps[1:], strict=True):
        if word:
            kept_words.append(word)
            kept_gaps.append(gap)
            continue
        left = kept_gaps[-1]
        if left.endswith(" ") and (not gap or gap[0] in " \n\r\t.,;:!?)]}…"):
            left = left[:-1]
        elif not left and not kept_words and not begun:
            gap = gap.removeprefix(" ")
        kept_gaps[-1] = left + gap
    return kept_gaps, kept_words


def apply_casing(
    text: ReleasedText, casing: Literal["sentence", "vocabulary"] = "sentence", *, cased: bool = False
) -> ReleasedText:
    """Case released text by rules that look at nothing else.

    Args:
        text: The released text.
        casing: "sentence" capitalizes the first letter of the text and after `.`, `!`, `?` or an ellipsis followed by
            white space or a tag, and the pronoun i; "vocabulary" changes nothing.
        cased: Whether the words come from a vocabulary that tells case apart; then the pronoun is left alone.

    Returns:
        The text in its new casing; the same length.

    Raises:
        ParameterError: If the casing does not exist.

    Example:
        >>> apply_casing(ReleasedText("maybe i'm late. (so it goes)"))
        "Maybe I'm late. (So it goes)"
    """
    if casing == "vocabulary":
        return text
    if casing != "sentence":
        raise ParameterError("casing", casing, "must be 'sentence' or 'vocabulary' where only the text is known.")
    pattern = _STARTS if cased else _STARTS_AND_I
    cased_text = "".join(_sentences_cased(part, pattern) for part in _parts(text))
    first = _FIRST.match(cased_text)
    return ReleasedText(cased_text if first is None else _capitalized_end(first[0]) + cased_text[first.end() :])


def _parts(text: str) -> Iterator[str]:
    """Cut a long text between words, where no match of the patterns above can be."""
    start = 0
    while len(text) - start > _LONG and (found := _BETWEEN_WORDS.search(text, start + _LONG)):
        yield text[start : found.end()]
        start = found.end()
    yield text[start:]


def _sentences_cased(text: str, pattern: re.Pattern[str]) -> str:
    # Splitting leaves the loop over pieces to the expression engine; every second piece ends in a letter to be cased.
    pieces = pattern.split(text)
    pieces[1::2] = map(_capitalized_end, pieces[1::2])
    return "".join(pieces)


def _capitalized_end(found: str) -> str:
    upper = found[-1].upper()
    return found[:-1] + upper if len(upper) == 1 else found


def apply_shapes(words: Sequence[str], shapes: NDArray[np.uint8]) -> list[str]:
    """Give released words the casing shapes of the private tokens they stand for.

    Guarantee:
        None: the shapes are copied from the private text. The caller declares casing as disclosed.

    Args:
        words: m released words.
        shapes: Shape (m,), as in `EncodedText.shapes`: 0 leaves a word, 1 capitalizes it, 2 makes it upper case.

    Returns:
        The m words, cased.

    Raises:
        ParameterError: If there are not as many shapes as words.
    """
    if len(words) != len(shapes):
        raise ParameterError("shapes", len(shapes), f"must hold one entry for each of the {len(words)} words.")
    cased = list(words)
    for i in np.flatnonzero(shapes).tolist():
        cased[i] = cased[i].upper() if shapes[i] == 2 else cased[i][:1].upper() + cased[i][1:]
    return cased
