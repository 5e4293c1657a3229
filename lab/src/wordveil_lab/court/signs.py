"""Signs of releases that protect nothing or say nothing: verbatim texts, words that are never themselves, one output.

A sign is no refutation: nobody claimed the opposite. What a claimed epsilon says is held against matches elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from wordveil.api import AuditStatus, Finding, round_up
from wordveil_lab.court.pairs import Measure, PairedTexts

VERBATIM = 0.05  # share of whole texts
FEW = 0.5  # of what is expected
EXPECTED = 5  # times that words should have been themselves


def signs(pairs: PairedTexts, whole: Measure) -> list[Finding]:
    """Return what every such sign shows."""
    outputs, inputs = Counter(pairs.released), len(set(pairs.originals))
    commonest = outputs.most_common(1)[0][1]
    same = sum(len(own) == len(other) for own, other in zip(*pairs.words, strict=True))
    return [
        _sign(
            "verbatim releases",
            seen=whole.value >= VERBATIM,
            observed=f"{round_up(100 * whole.value, 3)} % of {whole.n} texts are as they were, spaces and case apart",
            expected="next to none",
        ),
        _sign(
            "constant outputs",
            seen=len(outputs) < FEW * inputs,
            observed=f"{len(outputs)} different releases of {inputs} different texts; the commonest {commonest} times",
            expected="about as many as texts; few outputs say little of their texts, and any average over them "
            "misleads",
        ),
        *_never_itself(pairs),
        _sign(
            "length",
            seen=same > 0.9 * len(pairs),
            observed=f"{same} of {len(pairs)} releases have as many words as their text",
            expected="where all have, the number of words is disclosed, and a claim must assume that it is equal",
        ),
    ]


def _sign(check: str, *, seen: bool, observed: str, expected: str) -> Finding:
    status = AuditStatus.DISCLOSED if seen else AuditStatus.PASSED
    return Finding(check=check, status=status, observed=observed, expected=expected, alpha=0.0)


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
    return [
        _sign(
            "never the word itself",
            seen=expected >= EXPECTED and itself < FEW * expected,
            observed=(
                f"words seen twice or more are released as themselves {itself} times in {n}, besides {len(raw)} words "
                "that always are"
            ),
            expected=(
                f"about {expected:.0f}, as often as as another word of their lists: a list without the word itself "
                "rules it out, which no finite epsilon allows"
            ),
        )
    ]
