"""What an attacker knows of a word before he sees anything: public word frequencies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray
from wordveil.embeddings.table import Embeddings
from wordveil.evaluation.corpora import encode
from wordveil.evaluation.data import read_labelled
from wordveil.randomness import RandomSource

__all__ = ["ZIPF", "draw_words", "word_prior"]

ZIPF = "zipf"
"""The prior 1/(rank + 2.7) over the rows of the table: for tables in order of frequency, as most published ones are."""

SMOOTHING = 0.5  # count given to a word that the public text does not hold


def word_prior(embeddings: Embeddings, frequencies: str = ZIPF, *, limit: int | None = 20_000) -> Float64Array:
    """Return a probability for every word, shape (v,), positive everywhere.

    Args:
        embeddings: The public vocabulary.
        frequencies: "zipf", or a file with a column text whose words are counted.
        limit: Texts of the file that are counted at most.
    """
    v = len(embeddings)
    if frequencies == ZIPF:
        weights: Float64Array = 1 / (np.arange(v, dtype=np.float64) + 3.7)
    else:
        tokens = encode(embeddings, [item.text for item in read_labelled(frequencies, limit=limit)]).tokens
        weights = np.asarray(np.bincount(tokens[tokens >= 0], minlength=v) + SMOOTHING, dtype=np.float64)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def draw_words(prior: Float64Array, n: int, source: RandomSource, label: str) -> IdArray:
    """Return n word ids drawn from the prior, shape (n,), int32."""
    bounds: NDArray[np.float64] = np.cumsum(prior)
    uniforms = source.stream(label).lane(0).random(n)
    found = np.searchsorted(bounds, uniforms * bounds[-1], side="right")
    return np.asarray(np.minimum(found, len(prior) - 1), dtype=np.int32)
