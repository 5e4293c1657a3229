"""Models that read whole sentences, heard after the trigram: a factor on each candidate, whose weight is fitted.

    P(x | y) proportional to P_trigram(x) prod_i P(y_i | x_i) f_i(x_i)
    f_i(x) = mean over contexts c of r_c(x) / sum_z P(z at i | y) r_c(z),    r_c(x) = [P_model(x | c) / P(x)]^weight

The contexts are drawn from the trigram's posterior: what stands around a word is as uncertain as the word itself, and a
model that took one guess at it for the text would find each error confirmed by the others. r_c is what the model knows
beyond how common a word is, so that a model that knows nothing changes nothing. How far it is to be believed is found
out on public text, with the mechanism's own noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.denoising.calibration import Trial
from wordveil.denoising.posterior import Candidates, Posterior, posteriors
from wordveil.denoising.prior import Prior
from wordveil.denoising.reading import OTHER, PAUSE, STATES, STOP, TYPED
from wordveil.errors import WordveilError
from wordveil.randomness import RandomSource

__all__ = ["Context", "ContextModel", "SentenceScorer", "Speller", "read_in_context"]

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
PLACES = 512  # after so many the draws repeat
TINY = 1e-30
FAINTEST = 1e-9
"""The least factor beside the largest of its place: no word is ruled out by a model."""


class ContextModel(Protocol):
    """A model of public text that weighs words by the sentence around them."""

    @property
    def checksum(self) -> str:
        """Digest of all that its scores depend on."""

    @property
    def candidates(self) -> int:
        """How many candidates of a place it is asked for."""

    @property
    def contexts(self) -> int:
        """In how many contexts it is asked."""

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
        checksum: As for every context model, like the next three.
        candidates: Candidates of a place.
        contexts: Contexts of a sentence.
        words: Words that its weight is fitted to.
    """

    logs: Callable[[Sequence[str]], Float64Array] = field(repr=False)
    speller: Speller = field(repr=False)
    checksum: str
    candidates: int = 8
    contexts: int = 4
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

    def read(self, segments: Sequence[IdArray], found: Posterior, fidelity: float | None) -> Posterior:
        """Return the posterior of some segments with the model, given that under the trigram alone."""
        return self._weighed(segments, found, self.ratios(found), fidelity)

    def ratios(self, found: Posterior) -> Float32Array:
        """Return ln [P_model(state | context) / P(state)] of the likeliest candidates, shape (contexts, m, c).

        It is 0 where there is no choice.

        Raises:
            WordveilError: If the model tells NaN or infinity, as one in half precision may.
        """
        v = len(self.prior.frequency) - STATES
        states, likelihoods = (part[:, : self.model.candidates] for part in (found.states, found.likelihoods))
        known = np.zeros((self.model.contexts, *states.shape), np.float32)
        asked = ((likelihoods > 0) & (states < v)).sum(axis=1) > 1
        reached = np.cumsum(found.chances, axis=1)
        for first, last in pairwise(np.flatnonzero(found.states[:, 0] == v + STOP).tolist()):
            places = first + np.flatnonzero(asked[first:last])
            if not places.size:
                continue
            words = np.minimum(states[places], v - 1)  # what is no word is not possible there
            some = slice(first, last + 1)
            drawn = _draws(self.model.contexts)[:, np.arange(last + 1 - first) % PLACES, None]
            chosen = np.minimum((reached[some] < drawn * reached[some, -1:]).sum(axis=2), reached.shape[1] - 1)
            for own, column in zip(known, chosen, strict=True):
                sentence = np.take_along_axis(found.states[some], column[:, None], 1)[:, 0]
                own[places] = self.model.scores(sentence, places - first, words)
        if not np.isfinite(known).all():
            raise WordveilError("the model beside the trigram tells what are no log-probabilities (NaN or infinity).")
        return np.asarray(known - np.where(asked[:, None], np.log(self.prior.frequency)[states], np.float32(0)))

    def _weighed(
        self, segments: Sequence[IdArray], found: Posterior, ratios: Float32Array, fidelity: float | None
    ) -> Posterior:
        """Read the segments again with the factors; candidates that the model was not asked for go."""
        few = slice(ratios.shape[2])
        states, likelihoods, chances = found.states[:, few], found.likelihoods[:, few], found.chances[:, few]
        raised = np.where(likelihoods > 0, np.float32(self.weight) * ratios, -np.inf)
        raised = np.exp(raised - raised.max(axis=2, keepdims=True))
        factors = (raised / np.maximum((chances * raised).sum(axis=2, keepdims=True), TINY)).mean(axis=0)
        factors = np.maximum(factors / factors.max(axis=1, keepdims=True), FAINTEST)
        weighed = np.asarray(likelihoods * factors, dtype=np.float32)
        return posteriors(segments, lambda _: (states, weighed), self.prior, fidelity=fidelity)

    @classmethod
    def fitted(cls, trial: Trial, candidates: Candidates, prior: Prior, model: ContextModel) -> Context:
        """Return a model with the weight under which what public text was is likeliest.

        Args:
            trial: Public text and its release.
            candidates: What may stand behind a release.
            prior: The trigram.
            model: The model.
        """
        found, counted = posteriors(trial.released, candidates, prior), trial.counted
        ratios = cls(model, prior, 1.0).ratios(found)
        worth = []
        for weight in WEIGHTS:
            read = cls(model, prior, weight)._weighed(trial.released, found, ratios, None)
            right = read.states[counted] == trial.true[counted, None]
            worth.append(np.log(np.maximum((read.chances[counted] * right).sum(axis=1), TINY)).sum())
        return cls(model, prior, WEIGHTS[int(np.argmax(worth))])


@cache
def _draws(contexts: int) -> Float64Array:
    """Return for each context a number in (0, 1) for every place, evenly spread at each; always the same."""
    lane = RandomSource.public("contexts of a sentence").lane(0)
    order = np.argsort(lane.random((contexts, PLACES)), axis=0)
    return np.asarray((order + lane.random((contexts, PLACES))) / contexts)


def read_in_context(
    segments: Sequence[IdArray],
    candidates: Candidates,
    prior: Prior,
    *,
    fidelity: float | None = None,
    context: Context | None = None,
) -> Posterior:
    """Return the posterior of some segments under the trigram and, where there is one, a context model.

    Arguments as for `posteriors`. What the model reads, and so the attack, depends on no style.
    """
    if context is None or not context.weight:
        return posteriors(segments, candidates, prior, fidelity=fidelity)
    return context.read(segments, posteriors(segments, candidates, prior), fidelity)
