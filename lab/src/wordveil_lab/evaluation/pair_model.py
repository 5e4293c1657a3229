"""The best guess at every word of a text for an attacker who knows which words follow which in public text.

A word model of pairs is joined with what each release says of its original (`evidence`) by forward-backward: the
posterior of every token given the whole released text, exact under the model, over all words. Naming the likeliest
word of each posterior is what maximizes the expected number of tokens named; the likeliest *sequence* does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from wordveil.api import Float64Array, FloatArray
from wordveil_lab.corpora import Corpus


@dataclass(frozen=True)
class PairModel:
    """Frequencies and pair counts of public text, each smoothed by Witten and Bell's estimate of the unseen.

    State v, the last one, stands for every token outside the vocabulary.
    """

    unigram: Float64Array = field(repr=False)  # P(w), shape (v + 1,), positive
    pairs: csr_array = field(repr=False)  # P(right | left) of pairs that were seen, shape (v + 1, v + 1)
    trust: Float64Array = field(repr=False)  # weight of `pairs` for each left word; the rest is the unigram's

    @classmethod
    def of(cls, corpus: Corpus, prior: Float64Array) -> PairModel:
        """Count a corpus; nothing is learnt from one text's end to the next one's beginning.

        What words the corpus lacks are taken from the prior, shape (v,), positive.
        """
        v, tokens = len(prior), np.where(corpus.tokens < 0, len(prior), corpus.tokens)
        counts = np.bincount(tokens, minlength=v + 1).astype(np.float64)
        unknown = (counts[v] + 0.5) / (len(tokens) + 1)
        kinds = np.count_nonzero(counts) or 1
        unigram = (counts + kinds * np.append(prior * (1 - unknown), unknown)) / (len(tokens) + kinds)
        inside = np.ones(len(tokens), dtype=bool)
        starts = corpus.offsets[:-1]
        inside[starts[starts < len(tokens)]] = False
        left, right = tokens[:-1][inside[1:]], tokens[1:][inside[1:]]
        pairs = csr_array((np.ones(len(left)), (left, right)), shape=(v + 1, v + 1))
        pairs.sum_duplicates()
        followed, distinct = np.bincount(left, minlength=v + 1), np.diff(pairs.indptr)
        pairs.data /= np.repeat(np.maximum(followed, 1), distinct)
        return cls(unigram, pairs, followed / np.maximum(followed + distinct, 1))

    def single(self) -> PairModel:
        """Return the model in single precision: half the time and memory of an attack, and ample."""
        parts: list[Any] = [part.astype(np.float32) for part in (self.unigram, self.pairs, self.trust)]
        return PairModel(*parts)

    def following(self, states: FloatArray) -> FloatArray:
        """Return sum over left of states[left] P(right | left), shape (v + 1,) or (v + 1, n) as the states are."""
        found = self.pairs.T @ (self.trust * states.T).T
        found += np.multiply.outer(self.unigram, (1 - self.trust) @ states)
        return np.asarray(found)

    def preceding(self, states: FloatArray) -> FloatArray:
        """Return sum over right of P(right | left) states[right], shape (v + 1,) or (v + 1, n) as the states are."""
        found = (self.trust * (self.pairs @ states).T).T
        found += np.multiply.outer(1 - self.trust, self.unigram @ states)
        return np.asarray(found)


def posteriors(likelihoods: FloatArray, model: PairModel) -> FloatArray:
    """Return P(state of token i | the whole release) of one text, or of n texts of equal length.

    Args:
        likelihoods: P(release of token i | state) up to a factor per token, shape (t, v + 1) or (t, v + 1, n); no
            column is all zero. Ones after a shorter text's end say nothing of its tokens.
        model: The pair model.

    Returns:
        An array of that shape.
    """
    found = np.empty_like(likelihoods)
    expected: FloatArray = model.unigram.reshape(-1, *[1] * (likelihoods.ndim - 2))
    for i in range(len(found)):  # forward: given the releases up to i
        np.multiply(expected, likelihoods[i], out=found[i])
        found[i] /= found[i].sum(axis=0)
        expected = model.following(found[i])
    after = np.ones_like(found[0]) if len(found) else found
    for i in range(len(found) - 2, -1, -1):  # backward: times what the later releases say
        after = model.preceding(likelihoods[i + 1] * after)
        after /= after.max(axis=0)
        found[i] *= after
        found[i] /= found[i].sum(axis=0)
    return found
