"""The drawing kernel against the exact channel: distribution, bits, and the bound on what arithmetic adds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.oracles import rows_of

from wordveil.kernels import weight_rows
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from wordveil.randomness import multiply_high
from worlds import clustered, distances, duplicates, grid, same, scattered


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_multiply_high_is_the_high_half_of_the_product(a, b):
    found = multiply_high(np.array([a], dtype=np.uint64), np.array([b], dtype=np.uint64))
    assert int(found[0]) == a * b >> 64


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


def test_slack_grows_with_the_reach_and_ends_in_infinity():
    rows = scattered(0, 130, 6)
    slacks = [rows_of(rows, rate=rate).masses_slack() for rate in (1.0, 8.0, 11.0, 12.5, 40.0, 300.0)]
    assert slacks == sorted(slacks)
    assert slacks[0] < 1e-4
    assert math.isinf(slacks[-1])
    assert rows_of(rows, rate=150.0).arithmetic_slack() == 0
    assert math.isinf(rows_of(rows, rate=1.0, cap=math.inf).arithmetic_slack())
