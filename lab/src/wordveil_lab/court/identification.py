"""Whose release is it? Each release is matched with its original among decoys, and the matches bound epsilon.

For any inputs x_1, ..., x_g and any rule that names one of them for every output, local DP of epsilon gives

    mean over i of P(the rule names x_i, given x_i)  <=  e^epsilon / (e^epsilon + g - 1).

Proof: given x_1 the rule names x_1 with p_1 and each other x_i with at least e^-epsilon p_i, and names only one; so
p_1 + e^-epsilon (p_2 + ... + p_g) <= 1, and likewise for every i; add them up. With g = 2 this is the known bound
(e^epsilon - 1)/(e^epsilon + 1) on the advantage. Inputs are cut at random into blocks of g and each in turn is the
original, so that the bound holds for the mean over all. The number of hits is a sum of independent 0/1 variables: its
upper tail is no heavier than the binomial's of that mean (Hoeffding 1956, On the distribution of the number of
successes in independent trials). What is assumed: fresh noise for each text, and releases that depend on no other text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from wordveil.api import Finding, Float32Array, Float64Array, at_least_in_words, audit_result, lower_bound, round_up
from wordveil_lab.corpora import Corpus
from wordveil_lab.court.pairs import Measure, PairedTexts, worded
from wordveil_lab.evaluation.models import bag_of_words, weighted_bag

SIZES = (2, 10, 100)
"""Originals that a release is matched with, its own among them; beside these, all there are."""

ONE_BY_ONE = "the released word"

Rows = Mapping[str, tuple[Float32Array, Float32Array]]
"""Encoder -> rows of the originals and of the releases."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What somebody says of their method."""

    epsilon: float  # loss in nats
    # "text": between any two texts; "word": for each word, randomized by itself, between texts of equally many
    per: str = "text"

    def of(self, words: int) -> float:
        """Return the loss claimed between two texts of so many words."""
        return self.epsilon * (words if self.per == "word" else 1)


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Releases matched with originals."""

    attack: str  # what compares them
    size: int  # originals in a block, g
    hits: int  # releases whose original was named
    n: int
    bound: float = 1.0  # mean of what the claim allows; 1 without a claim

    def measure(self) -> Measure:
        """Return the share of hits beside that of guessing."""
        name = f"original among {self.size}, {self.attack}"
        return Measure("identification", name, self.hits / self.n, 1 / self.size, "guess", n=self.n)

    def epsilon_at_least(self, alpha: float) -> float:
        """Return a lower bound on the epsilon of a text, nats; it is wrong with probability at most alpha."""
        low = float(lower_bound(self.hits, self.n, alpha))
        return max(0.0, math.log(low / (1 - low) * (self.size - 1))) if low > 0 else 0.0

    def chance(self) -> float:
        """Return the chance, at most, of so many hits if the claim held."""
        if self.hits - 1 < self.n * self.bound:  # where the binomial need not bound the tail
            return 1.0
        return float(bdtrc(self.hits - 1, self.n, self.bound))


def hit_bound(epsilon: float, size: int) -> float:
    """Return e^epsilon / (e^epsilon + g - 1), rounded up."""
    return float(np.nextafter(1 / (1 + (size - 1) * math.exp(-epsilon)), 2))


def identify(pairs: PairedTexts, rows: Rows, claim: Claim | None, alpha: float) -> tuple[list[Measure], list[Finding]]:
    """Match releases with originals by every attack at hand and hold the hits against a claim, where there is one.

    Alpha is the chance, at most, that an honest claim is called contradicted by any match, and that the bound is wrong.
    """
    distinct = sorted({text: i for i, text in enumerate(pairs.originals)}.values())
    words = np.array([len(pairs.words[0][i]) for i in distinct])
    sizes = sorted({*(size for size in SIZES if size < len(distinct)), len(distinct)} - {1})
    found = []
    for attack, closeness in _attacks(pairs, rows):
        tried = (matched(attack, closeness[np.ix_(distinct, distinct)], size, words, claim) for size in sizes)
        found += [match for match in tried if match is not None]
    share = alpha / (len(found) + 1)
    best = max(found, key=lambda match: match.epsilon_at_least(share), default=None)
    findings = [] if best is None else [_bound(best, share, alpha)]
    if claim is not None and claim.per == "word":
        found.append(_word_by_word(pairs, claim))
    if claim is not None and found:
        worst = min(found, key=lambda match: (match.chance(), -match.hits / match.n / match.bound))
        findings.insert(0, _held_against(worst, claim, share, alpha))
    return [match.measure() for match in found], findings


def _word_by_word(pairs: PairedTexts, claim: Claim) -> Matches:
    """Return how many different words are released as themselves where they first stand.

    The same bound for one word among all: words are randomized by themselves, whatever stands around them. A release
    of another length is a miss.
    """
    kept: dict[str, bool] = {}
    for own, other in zip(*pairs.words, strict=True):
        for i, word in enumerate(own):
            kept.setdefault(word.lower(), len(own) == len(other) and other[i].lower() == word.lower())
    n = max(len(kept), 2)
    return Matches(attack=ONE_BY_ONE, size=n, hits=sum(kept.values()), n=n, bound=hit_bound(claim.epsilon, n))


def matched(
    attack: str, closeness: Float64Array, size: int, words: NDArray[np.int64], claim: Claim | None
) -> Matches | None:
    """Return the matches in blocks of one size; None where there is no block.

    The closeness is of each release to each original, shape (n, n). Under a claim per word a block holds texts of
    equally many words.
    """
    generator = np.random.Generator(np.random.PCG64(0))  # of blocks and ties: chosen without the releases
    order = generator.permutation(len(words))
    if claim is not None and claim.per == "word":
        order = order[np.argsort(words[order], kind="stable")]
        starts = np.flatnonzero(np.diff(words[order], prepend=-1))
    else:
        starts = np.zeros(1, dtype=np.int64)
    groups = [group[: len(group) // size * size].reshape(-1, size) for group in np.split(order, starts[1:])]
    blocks = np.concatenate(groups)
    if not len(blocks):
        return None
    hits = 0
    for block in blocks:
        scores = closeness[np.ix_(block, block)]
        ties = generator.random(scores.shape) * (scores == scores.max(axis=1, keepdims=True))
        hits += int((ties.argmax(axis=1) == np.arange(size)).sum())
    allowed = 1.0 if claim is None else np.mean([hit_bound(claim.of(int(words[block[0]])), size) for block in blocks])
    return Matches(attack=attack, size=size, hits=hits, n=blocks.size, bound=float(allowed))


def _attacks(pairs: PairedTexts, rows: Rows) -> Iterator[tuple[str, Float64Array]]:
    """Yield each attack and the closeness of each release to each original by it, shape (n, n)."""
    place: dict[str, int] = {}
    originals = [[place.setdefault(word.lower(), len(place)) for word in text] for text in pairs.words[0]]
    released = [[place.get(word.lower(), -1) for word in text] for text in pairs.words[1]]
    corpora = (Corpus.of([np.array(text, dtype=np.int32) for text in texts]) for texts in (originals, released))
    first, second = (bag_of_words(corpus.tokens, corpus, max(len(place), 1)) for corpus in corpora)
    bag, weights = weighted_bag(first)
    yield "words", np.asarray((weighted_bag(second, weights)[0] @ bag.T).toarray())
    for name, (own, other) in rows.items():
        yield name, np.asarray(other @ own.T, dtype=np.float64)


def _held_against(match: Matches, claim: Claim, share: float, alpha: float) -> Finding:
    chance = match.chance()
    numbers = {"most": round_up(100 * match.bound, 4), "chance": round_up(chance, 2), "share": round_up(share, 2)}
    said = worded("claimed epsilon", epsilon=round_up(claim.epsilon), per=claim.per, **numbers, **asdict(match))
    return audit_result(check="claimed epsilon", bad=chance <= share, alpha=alpha, **said)


def _bound(match: Matches, share: float, alpha: float) -> Finding:
    least = at_least_in_words(match.epsilon_at_least(share))
    said = worded("epsilon of a text", least=least, alpha=round_up(alpha), **asdict(match))
    return audit_result(check="epsilon of a text", bad=False, alpha=alpha, **said)
