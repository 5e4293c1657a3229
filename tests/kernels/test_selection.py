"""The drawing kernel against the exact channel: distribution, bits, and the bound on what arithmetic adds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.oracles import random_words

import seeds
from wordveil.kernels import weight_rows
from wordveil.kernels.selection import SelectionRows, _search
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, distances
from wordveil.randomness import multiply_high


def vectors(seed=0, v=130, d=6, duplicates=10):
    rng = seeds.rng(seed)
    rows = rng.normal(size=(v, d)).astype(np.float32)
    rows[v - duplicates :] = rows[:duplicates]
    canonical = np.arange(v, dtype=np.int32)
    canonical[v - duplicates :] = np.arange(duplicates)
    return rows, canonical


def make(rate=2.0, cap=3.0, *, metric=None, outputs=None, base=None, **kwargs):
    rows, canonical = vectors(**kwargs)
    outputs = np.arange(len(rows), dtype=np.int32) if outputs is None else outputs
    kernel = SelectionRows(rows, metric or Euclidean(), outputs, canonical, rate=rate, cap=cap, base=base)
    return kernel, rows


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_multiply_high_is_the_high_half_of_the_product(a, b):
    found = multiply_high(np.array([a], dtype=np.uint64), np.array([b], dtype=np.uint64))
    assert int(found[0]) == a * b >> 64


def test_a_column_is_found_exactly_where_floating_point_cannot_tell_it_from_the_next():
    rng = seeds.rng(5)
    counts = rng.integers(0, 3, (300, 40)) * rng.choice([1, 2**20, 2**50], (300, 40)) + 1
    counts[:, ::7] = 0  # no target falls into these
    bounds = np.cumsum(counts, axis=1).astype(np.uint64)
    row, column = (places[counts.ravel() > 0] for places in np.indices(counts.shape).reshape(2, -1))
    last = bounds[row, column] - np.uint64(1)
    first = last - (counts[row, column] - 1).astype(np.uint64)
    for targets in (first, last):
        np.testing.assert_array_equal(_search(bounds, row, targets), column)


@pytest.mark.parametrize("columns", [512, 16])
@pytest.mark.parametrize(
    "metric", [Euclidean(), Angular(), Mahalanobis(whitening=np.diag(np.arange(1.0, 7.0)))], ids=lambda m: m.name
)
@pytest.mark.parametrize("some", [False, True])
def test_weights_masses_and_normalizers_equal_the_formula(monkeypatch, columns, metric, some):
    monkeypatch.setattr(weight_rows, "COLUMNS", columns)
    outputs = np.arange(3, 120, 2, dtype=np.int32) if some else None
    base = np.linspace(0, 2, len(outputs)) if some else None
    kernel, rows = make(metric=metric, outputs=outputs, base=base)
    table = distances(metric, rows, rows[kernel.outputs])
    expected = np.exp(-2.0 * np.minimum(table, 3.0)) * (1 if base is None else base)
    ids = np.arange(len(rows), dtype=np.int32)
    np.testing.assert_allclose(kernel.weights(ids), expected, rtol=1e-5)
    np.testing.assert_allclose(kernel.log_normalizers(ids), np.log(expected.sum(axis=1)), rtol=0, atol=1e-5)
    masses = kernel.masses(ids[:64])
    np.testing.assert_allclose(masses.sum(axis=1), expected[:64].sum(axis=1), rtol=1e-5)
    # A word and its duplicates: the same row, bit for bit.
    assert kernel.weights(ids[-10:]).tobytes() == kernel.weights(ids[:10]).tobytes()


def test_progress_counts_every_token():
    kernel, rows = make()
    done = []
    kernel.draw(np.arange(len(rows), dtype=np.int32), random_words(0, len(rows), kernel), progress=done.append)
    assert sum(done) == len(rows)
    done = []
    kernel.log_normalizers(np.arange(len(rows), dtype=np.int32), progress=done.append)
    assert sum(done) == len(rows)


def places(kernel, word, words):
    """Return the block and column that each pair of random words draws; of a rejected draw, the end of the block 0.

    With attempts, one draw by ceilings; otherwise the draw by masses.
    """
    if kernel.draw_width == 2:
        column = np.searchsorted(kernel.outputs, kernel.draw(np.full(len(words), word, dtype=np.int32), words))
    else:
        inputs = kernel.canonical[np.array([word])]
        bounds = kernel._ceiling_sums(kernel._ceiling_masses(inputs))
        column = kernel._attempt(inputs, bounds, np.zeros(len(words), dtype=np.int64), words)
    block = np.searchsorted(kernel._edges, column, side="right") - 1
    return block, np.where(column < 0, len(kernel.outputs), column - kernel._edges[block])


def boundaries(kernel, word, lane, fixed, count):
    """Return, for each k <= count, the number of 64-bit words that put the draw's block (lane 0) or column below k.

    The draw is non-decreasing in either word, so each number is found by bisection on what it itself returns.
    """
    low, high = [0] * (count + 1), [2**64] * (count + 1)
    for _ in range(65):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        words = np.zeros((count + 1, 2), dtype=np.uint64)
        words[:, lane] = [min(m, 2**64 - 1) for m in middle]
        words[:, 1 - lane] = fixed
        value = places(kernel, word, words)[lane]
        for k in range(count + 1):
            if low[k] < high[k]:
                if value[k] < k:
                    low[k] = middle[k] + 1
                else:
                    high[k] = middle[k]
    return low


def realized_law(kernel, word):
    """Return the exact probability of every output given that the draw is not rejected, and of that."""
    law = []
    blocks = boundaries(kernel, word, 0, 0, kernel.blocks)
    for b in range(kernel.blocks):
        mass = Fraction(blocks[b + 1] - blocks[b], 2**64)
        width = int(kernel._edges[b + 1] - kernel._edges[b])
        inner = boundaries(kernel, word, 1, blocks[b], width)
        law += [mass * Fraction(inner[k + 1] - inner[k], 2**64) for k in range(width)]
    accepted = sum(law)
    return [p / accepted for p in law], accepted


def ideal_law(mpmath, rows, word, rate, cap, base):
    weights = []
    for y, b in zip(rows, base, strict=True):
        squared = mpmath.fsum(
            (mpmath.mpf(float(p)) - mpmath.mpf(float(q))) ** 2 for p, q in zip(rows[word], y, strict=True)
        )
        weights.append(mpmath.mpf(float(b)) * mpmath.exp(-mpmath.mpf(rate) * min(mpmath.sqrt(squared), cap)))
    total = mpmath.fsum(weights)
    return [w / total for w in weights]


@pytest.mark.parametrize(("rate", "cap"), [(2.0, 3.0), (9.0, 3.0), (12.0, 3.0), (1.0, 0.5)])
@pytest.mark.parametrize("based", [False, True])
@pytest.mark.parametrize(
    ("hair", "attempt"),
    [
        (True, True),
        (False, False),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in ((False, True), (True, False))),
    ],
)
def test_the_slack_covers_the_realized_law(monkeypatch, rate, cap, based, hair, attempt):
    mpmath = pytest.importorskip("mpmath")
    monkeypatch.setattr(weight_rows, "COLUMNS", 4)
    rng = seeds.rng(8)
    rows = (rng.normal(size=(11, 3)) * 2 + 5).astype(np.float32)
    if hair:
        rows[5:] = np.nextafter(rows[:6], np.float32(99))
    base = np.linspace(0.25, 3.0, 11) if based else np.ones(11)
    canonical = np.arange(11, dtype=np.int32)
    kernel = SelectionRows(rows, Euclidean(), canonical, canonical, rate=rate, cap=cap, base=base if based else None)
    kernel = kernel if attempt else kernel.by_masses()
    slack = kernel.arithmetic_slack()
    assert math.isfinite(slack)
    worst = 0.0
    with mpmath.workdps(60):
        for word in (0, 4, 10):
            ideal = ideal_law(mpmath, rows, word, rate, cap, base)
            law, accepted = realized_law(kernel, word)
            assert accepted < 1 if attempt else accepted == 1
            for p, q in zip(law, ideal, strict=True):
                ratio = mpmath.log(mpmath.mpf(p.numerator) / p.denominator / q)
                worst = max(worst, abs(float(ratio)))
    # The slack is a bound for two inputs, so one input may move by half of it.
    assert worst <= slack / 2
    assert worst > 0


@pytest.mark.parametrize("rate", [5.1, 7.3, 9.7])
def test_the_slack_covers_rounding_where_distances_themselves_are_exact(monkeypatch, rate):
    mpmath = pytest.importorskip("mpmath")
    monkeypatch.setattr(weight_rows, "COLUMNS", 4)
    # On a line of short binary fractions products are exact; what remains is exponent, exponential and integers.
    rows = np.linspace(-1.5, 1.5, 13, dtype=np.float32)[:, None]
    ids = np.arange(13, dtype=np.int32)
    kernel = SelectionRows(rows, Euclidean(), ids, ids, rate=rate, cap=2.9).by_masses()
    with mpmath.workdps(60):
        worst = max(
            abs(float(mpmath.log(mpmath.mpf(p.numerator) / p.denominator / q)))
            for word in (0, 6)
            for p, q in zip(
                realized_law(kernel, word)[0], ideal_law(mpmath, rows, word, rate, 2.9, np.ones(13)), strict=True
            )
        )
    assert 0 < worst <= kernel.arithmetic_slack() / 2


def test_the_slack_grows_with_the_reach_and_ends_in_infinity():
    slacks = [make(rate=rate, cap=3.0)[0].arithmetic_slack() for rate in (1.0, 8.0, 11.0, 12.5, 40.0, 300.0)]
    assert slacks == sorted(slacks)
    assert slacks[0] < 1e-4
    assert math.isinf(slacks[-1])
    assert math.isinf(make(rate=1.0, cap=math.inf)[0].arithmetic_slack())
