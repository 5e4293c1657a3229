"""What an attacker knows of a word before they see anything, what one released token says of it, and the best guess.

Before: how often the word occurs in public text. Seen without its context, a release gives P(release | word) of each:

word mechanism        the law that it states, exactly
released vectors      the law that the mechanism states and samples from, exactly
decoded words         a channel learnt by running the public mechanism: its shape is assumed, so an attack that
                      reads it is a lower bound on what an attacker can do

For a selection mechanism the success of the best attacker is computed: sum over y of max over x of prior(x) P(y | x).
For released vectors the posterior is exact and the success a mean over draws. For decoded words it is that of the best
of three attackers tried: a lower bound on the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from wordveil.api import Embeddings, Float64Array, IdArray, NearestWords, RandomSource, word_frequencies
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.subjects import Entrant, distances
from wordveil_lab.rows import read_texts

PUBLIC_LIST = "public list"
"""The counts of public English text that ship with the package; see `wordveil.vocabulary.frequencies`."""

SMOOTHING = 0.5
"""Added to the count of every word, so that no word is impossible."""

COMMON = 2e-4
"""Share of public text from which on a word counts as common, 555 of the embedded ones; rarer words carry content."""

TEXTS = 20_000  # of a file, counted at most


def word_prior(embeddings: Embeddings, frequencies: str = PUBLIC_LIST) -> Float64Array:
    """Return a probability for every word, shape (v,), positive everywhere: (count + 1/2) over the sum.

    Counted are the words of the public list, or of texts spread over a file with a column text.
    """
    if frequencies == PUBLIC_LIST:
        weights = word_frequencies(embeddings, smoothing=SMOOTHING)
    else:
        tokens = encode(embeddings, read_texts(frequencies, limit=TEXTS)).tokens
        weights = np.asarray(np.bincount(tokens[tokens >= 0], minlength=len(embeddings)) + SMOOTHING, dtype=np.float64)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def content_words(embeddings: Embeddings) -> NDArray[np.bool_]:
    """Return which words are rarer than `COMMON` in the public list, shape (v,); unlisted words are."""
    return np.asarray(word_frequencies(embeddings) < COMMON)


def draw_words(prior: Float64Array, n: int, source: RandomSource, label: str) -> IdArray:
    """Return n word ids drawn from the prior, shape (n,), int32."""
    bounds: NDArray[np.float64] = np.cumsum(prior)
    uniforms = source.stream(label).lane(0).random(n)
    found = np.searchsorted(bounds, uniforms * bounds[-1], side="right")
    return np.asarray(np.minimum(found, len(prior) - 1), dtype=np.int32)


ROWS = 64  # vectors compared with the vocabulary at a time
INPUTS = 512  # rows of the channel computed at a time
LEARNT_PAIRS = 400  # releases that the shape of an unknown channel is fitted to
CERTAIN = 1e9  # in place of infinity, where a word without noise gives itself away


@dataclass(frozen=True)
class WordChannel:
    """P(released word | word), exact or learnt."""

    outputs: IdArray = field(repr=False)  # words that may be released, shape (m,), ascending
    likelihoods: Callable[[IdArray], Float64Array] = field(repr=False)  # P(some outputs | every word), shape (n, v)
    # P(output | unknown token) of some outputs, shape (n,), given their likelihoods
    unknown: Callable[[IdArray, Float64Array], Float64Array] = field(repr=False)


def word_channel(subject: Entrant, prior: Float64Array) -> WordChannel:
    """Return the exact channel of a mechanism that has one, or one learnt from runs of any other, once a prior.

    For decoded noise the channel is fitted: P(y | x) is proportional to exp(-rate * distance), times a bonus for y = x;
    both by maximum likelihood, from releases of words drawn from the prior.
    """
    words = subject.words
    if subject.exact:

        def unknown(outputs: IdArray, likelihoods: Float64Array) -> Float64Array:
            if not words.answers_unknown:
                return _stand_in(subject, likelihoods)
            law = _known(words.law(np.array([-1], dtype=np.int32)))
            return np.asarray(law[0, np.searchsorted(words.outputs, outputs)])

        return WordChannel(words.outputs, lambda outputs: _known(words.likelihoods(outputs)), unknown)
    key = prior.tobytes()
    if key not in subject.learnt:
        subject.learnt[key] = _learnt_channel(subject, prior)
    learnt: Callable[[IdArray], Float64Array] = subject.learnt[key]
    return WordChannel(subject.embeddings.candidates, learnt, lambda _, likelihoods: _stand_in(subject, likelihoods))


def _known(found: Float64Array | None) -> Float64Array:
    assert found is not None
    return found


def _stand_in(subject: Entrant, likelihoods: Float64Array) -> Float64Array:
    """Return P(output | unknown token) where a uniform public word is given in its place, shape (n,)."""
    weights = np.zeros(likelihoods.shape[1])
    weights[subject.embeddings.candidates] = 1 / len(subject.embeddings.candidates)
    return np.asarray(likelihoods @ weights)


def _learnt_channel(subject: Entrant, prior: Float64Array) -> Callable[[IdArray], Float64Array]:
    source = RandomSource.seeded_for_tests(0)  # the attacker's own runs, the same in every run of a task
    inputs = draw_words(prior, LEARNT_PAIRS, source, "learnt channel")
    released = subject.release_words(inputs, source, "learnt channel release")
    noise = subject.words.vectors
    space = subject.embeddings if noise is None else noise.decoding_space(subject.embeddings)
    outputs, vectors = space.candidates, np.asarray(space.vectors, dtype=np.float64)
    rate, bonus = _learnt(distances(vectors[inputs], vectors[outputs]), inputs, released, outputs)
    words = np.arange(len(vectors), dtype=np.int32)

    def weights(rows: Float64Array, same: NDArray[np.int64], places: NDArray[np.integer]) -> Float64Array:
        rows *= -rate
        np.exp(rows, out=rows)
        rows[same, places] = np.exp(bonus)
        return rows

    parts = np.split(words, range(INPUTS, len(words), INPUTS))
    gaps = (distances(vectors[ids], vectors[outputs]) for ids in parts)
    sums = np.concatenate([weights(g, *_own(ids, outputs)).sum(axis=1) for g, ids in zip(gaps, parts, strict=True)])

    def likelihoods(seen: IdArray) -> Float64Array:
        return np.asarray(weights(distances(vectors[seen], vectors), np.arange(len(seen)), seen) / sums)

    return likelihoods


def _learnt(gaps: Float64Array, inputs: IdArray, released: IdArray, outputs: IdArray) -> tuple[float, float]:
    """Return rate and ln bonus of highest likelihood from the distance of every output from n inputs, shape (n, m)."""
    same, places = _own(inputs, outputs)
    others_only = np.ones(gaps.shape, dtype=bool)
    others_only[same, places] = False
    changed = released != inputs
    kept = len(inputs) - int(changed.sum())
    moved = float(gaps[changed, np.searchsorted(outputs, released[changed])].sum())
    scale = 1 / float(np.median(gaps))

    def fitted(log_rate: float) -> tuple[float, float, float]:
        """Return minus the log-likelihood at the best bonus, the rate and that bonus."""
        rate = scale * float(np.exp(log_rate))
        total = np.exp(-rate * gaps).sum(axis=1, where=others_only)
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
    return float(brentq(lambda x: (1 / (1 + others * np.exp(-x))).sum() - wanted, -60.0, 60.0))


def channel_guesses(channel: WordChannel, prior: Float64Array) -> tuple[IdArray, Float64Array]:
    """Return for every output the likeliest input, and the probability of both together, each of shape (m,).

    The sum of the latter is the success of the best attacker who sees one released word and knows the prior. No array
    of shape (v, v) is made.
    """
    guesses, reached = np.zeros(len(channel.outputs), dtype=np.int32), np.zeros(len(channel.outputs))
    for start in range(0, len(channel.outputs), INPUTS):
        part = slice(start, start + INPUTS)
        joint = channel.likelihoods(channel.outputs[part]) * prior
        guesses[part], reached[part] = joint.argmax(axis=1), joint.max(axis=1)
    return guesses, reached


def columns(channel: WordChannel, released: IdArray) -> Float64Array:
    """Return P(released word | token) for every word and an unknown token, shape (n, v + 1), the largest of each 1."""
    found = channel.likelihoods(released)
    found = np.column_stack((found, channel.unknown(released, found)))
    found /= found.max(axis=1, keepdims=True, initial=0.0)
    return found


def nearest_words(subject: Entrant, released: Float64Array) -> IdArray:
    """Return the word nearest to each released vector, shape (n,): the reading of an attacker who knows no law."""
    search = NearestWords(subject.space.vectors, np.arange(len(subject.space), dtype=np.int32))
    return search.nearest(released, threads=subject.threads)


@dataclass(frozen=True)
class Observed:
    """A release as an attacker reads it."""

    named: IdArray = field(repr=False)  # the released words, or those nearest to the released vectors, shape (t,)
    kinds: NDArray[np.intp] = field(repr=False)  # number of each token's release, the same for equal ones, shape (t,)
    # P(release | word) of some releases by their numbers, and last P(release | unknown token), scaled so that the
    # largest of each is 1, shape (n, v + 1).
    likelihoods: Callable[[NDArray[np.intp]], Float64Array] = field(repr=False)


def observe(subject: Entrant, inputs: IdArray, prior: Float64Array, source: RandomSource, label: str) -> Observed:
    """Release some words and return what an attacker sees, who learns a channel, where they must, from the prior.

    Where vectors are released the law of the mechanism must be known.
    """
    if subject.vectors is None:
        words = subject.release_words(inputs, source, label)
        channel, (distinct, kinds) = word_channel(subject, prior), np.unique(words, return_inverse=True)
        return Observed(words, kinds, lambda chosen: columns(channel, distinct[chosen]))
    vectors = subject.release_vectors(inputs, source, label)
    named = nearest_words(subject, vectors)
    return Observed(named, np.arange(len(vectors)), lambda chosen: _densities(subject, vectors[chosen]))


def _densities(subject: Entrant, vectors: Float64Array) -> Float64Array:
    assert subject.vectors is not None
    found = np.empty((len(vectors), len(subject.embeddings) + 1))
    for start in range(0, len(vectors), ROWS):
        span = slice(start, start + ROWS)
        logs = _known(subject.vectors.log_density(vectors[span], subject.embeddings.vectors))
        logs = np.clip(logs, -CERTAIN, CERTAIN)
        found[span, :-1] = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    found[:, -1] = _stand_in(subject, found[:, :-1])
    return found


READ = 256  # releases whose posterior is taken at a time


@dataclass(frozen=True, kw_only=True)
class BayesGuess(Task):
    """Success of the best guess at a word from its release."""

    name: ClassVar[str] = "bayes"
    frequencies: str = PUBLIC_LIST  # the public list, or a file of public text; see `word_prior`
    trials: int = 10_000  # words drawn from the prior, where the success is not computed

    def prepare(self, embeddings: Embeddings) -> Float64Array:
        return word_prior(embeddings, self.frequencies)

    def applies(self, subject: Entrant) -> bool:
        return subject.vectors is None or subject.law_known

    def run(self, prepared: Float64Array, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        guessing = float(prepared.max())
        if subject.is_baseline:
            return {"success": 1.0, "naming": 1.0, "guessing": guessing}
        if subject.exact:
            _, reached = channel_guesses(word_channel(subject, prepared), prepared)
            outputs = subject.words.outputs
            kept = subject.words.keep_probabilities(outputs)
            assert kept is not None
            return {"success": float(reached.sum()), "naming": float(prepared[outputs] @ kept), "guessing": guessing}
        inputs = draw_words(prepared, self.trials, source, "bayes trials")
        if subject.vectors is None:
            released = subject.release_words(inputs, source, "bayes release")
            channel = word_channel(subject, prepared)
            named, best = released, channel_guesses(channel, prepared)[0][np.searchsorted(channel.outputs, released)]
        else:
            seen = observe(subject, inputs, prepared, source, "bayes release")
            spans = [seen.kinds[start : start + READ] for start in range(0, len(inputs), READ)]
            named = seen.named
            best = np.concatenate([(seen.likelihoods(span)[:, :-1] * prepared).argmax(axis=1) for span in spans])
        tried = [float((guess == inputs).mean()) for guess in (named, best, prepared.argmax())]
        return {"success": max(tried), "naming": tried[0], "guessing": guessing}
