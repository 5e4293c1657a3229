"""The exact search against the obvious one: float64 direct differences, lowest id on ties."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.engines_here import modules
from tests.kernels.oracles import hold_against_the_oracle, nearest

from seeds import rng
from wordveil.errors import ParameterError
from wordveil.kernels import tile_screen
from wordveil.kernels.nearest import NearestWords
from wordveil.kernels.screening import NumberType
from wordveil.kernels.tile_screen import TileScreen

CARD = ["torch", "card"]


@pytest.fixture(autouse=True, params=["numpy", "", *CARD], ids=lambda e: e or "fastest")
def engine(request, monkeypatch):
    """Every test runs without a compiler, on the fastest engine that is built and as on a card, to the same answers."""
    if request.param not in CARD:
        monkeypatch.setenv("WORDVEIL_ENGINE", request.param)
    return request.param


@pytest.fixture
def search_for(engine):
    """What makes a search of vectors, all of which may be found."""
    gpu = modules(engine) if engine in CARD else None

    def search(vectors):
        outputs = np.arange(len(vectors), dtype=np.int32)
        if gpu:
            return gpu.nearest.GpuNearestWords(vectors, outputs, device=gpu.device)
        return NearestWords(vectors, outputs)

    return search


@pytest.fixture
def check(search_for):
    def hold(vectors, queries, k):
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        hold_against_the_oracle(search_for(vectors), vectors, np.arange(len(vectors), dtype=np.int32), queries, k)

    return hold


def noisy(vectors, n, scale, seed=7):
    generator = rng(seed)
    chosen = vectors[generator.integers(0, len(vectors), n)].astype(np.float64)
    return chosen + scale * generator.standard_normal(chosen.shape)


@pytest.mark.parametrize("v", [1, 2, 63, 64, 65, 2047, 2048, 2049, 4096])
def test_every_way_the_last_tile_can_fill(check, v):
    vectors = rng(v).standard_normal((v, 5)).astype(np.float32)
    check(vectors, noisy(vectors, 30, 1.0), 1)
    check(vectors, noisy(vectors, 5, 1.0), v)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-10, 1e8, 1e14, 1e18, 1e25, 1e37])
def test_scales_of_the_words(check, scale):
    base = rng(8).standard_normal((2500, 6))
    vectors = (scale * base).astype(np.float32)
    check(vectors, scale * (base[:50] + 0.3 * rng(9).standard_normal((50, 6))), 3)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-40, 1e10, 1e16, 1e100])
def test_scales_of_the_queries(check, scale):
    vectors = rng(10).standard_normal((2500, 6)).astype(np.float32)
    check(vectors, scale * rng(11).standard_normal((30, 6)), 3)


def test_one_huge_query_does_not_change_its_neighbours_answers(check):
    vectors = rng(12).standard_normal((3000, 6)).astype(np.float32)
    queries = noisy(vectors, 40, 1.0)
    queries[7] *= 1e20
    check(vectors, queries, 2)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 90), st.integers(1, 4), st.integers(1, 40), st.data())
def test_small_worlds(check, seed, v, d, n, data):
    vectors = rng(seed).integers(-3, 4, (v, d)) * data.draw(st.sampled_from([1.0, 0.1, 1e-3, 1e5]))
    queries = vectors[rng(seed + 1).integers(0, v, n)] + rng(seed + 2).integers(-2, 3, (n, d)) * 0.25
    check(vectors, queries, data.draw(st.integers(1, v)))


def test_progress_counts_every_query():
    vectors = rng(17).standard_normal((50, 3)).astype(np.float32)
    done = []
    NearestWords(vectors, np.arange(50, dtype=np.int32)).nearest(np.zeros((1200, 3)), threads=2, progress=done.append)
    assert sum(done) == 1200
    assert len(done) % 2 == 0


def test_no_queries_give_no_answers(search_for):
    search = search_for(np.eye(3, dtype=np.float32))
    ids, distances = search.top(np.empty((0, 3)), 2)
    assert ids.shape == distances.shape == (0, 2)


@pytest.mark.parametrize("k", [0, -1, 4])
def test_k_is_checked(search_for, k):
    search = search_for(np.eye(3, dtype=np.float32))
    with pytest.raises(ParameterError, match=rf"k={k} must be in \[1, 3\]"):
        search.top(np.eye(3), k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_queries_that_are_not_finite_are_refused_and_not_shown(search_for, bad):
    search = search_for(np.eye(3, dtype=np.float32))
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


def test_a_search_can_travel(engine):
    vectors = rng(19).standard_normal((3000, 12)).astype(np.float32)
    queries, search = noisy(vectors, 50, 1.0), NearestWords(vectors, np.arange(3000, dtype=np.int32))
    arrived = pickle.loads(pickle.dumps(search))
    assert arrived.engine == search.engine
    assert np.array_equal(arrived.nearest(queries), search.nearest(queries))
