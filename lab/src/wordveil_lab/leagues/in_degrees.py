"""How often words are in the lists of others, and what that gives away.

A word that is in no list but its own betrays itself: whoever sees it knows that it was there, or that a uniform word
was drawn. Everything here is exact, from public lists alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Float64Array, NeighbourLists

__all__ = ["guessed_share", "in_degrees", "own_posteriors"]


def in_degrees(lists: NeighbourLists) -> NDArray[np.int64]:
    """Return for each output the number of other words whose list it is in, shape (number of outputs,)."""
    counts = np.bincount(lists.ids.ravel(), minlength=len(lists))
    return np.asarray(counts[lists.outputs] - 1)


def guessed_share(lists: NeighbourLists, epsilon: float, prior: Float64Array) -> float:
    """Return how often the best guess names the input, from one release of neighbour response.

    sum_y max_x prior(x) P(y | x), with P = p in a word's list, p e^-epsilon elsewhere.

    Args:
        lists: The lists.
        epsilon: The loss, in nats.
        prior: Probability of each word, shape (v,).
    """
    near, far = _law(lists, epsilon)
    best = np.zeros(len(lists))
    np.maximum.at(best, lists.ids.ravel(), np.repeat(prior, lists.k))
    # The word that is likeliest of all may itself have y in its list: then near * best is larger anyway.
    return float(np.maximum(near * best[lists.outputs], far * prior.max()).sum())


def own_posteriors(lists: NeighbourLists, epsilon: float, prior: Float64Array) -> Float64Array:
    """Return for each output the probability, once it is released, that it was the input, shape (outputs,)."""
    near, far = _law(lists, epsilon)
    listed = np.bincount(lists.ids.ravel(), weights=np.repeat(prior, lists.k), minlength=len(lists))[lists.outputs]
    return np.asarray(near * prior[lists.outputs] / (near * listed + far * (prior.sum() - listed)))


def _law(lists: NeighbourLists, epsilon: float) -> tuple[float, float]:
    far = 1.0 / (lists.k * math.exp(epsilon) + len(lists.outputs) - lists.k)
    return far * math.exp(epsilon), far
