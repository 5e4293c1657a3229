"""What one released token says of its original, seen without its context: P(release | word) for every word.

word mechanism        the law that it states, exactly
released vectors      the law that the mechanism states and samples from, exactly
decoded words         a channel learnt by running the public mechanism: its shape is assumed, so an attack that
                      reads it is a lower bound on what an attacker can do
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from wordveil.arrays import Float64Array, IdArray
from wordveil.lab.evaluation.priors import draw_words
from wordveil.lab.evaluation.subjects import Subject
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

__all__ = ["Observed", "WordChannel", "channel_guesses", "columns", "nearest_words", "observe", "word_channel"]

ROWS = 256  # vectors compared with the vocabulary at a time
INPUTS = 512  # rows of the channel computed at a time
LEARNT_PAIRS = 400  # releases that the shape of an unknown channel is fitted to
CERTAIN = 1e9  # in place of infinity, where a word without noise gives itself away


@dataclass(frozen=True)
class WordChannel:
    """P(released word | word), up to a factor per input.

    Attributes:
        outputs: Words that may be released, shape (m,), ascending.
        weights: Weight rows of some inputs, shape (n, m); a row over its sum is a distribution.
        unknown: What is given in place of a token outside the vocabulary, uniformly: -1 where that is an input itself.
    """

    outputs: IdArray = field(repr=False)
    weights: Callable[[IdArray], Float64Array] = field(repr=False)
    unknown: IdArray = field(repr=False)

    def probabilities(self, ids: IdArray) -> Float64Array:
        """Return P(output | input) of some inputs, shape (n, m)."""
        rows = self.weights(ids)
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def word_channel(subject: Subject, prior: Float64Array, source: RandomSource) -> WordChannel:
    """Return the exact channel of a mechanism that has one, or one learnt from fresh runs of any other.

    Learnt channels are P(y | x) proportional to exp(-rate * distance) and to a bonus where y = x. Rate and bonus have
    the highest likelihood of what words drawn from the prior were released as.
    """
    unknown = np.array([-1], dtype=np.int32) if subject.words.answers_unknown else subject.embeddings.candidates
    if subject.exact:
        return WordChannel(subject.words.outputs, lambda ids: _exact_law(subject, ids), unknown)
    inputs = draw_words(prior, LEARNT_PAIRS, source, "learnt channel")
    released = subject.release_words(inputs, source, "learnt channel release")
    distances = _Distances(subject.embeddings)
    rate, bonus = _learnt(distances(inputs), inputs, released, distances.outputs)

    def weights(ids: IdArray) -> Float64Array:
        rows = distances(ids)
        rows *= -rate
        np.exp(rows, out=rows)
        same, places = _own(ids, distances.outputs)
        rows[same, places] = np.exp(bonus)
        return rows

    return WordChannel(distances.outputs, weights, unknown)


def _exact_law(subject: Subject, ids: IdArray) -> Float64Array:
    rows = subject.words.law(ids)
    assert rows is not None
    return rows


def _learnt(distances: Float64Array, inputs: IdArray, released: IdArray, outputs: IdArray) -> tuple[float, float]:
    """Return rate and ln bonus of highest likelihood from the distance of every output from n inputs, shape (n, m)."""
    same, places = _own(inputs, outputs)
    others_only = np.ones(distances.shape, dtype=bool)
    others_only[same, places] = False
    changed = released != inputs
    kept = len(inputs) - int(changed.sum())
    moved = float(distances[changed, np.searchsorted(outputs, released[changed])].sum())
    scale = 1 / float(np.median(distances))

    def fitted(log_rate: float) -> tuple[float, float, float]:
        """Return minus the log-likelihood at the best bonus, the rate and that bonus."""
        rate = scale * float(np.exp(log_rate))
        total = np.exp(-rate * distances).sum(axis=1, where=others_only)
        bonus = _bonus(total[same], kept)
        total[same] += np.exp(bonus)
        return float(np.log(total).sum() + rate * moved - bonus * kept), rate, bonus

    best = minimize_scalar(lambda x: fitted(x)[0], bounds=(-3.0, 6.0), method="bounded", options={"xatol": 0.02})
    return fitted(float(best.x))[1:]


def _own(ids: IdArray, outputs: IdArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which inputs may be output, by their place among the inputs, and where they are among the outputs."""
    places = np.minimum(np.searchsorted(outputs, ids), len(outputs) - 1)
    same = np.flatnonzero(outputs[places] == ids)
    return same, places[same]


def _bonus(others: Float64Array, kept: int) -> float:
    """Return ln b with sum of b / (others + b) = kept: as many words stay as were seen to, within half a word."""
    wanted = min(max(kept, 0.5), len(others) - 0.5)
    low, high = -60.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2
        if float((1 / (1 + others * np.exp(-middle))).sum()) < wanted:
            low = middle
        else:
            high = middle
    return low


