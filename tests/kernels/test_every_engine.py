"""Every engine on every kind of vocabulary: the oracle's answers, and the same bytes whatever the settings."""

import numpy as np
import pytest
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
from wordveil.metrics.distances import Euclidean, Mahalanobis
from worlds import SHAPES, distances, spread

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
