"""The best guess at a word: what an attacker with public word frequencies gets from one release without context.

For a selection mechanism the success of the best attacker is computed: sum over y of max over x of prior(x) P(y | x).
For released vectors the posterior is exact and the success a mean over draws. For decoded words the channel is learnt,
and the success that of the best of three attackers tried: a lower bound on the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wordveil.api import Embeddings, Float64Array, RandomSource
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import channel_guesses, observe, word_channel
from wordveil_lab.evaluation.priors import PUBLIC_LIST, draw_words, word_prior
from wordveil_lab.evaluation.subjects import Entrant

ROWS = 256


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
            spans = [seen.kinds[start : start + ROWS] for start in range(0, len(inputs), ROWS)]
            named = seen.named
            best = np.concatenate([(seen.likelihoods(span)[:, :-1] * prepared).argmax(axis=1) for span in spans])
        tried = [float((guess == inputs).mean()) for guess in (named, best, prepared.argmax())]
        return {"success": max(tried), "naming": tried[0], "guessing": guessing}
