"""The card's draws: the exact law of the integers they are made of, against float64 and the slack that is claimed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.engines_here import ENGINES, modules
from tests.kernels.oracles import rows_of

from seeds import rng
from wordveil.metrics.distances import Euclidean, Mahalanobis
from wordveil.randomness import multiply_high
from worlds import clustered, distances, duplicates, grid

WORD = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1])


@pytest.fixture(params=ENGINES)
def gpu(request):
    return modules(request.param)


def selection_for(gpu, rows):
    selection = gpu.selection.GpuSelection(rows, device=gpu.device)
    assert selection.triton == (gpu.engine != "torch")
    return selection


def integer_law(selection, input_id):
    """Integer masses of the blocks and integer weights inside each, as the draw uses them, in Python integers."""
    torch = pytest.importorskip("torch")
    inputs = selection._inputs(np.array([selection.canonical[input_id]], dtype=np.int32))
    bounds = selection._mass_bounds(inputs)[0].tolist()
    blocks = torch.arange(selection.blocks, device=selection.device)
    weights = selection._within(inputs, torch.zeros_like(blocks), blocks).double()
    counts = torch.round(weights * selection._inner_units[:, None]).long().tolist()
    masses = [high - low for low, high in zip([0, *bounds[:-1]], bounds, strict=True)]
    return masses, counts


def drawn_law(selection, rows, input_id):
    """The law over the outputs that these integers are."""
    masses, counts = integer_law(selection, input_id)
    shares = [m / sum(masses) * (c / sum(row)) for m, row in zip(masses, counts, strict=True) for c in row]
    return np.array(shares)[_places(rows)]


def least_word(target, total):
    """Return the least 64-bit word whose product with the total has this high half."""
    return -(-(target << 64) // total)


@given(a=st.lists(WORD, min_size=1, max_size=20), b=st.integers(0, 2**62))
def test_products_of_words_keep_their_high_half(a, b):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    from wordveil.kernels.gpu.selection import _multiply_high

    words, count = np.array(a, dtype=np.uint64), np.full(len(a), b, dtype=np.uint64)
    found = _multiply_high(torch.from_numpy(words.view(np.int64)), torch.from_numpy(count.view(np.int64)))
    assert found.tolist() == [x * b >> 64 for x in a] == multiply_high(words, count).tolist()


@pytest.mark.parametrize("make", [clustered, grid, duplicates], ids=lambda f: f.__name__)
@pytest.mark.parametrize("some", [False, True], ids=["all", "subset-with-base"])
@pytest.mark.parametrize("reach", [0.5, 28.0])
def test_the_law_drawn_from_lies_within_half_the_slack(gpu, make, some, reach):
    """Exact: each probability of one row may be off by half the slack, which counts two inputs."""
    vectors = make(2, 700, 13)
    outputs = np.arange(3, 690, 3, dtype=np.int32) if some else None
    base = np.linspace(0.5, 2, len(outputs)).astype(np.float32).astype(np.float64) if some else None
    metric = Mahalanobis(whitening=np.diag(np.linspace(0.5, 2, 13))) if some else Euclidean()
    cap = max(float(distances(metric, vectors[:50], vectors).max()) * 0.7, 1.0)
    rows = rows_of(vectors, metric=metric, outputs=outputs, base=base, rate=reach / cap, cap=cap)
    selection = selection_for(gpu, rows)
    assert 0 < selection.arithmetic_slack() < 1e-3
    for word in (0, 3, 699):
        found = drawn_law(selection, rows, word)
        table = distances(metric, vectors[word : word + 1], vectors[rows.outputs])[0]
        exact = np.exp(-rows.rate * np.minimum(table, rows.cap)) * (1 if base is None else base)
        exact /= exact.sum()
        assert np.abs(np.log(found / exact)).max() <= selection.arithmetic_slack() / 2
        assert 0.5 * np.abs(found - exact).sum() <= math.expm1(selection.arithmetic_slack() / 2)


def _places(rows):
    """Place of each output in the array of all blocks' columns."""
    block = np.searchsorted(rows._edges, np.arange(len(rows.outputs)), side="right") - 1
    return block * rows.width + np.arange(len(rows.outputs)) - rows._edges[block]


def test_a_rate_that_is_off_by_a_thousandth_breaks_the_law(gpu):
    """The broken twin of the law's check: the slack is far below what it would have to be."""
    vectors = rng(2).standard_normal((700, 13)).astype(np.float32)  # distances of about 5
    rows = rows_of(vectors, rate=2.8, cap=10.0)
    selection = selection_for(gpu, rows)
    selection._scale *= 1.001
    exact = np.exp(-2.8 * np.minimum(distances(Euclidean(), vectors[3:4], vectors)[0], 10.0))
    assert (
        np.abs(np.log(drawn_law(selection, rows, 3) / (exact / exact.sum()))).max() > selection.arithmetic_slack() / 2
    )


@pytest.mark.parametrize("with_base", [False, True])
def test_draws_are_the_inverse_of_the_integer_law(gpu, with_base):
    """The oracle: running sums in Python integers, for words at both ends of every output's share."""
    vectors = grid(0, 20, 3)
    selection = selection_for(gpu, rows_of(vectors, base=np.arange(20) % 3 * 1.0 if with_base else None))
    masses, counts = integer_law(selection, 5)
    assert len(masses) == 1
    total, below, words, expected = sum(counts[0]), 0, [], []
    for column, count in enumerate(counts[0]):
        for target in (below, below + count - 1) if count else ():
            words.append((0, least_word(target, total)))
            expected.append(column)
        below += count
    drawn = selection.draw(np.full(len(words), 5, dtype=np.int32), np.array(words, dtype=np.uint64))
    assert drawn.tolist() == expected


def test_blocks_are_drawn_by_their_integer_masses(gpu):
    selection = selection_for(gpu, rows_of(clustered(3, 1100, 4)))
    masses, _ = integer_law(selection, 7)
    assert len(masses) == 3
    edges, below, words, expected = selection._rows._edges, 0, [], []
    for block, mass in enumerate(masses):
        for target in (below, below + mass - 1):
            words.append((least_word(target, sum(masses)), 0))
            expected.append(block)
        below += mass
    drawn = selection.draw(np.full(len(words), 7, dtype=np.int32), np.array(words, dtype=np.uint64))
    assert (np.searchsorted(edges, drawn, side="right") - 1).tolist() == expected


def test_draws_are_the_same_in_any_batch(gpu, monkeypatch):
    n = 14 if gpu.engine == "interpreter" else 300
    selection = selection_for(gpu, rows_of(duplicates(4, 600, 7)))
    ids = rng(1).integers(0, 600, n).astype(np.int32)
    words = rng(2).integers(0, 2**64, (n, 2), dtype=np.uint64)
    done = []
    drawn = selection.draw(ids, words, progress=done.append)
    assert sum(done) == n
    parts = [selection.draw(ids[i : i + 5], words[i : i + 5]) for i in range(0, n, 5)]
    assert np.array_equal(np.concatenate(parts), drawn)
    monkeypatch.setattr(gpu.selection, "TOKENS", 3)
    monkeypatch.setattr(gpu.selection, "free_bytes", lambda device: 0)
    assert np.array_equal(selection.draw(ids, words), drawn)


def test_nothing_in_gives_nothing_out(gpu):
    drawn = selection_for(gpu, rows_of(grid(0, 20, 3))).draw(np.empty(0, np.int32), np.empty((0, 2), np.uint64))
    assert drawn.shape == (0,)