class _Distances:
    """Euclidean distances from words to every word that may be output, shape (n, m)."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.outputs = embeddings.candidates
        self._vectors = embeddings.vectors
        self._words = np.asarray(embeddings.vectors[self.outputs], dtype=np.float64)
        self._squares = np.square(self._words).sum(axis=1)

    def __call__(self, ids: IdArray) -> Float64Array:
        rows = np.asarray(self._vectors[ids], dtype=np.float64)
        found = (-2 * rows) @ self._words.T
        found += self._squares
        found += np.square(rows).sum(axis=1)[:, None]
        np.maximum(found, 0.0, out=found)
        return np.asarray(np.sqrt(found, out=found))


def channel_guesses(channel: WordChannel, prior: Float64Array) -> tuple[IdArray, Float64Array]:
    """Return for every output the likeliest input, and the probability of both together, each of shape (m,).

    The sum of the latter is the success of the best attacker who sees one released word and knows the prior. No array
    of shape (v, v) is made.
    """
    best, guesses = np.zeros(len(channel.outputs)), np.zeros(len(channel.outputs), dtype=np.int32)
    for start in range(0, len(prior), INPUTS):
        part = np.arange(start, min(start + INPUTS, len(prior)), dtype=np.int32)
        joint = channel.probabilities(part) * prior[part][:, None]
        top = joint.argmax(axis=0)
        reached = joint[top, np.arange(joint.shape[1])]
        guesses = np.where(reached > best, part[top], guesses)
        best = np.maximum(best, reached)
    return guesses.astype(np.int32), best


def columns(channel: WordChannel, released: IdArray, v: int) -> Float64Array:
    """Return P(released word | token) for every word and an unknown token, shape (n, v + 1), the largest of each 1."""
    distinct, places = np.unique(released, return_inverse=True)
    wanted = np.searchsorted(channel.outputs, distinct)
    found = np.empty((len(distinct), v + 1))
    for start in range(0, v, INPUTS):
        part = np.arange(start, min(start + INPUTS, v), dtype=np.int32)
        found[:, part] = channel.probabilities(part)[:, wanted].T
    if channel.unknown[0] < 0:
        found[:, v] = channel.probabilities(channel.unknown)[0, wanted]
    else:
        found[:, v] = found[:, channel.unknown].mean(axis=1)
    found /= found.max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(found[places])


def nearest_words(subject: Subject, released: Float64Array) -> IdArray:
    """Return the word nearest to each released vector, shape (n,): the reading of an attacker who knows no law."""
    words = np.asarray(subject.space.vectors, dtype=np.float64)
    half_squares = np.square(words).sum(axis=1) / 2
    found = np.empty(len(released), dtype=np.int32)
    for start in range(0, len(released), ROWS):
        span = slice(start, start + ROWS)
        found[span] = (released[span] @ words.T - half_squares).argmax(axis=1)
    return found


@dataclass(frozen=True)
class Observed:
    """A release as an attacker reads it.

    Attributes:
        named: The released words, or those nearest to the released vectors, shape (t,).
        likelihoods: P(release | word) of a span of its tokens, and last P(release | unknown token), scaled so that the
            largest of each is 1, shape (n, v + 1).
    """

    named: IdArray = field(repr=False)
    likelihoods: Callable[[slice], Float64Array] = field(repr=False)


def observe(subject: Subject, inputs: IdArray, prior: Float64Array, source: RandomSource, label: str) -> Observed:
    """Release some words and return what an attacker sees, who learns a channel, where they must, from the prior.

    Args:
        subject: A mechanism whose law is known, where vectors are released.
        inputs: Private words, shape (t,); public ones here.
        prior: Public word frequencies, shape (v,).
        source: Randomness of the release and of the attacker's own runs.
        label: Tells the uses of one source apart.
    """
    if subject.vectors is None:
        words = subject.release_words(inputs, source, label)
        channel = word_channel(subject, prior, source)
        return Observed(words, lambda span: columns(channel, words[span], len(prior)))
    vectors = subject.release_vectors(inputs, source, label)
    return Observed(nearest_words(subject, vectors), lambda span: _densities(subject, vectors[span]))


def _densities(subject: Subject, vectors: Float64Array) -> Float64Array:
    assert subject.vectors is not None
    logs = subject.vectors.log_density(vectors, subject.embeddings.vectors)
    assert logs is not None
    logs = np.clip(logs, -CERTAIN, CERTAIN)
    found = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    return np.column_stack((found, found[:, subject.embeddings.candidates].mean(axis=1)))
