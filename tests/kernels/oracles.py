"""The obvious oracles of what kernels answer."""

from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms.noise_checks import counts_p_value

from seeds import rng
from wordveil.kernels.ideal import WHOLE, Draw
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics.distances import Euclidean


def nearest(vectors, outputs, queries, k):
    """Ids and distances, one query at a time; einsum as in the kernel, so that equal distances are equal to the bit."""
    ids, found = [], []
    words = vectors[outputs].astype(np.float64)
    for query in np.asarray(queries, dtype=np.float64):
        difference = query - words
        squared = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((outputs, squared))[:k]
        ids.append(outputs[order])
        found.append(squared[order])
    return np.array(ids), np.sqrt(found)


def queries_near(vectors, n=40, halves=10):
    """Words, words with noise, half-integers between them, and the origin."""
    v, d = vectors.shape
    scale = np.abs(vectors[rng(5).integers(0, v, n)]).max(axis=1, keepdims=True)
    parts = [
        vectors[rng(6).integers(0, v, n)].astype(np.float64),
        vectors[rng(7).integers(0, v, n)] + 0.3 * scale * rng(8).standard_normal((n, d)),
        np.round(vectors[:halves].astype(np.float64)) + 0.5,
        np.zeros((1, d)),
    ]
    return np.concatenate(parts)


def oracle(vectors, outputs, queries, k):
    return nearest(vectors, outputs, queries, k)[0]


def hold_against_the_oracle(search, vectors, outputs, queries, k):
    """Assert that a search gives the obvious answers, with one thread and two where it takes threads."""
    one, two = ({"threads": n} if isinstance(search, NearestWords) else {} for n in (1, 2))
    ids, distances = search.top(queries, k, **one)
    expected_ids, expected_distances = nearest(vectors, outputs, queries, k)
    assert ids.dtype == np.int32
    assert np.array_equal(ids, expected_ids)
    assert distances == pytest.approx(expected_distances, rel=1e-14)
    assert np.array_equal(search.nearest(queries, **two), expected_ids[:, 0])
    return distances


def p_value(drawn, kernel, weights):
    """A p-value of ids drawn against weights over the outputs."""
    counts = np.bincount(np.searchsorted(kernel.outputs, drawn), minlength=len(weights))
    return counts_p_value(weights / weights.sum(), counts)


def random_words(seed, n, kernel):
    return rng(seed).integers(0, 2**64, (n, kernel.draw_width), dtype=np.uint64)


def ideal_draw(kernel, word, words):
    """Draw one output with Python's integers and decimal numbers alone, from the integers of the ceilings."""
    inputs = kernel.canonical[np.array([word])]
    if kernel.attempts:
        integers = kernel._integers(kernel._ceiling_rows(inputs))
        bounds, share = [int(x) for x in integers.bounds[0]], (1 << 63) // int(integers.bounds[0, -1])
        for number in range(kernel.attempts):
            target, first = (int(words[2 * number]) >> 1) // share, int(words[2 * number + 1])
            block = next((i for i, top in enumerate(bounds) if target < top), None)
            if block is None:
                continue
            units = bounds[block] - (bounds[block - 1] if block else 0)
            top = units * Fraction(kernel._raised) / Fraction(float(integers.scale[0]))
            low, high = kernel._edges[block : block + 2].tolist()
            draw = Draw(words=words, first=first, number=number, ceiling=top)
            column = kernel.ideal._exactly(int(inputs[0]), low, high, draw)
            if column < high - low:
                return kernel.outputs[low + column]
    draw = Draw(words=words, first=-1, number=WHOLE, ceiling=None)
    return kernel.outputs[kernel.ideal._exactly(int(inputs[0]), 0, len(kernel.outputs), draw)]


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
