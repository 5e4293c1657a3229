"""Makes public sentences fit to be released as anybody's: personal data becomes typed slots, or the sentence goes.

`[number]`, `[date]` and so on stand for what `text.kinds` types, `[name]` for what the public list of names holds. A
slot is filled with a made-up value when the sentence is released, chosen by a public hash of what was released before
it in the text: a function of the release alone, so that it says nothing of the input.

What is dropped: sentences that may hold names that no list has, since a word inside is in capitals, or the embedded
vocabulary does not list the first word, or any word where the sentence does not begin with a capital; those with slurs
and obscene words, markup or quotation marks; those too short, too long or with too many slots to be anybody's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wordveil.arrays import PrivateText
from wordveil.sentences.splitting import LISTS
from wordveil.text.encoding import Encoder
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS, kind
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import GENERATORS, Generator
from wordveil.text.tokenizer import Tokenizer
from wordveil.vocabulary.packaged import never_output
from wordveil.vocabulary.table import load_embeddings

_NAMES_FILE = Path(__file__).parent / "names.txt"
_MADE_UP = "Alex Sam Robin Kim Jordan Casey Jamie Taylor Morgan Riley Avery Quinn Lee Chris Pat Terry"
_GENERATORS: Mapping[str, Generator] = {**GENERATORS, "name": Generator(4, lambda i: _MADE_UP.split()[i])}
_SLOT = re.compile(rf"\[({'|'.join([*KINDS, 'name'])})\]")
_NAME = "[name]"
_NAMES_IN_A_ROW = re.compile(r"\[name\](?:(?: |-|\. )\[name\])+")
_MARKUP = re.compile(r"[\[\]{}<>|_*\\^~=\t\n\r\"“”]|--|(?:^|\s)['‘’]")
WORDS = (4, 20)
CHARACTERS = 140
MOST_SLOTS = 3


class Cleaned(NamedTuple):
    """What became of a sentence."""

    sentence: str | None  # with its slots, or None where it was dropped
    why: str = ""  # the reason for dropping it, in a few words; "" where it was kept


@cache
def _names() -> frozenset[str]:
    lines = _NAMES_FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


@cache
def _barred() -> frozenset[str]:
    return frozenset(never_output())


def clean(sentence: str) -> Cleaned:
    """Return a public sentence with its personal data in slots, or why it may not be in a stock.

    Example:
        >>> clean("maria saw him on 14 March 2026 for 50 EUR.")
        Cleaned(sentence='[name] saw him on [date] for [money].', why='')
        >>> clean("They moved the office to Springfield last year.").why
        'perhaps a name'
    """
    if _MARKUP.search(sentence):
        return Cleaned(None, "markup or quotation")
    pieces = Tokenizer().split(joined(PrivateText(sentence.strip())))
    words = pieces[1::2]
    if not WORDS[0] <= len(words) <= WORDS[1] or len(sentence) > CHARACTERS:
        return Cleaned(None, "too short or too long")
    if not _barred().isdisjoint(word.lower() for word in words):
        return Cleaned(None, "slurs or obscene words")
    found = [_read(words, i) for i in range(len(words))]
    if None in found:
        return Cleaned(None, "perhaps a name")
    pieces[1::2] = [str(word) for word in found]
    written = _NAMES_IN_A_ROW.sub(_NAME, "".join(pieces))
    if len(_SLOT.findall(written)) > MOST_SLOTS:
        return Cleaned(None, "too many slots")
    plain = " ".join(written.split())
    plain = plain[:1].upper() + plain[1:]
    return Cleaned(f"{plain}." if plain[-1].isalnum() or plain[-1] == "]" else plain)


def _read(words: list[str], i: int) -> str | None:
    """Return a word, its slot, or None for one in capitals that is neither a known name nor harmless."""
    word = words[i]
    if (typed := kind(word)) is not None:
        return f"[{typed}]"
    harmless = LISTS["capitals"]
    bare = re.sub(r"['’]s?$", "", word)
    own = word[len(bare) :]
    after_title = i > 0 and words[i - 1].lower().rstrip(".") in LISTS["titles"] and word[:1].isupper()
    # Common words that are names too (Will, Grace) are listed in capitals, and are names only inside a sentence.
    if bare.lower() in _names() or after_title or (i > 0 and bare in _names() and bare not in harmless):
        return f"{_NAME}{own}"
    if not any(map(str.isupper, word)) or not harmless.isdisjoint((word, bare)):
        # Where a sentence begins without a capital, names are written without one too.
        return word if words[0][:1] != words[0][:1].lower() or _is_listed(word.lower()) else None
    opens = i == 0 and not any(map(str.isupper, word[1:])) and _is_listed(word.lower())
    return word if opens else None


@cache
def _is_listed(word: str) -> bool:
    """Whether a word that opens a sentence is one of the embedded vocabulary, and so hardly a rare name."""
    return UNKNOWN not in _listing().encode([PrivateText(word)])[0].ids


@cache
def _listing() -> Encoder:
    return Encoder(lookup=load_embeddings().ids)


def slots_of(sentence: str) -> list[str]:
    """Return the kinds of a sentence's slots, in order.

    Example:
        >>> slots_of("[name] paid [money].")
        ['name', 'money']
    """
    return _SLOT.findall(sentence)


def fill(sentence: str, seed: bytes = b"", given: Mapping[str, str] | None = None) -> str:
    """Return a sentence of a stock with its slots filled; the seed is what was released before it.

    Given are kinds, each with the value for its first slot, released under an epsilon of its own.

    Example:
        >>> fill("[name] paid [money].") == fill("[name] paid [money].")
        True
    """
    if "[" not in sentence:
        return sentence
    rest, places = dict(given or {}), iter(range(len(sentence)))

    def value(found: re.Match[str]) -> str:
        place, name = next(places), found[1]
        if name in rest:
            return rest.pop(name)
        digest = hashlib.blake2b(seed + sentence.encode() + place.to_bytes(2, "big"), digest_size=8).digest()
        generator = _GENERATORS[name]
        return generator.text(int.from_bytes(digest, "big") >> (64 - generator.bits))

    return _SLOT.sub(value, sentence)
