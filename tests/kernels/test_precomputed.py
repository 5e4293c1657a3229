"""Kernels for any metric: the same law as the formula, from a matrix, a function or rows made beforehand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.oracles import random_words

import seeds
from wordveil.errors import ParameterError
from wordveil.kernels import pairwise
from wordveil.kernels.distance_sources import CoordinateSource, TableSource
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.mechanisms import precomputation as near_module
from wordveil.mechanisms.precomputation import NearRows, NearSize, near_size
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Precomputed, distances
from wordveil.metrics.table import LARGEST_TABLE, DistanceTable


def metric_table(seed=0, v=60, d=3, duplicates=4):
    """Return an L1 distance matrix with some words at distance 0 from others."""
    rows = seeds.rng(seed).integers(-40, 40, (v, d)).astype(np.float64) / 16
    rows[v - duplicates :] = rows[:duplicates]
    return np.abs(rows[:, None] - rows[None]).sum(axis=2)


def both(table, rate=1.5, cap=2.0, outputs=None):
    """Return rows drawn one at a time, and rows made beforehand, of one matrix."""
    known = DistanceTable(table)
    outputs = np.arange(len(table), dtype=np.int32) if outputs is None else outputs
    metric = Precomputed(label="L1", vocabulary="ab", table=known)
    source = TableSource(known)
    pairs = near_size(source, outputs, cap).pairs
    return (
        PairwiseRows(source, metric, outputs, rate=rate, cap=cap),
        NearRows(source, metric, outputs, rate=rate, cap=cap, pairs=pairs),
    )


@pytest.mark.parametrize("columns", [512, 7])
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("cap", [0.01, 2.0, 50.0])
def test_weights_and_normalizers_equal_the_formula(monkeypatch, columns, some, cap):
    monkeypatch.setattr(pairwise, "COLUMNS", columns)
    monkeypatch.setattr(near_module, "TILE", 500)
    table = metric_table()
    outputs = np.arange(3, 59, 2, dtype=np.int32) if some else np.arange(60, dtype=np.int32)
    expected = np.exp(-1.5 * np.minimum(table[:, outputs], cap))
    ids = np.arange(60, dtype=np.int32)
    for kernel in both(table, cap=cap, outputs=outputs):
        np.testing.assert_allclose(kernel.weights(ids), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.log_normalizers(ids), np.log(expected.sum(axis=1)), rtol=0, atol=1e-12)
        assert kernel.weights(ids[-4:]).tobytes() == kernel.weights(ids[:4]).tobytes()
        assert kernel.with_cache(1 << 20).weights(ids).tobytes() == kernel.weights(ids).tobytes()
        assert kernel.weights(ids[:0]).shape == (0, len(outputs))
        assert kernel.draw(ids[:0], np.zeros((0, 2), dtype=np.uint64)).shape == (0,)


def oracle_near_draw(table, outputs, rate, cap, word, first, second):
    """One draw of the precomputed form by plain integers and loops."""
    far = [y for y in range(len(outputs)) if not table[word, outputs[y]] < cap]
    near = [y for y in range(len(outputs)) if table[word, outputs[y]] < cap]
    lone = math.exp(-rate * cap)
    weights = [float(np.exp(-rate * table[word, outputs[y]])) for y in near]
    unit = 2.0 ** (62 - math.ceil(math.log2(sum(weights) + len(far) * lone + 1)))
    integers = [int(np.rint(w * unit)) for w in weights]
    target = first * (sum(integers) + len(far) * int(np.rint(lone * unit))) >> 64
    for y, weight in zip(near, integers, strict=True):
        if target < weight:
            return outputs[y]
        target -= weight
    return outputs[far[second * len(far) >> 64]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.05, 6.0), st.integers(0, 2))
def test_precomputed_draws_equal_a_loop_over_plain_integers(seed, v, cap, skip):
    table = metric_table(seed, v=v, duplicates=min(2, v // 2))
    outputs = np.arange(min(skip, v - 1), v, dtype=np.int32)
    _, kernel = both(table, rate=1.0, cap=cap, outputs=outputs)
    words = random_words(seed, 40, kernel)
    words[:3, 0] = 0, 2**64 - 1, 2**63
    words[:3, 1] = 2**64 - 1, 0, 2**64 - 1
    ids = seeds.rng(seed).integers(0, v, 40).astype(np.int32)
    expected = [
        oracle_near_draw(table, outputs, 1.0, cap, int(i), int(a), int(b)) for i, (a, b) in zip(ids, words, strict=True)
    ]
    assert kernel.draw(ids, words).tolist() == expected


@pytest.mark.parametrize("which", ["one row at a time", "made beforehand"])
def test_draws_do_not_depend_on_batch_order_or_threads(which):
    kernel = both(metric_table())[which == "made beforehand"]
    ids = seeds.rng(3).integers(0, 60, 2000).astype(np.int32)
    words = random_words(4, len(ids), kernel)
    done = []
    whole = kernel.draw(ids, words, threads=1, progress=done.append)
    assert sum(done) == len(ids)
    np.testing.assert_array_equal(kernel.draw(ids, words, threads=3), whole)
    order = seeds.rng(5).permutation(len(ids))
    np.testing.assert_array_equal(kernel.draw(ids[order], words[order], threads=2), whole[order])
    parts = [kernel.draw(ids[:7], words[:7]), kernel.draw(ids[7:], words[7:])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def change_points(draw, count):
    """Return how many 64-bit words fall below each of `count` + 1 ascending answers of `draw`, by bisection."""
    low, high = [0] * count, [2**64] * count
    for _ in range(65):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        value = draw([min(m, 2**64 - 1) for m in middle])
        for k in range(count):
            if low[k] < high[k]:
                low[k], high[k] = (middle[k] + 1, high[k]) if value[k] <= k else (low[k], middle[k])
    return [0, *low]


def realized_law(kernel, word, near):
    """Return the exact probability of every output, found through `draw` alone: ascending near words, then the rest."""
    v = len(kernel.outputs)
    far = [y for y in range(v) if y not in near]
    rank = {y: i for i, y in enumerate(near)} | dict.fromkeys(far, len(near))

    def first(words):
        pairs = np.array([[w, 0] for w in words], dtype=np.uint64)
        return [rank[int(y)] for y in kernel.draw(np.full(len(words), word, dtype=np.int32), pairs)]

    def second(words):
        pairs = np.array([[2**64 - 1, w] for w in words], dtype=np.uint64)
        return [far.index(int(y)) for y in kernel.draw(np.full(len(words), word, dtype=np.int32), pairs)]

    ends = [*change_points(first, len(near)), 2**64]
    law = {y: Fraction(ends[i + 1] - ends[i], 2**64) for i, y in enumerate(near)}
    if far:
        inner = [*change_points(second, len(far) - 1), 2**64]
        beyond = Fraction(2**64 - ends[len(near)], 2**64)
        law |= {y: beyond * Fraction(inner[i + 1] - inner[i], 2**64) for i, y in enumerate(far)}
    assert sum(law.values()) == 1
    return [law[y] for y in range(v)]


def realized_law_in_blocks(kernel, word, width):
    """Return the exact probability of every output where blocks of equal width are picked by the first word."""
    v = len(kernel.outputs)
    same = np.full(v, word, dtype=np.int32)

    def draw(words):
        return kernel.draw(same[: len(words)], np.array(words, dtype=np.uint64)).astype(int)

    ends = [*change_points(lambda ws: (draw([[w, 0] for w in ws]) // width).tolist(), v // width - 1), 2**64]
    law = []
    for block in range(v // width):
        inner = [
            *change_points(lambda ws, b=block: (draw([[ends[b], w] for w in ws]) % width).tolist(), width - 1),
            2**64,
        ]
        mass = Fraction(ends[block + 1] - ends[block], 2**64)
        law += [mass * Fraction(inner[i + 1] - inner[i], 2**64) for i in range(width)]
    assert sum(law) == 1
    return law


@pytest.mark.parametrize("which", ["one row at a time", "made beforehand"])
@pytest.mark.parametrize(("rate", "cap"), [(1.0, 1.0), (9.0, 2.0), (14.0, 2.5), (17.0, 2.0)])
def test_the_slack_covers_the_realized_law(monkeypatch, which, rate, cap):
    mpmath = pytest.importorskip("mpmath")
    monkeypatch.setattr(pairwise, "COLUMNS", 4)
    table = metric_table(v=12, d=1, duplicates=1) / 2
    kernel = both(table, rate=rate, cap=cap)[which == "made beforehand"]
    worst = 0.0
    with mpmath.workdps(60):
        for word in (0, 5, 11):
            ideal = [mpmath.exp(-mpmath.mpf(rate) * min(mpmath.mpf(float(s)), cap)) for s in table[word]]
            if which == "made beforehand":
                law = realized_law(kernel, word, np.flatnonzero(table[word] < cap).tolist())
            else:
                law = realized_law_in_blocks(kernel, word, 4)
            total = mpmath.fsum(ideal)
            for p, q in zip(law, ideal, strict=True):
                worst = max(worst, abs(float(mpmath.log(mpmath.mpf(p.numerator) / p.denominator * total / q))))
    assert 0 < worst <= kernel.arithmetic_slack() / 2


def test_slacks_grow_with_the_reach_and_end_in_infinity():
    for place in (0, 1):
        slacks = [both(metric_table(), rate=rate)[place].arithmetic_slack() for rate in (1.0, 8.0, 14.0, 20.5, 400.0)]
        assert slacks == sorted(slacks)
        assert slacks[0] < 1e-12
        assert slacks[2] < 1e-3
        assert math.isinf(slacks[-1])
    unsure = TableSource(DistanceTable(metric_table()), error=1e-3)
    rows = PairwiseRows(unsure, Euclidean(), np.arange(60, dtype=np.int32), rate=2.0, cap=1.0)
    assert rows.arithmetic_slack() >= 4 * 2.0 * 1e-3


@pytest.mark.parametrize(
    "metric", [Euclidean(), Angular(), Mahalanobis(whitening=np.diag([1.0, 2.0, 3.0]))], ids=lambda m: m.name
)
def test_distances_of_closed_forms_stay_within_the_stated_error(metric):
    rows = seeds.rng(1).normal(size=(40, 3)).astype(np.float32) + 9
    rows[1:20] = np.nextafter(rows[20:39], np.float32(99))
    rows[39] = rows[0]
    canonical = np.arange(40, dtype=np.int32)
    canonical[39] = 0
    source = CoordinateSource(metric, rows, canonical)
    words = np.arange(39, dtype=np.int32)
    found = source.block(words, canonical)
    exact = distances(metric, rows[:39], rows)
    assert np.all(found[0, [0, 39]] == 0)
    assert np.abs(found - exact).max() <= source.error < 1e-4


def test_the_size_is_counted_first():
    table = metric_table()
    source, outputs = TableSource(DistanceTable(table)), np.arange(5, 60, dtype=np.int32)
    size = near_size(source, outputs, 1.0)
    assert size == NearSize(words=60, pairs=int((table[:56, 5:] < 1.0).sum()))  # four words share the rows of others
    assert size.bytes == 20 * size.pairs + 32 * 61
    assert str(size) == f"{size.pairs} pairs of 60 words, 0.0 MiB"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda m: m[:, :-1], r"must be the shape \(v, v\)"),
        (lambda m: m[:0, :0], r"must be the shape \(v, v\)"),
        (lambda m: with_entry(m, 1, 2, -0.5), r"entry \(1, 2\).*negative"),
        (lambda m: with_entry(m, 299, 300, math.inf), r"entry \(299, 300\).*non-finite"),
        (lambda m: with_entry(m, 3, 4, math.nan), r"entry \(3, 4\).*non-finite"),
        (lambda m: with_entry(m, 299, 299, 0.1), r"entry \(299, 299\).*word to itself"),
        (lambda m: with_entry(m, 270, 2, 77.0), r"entry \(2, 270\).*not symmetric"),
        (lambda m: with_entry(with_entry(m, 7, 9, 0.0), 9, 7, 0.0), r"entry \(9, 7\).*different rows"),
        (lambda m: m[0], "matrix="),
        (lambda m: m[0, 0], "matrix="),
        (lambda m: m[:2, :2].astype(str), "matrix="),
        (lambda m: m[:2, :2] * 1j, "matrix="),
        (lambda m: m[:2, :2] > 0, "matrix="),
    ],
)
def test_matrices_that_are_no_metric_are_refused(change, match):
    table = metric_table(v=301) + 1 - np.eye(301)
    with pytest.raises(ParameterError, match=match):
        DistanceTable(change(table))


def with_entry(matrix, i, j, value):
    other = matrix.copy()
    other[i, j] = value
    return other


def test_a_table_is_its_values_and_cannot_be_changed():
    table = metric_table(v=300)
    known = DistanceTable(table)
    assert known == DistanceTable(table.copy())
    assert hash(known) == hash(DistanceTable(table.copy()))
    assert known != DistanceTable(table * 2)
    assert known.canonical.tolist() == (table == 0).argmax(axis=1).tolist()
    assert known.canonical[-4:].tolist() == [0, 1, 2, 3]
    before = known.matrix.tobytes()
    table[:] = 7
    assert known.matrix.tobytes() == before
    with pytest.raises(ValueError, match="read-only"):
        known.matrix[0, 1] = 3
    assert "matrix" not in repr(known)
    assert known.checksum in repr(known)
    assert LARGEST_TABLE == 20_000
