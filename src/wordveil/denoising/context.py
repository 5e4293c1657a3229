"""Models that read whole sentences, heard after the trigram: a factor on each candidate, whose weight is fitted.

    P(x | y) proportional to P_trigram(x) prod_i P(y_i | x_i) [P_model(x_i | x_rest) / P(x_i)]^weight

The rest of the sentence is what the trigram, and then the factors, take it for. A factor tells what the model knows
beyond how common a word is, so that a model that knows nothing changes nothing; how far it is to be believed among
words that are mostly guesses is found out on public text, with the mechanism's own noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.denoising.calibration import Trial
from wordveil.denoising.posterior import Candidates, Posterior, posteriors
from wordveil.denoising.prior import Prior
from wordveil.denoising.reading import OTHER, PAUSE, STATES, STOP, TYPED

__all__ = ["Context", "ContextModel", "SentenceScorer", "Speller", "fitted_context", "read_in_context"]

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SWEEPS = 2
TINY = 1e-30
FAINTEST = -20.0
"""ln of the least factor beside the largest of its place: no word is ruled out by a model."""


class ContextModel(Protocol):
    """A model of public text that weighs words by the sentence around them."""

    @property
    def checksum(self) -> str:
        """Digest of all that its scores depend on."""

    @property
    def candidates(self) -> int:
        """How many candidates of a place it is asked for."""

    @property
    def words(self) -> int:
        """How many public words its weight is fitted to; each costs as much as a word of a release."""

    def scores(self, sentence: IdArray, places: NDArray[np.intp], candidates: IdArray) -> Float32Array:
        """Return ln P(candidate | rest of the sentence) up to a constant of each place, shape (p, c).

        The answer to a sentence must not depend on any other.

        Args:
            sentence: States as read so far, from stop to stop, shape (m,).
            places: Which of them are asked for, ascending, shape (p,).
            candidates: Words, shape (p, c).
        """


@dataclass(frozen=True, eq=False)
class Speller:
    """Writes states as a text for models that read texts.

    Only words of the vocabulary are written: what stood in a release beside them, surrogates too, is not.

    Attributes:
        words: The vocabulary's.
        frequency: Their shares of public text, shape (v,).
    """

    words: Sequence[str] = field(repr=False)
    frequency: Float32Array = field(repr=False)

    def substituted(
        self, sentence: IdArray, places: NDArray[np.intp], candidates: IdArray
    ) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the sentence with each candidate in its place, row by row, and from where to where it stands.

        Args:
            sentence: States, from stop to stop, shape (m,).
            places: Some of them, shape (p,).
            candidates: Words for these, shape (p, c).
        """
        v = len(self.words)
        marks = {v + STOP: ".", v + PAUSE: ",", v + OTHER: " X", v + TYPED: " 0"}
        shown = [marks.get(state) or f" {self.words[state]}" for state in sentence.tolist()]
        texts, spans = [], []
        for place, some in zip(places.tolist(), candidates.tolist(), strict=True):
            before, after = "".join(shown[1:place])[1:], "".join(shown[place + 1 :])
            start = len(before) + (place > 1)
            for word in some:
                text = f"{before}{' ' * (place > 1)}{self.words[word]}{after}"
                texts.append(text[:1].upper() + text[1:])
                spans.append((start, start + len(self.words[word])))
        return texts, spans


