"""The best guess at a word: what an attacker with public word frequencies gets from one released word or vector.

For a selection mechanism the channel P(y | x) is known and the success of the optimal attacker,
sum over y of max over x of prior(x) P(y | x), is computed. For decoded words the attacker learns the channel by
running the public mechanism himself: a lower bound on the optimum, tested on fresh draws. For released vectors the
posterior is exact and the success is a mean over draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray
from wordveil.embeddings.table import Embeddings
from wordveil.evaluation.base import Score, Task, TaskKind
from wordveil.evaluation.likelihoods import log_likelihoods
from wordveil.evaluation.priors import ZIPF, draw_words, word_prior
from wordveil.evaluation.subjects import Subject
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.randomness import RandomSource

__all__ = ["BayesOnVectors", "BayesOnWords", "channel_success", "simulated_guesses"]

ROWS = 256


@dataclass(frozen=True, kw_only=True)
class BayesOnWords(Task):
    """Success of the best guess at a word from the released word.

    Attributes:
        frequencies: "zipf" or a file of public text; see `word_prior`.
        training: Pairs the attacker simulates where the channel is not known.
        trials: Fresh pairs his guesses are tested on.
    """

    name: ClassVar[str] = "bayes"
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(
            name="success",
            meaning="probability that the best attacker guesses a word from its release",
            better="lower",
        ),
        Score(name="guessing", meaning="the same without seeing anything: the most frequent word", better="neither"),
    )
    exact: ClassVar[bool] = True
    frequencies: str = ZIPF
    training: int = 60_000
    trials: int = 10_000

    def prepare(self, embeddings: Embeddings) -> Float64Array:
        return word_prior(embeddings, self.frequencies)

    def run(self, prepared: Float64Array, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        guessing = float(prepared.max())
        if subject.selection is not None:
            return {"success": channel_success(subject.selection, prepared), "guessing": guessing}
        guesses = simulated_guesses(subject, prepared, self.training, source)
        inputs = draw_words(prepared, self.trials, source, "bayes trials")
        released = subject.release_words(inputs, source, "bayes release")
        return {"success": float((guesses[released] == inputs).mean()), "guessing": guessing}


def channel_success(selection: FittedExponential, prior: Float64Array) -> float:
    """Return sum over y of max over x of prior(x) P(y | x), exactly, without an array of shape (v, v)."""
    best = np.zeros(len(selection.rows.outputs))
    ids = np.arange(len(selection.embeddings), dtype=np.int32)
    for start in range(0, len(ids), ROWS):
        part = ids[start : start + ROWS]
        rows = selection.rows.weights(part)
        rows *= (prior[part] / rows.sum(axis=1))[:, None]
        np.maximum(best, rows.max(axis=0), out=best)
    return float(best.sum())


def simulated_guesses(subject: Subject, prior: Float64Array, pairs: int, source: RandomSource) -> IdArray:
    """Return the attacker's guess for every released word, shape (v,), learnt from simulated pairs.

    He weighs how often an input gave this output against what he would think without having seen it: the word itself
    with the share of words that stay, else the prior. The weight is the one that does best on half of his pairs, so
    that he never does worse than naming the released word or the most frequent one, up to his sampling error.
    """
    v = len(prior)
    inputs = draw_words(prior, pairs, source, "bayes training")
    released = subject.release_words(inputs, source, "bayes simulation")
    half = pairs // 2
    kept = float((released[:half] == inputs[:half]).mean()) if half else 0.0
    scores = [
        float((_guesses(inputs[:half], released[:half], prior, kept, weight)[released[half:]] == inputs[half:]).mean())
        for weight in WEIGHTS
    ]
    # Ties go to the larger weight: the more cautious attacker.
    best = max(range(len(WEIGHTS)), key=lambda i: (scores[i], i))
    guesses = _guesses(inputs, released, prior, kept, WEIGHTS[best])
    assert guesses.shape == (v,)
    return guesses


WEIGHTS = (0.5, 2.0, 8.0, 32.0, 128.0, 1e9)
"""How many observations the attacker's expectation counts for."""


