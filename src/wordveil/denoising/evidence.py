"""What a released word says of its original: a few words that may stand behind it, and how likely each releases it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from wordveil.arrays import Float32Array, IdArray
from wordveil.denoising.prior import Prior
from wordveil.mechanisms.base import WordRandomizer

COUNT = 64  # candidates for each released word


@dataclass(frozen=True, eq=False)
class ChannelEvidence:
    """The channel of a release, exactly as its mechanism states it.

    A word that the owner declared public stands for itself; where the mechanism too may release it, for words that it
    is released for as well, but for no other public word.

    Attributes:
        randomizer: The mechanism.
        prior: Public frequencies, for the choice of candidates.
        public: Ids of public words, which passed as they are.
    """

    randomizer: WordRandomizer = field(repr=False)
    prior: Prior = field(repr=False)
    public: IdArray = field(repr=False)

    @cached_property
    def _table(self) -> tuple[IdArray, Float32Array]:
        """Candidates and P(output | candidate) of every output.

        Made once for all: a law that is no table takes a pass over the whole vocabulary, however few words are asked.
        """
        outputs = self.randomizer.outputs
        weights = self.prior.frequency[: len(self.randomizer.embeddings)].astype(np.float64)
        found = self.randomizer.likely_inputs(outputs, weights, COUNT)
        assert found is not None  # the denoiser takes no mechanism without a law
        states = np.concatenate((outputs[:, None], found[0]), axis=1)
        likelihoods = np.zeros(states.shape)
        likelihoods[:, 1:] = np.where(np.isin(found[0], self.public), 0.0, found[1])
        likelihoods[:, 0] = np.isin(outputs, self.public)
        return states, (likelihoods / likelihoods.max(axis=1, keepdims=True)).astype(np.float32)

    def __call__(self, seen: IdArray) -> tuple[IdArray, Float32Array]:
        """Return candidates and P(seen | candidate) up to a factor for each, both of shape (n, c)."""
        outputs, (states, likelihoods) = self.randomizer.outputs, self._table
        places = np.minimum(np.searchsorted(outputs, seen), len(outputs) - 1)
        states, likelihoods = states[places], likelihoods[places]
        itself = outputs[places] != seen  # stops, pauses and what is no word that the mechanism draws
        states[itself], likelihoods[itself] = seen[itself, None], np.eye(1, states.shape[1], dtype=np.float32)
        return states, likelihoods
