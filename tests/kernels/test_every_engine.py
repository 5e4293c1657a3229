"""Every engine on every kind of vocabulary: the oracle's answers, the same bytes, errors as stated."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.engines_here import every_decoding, every_selecting
from tests.kernels.oracles import (
    hold_against_the_oracle,
    ideal_draw,
    queries_near,
    random_words,
    rows_of,
    same_in_any_batch,
)

from seeds import rng
from wordveil.kernels import selection, weight_rows
from wordveil.kernels.compiled.nearest_words import CompiledScreen
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.tile_screen import TileScreen
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from wordveil.randomness import multiply_high
from worlds import SHAPES, clustered, distances, duplicates, grid, same, scattered, spread

every_vocabulary = pytest.mark.parametrize("make", SHAPES, ids=lambda f: f.__name__)


@every_decoding
@every_vocabulary
@pytest.mark.parametrize(("v", "d"), [(1, 3), (513, 1), (1500, 29), (2100, 70)])
def test_nearest_words_equal_the_oracle(engine, make, v, d):
    vectors = make(3, v, d)
    outputs = np.arange(0, v, 2 if v > 1 else 1, dtype=np.int32)
    queries = queries_near(vectors)
    words = NearestWords(vectors, outputs)
    assert words.engine == engine
    hold_against_the_oracle(words, vectors, outputs, queries, min(7, len(outputs)))


@every_decoding
@every_vocabulary
def test_decoding_gives_the_same_bytes_for_any_tile_thread_and_block(monkeypatch, engine, make):
    vectors = make(9, 500, 11)
    outputs = np.arange(500, dtype=np.int32)
    queries = np.concatenate([queries_near(vectors)] * 2)
    ids, lengths = NearestWords(vectors, outputs).top(queries, 3, threads=1)
    for rows, words in ((37, 101), (64, 200), (1000, 4096)):
        monkeypatch.setattr(TileScreen, "tile", (rows, words))
        monkeypatch.setattr(CompiledScreen, "rows", rows)
        search = NearestWords(vectors, outputs)
        for threads in (1, 3):
            found = search.top(queries, 3, threads=threads)
            assert found[0].tobytes() == ids.tobytes()
            assert found[1].tobytes() == lengths.tobytes()
    blocks = [search.top(queries[low : low + 77], 3, threads=2) for low in range(0, len(queries), 77)]
    assert np.concatenate([block[0] for block in blocks]).tobytes() == ids.tobytes()
    assert np.concatenate([block[1] for block in blocks]).tobytes() == lengths.tobytes()


def kernel_of(vectors):
    """Rows whose rate and cap suit the vocabulary's distances, so that weights are neither all 1 nor all 0."""
    table = distances(Euclidean(), vectors[:40], vectors)
    cap = float(np.quantile(table, 0.7)) or 1.0
    return rows_of(vectors, rate=8.0 / cap, cap=cap)


@pytest.mark.slow
@every_selecting
@every_vocabulary
def test_selection_follows_the_formula_and_the_slow_draw(engine, make):
    vectors = make(2, 1300, 13)
    kernel, ids = kernel_of(vectors), np.arange(0, 1300, 190, dtype=np.int32)
    assert kernel.engine == engine
    if make is not spread:  # norms of 1e12 beside words of 1e-12 leave no digits to weights from products
        table = np.minimum(distances(Euclidean(), vectors[ids], vectors), kernel.cap)
        masses = np.add.reduceat(np.exp(-kernel.rate * table), kernel._edges[:-1], axis=1)
        off = np.log(kernel.masses(kernel.canonical[ids]) / masses)
        assert np.abs(off).max() <= kernel.weight_error(weight_rows.UNIT) < 0.05
    words = random_words(1, len(ids), kernel)
    assert kernel.draw(ids, words, threads=1).tolist() == [
        ideal_draw(kernel, i, w) for i, w in zip(ids.tolist(), words, strict=True)
    ]


def test_coordinates_do_not_depend_on_their_batch():
    metric = Mahalanobis(whitening=rng(0).standard_normal((37, 37)))
    vectors = rng(1).standard_normal((500, 37)).astype(np.float32)
    whole = same_in_any_batch(metric.coordinates, vectors, (1, 2, 7, 59, 64, 100))
    np.testing.assert_allclose(whole, vectors.astype(np.float64) @ metric.whitening, rtol=0, atol=1e-12)


@pytest.mark.slow
@every_selecting
@every_vocabulary
def test_selection_gives_the_same_bytes_for_any_batch_thread_and_block(monkeypatch, engine, make):
    kernel = kernel_of(make(4, 1300, 37))
    ids = np.unique(kernel.canonical)[::4]
    same_in_any_batch(kernel.masses, ids, (1, 2, 5, 13))
    tokens = rng(1).integers(0, 1300, 500).astype(np.int32)
    words = random_words(2, 500, kernel)
    drawn = kernel.draw(tokens, words, threads=1)
    order = rng(3).permutation(500)
    assert np.array_equal(kernel.draw(tokens[order], words[order], threads=2), drawn[order])
    for low in range(0, 28, 7):
        assert np.array_equal(kernel.draw(tokens[low : low + 7], words[low : low + 7]), drawn[low : low + 7])
    for span, fewest in ((5, 1), (64, 64), (4096, 1)):
        monkeypatch.setattr(selection, "SPAN", span)
        monkeypatch.setattr(selection, "FEWEST", fewest)
        job = kernel.with_cache(1 << 20)  # which computes rows, and then has them
        for threads in (3, 1):
            assert np.array_equal(job.draw(tokens, words, threads=threads), drawn)


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
