"""An attack on a word that is released again and again, each time with fresh noise: all of its releases together.

The attacker knows the mechanism's law and how often words occur, and names the likeliest word. This refutes nothing:
losses of several releases add up, as every guarantee says. It shows how fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, IdArray
from wordveil.mechanisms.base import WordRandomizer
from wordveil.randomness import RandomSource
from wordveil.vocabulary.frequencies import word_frequencies

RELEASES = (1, 2, 4, 8, 16, 32, 64)
RARE = 2e-4  # share of public text below which a word says what a text is about
TOGETHER = 8  # words whose releases are weighed at a time: 64 x 8 rows over the vocabulary at most


@dataclass(frozen=True, kw_only=True)
class RepeatedReleases:
    """How often the best guess at a word is right after n releases of it."""

    words: int  # number of words drawn, as they occur in public text
    named: Mapping[str, tuple[float, ...]]  # kind of word, if there are any -> share named after each of `RELEASES`

    def as_dict(self) -> dict[str, object]:
        return {"words": self.words, "releases": list(RELEASES), "named": {k: list(v) for k, v in self.named.items()}}


def attack_repeats(
    randomizer: WordRandomizer, words: int, source: RandomSource, progress: Callable[[int], None] | None = None
) -> RepeatedReleases | None:
    """Attack words drawn as they occur in public text; None where the mechanism states no law."""
    prior = word_frequencies(randomizer.embeddings, smoothing=0.5)
    draws, bounds = source.stream("repeated words").lane(0).random(words), np.cumsum(prior)
    inputs = np.minimum(np.searchsorted(bounds, draws * bounds[-1]), len(prior) - 1).astype(np.int32)
    right = named_after(randomizer, inputs, prior, source, progress=progress)
    if right is None:
        return None
    kinds = {"all words": prior[inputs] >= 0, "rarer than 2e-4": prior[inputs] < RARE}
    shares = {name: tuple(right[kind].mean(axis=0).tolist()) for name, kind in kinds.items() if kind.any()}
    return RepeatedReleases(words=words, named=shares)


def named_after(
    randomizer: WordRandomizer,
    inputs: IdArray,
    prior: Float64Array,
    source: RandomSource,
    releases: Sequence[int] = RELEASES,
    *,
    progress: Callable[[int], None] | None = None,
) -> BoolArray | None:
    """Return whether each word is the likeliest one after each number of its releases, shape (words, numbers).

    The attacker knows a multiple of every word's probability, `prior`. None where the mechanism states no law.
    `progress` is called with the number of words attacked before each part of them.
    """
    most, stream, job = releases[-1], source.stream("repeated releases"), randomizer.for_batch_job()
    drawn = job.trial(np.repeat(inputs, most), stream).reshape(-1, most)
    right = np.zeros((len(inputs), len(releases)), dtype=bool)
    for low in range(0, len(inputs), TOGETHER):
        if progress is not None:
            progress(low)
        distinct, places = np.unique(drawn[low : low + TOGETHER], return_inverse=True)
        found = randomizer.likelihoods(np.asarray(distinct, dtype=np.int32))
        if found is None:
            return None
        with np.errstate(divide="ignore"):
            logs, start = np.log(found), np.log(prior)
        for i, seen in enumerate(places.reshape(-1, most), start=low):
            total, done = start.copy(), 0
            for j, n in enumerate(releases):
                total += logs[seen[done:n]].sum(axis=0)
                right[i, j], done = total.argmax() == inputs[i], n
    return right
