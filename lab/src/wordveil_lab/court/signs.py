"""What is still there of the originals, and signs of releases that protect nothing or say nothing.

Signs are verbatim texts, words that are never themselves, one output. A sign is no refutation: nobody claimed the
opposite. What a claimed epsilon says is held against matches elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from wordveil.api import FUNCTION_WORDS, TOKEN_KINDS, AuditStatus, Finding, round_up, token_kind
from wordveil_lab.court.pairs import ANOTHER, Measure, PairedTexts, shifted, worded

VERBATIM = 0.05  # share of whole texts
FEW = 0.5  # of what is expected
EXPECTED = 5  # times that words should have been themselves


def signs(pairs: PairedTexts, whole: Measure) -> list[Finding]:
    """Return what every such sign shows."""
    outputs, inputs = Counter(pairs.released), len(set(pairs.originals))
    commonest = outputs.most_common(1)[0][1]
    same = sum(len(own) == len(other) for own, other in zip(*pairs.words, strict=True))
    few = len(outputs) < FEW * inputs
    return [
        _sign("verbatim releases", whole.value >= VERBATIM, share=round_up(100 * whole.value, 3), texts=whole.n),
        _sign("constant outputs", few, outputs=len(outputs), inputs=inputs, commonest=commonest),
        *_never_itself(pairs),
        _sign("length", same > 0.9 * len(pairs), same=same, pairs=len(pairs)),
    ]


def _sign(check: str, seen: bool, /, **numbers: object) -> Finding:
    status = AuditStatus.DISCLOSED if seen else AuditStatus.PASSED
    return Finding(check=check, status=status, alpha=0.0, **worded(check, **numbers))


def _never_itself(pairs: PairedTexts) -> list[Finding]:
    """Look for words that short lists of others stand for, but never the word itself.

    How often a word gives the same other word twice tells how short its list is, and so how often it would be itself.
    """
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for own, other in pairs.aligned:
        for word, released in zip(own, other, strict=True):
            seen[word][released] += 1
    repeated = {word: outputs for word, outputs in seen.items() if outputs.total() > 1}
    raw = [word for word, outputs in repeated.items() if outputs[word] == outputs.total()]
    drawn = [(word, outputs) for word, outputs in repeated.items() if word not in raw]
    n, itself = sum(outputs.total() for _, outputs in drawn), sum(outputs[word] for word, outputs in drawn)
    pairs_of = sum(outputs.total() * (outputs.total() - 1) for _, outputs in drawn)
    if not pairs_of:
        return []
    twice = sum(count * (count - 1) for word, outputs in drawn for out, count in outputs.items() if out != word)
    expected = n * twice / pairs_of
    seldom = expected >= EXPECTED and itself < FEW * expected
    return [_sign("never the word itself", seldom, itself=itself, n=n, raw=len(raw), expected=expected)]


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
