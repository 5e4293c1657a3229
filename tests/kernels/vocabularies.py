"""Vocabularies that are hard on exact kernels, and the obvious oracles of what kernels answer."""

from __future__ import annotations

import itertools

import numpy as np

import seeds
from wordveil.kernels.selection import MOST_RAISED, SelectionRows
from wordveil.metrics.distances import Euclidean


def rng(seed):
    return seeds.rng(seed)


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


def slow_draw(kernel, word, words):
    """Draw one output with Python's integers: by ceilings, rejected beyond a block's weights, or by block masses."""

    def place(counts, target):
        """The first place whose running sum exceeds the target; None beyond the last."""
        return next((i for i, top in enumerate(itertools.accumulate(counts)) if target < top), None)

    ids = kernel.canonical[np.array([word])]
    weights = kernel.weights(ids)[0]
    inner = [
        [int(np.rint(weight * unit)) for weight in weights[low:high]]
        for unit, (low, high) in zip(kernel._inner_units, itertools.pairwise(kernel._edges), strict=True)
    ]
    masses = [int(np.rint(np.float64(mass) * kernel._mass_unit)) for mass in kernel.masses(ids)[0]]
    attempts = [(masses, [sum(counts) for counts in inner])]
    if kernel._attempts and kernel._raised <= MOST_RAISED:
        found, spare = kernel._ceiling_masses(ids)[0], kernel._spare.tolist()
        counts = [int(np.float64(c) * kernel._ceiling_unit) + s for c, s in zip(found, spare, strict=True)]
        ranges = [c * s for c, s in zip(counts, kernel._scales.tolist(), strict=True)]
        attempts = [(counts, ranges)] * kernel._attempts + attempts
    for attempt, (counts, ranges) in enumerate(attempts):
        at = 2 * attempt if attempt < len(attempts) - 1 else -2
        block = place(counts, words[at] * sum(counts) >> 64)
        column = place(inner[block], words[at + 1] * ranges[block] >> 64)
        if column is not None:
            return kernel.outputs[kernel._edges[block] + column]
    raise AssertionError("the last attempt rejects nothing")


def same_in_any_batch(work, rows, sizes):
    """Assert that each of the first rows gives the same bytes in batches of any of these sizes; return all answers."""
    whole = work(rows)
    for size in sizes:
        for low in range(0, min(max(40, 12 * size), len(rows)), size):
            assert work(rows[low : low + size]).tobytes() == whole[low : low + size].tobytes()
    return whole


def rows_of(vectors, *, metric=None, outputs=None, base=None, rate=2.0, cap=3.0):
    _, inverse = np.unique(vectors, axis=0, return_inverse=True)
    first = np.full(inverse.max() + 1, len(vectors), dtype=np.int64)
    np.minimum.at(first, inverse.ravel(), np.arange(len(vectors)))
    canonical = first[inverse.ravel()].astype(np.int32)
    outputs = np.arange(len(vectors), dtype=np.int32) if outputs is None else outputs
    return SelectionRows(vectors, metric or Euclidean(), outputs, canonical, rate=rate, cap=cap, base=base)
