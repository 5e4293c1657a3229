"""Kernels for any metric: the same law as the formula, from a matrix, a function or rows made beforehand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.oracles import random_words
from tests.kernels.test_ideal import unbounded

import seeds
from wordveil.errors import ParameterError
from wordveil.kernels.distance_sources import CoordinateSource, TableSource
from wordveil.kernels.ideal import IdealRows
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.mechanisms import precomputation as near_module
from wordveil.mechanisms.precomputation import NearRows, NearSize, near_size
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Precomputed
from wordveil.metrics.table import LARGEST_TABLE, DistanceTable
from worlds import distances


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
    source = TableSource(metric)
    rows = PairwiseRows(source, metric, outputs, rate=rate, cap=cap)
    return rows, NearRows(rows, source, pairs=near_size(source, outputs, cap).pairs)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.05, 6.0), st.integers(0, 2), st.booleans())
def test_rows_made_beforehand_draw_the_same_words(seed, v, cap, skip, aimed):
    """At random, at both ends, and at edges to the last of 64 bits; the twin that never asks draws others."""
    table = metric_table(seed, v=v, duplicates=min(2, v // 2))
    outputs = np.arange(min(skip, v - 1), v, dtype=np.int32)
    rows, kernel = both(table, rate=1.0, cap=cap, outputs=outputs)
    words = random_words(seed, 40, kernel)
    ids = seeds.rng(seed).integers(0, v, 40).astype(np.int32)
    for i in range(40 * aimed):
        sums = np.cumsum(rows.weights(ids[i : i + 1])[0])
        words[i, 0] = min(int(sums[i % len(sums)] / sums[-1] * 2.0**64) + i % 5 - 2, 2**64 - 1)
    words[:3, 0] = 0, 2**64 - 1, 2**63
    assert kernel.draw(ids, words).tolist() == rows.draw(ids, words).tolist()


def test_edges_between_rows_made_beforehand_need_their_bound(monkeypatch):
    """The broken twin, whose bound is nothing, takes one side of edges that lie within it."""
    rows, kernel = both(metric_table(), rate=1.1, cap=2.0)
    ids = np.repeat(np.arange(5, dtype=np.int32), 59)
    words = random_words(1, len(ids), kernel)
    sums = np.cumsum(rows.weights(ids[::59]), axis=1)
    edges = (sums / sums[:, -1:])[:, :59].ravel()
    words[:, 0] = [min(int(edge * 2.0**64) + i % 5 - 2, 2**64 - 1) for i, edge in enumerate(edges.tolist())]
    drawn = rows.draw(ids, words)
    assert np.array_equal(kernel.draw(ids, words), drawn)
    monkeypatch.setattr(IdealRows, "error", lambda rows, terms: 0.0)
    monkeypatch.setattr(near_module, "ends", unbounded)
    assert not np.array_equal(kernel.draw(ids, words), drawn)


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
    metric = Precomputed(label="L1", vocabulary="ab", table=DistanceTable(table))
    source, outputs = TableSource(metric), np.arange(5, 60, dtype=np.int32)
    size = near_size(source, outputs, 1.0)
    assert size == NearSize(words=60, pairs=int((table[:56, 5:] < 1.0).sum()))  # four words share the rows of others
    assert size.bytes == 12 * size.pairs + 16 * 61
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


def test_a_table_is_its_values():
    table = metric_table(v=300)
    known = DistanceTable(table)
    assert known == DistanceTable(table.copy())
    assert hash(known) == hash(DistanceTable(table.copy()))
    assert known != DistanceTable(table * 2)
    assert known.canonical.tolist() == (table == 0).argmax(axis=1).tolist()
    assert known.canonical[-4:].tolist() == [0, 1, 2, 3]
    assert "matrix" not in repr(known)
    assert known.checksum in repr(known)
    assert LARGEST_TABLE == 20_000
