"""An attack on a word that is released again and again, each time with fresh noise: all of its releases together.

The attacker knows the mechanism's law and how often words occur, and names the likeliest word. This refutes nothing:
losses of several releases add up, as every guarantee says. It shows how fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, IdArray
from wordveil.mechanisms.base import WordRandomizer
from wordveil.randomness import RandomSource
from wordveil.vocabulary.frequencies import word_frequencies

RELEASES = (1, 2, 4, 8, 16, 32, 64)
RARE = 2e-4  # share of public text below which a word says what a text is about
TOGETHER = 8  # words whose releases are weighed at a time: 64 x 8 rows over the vocabulary at most


def attack_repeats(
    randomizer: WordRandomizer, words: int, source: RandomSource, progress: Callable[[int], None] | None = None
) -> dict[str, Any] | None:
    """Attack words drawn as they occur in public text; None where the mechanism states no law.

    Returns:
        `words`, how many there were; `releases`, a list of n; `named`, of each kind of word, if there are any, the
        share that the best guess named rightly after n releases.
    """
    prior = word_frequencies(randomizer.embeddings, smoothing=0.5)
    draws, bounds = source.stream("repeated words").lane(0).random(words), np.cumsum(prior)
    inputs = np.minimum(np.searchsorted(bounds, draws * bounds[-1]), len(prior) - 1).astype(np.int32)
    right = named_after(randomizer, inputs, prior, source, progress=progress)
    if right is None:
        return None
    kinds = {"all words": prior[inputs] >= 0, "rarer than 2e-4": prior[inputs] < RARE}
    shares = {name: right[kind].mean(axis=0).tolist() for name, kind in kinds.items() if kind.any()}
    return {"words": words, "releases": list(RELEASES), "named": shares}


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
