"""Draws by ideal weights, against mpmath; and for any metric: from a matrix, a function or rows made beforehand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.oracles import random_words
from tests.kernels.test_ceilings import exact_distance

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.kernels import ideal
from wordveil.kernels.distance_sources import CoordinateSource, TableSource
from wordveil.kernels.ideal import IdealRows
from wordveil.kernels.ideal_distances import Angles, Entries, Lengths
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.mechanisms import precomputation as near_module
from wordveil.mechanisms.precomputation import NearRows, NearSize, near_pairs, precomputed_size
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis, Precomputed
from wordveil.metrics.table import LARGEST_TABLE, DistanceTable
from worlds import distances

mpmath = pytest.importorskip("mpmath")
BITS = 200
V = 60
IDS = np.arange(V, dtype=np.int32)


def hard_vectors():
    """Of them some are a hair apart, parallel, opposite, or nearly so; their angles are near 0, pi/2 and pi."""
    rows = seeds.rng(3).normal(size=(V, 5)).astype(np.float32)
    rows[1], rows[2], rows[3] = 2 * rows[0], -rows[0], np.float32(1e-20) * rows[0]
    rows[4], rows[5] = np.nextafter(rows[0], np.float32(9)), -np.nextafter(rows[0], np.float32(9))
    rows[6:8] = np.eye(5, dtype=np.float32)[:2]
    rows[8] = rows[6] + np.float32(1e-12) * rows[7]
    return rows


def sources():
    vectors = hard_vectors()
    angles = Angles(lambda ids: wv.Angular().coordinates(vectors[ids]), vectors.__getitem__)
    lengths = Lengths(lambda ids: vectors[ids].astype(np.float64))
    table = np.abs(vectors[:, None].astype(np.float64) - vectors[None]).sum(axis=2)
    return {
        "lengths": (lengths, lambda x, y: exact_distance(wv.Euclidean(), vectors[x], vectors[y])),
        "angles": (angles, lambda x, y: exact_distance(wv.Angular(), vectors[x], vectors[y])),
        "matrix": (Entries(table), lambda x, y: mpmath.mpf(float(table[x, y]))),
    }


KINDS = ["lengths", "angles", "matrix"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_distances_lie_within_their_bounds_and_are_exact_to_any_digits(kind):
    distances, exact = sources()[kind]
    share, further = distances.errors
    with mpmath.workprec(600):
        for word in (0, 1, 4, 6, 30):
            floats = distances.floats(IDS[word : word + 1], IDS)[0]
            for digits in (40, 90):
                context = ideal.Context(prec=digits, Emin=-(10**9), Emax=10**9)
                for y, (near, number) in enumerate(zip(floats, distances.exactly(word, IDS)(context), strict=True)):
                    reference = exact(word, y)
                    assert abs(mpmath.mpf(str(number)) - reference) <= 3 * reference * mpmath.mpf(10) ** (1 - digits)
                    assert abs(mpmath.mpf(float(near)) - reference) <= share * reference + further
    assert share + further < 1e-14


def rows_of(kind, rate=3.0, cap=1.25, base=None):
    return IdealRows(distances=sources()[kind][0], outputs=IDS, base=base, rate=rate, cap=cap)


def edges(kind, word, rows):
    """Running sums of the ideal weights by mpmath, as shares of all."""
    weights = [mpmath.exp(-mpmath.mpf(rows.rate) * min(sources()[kind][1](word, y), rows.cap)) for y in range(V)]
    if rows.base is not None:
        weights = [w * mpmath.mpf(float(b)) for w, b in zip(weights, rows.base, strict=True)]
    sums = [mpmath.fsum(weights[: y + 1]) for y in range(V)]
    return [s / sums[-1] for s in sums]


def aimed(ends, n):
    """Random words, every other one within a few units of an edge in the last of 64 bits."""
    words = seeds.rng(5).integers(0, 2**64, (n, 2), dtype=np.uint64)
    for i in range(0, n, 2):
        words[i, 0] = min(max(int(mpmath.floor(ends[i // 2 % (V - 1)] * 2**64)) + i % 7 - 3, 0), 2**64 - 1)
    return words


def unbounded(points, tops, error):
    """The ends of shares as a twin has them that knows of no rounding."""
    return (points * 2.0**-64 * tops,) * 2


def reference(ends, words):
    """What 200 bits say, by the first 128 bits of the number; no edge lies within 2^-128 of one."""
    columns = []
    for row in words:
        draw = ideal.Draw(words=row, first=int(row[0]), number=ideal.WHOLE, ceiling=None)
        number = mpmath.mpf(draw.bits(128)) / mpmath.mpf(2) ** 128
        columns.append(sum(end <= number for end in ends))
    return columns


@every_kind
@pytest.mark.parametrize("based", [False, True])
def test_whole_rows_are_decided_as_200_bits_decide_them(monkeypatch, kind, based):
    """Aimed at edges; with every draw open as well. Three twins draw others: no bound, float32, a guess if unsure."""
    rows = rows_of(kind, base=np.linspace(0.5, 2.0, V) if based else None)
    with mpmath.workprec(BITS):
        ends = edges(kind, 7, rows)
        words = aimed(ends, 2 * V)
        expected = reference(ends, words)
    assert rows.whole(7, words).tolist() == expected
    with monkeypatch.context() as patch:
        patch.setattr(IdealRows, "error", lambda rows, terms: 0.5)
        assert rows.whole(7, words[:80]).tolist() == expected[:80]
    with monkeypatch.context() as patch:
        patch.setattr(IdealRows, "error", lambda rows, terms: 0.0)
        patch.setattr(ideal, "ends", unbounded)
        assert rows.whole(7, words).tolist() != expected, "without a bound"
    with monkeypatch.context() as patch:
        whole = IdealRows.weights
        patch.setattr(IdealRows, "weights", lambda *a: whole(*a).astype(np.float32).astype(np.float64))
        assert rows.whole(7, words).tolist() != expected, "in float32"
    with monkeypatch.context() as patch:
        guess = lambda sums, error, least, most: np.searchsorted(sums, least, side="right")  # noqa: E731
        patch.setattr(ideal, "_place", guess)
        assert rows.whole(7, words).tolist() != expected, "floats where they cannot tell"


def test_the_law_of_a_small_matrix_is_exactly_the_ideal_one():
    """Where each edge falls among 64 bits, by bisection through `draw`; by hand from the entries, in 60 digits."""
    table = np.abs(np.subtract.outer(*[np.array([0.0, 0.25, 1.0, 1.75, 4.0, 4.0])] * 2))
    known = DistanceTable(table)
    metric = wv.Precomputed(label="line", vocabulary="ab", table=known)
    rows = PairwiseRows(TableSource(metric), metric, np.arange(1, 6, dtype=np.int32), rate=9.0, cap=2.0)
    assert rows.arithmetic_slack() == 0
    for word in range(6):
        counts = [0]
        for y in range(1, 6):
            least, most = counts[-1], 2**64
            while least < most:
                middle = (least + most) // 2
                drawn = rows.draw(np.array([word], dtype=np.int32), np.array([[middle, 5]], dtype=np.uint64))[0]
                least, most = (middle + 1, most) if drawn <= y else (least, middle)
            counts.append(least)
        with mpmath.workdps(60):
            weights = [mpmath.exp(-9 * min(mpmath.mpf(float(s)), 2)) for s in table[word, 1:]]
            for y, weight in enumerate(weights):
                share = Fraction(counts[y + 1] - counts[y], 2**64)
                # Each of two edges is at most one number off, of 2^64.
                exact = weight / mpmath.fsum(weights)
                assert abs(mpmath.mpf(share.numerator) / share.denominator - exact) <= mpmath.mpf(2) ** -63
    assert math.isinf(PairwiseRows(TableSource(metric), metric, IDS[:6], rate=301.0, cap=2.0).arithmetic_slack())


def test_a_rate_at_which_errors_are_as_large_as_weights_is_refused():
    """Draws were decided as the first output there: both ends of a point were negative."""
    vectors = wv.Embeddings.from_arrays(
        ["aa", "bb", "cc", "dd"], np.array([[1, 0], [0, 1], [-1, 0], [1, 1]], np.float32)
    )
    for epsilon, cap in ((2e14, 5e-13), (1e12, 1e-10)):
        with pytest.raises(wv.WordveilError, match="at this epsilon"):
            wv.TEM(epsilon=epsilon, gamma=cap, beta=0.1, metric=wv.Angular()).fit(vectors)
    held = wv.TEM(epsilon=2e6, gamma=5e-5, beta=0.1, metric=wv.Angular()).fit(vectors)
    ids = np.arange(4, dtype=np.int32).repeat(50)
    drawn = held.randomize(ids, held.sample(seeds.source(1).stream("x"), len(ids)))
    assert set(drawn.tolist()) == {0, 1, 2, 3}


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
    pairs = sum(len(words) for words, _ in near_pairs(source, outputs, cap, None, None))
    return rows, NearRows(rows, source, pairs=pairs)


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


@pytest.mark.parametrize("kind", [TableSource, CoordinateSource], ids=lambda kind: kind.__name__)
def test_as_many_words_as_the_vocabulary_has_are_not_all_of_them(kind):
    """Four barred words and the eight nearest outputs of each were taken for all 32 words of a vocabulary, in order."""
    rows, words = seeds.rng(31).normal(size=(32, 3)), np.arange(32, dtype=np.int32)
    away = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
    table = wv.Precomputed(label="any", vocabulary="", table=DistanceTable(away), error=1e-9)
    source = TableSource(table) if kind is TableSource else CoordinateSource(wv.Euclidean(), rows, words)
    for asked in (words, words[::-1], np.repeat(words[4:8], 8), np.array([0, *words[:31]], np.int32)):
        np.testing.assert_allclose(source.block(words[:5], asked), away[:5, asked], atol=1e-6)


def test_the_size_is_counted_first():
    table = metric_table()
    words = [f"w{i}" for i in range(60)]
    known = wv.Embeddings.from_arrays(words, np.eye(60), candidate_rule="all").without_outputs(words[:5])
    metric = Precomputed(label="L1", vocabulary=known.checksum_in_use, table=DistanceTable(table))
    size = precomputed_size(wv.TEM(epsilon=1.0, gamma=1.0, metric=metric).fit(known))
    assert size == NearSize(words=60, pairs=int((table[:56, 5:] < 1.0).sum()))  # four words share the rows of others
    assert size.bytes == 12 * size.pairs + 16 * 61
    assert str(size) == f"{size.pairs} pairs of 60 words, 0.0 MiB"


@pytest.mark.parametrize(("change", "match"), [
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
])  # fmt: skip
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
