"""The drawing kernel against the exact channel: distribution, bits, and the bound on what arithmetic adds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.oracles import random_words, rows_of

import seeds
from wordveil.kernels import weight_rows
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from wordveil.randomness import multiply_high
from worlds import clustered, distances, duplicates, grid, same


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
    np.testing.assert_allclose(kernel.weights(ids), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel.log_normalizers(ids), np.log(expected.sum(axis=1)), rtol=0, atol=1e-11)
    masses = kernel.masses(ids[:64])
    np.testing.assert_allclose(masses.sum(axis=1), expected[:64].sum(axis=1), rtol=1e-6)
    # A word and its duplicates: the same row, bit for bit.
    assert kernel.weights(ids[-10:]).tobytes() == kernel.weights(ids[:10]).tobytes()


@pytest.mark.parametrize("make_rows", [clustered, grid, duplicates, same], ids=lambda f: f.__name__)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("reach", [0.5, 28.0, 600.0])
@pytest.mark.parametrize("turned", [False, True])
def test_weights_lie_within_the_stated_error(make_rows, some, reach, turned):
    """From products, of a tile and of single pairs, beside differences; below e^-700 no logarithm is compared."""
    rows = make_rows(2, 700, 13) + np.float32(0.25 * turned)  # none is 0, which has no angle
    outputs = np.arange(3, 690, 3, dtype=np.int32) if some else None
    base = np.linspace(0.5, 2, len(outputs)) if some else None
    metric = Mahalanobis(whitening=np.diag(np.linspace(0.5, 2, 13))) if some else Euclidean()
    metric = Angular() if turned else metric
    table = distances(metric, rows, rows)
    cap = max(table.max() * 0.7, 1.0)
    kernel = rows_of(rows, metric=metric, outputs=outputs, base=base, rate=reach / cap, cap=cap)
    exact = np.exp(-kernel.rate * np.minimum(table[:, kernel.outputs], kernel.cap)) * (1 if base is None else base)
    allowed = math.expm1(kernel.weight_error(weight_rows.UNIT))
    ids, low, high = np.arange(700, dtype=np.int32), *kernel._edges[:2]
    tops = np.add.reduceat(exact, kernel._edges[:-1], axis=1)
    assert np.all(np.abs(kernel.masses(kernel.canonical[ids]) / tops - 1) <= allowed)
    single = kernel._close_weights(kernel._left(ids, 700), np.arange(700), np.zeros(700, dtype=np.int64))
    assert np.all(np.abs(single[:, : high - low] / exact[:, low:high] - 1) <= allowed)
    assert not single[:, high - low :].any()


def test_progress_counts_every_token():
    kernel, rows = make()
    done = []
    kernel.draw(np.arange(len(rows), dtype=np.int32), random_words(0, len(rows), kernel), progress=done.append)
    assert sum(done) == len(rows)
    done = []
    kernel.log_normalizers(np.arange(len(rows), dtype=np.int32), progress=done.append)
    assert sum(done) == len(rows)


def test_slack_grows_with_the_reach_and_ends_in_infinity():
    slacks = [make(rate=rate, cap=3.0)[0].masses_slack() for rate in (1.0, 8.0, 11.0, 12.5, 40.0, 300.0)]
    assert slacks == sorted(slacks)
    assert slacks[0] < 1e-4
    assert math.isinf(slacks[-1])
    assert make(rate=150.0)[0].arithmetic_slack() == 0
    assert math.isinf(make(rate=1.0, cap=math.inf)[0].arithmetic_slack())
