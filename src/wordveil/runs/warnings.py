"""What a person is warned of before they trust a release: one list, which screen, JSON and HTML all take.

A warning is a sentence of its own, and says what to do where something can be done.
"""

from __future__ import annotations

from collections.abc import Iterable

from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.worked import InWords

HIDES_NOTHING = (
    "this promise hides nothing: a guess between two inputs, even near ones, may be wrong less than once in a million "
    "times; a smaller --epsilon is stronger"
)


def release_warnings(guarantee: Guarantee, words: InWords) -> tuple[str, ...]:
    """Return what to be warned of when texts are released under a guarantee."""
    warnings = guarantee.warnings()
    if words.hides_nothing and guarantee.epsilon is not None:
        warnings += (HIDES_NOTHING,)
    elif words.weak and guarantee.epsilon is not None:
        what = "sentence" if guarantee.unit is PrivacyUnit.SENTENCE else "word"
        warnings += (
            f"a weak promise: an observer may become 99 % sure of a {what}, or more; a smaller --epsilon is stronger",
        )
    return warnings


def shown(warnings: Iterable[str]) -> list[str]:
    """Return warnings as the lines that a person at a terminal reads."""
    return [f"warning: {line}" for line in warnings]
