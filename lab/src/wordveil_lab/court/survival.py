"""How much of the originals is still there, whatever the order of words: by kind of token, beside random pairing."""

from __future__ import annotations

from collections import Counter

import numpy as np

from wordveil.api import FUNCTION_WORDS, TOKEN_KINDS, token_kind
from wordveil_lab.court.pairs import ANOTHER, Measure, PairedTexts, shifted

CLASSES = ("content words", "function words", "typed tokens", *TOKEN_KINDS)


def survival(pairs: PairedTexts) -> list[Measure]:
    """Return the share of tokens, counted with multiplicity, that a text's own release holds, and a stranger's.

    Case does not count. Typed tokens are numbers, dates, e-mails and so on, by the public kinds of `text.kinds`: what
    personal data mostly is; names are content words here, as no list tells them apart.
    """
    originals, released = ([Counter(word.lower() for word in text) for text in texts] for texts in pairs.words)
    other = shifted(len(pairs))
    total, kept, chance = Counter[str](), Counter[str](), Counter[str]()
    for i, own in enumerate(originals):
        mine, strange = released[i], released[other[i]]
        for word, count in own.items():
            for name in _classes(word):
                total[name] += count
                kept[name] += min(count, mine[word])
                chance[name] += min(count, strange[word])
    same = [_plain(a) == _plain(b) for a, b in zip(pairs.originals, pairs.released, strict=True)]
    return [
        Measure("survival", name, kept[name] / total[name], chance[name] / total[name], ANOTHER, n=total[name])
        for name in ("tokens", *CLASSES)
        if total[name]
    ] + [Measure("survival", "whole texts", float(np.mean(same)), n=len(same))]


def _classes(word: str) -> tuple[str, ...]:
    found = token_kind(word)
    if found is not None:
        return "tokens", "typed tokens", found
    return "tokens", "function words" if word in FUNCTION_WORDS else "content words"


def _plain(text: str) -> str:
    """Return a text without white space and case: tokenizers of other packages set it otherwise."""
    return "".join(text.split()).lower()