@dataclass(frozen=True, eq=False)
class SentenceScorer:
    """A context model made of one that tells how likely whole sentences are.

    Attributes:
        logs: ln P of each of some texts.
        speller: Spells the vocabulary.
        checksum: As for every context model, like the next two.
        candidates: Candidates of a place.
        words: Words that its weight is fitted to.
    """

    logs: Callable[[Sequence[str]], Float64Array] = field(repr=False)
    speller: Speller = field(repr=False)
    checksum: str
    candidates: int = 8
    words: int = 400

    def scores(self, sentence: IdArray, places: NDArray[np.intp], candidates: IdArray) -> Float32Array:
        texts, _ = self.speller.substituted(sentence, places, candidates)
        each = list(dict.fromkeys(texts))
        known = dict(zip(each, self.logs(each).tolist(), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32).reshape(candidates.shape)


@dataclass(frozen=True, eq=False)
class Context:
    """A model and how far it is believed.

    Attributes:
        model: The model.
        prior: Whose frequencies the model's probabilities are taken beside.
        weight: Power of the factors; 0 asks the model nothing.
    """

    model: ContextModel = field(repr=False)
    prior: Prior = field(repr=False)
    weight: float

    def scores(self, sequence: IdArray, states: IdArray, possible: NDArray[np.bool_]) -> Float32Array:
        """Return ln [P_model(state | rest) / P(state)], 0 where there is no choice, shape (m, c).

        Args:
            sequence: How segments, which lie end to end, are read so far, shape (m,).
            states: The candidates, shape (m, c).
            possible: Which of them are possible, shape (m, c).
        """
        v = len(self.prior.frequency) - STATES
        known = np.zeros(states.shape, np.float32)
        asked = (possible & (states < v)).sum(axis=1) > 1
        for first, last in pairwise(np.flatnonzero(sequence == v + STOP).tolist()):
            places = first + np.flatnonzero(asked[first:last])
            if places.size:
                words = np.minimum(states[places], v - 1)  # what is no word is not possible there
                known[places] = self.model.scores(sequence[first : last + 1], places - first, words)
        return np.asarray(known - np.where(asked[:, None], self._frequencies[states], np.float32(0)))

    @cached_property
    def _frequencies(self) -> Float32Array:
        return np.log(self.prior.frequency)

    def factors(self, known: Float32Array, possible: NDArray[np.bool_]) -> Float32Array:
        """Return the factors of scores, the largest of each place 1."""
        raised = np.where(possible, np.float32(self.weight) * known, -np.inf)
        raised -= raised.max(axis=1, keepdims=True)
        return np.exp(np.maximum(raised, np.float32(FAINTEST)), dtype=np.float32)


def read_in_context(
    segments: Sequence[IdArray],
    candidates: Candidates,
    prior: Prior,
    *,
    fidelity: float | None = None,
    context: Context | None = None,
) -> Posterior:
    """Return the posterior of some segments under the trigram and, where there is one, a context model.

    Arguments as for `posteriors`. The model weighs the trigram's likeliest candidates of each place, in sweeps over
    every sentence; the others go.
    """
    sweeps = SWEEPS if context is not None and context.weight else 0
    found = posteriors(segments, candidates, prior, fidelity=None if sweeps else fidelity)
    if context is None or not len(found.states):
        return found
    few = slice(context.model.candidates)
    states, likelihoods = found.states[:, few], found.likelihoods[:, few]
    possible = likelihoods > 0
    for left in reversed(range(sweeps)):  # what the model reads, and so the attack, depends on no style
        factors = context.factors(context.scores(found.sequence, states, possible), possible)
        weighed = _held(states, likelihoods * factors)
        found = posteriors(segments, weighed, prior, fidelity=None if left else fidelity)
    return found


def _held(states: IdArray, likelihoods: Float32Array) -> Candidates:
    return lambda _: (states, likelihoods)


def fitted_context(trial: Trial, candidates: Candidates, prior: Prior, model: ContextModel) -> Context:
    """Return a model with the weight under which what public text was is likeliest.

    Args:
        trial: Public text and its release.
        candidates: What may stand behind a release.
        prior: The trigram.
        model: The model.
    """
    found = posteriors(trial.released, candidates, prior)
    few, counted = slice(model.candidates), trial.counted
    states, likelihoods = found.states[:, few], found.likelihoods[:, few]
    possible = likelihoods > 0
    scores = Context(model, prior, 1.0).scores(found.sequence, states, possible)
    worth = []
    for weight in WEIGHTS:
        weighed = _held(states, likelihoods * Context(model, prior, weight).factors(scores, possible))
        read = posteriors(trial.released, weighed, prior)
        right = read.states[counted] == trial.true[counted, None]
        worth.append(np.log(np.maximum((read.chances[counted] * right).sum(axis=1), TINY)).sum())
    return Context(model, prior, WEIGHTS[int(np.argmax(worth))])
