"""What stands in the place of hidden tokens. A law is handed slots, kinds and no more: it cannot depend on a token.

Exactly: for two texts with equal slots, every output has the same probability under either law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from wordveil.randomness import Stream, random_bits
from wordveil.text.surrogates import GENERATORS, Generator
from wordveil.withholding.kinds import Kind
from wordveil.withholding.words import LISTS

LawName = Literal["placeholder", "surrogate"]


class Slot(NamedTuple):
    """A place in a release where tokens were withheld."""

    kind: Kind  # of the first of them; all of a slot print alike
    # which hidden token of its document or person it is, from 1, where equal ones are linked; 0 elsewhere
    number: int = 0


Law = Callable[[Sequence[Slot], Stream], list[str]]
"""Returns what stands in each slot; it is given nothing else of a text."""


def placeholders(slots: Sequence[Slot], stream: Stream) -> list[str]:
    """Return the kinds in square brackets, with their numbers where there are some."""
    return [f"[{slot.kind.printed}-{slot.number}]" if slot.number else f"[{slot.kind.printed}]" for slot in slots]


def surrogates(slots: Sequence[Slot], stream: Stream) -> list[str]:
    """Return uniform draws from the public generator of each kind; the number of a linked slot is its draw."""
    words = random_bits(stream.lane(0), (len(slots),)).tolist()
    written = []
    for slot, word in zip(slots, words, strict=True):
        drawn = slot.number - 1 << 32 if slot.number else word
        generator = surrogate_generators()[slot.kind.printed]
        written.append(generator.text(drawn >> (64 - generator.bits)))
    return written


LAWS: Mapping[LawName, Law] = {"placeholder": placeholders, "surrogate": surrogates}


@cache
def surrogate_generators() -> Mapping[str, Generator]:
    """Return the public generator of each printed kind, of 2**bits members."""
    names = _listed("names.txt", lambda word: word.capitalize())
    words = _listed("things.txt", lambda word: word)
    return {"name": names, "word": words, "number": GENERATORS["number"], "link": GENERATORS["URL"]}


def _listed(name: str, spell: Callable[[str], str]) -> Generator:
    lines = (LISTS / name).read_text(encoding="utf-8").splitlines()
    words = [spell(word) for line in lines if not line.startswith("#") for word in line.split()]
    bits = len(words).bit_length() - 1
    return Generator(bits, lambda i: words[i])
