"""Vocabularies that are hard on exact kernels, and the obvious oracles of what kernels answer."""

from __future__ import annotations

import numpy as np

from wordveil.kernels.selection import SelectionRows
from wordveil.metrics import Euclidean


def rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def scattered(seed, v, d):
    return rng(seed).standard_normal((v, d)).astype(np.float32)


def clustered(seed, v, d):
    centres = rng(seed).standard_normal((8, d)) * 5
    return (centres[rng(seed + 1).integers(0, 8, v)] + 1e-3 * rng(seed + 2).standard_normal((v, d))).astype(np.float32)


def grid(seed, v, d):
    """Integer points: distances from half-integer queries tie in the last bit, many at a time."""
    return rng(seed).integers(-1, 2, (v, d)).astype(np.float32)


def far(seed, v, d):
    """Words whose spread is small beside their distance from the origin."""
    return (1000 + rng(seed).standard_normal((v, d))).astype(np.float32)


def spread(seed, v, d):
    """Norms from 1e-12 to 1e12, so that a bound taken over all words says nothing about most of them."""
    rows = rng(seed).standard_normal((v, d))
    return (rows * np.logspace(-12, 12, v)[:, None]).astype(np.float32)


def duplicates(seed, v, d):
    rows = rng(seed).standard_normal((v, d)).astype(np.float32)
    return rows[rng(seed + 1).integers(0, max(1, v // 20), v)]


def same(seed, v, d):
    return np.broadcast_to(rng(seed).standard_normal(d).astype(np.float32), (v, d)).copy()


def mirrored(seed, v, d):
    """Sign flips of one vector, one in fifty a unit in the last place shorter: from the origin all others tie."""
    rows = np.abs(rng(seed).standard_normal(d)).astype(np.float32) * rng(seed + 1).choice([-1, 1], (v, d))
    rows = rows.astype(np.float32)
    rows[49::50, 0] = np.nextafter(rows[49::50, 0], np.float32(0))
    return rows


VOCABULARIES = [scattered, clustered, grid, far, spread, duplicates, same, mirrored]


def oracle(vectors, outputs, queries, k):
    found = []
    for query in queries:
        difference = query - vectors[outputs].astype(np.float64)
        squared = np.einsum("ij,ij->i", difference, difference)
        found.append(outputs[np.lexsort((outputs, squared))[:k]])
    return np.array(found)


def slow_draw(kernel, word, block_word, column_word):
    """Draw one output with Python's integers: a block by its integer mass, then a column by its integer weight."""

    def pick(values, unit, random_word):
        counts = [int(np.rint(np.float64(value) * unit)) for value in values]
        target, below = random_word * sum(counts) >> 64, 0
        for place, count in enumerate(counts):
            below += count
            if target < below:
                return place
        raise AssertionError("a target lies below the total")

    ids = kernel.canonical[np.array([word])]
    block = pick(kernel.masses(ids)[0], kernel._mass_unit, block_word)
    low, high = kernel._edges[block], kernel._edges[block + 1]
    column = pick(kernel.weights(ids)[0, low:high], kernel._inner_unit(block), column_word)
    return kernel.outputs[low + column]


def rows_of(vectors, *, metric=None, outputs=None, base=None, rate=2.0, cap=3.0):
    _, inverse = np.unique(vectors, axis=0, return_inverse=True)
    first = np.full(inverse.max() + 1, len(vectors), dtype=np.int64)
    np.minimum.at(first, inverse.ravel(), np.arange(len(vectors)))
    canonical = first[inverse.ravel()].astype(np.int32)
    outputs = np.arange(len(vectors), dtype=np.int32) if outputs is None else outputs
    return SelectionRows(vectors, metric or Euclidean(), outputs, canonical, rate=rate, cap=cap, base=base)
