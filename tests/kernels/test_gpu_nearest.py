"""The card's search against the obvious one: on CPU tensors, in Triton's interpreter, on a card where there is one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.engines_here import ENGINES, modules
from tests.kernels.oracles import hold_against_the_oracle, oracle, queries_near

from seeds import rng
from wordveil.errors import ParameterError
from wordveil.kernels.nearest import NearestWords
from worlds import clustered, duplicates, grid, same, scattered, spread


@pytest.fixture(params=ENGINES)
def gpu(request):
    return modules(request.param)


def some(gpu, n):
    """Return n, or a few of them for the interpreter, which takes milliseconds for each step of each program."""
    return max(3, n // 4) if gpu.engine == "interpreter" else n


VOCABULARIES = [scattered, clustered, grid, spread, duplicates, same]


def search_for(gpu, vectors, outputs=None, **tiles):
    outputs = np.arange(len(vectors), dtype=np.int32) if outputs is None else outputs
    tiles = gpu.screening.Tiles(**{"rows": 32, "words": 128, "depth": 32, **tiles})
    search = gpu.nearest.GpuNearestWords(vectors, outputs, device=gpu.device, tiles=tiles)
    assert search.screen.triton == (gpu.engine != "torch")
    return search


@pytest.mark.parametrize("make", VOCABULARIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("v", "d"), [(1, 3), (257, 1), (600, 29), (900, 70)])
def test_nearest_words_equal_the_oracle(gpu, make, v, d):
    vectors = make(3, v, d)
    outputs = np.arange(0, v, 2 if v > 1 else 1, dtype=np.int32)
    queries = queries_near(vectors, *2 * [some(gpu, 12)])
    k = min(7, len(outputs))
    distances = hold_against_the_oracle(search_for(gpu, vectors, outputs), vectors, outputs, queries, k)
    assert distances.tobytes() == NearestWords(vectors, outputs).top(queries, k)[1].tobytes()


@pytest.mark.parametrize("tiles", [{"lanes": 1}, {"words": 256, "depth": 64}, {"rows": 16, "words": 64, "lanes": 16}])
def test_answers_do_not_depend_on_the_tiles(gpu, tiles):
    vectors = clustered(1, 700, 61)
    queries = queries_near(vectors, *2 * [some(gpu, 10)])
    expected = search_for(gpu, vectors).nearest(queries)
    assert np.array_equal(search_for(gpu, vectors, **tiles).nearest(queries), expected)


def test_queries_whose_groups_do_not_fit_are_compared_with_every_word(gpu, monkeypatch):
    monkeypatch.setattr(gpu.nearest, "ROOM", 1)
    vectors = clustered(2, 500, 20)
    queries = queries_near(vectors, 10, 10)
    search = search_for(gpu, vectors)
    compared = []
    whole = search._among_all
    monkeypatch.setattr(search, "_among_all", lambda rows, *rest: compared.append(len(rows)) or whole(rows, *rest))
    assert np.array_equal(search.nearest(queries), oracle(vectors, np.arange(500), queries, 1)[:, 0])
    assert sum(compared) > 0


def test_chunks_fit_the_free_memory_and_change_nothing(gpu, monkeypatch):
    vectors, done = scattered(4, 400, 9), []
    queries = queries_near(vectors, 40, 40)
    search = search_for(gpu, vectors)
    expected = search.nearest(queries)
    monkeypatch.setattr(gpu.nearest, "free_bytes", lambda device: 0)
    assert search.chunk_rows() == search.screen.tiles.rows
    assert np.array_equal(search.nearest(queries, progress=done.append), expected)
    assert done == [32, 32, 32, 121 - 96]


def test_queries_that_cannot_be_written_are_read(gpu):
    vectors = scattered(0, 100, 5)
    queries = vectors[:4].copy()
    queries.flags.writeable = False
    assert search_for(gpu, vectors).nearest(queries).tolist() == [0, 1, 2, 3]


def scores_and_bounds(gpu, vectors, queries):
    """Best scores of groups: as screened, exact, and the stated bound; float64, shape (n, groups)."""
    torch = gpu.backend.torch
    search = search_for(gpu, vectors)
    screen = search.screen
    packed = gpu.nearest.pack_queries(torch.from_numpy(queries).to(gpu.device), screen.words, 32)
    found = screen.maxima(packed)[: len(queries)].double().cpu().numpy()
    centre = screen.words.centre.cpu().numpy()
    words, centred = vectors.astype(np.float64) - centre, queries - centre
    exact = centred @ words.T - 0.5 * np.einsum("ij,ij->i", words, words)
    columns = screen.columns(torch.arange(screen.groups, device=gpu.device)).cpu().numpy()
    best = np.full(found.shape, -np.inf)
    for group, members in enumerate(columns):
        members = members[members < len(vectors)]
        if len(members):
            best[:, group] = exact[:, members].max(axis=1)
    return found, best, screen._bounds(packed).double().cpu().numpy()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), v=st.integers(1, 300), d=st.integers(1, 40), exponent=st.integers(-30, 12))
def test_every_exact_score_lies_within_the_stated_bound(gpu, seed, v, d, exponent):
    vectors = (rng(seed).standard_normal((v, d)) * 10.0**exponent).astype(np.float32)
    queries = rng(seed + 1).standard_normal((5, d)) * 10.0**exponent
    found, exact, bound = scores_and_bounds(gpu, vectors, queries)
    real = np.isfinite(exact[0])
    # The product of the oracle is itself rounded; float64 rounding is nothing beside these bounds.
    assert np.all(np.abs(found - exact)[:, real] <= bound[:, real] * (1 + 1e-6))


def test_a_screen_that_forgets_its_bounds_is_caught(gpu):
    """The broken twin: with all bounds at nothing, words close together must be confused."""
    torch = gpu.backend.torch
    vectors = clustered(0, 600, 60)
    queries = vectors[::10] + 5e-4 * rng(1).standard_normal((60, 60))
    nearest = oracle(vectors, np.arange(600), queries, 1)[:, 0]
    search = search_for(gpu, vectors)
    screen = search.screen
    packed = gpu.nearest.pack_queries(torch.from_numpy(queries).to(gpu.device), screen.words, 32)
    maxima = screen.maxima(packed)

    def kept():
        hits = screen.hits(maxima, packed, 1, screen.groups)
        columns = screen.columns(hits.group.long()).cpu().numpy()
        counts = hits.counts.cpu().numpy()
        return [word in columns[row, : counts[row]] for row, word in enumerate(nearest)]

    assert all(kept())
    screen.facts = torch.zeros_like(screen.facts)
    packed.allowance.zero_()
    assert not all(kept())


def test_devices_that_are_unknown_or_not_there_are_said_with_the_remedy():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    from wordveil.kernels.gpu.backend import open_device

    for name in ("tpu", "cuda:x", "cpu:1", ""):
        with pytest.raises(ParameterError, match=rf"device='{name}' must be cpu, cuda or cuda:N"):
            open_device(name)
    beyond = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ParameterError, match=rf"device='{beyond}' needs an NVIDIA card.*Use device='cpu', or install"):
        open_device(beyond)
