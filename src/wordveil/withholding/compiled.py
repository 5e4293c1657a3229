"""The compiled pass: what `redactor` does with placeholders that nothing links, a hundred times as fast.

It gives the same bytes; the tests compare them. What stands in its tables is asked of `words`, `tokens` and `rule`.
"""

from __future__ import annotations

import threading

from wordveil.kernels.compiled.library import withholding_library
from wordveil.kernels.compiled.withholding import ASK, LONGEST, CompiledWithholding, Part, WithholdingSettings
from wordveil.withholding.kinds import Kind
from wordveil.withholding.rule import MONTHS_THAT_ARE_WORDS, Rule
from wordveil.withholding.tokens import layout, parts_of
from wordveil.withholding.words import TELLS, Mark, PublicWords, closed_list, function_words

_MARKS = {Mark.SURE: 0, Mark.CAPITAL: 2, Mark.COMMON_NAME: 4, Mark.NAME: 6}
_KINDS = {kind: number for number, kind in enumerate(Kind)}
_MOST = 4  # choices that a thread remembers
_made = threading.local()


def compiled_pass(words: PublicWords, rule: Rule) -> CompiledWithholding | None:
    """Return this thread's pass for these choices; None where it is not built, not wanted, or rules are others."""
    if withholding_library() is None or type(rule) is not Rule or type(words) is not PublicWords:
        return None
    passes: dict[tuple[PublicWords, Rule], CompiledWithholding] = _made.__dict__.setdefault("passes", {})
    if (words, rule) not in passes:
        bits = _bits(words)
        if any(len(word.encode()) > LONGEST for word in bits):
            return None
        if len(passes) >= _MOST:
            passes.clear()
        passes[words, rule] = CompiledWithholding(
            WithholdingSettings(
                bits=bits,
                strict=rule.strict,
                titles=rule.titles,
                calendar=rule.calendar,
                numbers=rule.numbers,
                parts=_parts,
                layout=layout,
            )
        )
    return passes[words, rule]


def _bits(words: PublicWords) -> dict[str, int]:
    """Return what the lists say of each word in small letters, in the bits of withholding.c."""
    bits = {word: 1 | _MARKS[mark] for word, mark in words.marks().items()}
    lists = {
        8: closed_list("contractions"),
        16: closed_list("numbers"),
        32: function_words(),
        64: closed_list("joints"),
        128: closed_list("secrets"),
        256: closed_list("titles") - words.hidden,
        512: closed_list("calendar") - words.hidden,
        1024: MONTHS_THAT_ARE_WORDS,
        2048: TELLS,
    }
    for bit, listed in lists.items():
        for word in listed:
            bits[word] = bits.get(word, 0) | bit
    return bits


def _parts(unit: str) -> list[Part]:
    """Return the tokens of a unit that withholding.c cannot read, by their bytes."""
    places = [0]
    for character in unit:
        places.append(places[-1] + len(character.encode("utf-8", "surrogatepass")))
    return [(places[low], places[high], ASK if kind is None else _KINDS[kind]) for low, high, kind in parts_of(unit)]
