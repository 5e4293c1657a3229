"""What an attacker knows of a word before they see anything: how often it occurs in public text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, Float64Array, IdArray, RandomSource, word_frequencies
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation.data import read_texts

PUBLIC_LIST = "public list"
"""The counts of public English text that ship with the package; see `wordveil.vocabulary.frequencies`."""

SMOOTHING = 0.5
"""Added to the count of every word, so that no word is impossible."""

COMMON = 2e-4
"""Share of public text from which on a word counts as common, 555 of the embedded ones; rarer words carry content."""

TEXTS = 20_000  # of a file, counted at most


def word_prior(embeddings: Embeddings, frequencies: str = PUBLIC_LIST) -> Float64Array:
    """Return a probability for every word, shape (v,), positive everywhere: (count + 1/2) over the sum.

    Counted are the words of the public list, or of texts spread over a file with a column text.
    """
    if frequencies == PUBLIC_LIST:
        weights = word_frequencies(embeddings, smoothing=SMOOTHING)
    else:
        tokens = encode(embeddings, read_texts(frequencies, limit=TEXTS)).tokens
        weights = np.asarray(np.bincount(tokens[tokens >= 0], minlength=len(embeddings)) + SMOOTHING, dtype=np.float64)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def content_words(embeddings: Embeddings) -> NDArray[np.bool_]:
    """Return which words are rarer than `COMMON` in the public list, shape (v,); unlisted words are."""
    return np.asarray(word_frequencies(embeddings) < COMMON)


def draw_words(prior: Float64Array, n: int, source: RandomSource, label: str) -> IdArray:
    """Return n word ids drawn from the prior, shape (n,), int32."""
    bounds: NDArray[np.float64] = np.cumsum(prior)
    uniforms = source.stream(label).lane(0).random(n)
    found = np.searchsorted(bounds, uniforms * bounds[-1], side="right")
    return np.asarray(np.minimum(found, len(prior) - 1), dtype=np.int32)
