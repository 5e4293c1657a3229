"""What a released word says of its original: a few words that may stand behind it, and how likely each releases it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordveil.arrays import Float32Array, IdArray
from wordveil.denoising.prior import Prior
from wordveil.mechanisms.base import WordRandomizer

__all__ = ["Evidence"]

COUNT = 64  # candidates for each released word


@dataclass(frozen=True, eq=False)
class Evidence:
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

    def __call__(self, seen: IdArray) -> tuple[IdArray, Float32Array]:
        """Return candidates and P(seen | candidate) up to a factor for each, both of shape (n, c)."""
        distinct, places = np.unique(seen, return_inverse=True)
        drawn = np.isin(distinct, self.randomizer.outputs)
        weights = self.prior.frequency[: len(self.randomizer.embeddings)].astype(np.float64)
        found = self.randomizer.likely_inputs(distinct[drawn], weights, COUNT)
        assert found is not None  # the denoiser takes no mechanism without a law
        count = found[0].shape[1] + 1
        states = np.repeat(distinct[:, None], count, axis=1).astype(np.int32)
        likelihoods = np.zeros(states.shape)
        states[drawn, 1:] = found[0]
        likelihoods[drawn, 1:] = np.where(np.isin(found[0], self.public), 0.0, found[1])
        likelihoods[:, 0] = np.where(drawn, np.isin(distinct, self.public), 1.0)  # stops, pauses and what is no word
        likelihoods /= likelihoods.max(axis=1, keepdims=True)
        return states[places], likelihoods[places].astype(np.float32)
