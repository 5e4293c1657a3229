"""The exact search against the obvious one: float64 direct differences, lowest id on ties."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.oracles import nearest

from seeds import rng
from wordveil.errors import ParameterError
from wordveil.kernels import tile_screen
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.screening import NumberType
from wordveil.kernels.tile_screen import TileScreen


@pytest.fixture(autouse=True, params=["numpy", ""], ids=lambda e: e or "fastest")
def engine(request, monkeypatch):
    """Every test runs without a compiler and on the fastest engine that is built; the answers must be the same."""
    monkeypatch.setenv("WORDVEIL_ENGINE", request.param)
    return request.param


def check(vectors, queries, k=1, outputs=None):
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    outputs = np.arange(len(vectors), dtype=np.int32) if outputs is None else np.asarray(outputs, dtype=np.int32)
    search = NearestWords(vectors, outputs)
    ids, distances = search.top(queries, k)
    expected_ids, expected_distances = nearest(vectors, outputs, queries, k)
    assert ids.dtype == np.int32
    assert np.array_equal(ids, expected_ids)
    assert distances == pytest.approx(expected_distances, rel=1e-14)
    assert np.array_equal(search.nearest(queries), expected_ids[:, 0])
    return ids


def noisy(vectors, n, scale, seed=7):
    generator = rng(seed)
    chosen = vectors[generator.integers(0, len(vectors), n)].astype(np.float64)
    return chosen + scale * generator.standard_normal(chosen.shape)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 10, 63, 64, 65, 500, 5000])
def test_random_words(k):
    vectors = rng(0).standard_normal((5000, 20)).astype(np.float32)
    check(vectors, noisy(vectors, 700 if k < 100 else 20, 2.0), k)


@pytest.mark.parametrize("v", [1, 2, 63, 64, 65, 2047, 2048, 2049, 4096])
def test_every_way_the_last_tile_can_fill(v):
    vectors = rng(v).standard_normal((v, 5)).astype(np.float32)
    check(vectors, noisy(vectors, 30, 1.0), 1)
    check(vectors, noisy(vectors, 5, 1.0), v)


@pytest.mark.parametrize("d", [1, 2, 3, 128, 300])
def test_dimensions(d):
    vectors = rng(d).standard_normal((3000, d)).astype(np.float32)
    check(vectors, noisy(vectors, 40, 3.0), 3)


def test_tight_clusters():
    centres = rng(1).standard_normal((30, 10)) * 100
    vectors = np.repeat(centres, 100, axis=0) + 1e-4 * rng(2).standard_normal((3000, 10))
    check(vectors, noisy(vectors, 200, 1e-4), 5)


def test_words_far_from_the_origin_where_float32_scores_cancel():
    vectors = 1e6 + rng(3).standard_normal((3000, 8))
    check(vectors, noisy(np.float32(vectors), 100, 0.5), 4)


def test_many_duplicates_give_the_lowest_id():
    vectors = rng(4).integers(-2, 3, (4000, 3)).astype(np.float32)  # 125 distinct rows
    ids = check(vectors, vectors[rng(5).integers(0, 4000, 200)], 40)
    first = {tuple(row): i for i, row in reversed(list(enumerate(vectors.tolist())))}
    assert all(ids[:, 0] == [first[tuple(vectors[i].tolist())] for i in ids[:, 0]])


def test_ties_of_a_lattice():
    axis = np.arange(-6, 7)
    vectors = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    shuffled = vectors[rng(6).permutation(len(vectors))]
    corners = rng(7).integers(-6, 6, (100, 3)) + 0.5  # eight words tie for the first place
    ids = check(shuffled, corners, 8)
    assert len(np.unique(ids[0])) == 8
    check(shuffled, corners + np.array([0.0, 0.5, 0.5]), 2)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-10, 1e8, 1e14, 1e18, 1e25, 1e37])
def test_scales_of_the_words(scale):
    base = rng(8).standard_normal((2500, 6))
    vectors = (scale * base).astype(np.float32)
    check(vectors, scale * (base[:50] + 0.3 * rng(9).standard_normal((50, 6))), 3)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-40, 1e10, 1e16, 1e100])
def test_scales_of_the_queries(scale):
    vectors = rng(10).standard_normal((2500, 6)).astype(np.float32)
    check(vectors, scale * rng(11).standard_normal((30, 6)), 3)


def test_one_huge_query_does_not_change_its_neighbours_answers():
    vectors = rng(12).standard_normal((3000, 6)).astype(np.float32)
    queries = noisy(vectors, 40, 1.0)
    queries[7] *= 1e20
    check(vectors, queries, 2)


def test_only_outputs_are_found():
    vectors = rng(13).standard_normal((3000, 6)).astype(np.float32)
    outputs = np.sort(rng(14).choice(3000, 700, replace=False))
    ids = check(vectors, vectors[:300], 3, outputs)
    assert np.isin(ids, outputs).all()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 90), st.integers(1, 4), st.integers(1, 40), st.data())
def test_small_worlds(seed, v, d, n, data):
    vectors = rng(seed).integers(-3, 4, (v, d)) * data.draw(st.sampled_from([1.0, 0.1, 1e-3, 1e5]))
    queries = vectors[rng(seed + 1).integers(0, v, n)] + rng(seed + 2).integers(-2, 3, (n, d)) * 0.25
    check(vectors, queries, data.draw(st.integers(1, v)))


def test_answers_do_not_depend_on_batches_order_or_threads():
    vectors = rng(15).standard_normal((4000, 16)).astype(np.float32)
    search = NearestWords(vectors, np.arange(4000, dtype=np.int32))
    queries = noisy(vectors, 1300, 1.5)
    ids, distances = search.top(queries, 6, threads=1)
    order = rng(16).permutation(1300)
    for some, their in ((queries[order], order), (queries[:1], [0]), (queries[500:1100], range(500, 1100))):
        for threads in (1, 2, 5):
            answer = search.top(some, 6, threads=threads)
            assert np.array_equal(answer[0], ids[list(their)])
            assert np.array_equal(answer[1], distances[list(their)])


def test_progress_counts_every_query():
    vectors = rng(17).standard_normal((50, 3)).astype(np.float32)
    done = []
    NearestWords(vectors, np.arange(50, dtype=np.int32)).nearest(np.zeros((1200, 3)), threads=2, progress=done.append)
    assert sum(done) == 1200
    assert len(done) % 2 == 0


def test_no_queries_give_no_answers():
    search = NearestWords(np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32))
    ids, distances = search.top(np.empty((0, 3)), 2)
    assert ids.shape == distances.shape == (0, 2)


@pytest.mark.parametrize("k", [0, -1, 4])
def test_k_is_checked(k):
    search = NearestWords(np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32))
    with pytest.raises(ParameterError, match=rf"k={k} must be in \[1, 3\]"):
        search.top(np.eye(3), k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_queries_that_are_not_finite_are_refused_and_not_shown(bad):
    search = NearestWords(np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32))
    with pytest.raises(ParameterError, match="must be finite") as caught:
        search.nearest(np.array([[0.12345, bad, 0.0]]))
    assert "0.12345" not in str(caught.value)


@pytest.mark.parametrize("k", [1, 4])
def test_a_screen_without_its_rounding_bound_is_caught(monkeypatch, k, engine):
    """The broken twin: a screen that trusts its own scores must lose words that lie close together."""
    if engine != "numpy":
        pytest.skip("the screens are made here, whatever the engine")
    vectors = np.repeat(rng(3).standard_normal((30, 40)), 100, axis=0) + 3e-4 * rng(4).standard_normal((3000, 40))
    vectors, outputs = vectors.astype(np.float32), np.arange(3000, dtype=np.int32)
    queries = noisy(vectors, 200, 1e-6)
    nearest_ids = nearest(vectors, outputs, queries, k)[0]

    def lost():
        rows, columns = TileScreen(vectors, outputs).candidates(queries, k)
        kept = set(zip(rows.tolist(), columns.tolist(), strict=True))
        return sum((i, int(word)) not in kept for i, row in enumerate(nearest_ids) for word in row)

    assert lost() == 0
    real = NumberType.words
    monkeypatch.setattr(NumberType, "words", lambda self, c: (real(self, c)[0], np.zeros((3, len(c)))))
    assert lost() > 0


@pytest.mark.parametrize("k", [1, 3, 40])
def test_survivors_are_thinned_out_where_very_many_tie(monkeypatch, k):
    monkeypatch.setattr(tile_screen, "MOST_PAIRS", 500)
    vectors = rng(4).integers(-1, 2, (5000, 3)).astype(np.float32)  # 27 distinct rows
    queries = np.concatenate([vectors[:60] + 0.0, np.zeros((10, 3)), np.full((10, 3), 0.5)])
    outputs = np.arange(0, 5000, 2, dtype=np.int32)
    rows, columns = TileScreen(vectors, outputs).candidates(queries, k)
    kept = set(zip(rows.tolist(), outputs[columns].tolist(), strict=True))
    expected = nearest(vectors, outputs, queries, k)[0]
    assert all((i, int(word)) in kept for i, row in enumerate(expected) for word in row)
    assert len(kept) <= 4 * len(queries) * k + 80 * 512


@pytest.mark.parametrize("tile", [(1, 1), (7, 3), (64, 128), (1024, 64), (2048, 4096)])
@pytest.mark.parametrize("k", [1, 5])
def test_answers_do_not_depend_on_the_tile(monkeypatch, tile, k):
    monkeypatch.setenv("WORDVEIL_ENGINE", "numpy")
    monkeypatch.setattr(TileScreen, "tile", tile)
    vectors = rng(18).integers(-2, 3, (400, 6)).astype(np.float32)
    check(vectors, noisy(vectors, 30, 0.2), k)


def test_a_search_can_travel(engine):
    vectors = rng(19).standard_normal((3000, 12)).astype(np.float32)
    queries, search = noisy(vectors, 50, 1.0), NearestWords(vectors, np.arange(3000, dtype=np.int32))
    arrived = pickle.loads(pickle.dumps(search))
    assert arrived.engine == search.engine
    assert np.array_equal(arrived.nearest(queries), search.nearest(queries))