def _guesses(inputs: IdArray, released: IdArray, prior: Float64Array, kept: float, weight: float) -> IdArray:
    """Return argmax over x of count(x, y) + weight * expected(x | y) for every y, shape (v,)."""
    v = len(prior)
    everything, commonest = np.arange(v), int(prior.argmax())
    itself = weight * (kept + (1 - kept) * prior)
    top = weight * (1 - kept) * prior[commonest]
    answer = np.where(itself >= top, everything, commonest).astype(np.int32)
    standard = np.maximum(itself, top)
    keys, counts = np.unique(released.astype(np.int64) * v + inputs, return_counts=True)
    outputs, seen = keys // v, keys % v
    expected = weight * (1 - kept) * prior[seen] + np.where(seen == outputs, weight * kept, 0.0)
    score = counts + expected
    order = np.lexsort((score, outputs))
    last = np.flatnonzero(np.append(outputs[order][1:] != outputs[order][:-1], True)) if len(order) else order
    winners = order[last]
    better = score[winners] > standard[outputs[winners]]
    answer[outputs[winners[better]]] = seen[winners[better]]
    return answer


@dataclass(frozen=True, kw_only=True)
class BayesOnVectors(Task):
    """Success of the best guess at a word from its released vector, by the exact posterior.

    For mechanisms that release vectors; where the law is not known the attacker takes the nearest word.

    Attributes:
        frequencies: "zipf" or a file of public text; see `word_prior`.
        trials: Words drawn from the prior.
    """

    name: ClassVar[str] = "bayes-vectors"
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(
            name="success",
            meaning="probability that the best attacker guesses a word from its released vector",
            better="lower",
        ),
        Score(name="top10", meaning="probability that the word is among his ten best guesses", better="lower"),
        Score(name="nearest", meaning="probability that the nearest word is the right one", better="lower"),
    )
    frequencies: str = ZIPF
    trials: int = 1000

    def prepare(self, embeddings: Embeddings) -> Float64Array:
        return word_prior(embeddings, self.frequencies)

    def applies(self, subject: Subject) -> bool:
        return subject.vectors is not None

    def run(self, prepared: Float64Array, subject: Subject, source: RandomSource) -> Mapping[str, float]:
        assert subject.vectors is not None
        inputs = draw_words(prepared, self.trials, source, "bayes vectors")
        released = subject.release_vectors(inputs, source, "bayes vectors release")
        ranks, nearest = np.empty(len(inputs)), np.empty(len(inputs))
        for start in range(0, len(inputs), ROWS):
            span = slice(start, start + ROWS)
            closeness = _closeness(released[span], subject)
            logs = log_likelihoods(subject.vectors, released[span], subject.embeddings)
            ranks[span] = _rank(closeness if logs is None else logs + np.log(prepared), inputs[span])
            nearest[span] = _rank(closeness, inputs[span])
        return {
            "success": float((ranks == 0).mean()),
            "top10": float((ranks < 10).mean()),
            "nearest": float((nearest == 0).mean()),
        }


def _closeness(released: Float64Array, subject: Subject) -> Float64Array:
    """Return minus half the squared distance to every word up to a constant per row, shape (n, v)."""
    words = np.asarray(subject.space.vectors, dtype=np.float64)
    return np.asarray(released @ words.T - np.square(words).sum(axis=1) / 2)


def _rank(scores: Float64Array, inputs: IdArray) -> NDArray[np.int64]:
    """Return how many words the attacker names before the right one, ties by id, shape (n,)."""
    own = scores[np.arange(len(scores)), inputs][:, None]
    earlier = np.arange(scores.shape[1]) < inputs[:, None]
    return np.asarray(((scores > own) | ((scores == own) & earlier)).sum(axis=1))
