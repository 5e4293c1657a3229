"""The best guess at every word of a text for an attacker who knows which words follow which in public text.

A word model of pairs is joined with what each release says of its original (`evidence`) by forward-backward: the
posterior of every token given the whole released text, exact under the model, over all words. Naming the likeliest
word of each posterior is what maximizes the expected number of tokens named; the likeliest *sequence* does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from wordveil.arrays import Float64Array
from wordveil.vocabulary.corpora import Corpus

__all__ = ["PairModel", "posteriors"]


@dataclass(frozen=True)
class PairModel:
    """Frequencies and pair counts of public text, each smoothed by Witten and Bell's estimate of the unseen.

    State v, the last one, stands for every token outside the vocabulary.

    Attributes:
        unigram: P(w), shape (v + 1,), positive.
        pairs: P(right | left) of pairs that were seen, shape (v + 1, v + 1).
        trust: Weight of `pairs` for each left word; the rest goes to the unigram, shape (v + 1,).
    """

    unigram: Float64Array = field(repr=False)
    pairs: csr_array = field(repr=False)
    trust: Float64Array = field(repr=False)

    @classmethod
    def of(cls, corpus: Corpus, prior: Float64Array) -> PairModel:
        """Count a corpus; nothing is learnt from one text's end to the next one's beginning.

        Args:
            corpus: Public text.
            prior: Public word frequencies, shape (v,), positive: what words the corpus lacks are taken from.
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

    def following(self, states: Float64Array) -> Float64Array:
        """Return sum over left of states[left] P(right | left), shape (v + 1,)."""
        return np.asarray(self.pairs.T @ (self.trust * states) + self.unigram * float((1 - self.trust) @ states))

    def preceding(self, states: Float64Array) -> Float64Array:
        """Return sum over right of P(right | left) states[right], shape (v + 1,)."""
        return np.asarray(self.trust * (self.pairs @ states) + (1 - self.trust) * float(self.unigram @ states))


def posteriors(likelihoods: Float64Array, model: PairModel) -> Float64Array:
    """Return P(state of token i | the whole release), shape (t, v + 1), for one text.

    Args:
        likelihoods: P(release of token i | state) up to a factor per token, shape (t, v + 1); no row is all zero.
        model: The pair model.
    """
    found = np.empty_like(likelihoods)
    expected = model.unigram
    for i in range(len(found)):  # forward: given the releases up to i
        found[i] = expected * likelihoods[i]
        found[i] /= found[i].sum()
        expected = model.following(found[i])
    after = np.ones(found.shape[1])
    for i in range(len(found) - 2, -1, -1):  # backward: times what the later releases say
        after = model.preceding(likelihoods[i + 1] * after)
        after /= after.max()
        found[i] *= after
        found[i] /= found[i].sum()
    return np.asarray(found)
