"""A guarantee in plain words: what an observer can learn, worked out on two pairs of public words and on a text.

Numbers come from the guarantee and the vocabulary; nothing is restated from documentation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import WordRandomizer
from wordveil.metrics.distances import AnyMetric, Euclidean, Metric
from wordveil.promises.composing import compose_tokens
from wordveil.promises.guarantees import SUMMED, Guarantee, LocalDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.html import items
from wordveil.promises.rounding import at_least, claimed, round_down, round_up
from wordveil.promises.worked import InWords, WorkedPair
from wordveil.vocabulary.table import Embeddings, public_sample

SAMPLE = 300
COMMON = ((("diabetes", "asthma"), ("doctor", "nurse")), (("diabetes", "football"), ("doctor", "holiday")))
"""Pairs to work out, like and unlike: the first of each that the vocabulary holds, so that people know the words."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A guarantee, explained; `str()` gives the whole text."""

    guarantee: Guarantee
    pairs: tuple[WorkedPair, ...]  # worked pairs, near ones first; empty where there is no guarantee
    tokens: int  # length of the text in the per-text sum
    grids: tuple[WorkedPair, ...] = ()  # the ends of every grid that numbers are released on
    typical: float | None = None  # distance of each token in that sum, in the guarantee's metric; None where not needed
    text: LocalDP | NoGuarantee | None = None  # the sum, as the promise of a whole text; None without one
    longest: bool = False  # whether `tokens` is the length of the longest text of a release, which is said then
    procedure: str = ""  # how a word is drawn, for readers without mathematics; may be empty
    advice: str = ""  # what the mechanism says beyond its guarantee, such as what to use instead; may be empty

    @property
    def text_loss(self) -> float | None:
        """The loss of the whole text in nats, slack included; None where nothing is promised for it."""
        return None if self.text is None else self.text.largest_loss()

    def __str__(self) -> str:
        word = "sentence" if self._unit == "sentence" else "word"
        lines = [f"How: each {word} becomes, {self.procedure}."] if self.procedure else []
        lines.append(f"Promise: {self.guarantee.sentence()}.")
        lines += [f"Assumes: {assumption}." for assumption in self.guarantee.assumptions]
        lines += self.examples
        if self.advice:
            lines.append(f"Advice: {self.advice}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same sentences as a list."""
        return items(str(self).splitlines())

    @property
    def examples(self) -> list[str]:
        """What the promise comes to, one sentence a line: on the pairs, on a whole text, on several releases."""
        conditions = []  # what the worked numbers rest on, where they do not hold as they stand
        if self.guarantee.standing not in (Standing.PROVED, Standing.CERTIFIED):
            conditions.append("if the claim is true")
        if self.guarantee.slack is None:
            conditions.append("for ideal real noise")
        given = f" ({', '.join(conditions)})" if conditions else ""
        lines = [f"Example{given}: {pair.sentence()}" for pair in (*self.pairs, *self.grids)]
        if self.text is not None:
            lines.append(f"A whole text{given}: {self._text_sentence(self.text)}")
        return [*lines, "Several releases of the same text add up."]

    @property
    def _unit(self) -> str:
        return "sentence" if self.guarantee.unit is PrivacyUnit.SENTENCE else "token"

    def _text_sentence(self, text: LocalDP | NoGuarantee) -> str:
        apart = "" if self.typical is None else f", each by {round_down(self.typical)} (a typical distance)"
        apart += ", or a number by its whole grid," if apart and self.grids else "," if apart else ""
        here = ", as long as the longest one here," if self.longest else ""
        texts = f"two texts of {self.tokens} {self._unit}s{here} that differ in every {self._unit}{apart} are covered"
        if text.epsilon is None:
            return f"{texts} by nothing: {text.reason}."
        delta = f" and delta {round_up(text.delta)}" if text.delta else ""
        loss = round_up(text.epsilon + (text.slack or 0.0))
        little = "word says little about a sentence" if self._unit == "token" else "sentence says little about a text"
        return f"{texts} only by the sum, {loss} nats{delta}. A promise per {little}."


def _of_a_text(
    guarantee: Guarantee, typical: float | None, tokens: int, grids: Sequence[WorkedPair]
) -> LocalDP | NoGuarantee | None:
    if typical == 0 or guarantee.unit not in SUMMED:
        return None
    one = compose_tokens(guarantee, [1.0 if typical is None else typical])
    if one.epsilon is None:
        return one

    def all_of(each: float) -> float:  # as `compose_tokens` has it, whose list would fill memory
        return at_least(Fraction(each) * tokens)

    if all_of(one.delta) >= 1:
        return NoGuarantee(reason=f"the deltas of {tokens} tokens add up to 1 or more", unit=PrivacyUnit.TEXT)
    slack = None if one.slack is None else all_of(one.slack)
    epsilon = all_of(max([one.epsilon, *(pair.loss for pair in grids)]))
    return replace(one, epsilon=epsilon, delta=all_of(one.delta), slack=slack)


def in_words(embeddings: Embeddings, guarantee: Guarantee, metric: AnyMetric | None = None) -> InWords:
    """Say in one sentence how strong a guarantee is."""
    if len(embeddings.candidates) < 2:
        return InWords(sentence="nothing is promised", weak=guarantee.epsilon is None)
    measure = _measure(guarantee, metric)

    def typical() -> float:
        return _distance(embeddings, measure, _typical_pair(embeddings, measure))

    def near() -> float:
        first = _typical_pair(embeddings, measure)[0]
        return _distance(embeddings, measure, _nearest_pair(embeddings, measure, first))

    return guarantee.in_words(typical, near)


def explain(
    embeddings: Embeddings,
    guarantee: Guarantee,
    *,
    metric: AnyMetric | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    tokens: int = 50,
    longest: bool = False,
    randomizer: WordRandomizer | None = None,
) -> Explanation:
    """Explain a guarantee on public words.

    Args:
        embeddings: The vocabulary.
        guarantee: Per-token metric DP or local DP; another guarantee is explained without worked pairs.
        metric: The metric the guarantee speaks of; needed for metric DP, given by its mechanism.
        pairs: Public word pairs to work out; none picks two pairs of common words, one alike and one not, and where the
            vocabulary lacks them a nearest pair and a typical one from a fixed sample.
        tokens: Length of the text in the per-text sum, at least 1.
        longest: Whether that is the length of the longest text of a release, which is said then.
        randomizer: The fitted mechanism: how it draws, what it advises, and what it knows of a pair beyond its
            guarantee are told too.

    Raises:
        ParameterError: If a word is not in the vocabulary, or tokens is below 1.
    """
    if tokens < 1:
        raise ParameterError("tokens", tokens, "must be at least 1.")
    grids = () if randomizer is None else tuple(pair for kind in randomizer.kinds for pair in kind.ends)
    if not guarantee.of_any_two:
        advice = randomizer.advice() if randomizer else ""
        return Explanation(guarantee=guarantee, pairs=(), grids=grids, tokens=tokens, advice=advice)
    metric = _measure(guarantee, metric)
    middle = _typical_pair(embeddings, metric)
    chosen = [_look_up(embeddings, pair) for pair in pairs]
    if not chosen:
        like, unlike = (_common_pair(embeddings, common) for common in COMMON)
        chosen = [like or _nearest_pair(embeddings, metric, middle[0]), unlike or middle]

    def known(pair: tuple[int, int]) -> WorkedPair:
        distance = _distance(embeddings, metric, pair) if guarantee.metric else None
        loss = randomizer.pair_loss(*pair) if randomizer is not None and distance is None else None
        words = embeddings.words[pair[0]], embeddings.words[pair[1]]
        return WorkedPair(words=words, distance=distance, loss=math.inf if loss is None else claimed(loss))

    typical = _distance(embeddings, metric, middle) if guarantee.metric else None
    return Explanation(
        guarantee=guarantee,
        pairs=guarantee.explain(map(known, chosen)),
        grids=grids,
        tokens=tokens,
        typical=typical,
        text=_of_a_text(guarantee, typical, tokens, grids),
        longest=longest,
        procedure=randomizer.procedure() if randomizer else "",
        advice=randomizer.advice() if randomizer else "",
    )


def _measure(guarantee: Guarantee, metric: AnyMetric | None) -> AnyMetric:
    """Return the metric that distances are measured in, checked where the guarantee speaks of one."""
    if guarantee.metric and (metric is None or not guarantee.metric.startswith(metric.name)):
        raise ParameterError("metric", metric, f"must be the metric of the guarantee, {guarantee.metric}.")
    return metric or Euclidean()


def _look_up(embeddings: Embeddings, pair: tuple[str, str]) -> tuple[int, int]:
    first, second = embeddings.ids(pair).tolist()
    if min(first, second) < 0:
        word = pair[0] if first < 0 else pair[1]
        raise ParameterError("pairs", word, "is not in this vocabulary; choose two of its words.")
    return first, second


def _common_pair(embeddings: Embeddings, pairs: Sequence[tuple[str, str]]) -> tuple[int, int] | None:
    for words in pairs:
        first, second = map(embeddings.id, words)
        if first is not None and second is not None and np.isin([first, second], embeddings.candidates).all():
            return first, second
    return None


def _nearest_pair(embeddings: Embeddings, metric: AnyMetric, first: int) -> tuple[int, int]:
    if isinstance(metric, Metric):
        from wordveil.kernels.nearest import NearestWords  # a release says what it promises without a search

        nearest, _ = NearestWords(embeddings.vectors, embeddings.candidates).top(embeddings.vectors[[first]], 2)
        return first, int(next(i for i in nearest[0] if i != first))
    others = embeddings.candidates[embeddings.candidates != first]
    return first, int(others[_apart(embeddings, metric, np.array([first], dtype=np.int32), others).argmin()])


def _apart(embeddings: Embeddings, metric: AnyMetric, ones: IdArray, others: IdArray) -> Float64Array:
    from wordveil.mechanisms.worst_pairs import word_distances  # as above

    return word_distances(embeddings, metric)(ones, others)


def _typical_pair(embeddings: Embeddings, metric: AnyMetric) -> tuple[int, int]:
    """Return the pair of words at the median distance of all pairs of a fixed sample."""
    sample = public_sample(embeddings, SAMPLE)
    if len(sample) < 2:
        raise ParameterError("embeddings", f"{len(sample)} candidates", "must hold two words to make an example.")
    first, second = np.triu_indices(len(sample), 1)
    apart = _apart(embeddings, metric, sample, sample)[first, second]
    middle = np.argsort(apart, kind="stable")[len(apart) // 2]
    return int(sample[first[middle]]), int(sample[second[middle]])


def _distance(embeddings: Embeddings, metric: AnyMetric, pair: tuple[int, int]) -> float:
    one, other = np.array(pair, dtype=np.int32)[:, None]
    return float(_apart(embeddings, metric, one, other)[0, 0])
