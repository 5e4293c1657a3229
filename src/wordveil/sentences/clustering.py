"""Prototypes of many public sentences: the members nearest to the centres of spherical k-means."""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float32Array, Int64Array, Progress
from wordveil.errors import ParameterError
from wordveil.vocabulary.classes import nearest_centres

ROUNDS = 20


def prototypes(rows: Float32Array, n: int, progress: Progress | None = None) -> Int64Array:
    """Return n different rows such that each row is near one of them, ascending."""
    if n > len(rows):
        raise ParameterError("prototypes", n, f"must be at most {len(rows)}, the number of different sentences.")
    centres = rows[_spread(rows, n)]
    owner = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        before = owner
        owner, score = nearest_centres(rows, centres)
        centres = _centres(rows, owner, score, n)
        if progress is not None:
            progress(1)
        if np.array_equal(owner, before):
            break
    owner, score = nearest_centres(rows, centres)
    order = np.lexsort((-score, owner))
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    chosen = order[first]  # of each centre that has any, the row nearest to it; the worst served make up for the others
    left = np.setdiff1d(np.argsort(score, kind="stable")[:n], chosen, assume_unique=True)
    return np.sort(np.concatenate([chosen, left[: n - len(chosen)]]))


def _spread(rows: Float32Array, n: int) -> Int64Array:
    """Return n rows to begin with, each drawn with a chance that grows with its distance from those before it.

    Reference:
        Arthur, Vassilvitskii (2007), k-means++: The Advantages of Careful Seeding; the draws are public and fixed.
    """
    draws = np.random.default_rng(n).random(n)
    chosen, apart = np.empty(n, np.int64), np.ones(len(rows))
    for i, draw in enumerate(draws):
        running = np.cumsum(apart)
        chosen[i] = min(int(np.searchsorted(running, draw * running[-1], side="right")), len(rows) - 1)
        apart = np.minimum(apart, np.maximum(1 - rows @ rows[chosen[i]], 0.0))
    return chosen


def _centres(rows: Float32Array, owner: Int64Array, score: Float32Array, n: int) -> Float32Array:
    """Return the mean directions of the groups; an empty one starts anew at a row that is served worst."""
    order = np.argsort(owner, kind="stable")
    held, starts = np.unique(owner[order], return_index=True)
    centres = rows[np.argsort(score, kind="stable")[:n]].copy()
    sums = np.add.reduceat(rows[order], starts, axis=0)
    centres[held] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return centres
