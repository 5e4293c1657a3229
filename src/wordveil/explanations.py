"""A guarantee in plain words: what an observer can learn, worked out on two pairs of public words and on a text.

Numbers come from the guarantee and the vocabulary; nothing is restated from documentation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.calibration import public_sample
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee, compose_tokens, round_up
from wordveil.kernels.nearest import NearestWords
from wordveil.metrics import Metric, distances

__all__ = ["Explanation", "WorkedPair", "explain"]

SAMPLE = 300


@dataclass(frozen=True, kw_only=True)
class WorkedPair:
    """Two public words and what the guarantee says of them.

    Attributes:
        words: The two words.
        distance: Their distance in the guarantee's metric.
        loss: Largest log-ratio between their output probabilities, in nats, slack included.
    """

    words: tuple[str, str]
    distance: float
    loss: float

    def sentence(self) -> str:
        """The pair's bound as what happens to an even bet."""
        belief = 1 / (1 + math.exp(-min(self.loss, 700.0)))
        factor = f"{round_up(math.exp(self.loss))}" if self.loss < 700 else f"e^{round_up(self.loss)}"
        return (
            f"'{self.words[0]}' or '{self.words[1]}' (distance {round_up(self.distance)}): seeing the output "
            f"multiplies the odds between the two by at most {factor}, so an even guess becomes at most "
            f"{round_up(100 * belief, 5)} % sure."
        )


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A guarantee, explained; `str()` gives the whole text.

    Attributes:
        guarantee: The guarantee.
        pairs: Worked pairs, near ones first; empty where there is no guarantee.
        tokens: Length of the text in the per-text sum.
        text_loss: The sum over `tokens` differing tokens, each at the typical distance, in nats; None without one.
        advice: What the mechanism says beyond its guarantee, such as what to use instead; may be empty.
    """

    guarantee: Guarantee
    pairs: tuple[WorkedPair, ...]
    tokens: int
    text_loss: float | None
    advice: str = ""

    def __str__(self) -> str:
        lines = [f"Promise: {self.guarantee.sentence()}."]
        for assumption in getattr(self.guarantee, "assumptions", ()):
            lines.append(f"Assumes: {assumption}.")
        lines += [f"Example: {pair.sentence()}" for pair in self.pairs]
        if self.text_loss is not None:
            lines.append(
                f"A whole text: two texts of {self.tokens} tokens that differ in every token, each by the distance of "
                f"a typical pair, are covered only by the sum, {round_up(self.text_loss)} nats. A promise per word "
                "says little about a sentence."
            )
        lines.append("Several releases of the same text add up.")
        if self.advice:
            lines.append(f"Advice: {self.advice}")
        return "\n".join(lines)


def explain(
    embeddings: Embeddings,
    guarantee: Guarantee,
    *,
    metric: Metric | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    tokens: int = 50,
    advice: str = "",
) -> Explanation:
    """Explain a guarantee on public words.

    Args:
        embeddings: The vocabulary.
        guarantee: Per-token metric DP or local DP; another guarantee is explained without worked pairs.
        metric: The metric the guarantee speaks of; needed for metric DP, given by its mechanism.
        pairs: Public word pairs to work out; none picks a nearest pair and a typical one from a fixed sample.
        tokens: Length of the text in the per-text sum, at least 1.
        advice: `advice()` of the fitted mechanism, passed on.

    Raises:
        ParameterError: If a word is not in the vocabulary, or tokens is below 1.
    """
    if tokens < 1:
        raise ParameterError("tokens", tokens, "must be at least 1.")
    if isinstance(guarantee, NoGuarantee) or not isinstance(guarantee, MetricDP | LocalDP):
        return Explanation(guarantee=guarantee, pairs=(), tokens=tokens, text_loss=None, advice=advice)
    chosen = [_look_up(embeddings, pair) for pair in pairs] or _example_pairs(embeddings)
    worked = tuple(_work_out(embeddings, guarantee, metric, pair) for pair in chosen)
    typical = worked[-1].distance if isinstance(guarantee, MetricDP) else 1.0
    total = compose_tokens(guarantee, [typical] * tokens) if typical > 0 else None
    loss = total.epsilon + (total.slack or 0.0) if isinstance(total, LocalDP) else None
    return Explanation(guarantee=guarantee, pairs=worked, tokens=tokens, text_loss=loss, advice=advice)


def _look_up(embeddings: Embeddings, pair: tuple[str, str]) -> tuple[int, int]:
    found = [embeddings.id(word) for word in pair]
    for word, id_ in zip(pair, found, strict=True):
        if id_ is None:
            raise ParameterError("pairs", word, "is not in this vocabulary; choose two of its words.")
    return int(found[0] or 0), int(found[1] or 0)


def _example_pairs(embeddings: Embeddings) -> list[tuple[int, int]]:
    """Return a word with its nearest other word, and with a word at the median distance, from a fixed sample."""
    sample = public_sample(embeddings, SAMPLE)
    if len(sample) < 2:
        raise ParameterError("embeddings", f"{len(sample)} candidates", "must hold two words to make an example.")
    first = int(sample[0])
    nearest, _ = NearestWords(embeddings.vectors, embeddings.candidates).top(embeddings.vectors[[first]], 2)
    near = int(next(i for i in nearest[0] if i != first))
    rows = np.asarray(embeddings.vectors[sample], dtype=np.float64)
    order = np.argsort(np.linalg.norm(rows - rows[0], axis=1), kind="stable")
    return [(first, near), (first, int(sample[order[len(order) // 2]]))]


def _work_out(
    embeddings: Embeddings, guarantee: MetricDP | LocalDP, metric: Metric | None, pair: tuple[int, int]
) -> WorkedPair:
    words = (embeddings.words[pair[0]], embeddings.words[pair[1]])
    if isinstance(guarantee, LocalDP):
        return WorkedPair(words=words, distance=1.0, loss=guarantee.epsilon + (guarantee.slack or 0.0))
    if metric is None or not guarantee.metric.startswith(metric.name):
        raise ParameterError("metric", metric, f"must be the metric of the guarantee, {guarantee.metric}.")
    vectors = embeddings.vectors
    distance = float(distances(metric, vectors[pair[0] : pair[0] + 1], vectors[pair[1] : pair[1] + 1])[0, 0])
    return WorkedPair(words=words, distance=distance, loss=guarantee.loss(distance))
