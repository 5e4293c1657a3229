"""What encoding and writing mean for one text, in the fewest words: the definition the fast paths are held to.

It is also what they fall back on: `encoding` for stretches that the compiled reader leaves alone, and for everything
where no kernels are compiled; `writing` for texts whose words are cased one by one or may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import ReleasedText
from wordveil.text.characters import normalized, plain_spelling
from wordveil.text.detokenization import apply_casing, apply_shapes, detokenize
from wordveil.text.patterns import digit_pattern
from wordveil.text.readings import UNKNOWN, Reading, forms, read, shape
from wordveil.text.surrogates import Surrogates


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How tokens are read; see `Encoder` for `casing`, `numbers` and `typed`."""

    casing: Literal["lower", "cased"] = "lower"
    numbers: Literal["unknown", "vocabulary"] = "unknown"
    public: Mapping[str, str]  # exempt words as they are listed, by their caseless form
    typed: Surrogates | None = None


class TextReading(NamedTuple):
    """One text as gaps around token ids; see `EncodedText`."""

    gaps: list[str]
    ids: list[int]
    shapes: list[int]
    exempt: int


def caseless(word: str) -> str:
    """Return what two spellings of a word have in common without regard to case, apostrophes and hyphens."""
    return normalized("NFC", plain_spelling(word).casefold())


def read_token(token: str, rules: Rules, ids: Mapping[str, int]) -> Reading:
    """Read one token: a public word is all gap, one of a kind its code, a number unknown, the rest as `read` says.

    Where numbers are looked up, those that the vocabulary lists are words like others, whatever their kind.
    """
    if rules.public and (word := rules.public.get(caseless(token))) is not None:
        return Reading((), (word,), ())  # as listed: how it was spelled in the private text is nobody's business
    digits = digit_pattern().search(token) is not None
    listed = digits and rules.numbers == "vocabulary" and not ids.keys().isdisjoint(forms(token, rules.casing))
    if rules.typed is not None and not listed and (code := rules.typed.code(token)) is not None:
        return Reading((code,), ("", ""), (0,))
    if digits and rules.numbers == "unknown":
        return Reading((UNKNOWN,), ("", ""), (shape(token),))
    return read(token, ids, rules.casing)


def encode_text(pieces: Sequence[str], readings: Mapping[str, Reading], markup: str) -> TextReading:
    """Put a text together: the gaps between tokens and those inside of their readings, end to end."""
    outer = pieces[::2] if markup == "none" else [gap.lower() for gap in pieces[::2]]
    gaps, ids, shapes, exempt = list[str](), list[int](), list[int](), 0
    parts = [outer[0]]  # of the gap before the next id: a string would be copied by each
    for token, following in zip(pieces[1::2], outer[1:], strict=True):
        found, inner, looks = readings[token]
        parts.append(inner[0])
        for gap in inner[1:]:
            gaps.append("".join(parts))
            parts = [gap]
        parts.append(following)
        ids += found
        shapes += looks
        exempt += not found
    return TextReading([*gaps, "".join(parts)], ids, shapes, exempt)


def write_text(
    gaps: Sequence[str],
    words: Sequence[str | None],
    shapes: NDArray[np.uint8] | None,
    casing: Literal["sentence", "vocabulary", "shape"],
    *,
    cased: bool,
    mask: str,
) -> ReleasedText:
    """Write one text: words into gaps, then its casing; a mask is written the same whatever the casing.

    None stands for a token without a released word. Shapes are those of the words where casing is "shape", 0 for what
    is no word. The others are as for `Writer`.
    """
    written = [mask if word is None else word for word in words]
    text = detokenize(gaps, written if shapes is None else apply_shapes(written, shapes))
    if casing != "sentence":
        return text
    text = apply_casing(text, cased=cased)
    return ReleasedText(text.replace(cased_mask(mask), mask)) if mask else text


def cased_mask(mask: str) -> str:
    """Return what casing makes of a mask that opens a sentence."""
    return mask[:1] + mask[1:].capitalize()
