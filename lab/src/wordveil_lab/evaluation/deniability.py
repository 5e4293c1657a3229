"""Plausible deniability: how often a word stays itself, and how many words it may turn into.

Exact for selection mechanisms, whose rows are known; counted in repeated draws for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wordveil.api import Embeddings, Float64Array, IdArray, NearestWords, ParameterError, RandomSource, WordRandomizer
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import PUBLIC_LIST, draw_words, word_prior
from wordveil_lab.evaluation.subjects import Entrant

ROWS = 256


@dataclass(frozen=True, kw_only=True)
class PlausibleDeniability(Task):
    """N_w, the probability that a word is released as itself, and S_w, how many words come out in repeated draws.

    Both are means over public words drawn from the frequency prior. S_w counts distinct outputs in `draws` draws;
    for a selection mechanism both are expectations, computed.

    Reference:
        Feyisetan, Balle, Drake, Diethe (2020), section 4.2.
    """

    name: ClassVar[str] = "deniability"
    words: int = 300
    draws: int = 100
    frequencies: str = PUBLIC_LIST  # the public list, or a file of public text; see `word_prior`

    def prepare(self, embeddings: Embeddings) -> IdArray:
        if self.words < 1 or self.draws < 1:
            raise ParameterError("words", self.words, "and draws must be at least 1.")
        prior = word_prior(embeddings, self.frequencies)
        public = RandomSource.seeded_for_tests(0)  # which words are looked at is fixed and public
        return draw_words(prior, self.words, public, "deniability words")

    def run(self, prepared: IdArray, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        if subject.exact:
            kept, distinct = _from_channel(subject.words, prepared, self.draws)
        else:
            repeated = np.repeat(prepared, self.draws)
            released = subject.release_words(repeated, source, self.name).reshape(len(prepared), self.draws)
            kept = (released == prepared[:, None]).mean(axis=1)
            ordered = np.sort(released, axis=1)
            distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
        return {"n_w": float(kept.mean()), "s_w": float(distinct.mean()), "n_w_worst": float(kept.max())}


def _from_channel(words: WordRandomizer, ids: IdArray, draws: int) -> tuple[Float64Array, Float64Array]:
    kept, distinct = np.zeros(len(ids)), np.zeros(len(ids))
    for start in range(0, len(ids), ROWS):
        part = slice(start, start + ROWS)
        rows = words.law(ids[part])
        assert rows is not None
        kept[part] = np.where(ids[part, None] == words.outputs, rows, 0.0).sum(axis=1)
        with np.errstate(divide="ignore"):
            never = np.exp(draws * np.log1p(-np.minimum(rows, 1.0)))
        distinct[part] = (1 - never).sum(axis=1)
    return kept, distinct


@dataclass(frozen=True, kw_only=True)
class OverlapSkewness(Task):
    """Skewness of the neighbourhood overlap over words: how much a mechanism protects some words less than most.

    Reference:
        Bollegala et al. (2023), section 5.2 and appendix B. Deviation: 0 where all overlaps are equal.
    """

    name: ClassVar[str] = "skewness"
    words: int = 1000  # public words, spread evenly over the vocabulary
    neighbours: int = 10  # size of the neighbourhoods compared

    def prepare(self, embeddings: Embeddings) -> IdArray:
        candidates = embeddings.candidates
        if len(candidates) < 3:
            raise ParameterError("embeddings", f"{len(candidates)} words", "must offer at least 3 words.")
        return candidates[np.unique(np.linspace(0, len(candidates) - 1, self.words).astype(np.int64))]

    def run(self, prepared: IdArray, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        from scipy.stats import skew

        search = NearestWords(subject.space.vectors, np.arange(len(subject.space), dtype=np.int32))
        k, released = min(self.neighbours, len(subject.space)), subject.release_vectors(prepared, source, self.name)
        before = search.top(subject.space.vectors[prepared], k, threads=subject.threads)[0]
        after = search.top(released, k, threads=subject.threads)[0]
        shared = (before[:, :, None] == after[:, None, :]).any(axis=2).sum(axis=1)
        shares = shared / (2 * k - shared)  # the Jaccard overlap of each word
        spread = 0.0 if np.ptp(shares) == 0 else float(skew(shares, bias=False))
        return {"overlap": float(shares.mean()), "skewness": spread}
