"""Metrics against direct formulas; and which pairs a claim speaks of, asked one by one and in blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.worst_pairs import vector_relation, word_relation, worst_words
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from wordveil.promises.guarantees import LocalDP, MetricDP, NeighbourDP, NoGuarantee, Standing
from wordveil.promises.relations import NoPairs, Pair, relation_of
from worlds import distances, placed

rows = arrays(np.float64, (5, 3), elements=st.floats(-1e3, 1e3))
POINTS = seeds.rng(1).standard_normal((12, 4))


@given(rows, rows)
def test_euclidean_is_the_norm_of_the_difference(a, b):
    expected = [[math.dist(x, y) for y in b] for x in a]
    assert distances(Euclidean(), a, b) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-150)


def test_angular_is_the_angle_small_ones_too_and_a_zero_vector_is_refused_by_its_row():
    expected = [[math.acos(max(-1, min(1, x @ y / np.sqrt(x @ x * (y @ y))))) for y in POINTS] for x in POINTS]
    assert distances(Angular(), POINTS, POINTS) == pytest.approx(np.array(expected), abs=3e-8)  # acos near 0 is coarse
    for angle in (0.0, 1e-12, 1e-6, 0.5, math.pi / 2, 3.0, math.pi):
        pair = distances(Angular(), np.array([[1.0, 0.0]]), np.array([[7 * math.cos(angle), 7 * math.sin(angle)]]))
        assert pair[0, 0] == pytest.approx(angle, rel=1e-7, abs=1e-15)
    with pytest.raises(ParameterError, match="row 1' is a zero vector"):
        Angular().coordinates(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_mahalanobis_is_the_quadratic_form():
    factor = seeds.rng(2).standard_normal((4, 4))
    matrix = factor @ factor.T + np.eye(4)
    values, axes = np.linalg.eigh(matrix)
    metric = Mahalanobis(whitening=axes @ np.diag(values**-0.5) @ axes.T)
    inverse = np.linalg.inv(matrix)
    expected = [[math.sqrt(max(0.0, (x - y) @ inverse @ (x - y))) for y in POINTS] for x in POINTS]
    assert distances(metric, POINTS, POINTS) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", [Euclidean(), Angular()])
@given(squared=st.floats(0, 4), error=st.floats(0, 1e-3))
def test_distance_error_covers_an_error_of_the_square(metric, squared, error):
    values = np.array([squared, squared + error, max(0.0, squared - error)])
    metric.from_squared(values)
    assert np.abs(values - values[0]).max() <= metric.distance_error(error) * (1 + 1e-9) + 1e-12


ROWS = seeds.rng(3).normal(size=(30, 4)).astype(np.float32)
WORDS = placed(ROWS)
LOCAL = LocalDP(epsilon=2.0, delta=1e-3, slack=0.25, standing=Standing.PROVED)
METRIC = MetricDP(epsilon=2.0, slack=0.25, metric="euclidean", largest_distance=2.5, standing=Standing.PROVED)
EDGES = np.array([[0, 4], [7, 2], [9, 9], [28, 29]])
ADJACENT = NeighbourDP(epsilon=3.0, delta=1e-3, slack=None, graph="a graph", standing=Standing.CERTIFIED)
IDS = np.arange(30, dtype=np.int32)


def test_local_dp_speaks_of_every_pair_equally():
    relation = relation_of(LOCAL)
    assert relation.loss(3, 29) == (2.25, 1e-3)
    assert relation.losses(IDS[:2], IDS).tolist() == [[2.25] * 30] * 2
    assert relation.edges is None
    assert relation_of(NoGuarantee(reason="none")).loss(0, 1) is None


def test_metric_dp_speaks_of_every_pair_by_its_distance():
    far = distances(Euclidean(), ROWS, ROWS)
    for relation, inputs in (
        (word_relation(METRIC, WORDS, Euclidean()), IDS),
        (vector_relation(METRIC, Euclidean()), ROWS),
    ):
        expected = 2.0 * np.minimum(far, 2.5) + 0.25
        np.testing.assert_allclose(relation.losses(inputs, inputs), expected, rtol=1e-12, atol=1e-12)
        assert relation.loss(inputs[4], inputs[8]) == (pytest.approx(expected[4, 8], rel=1e-12), 0.0)
    assert isinstance(relation_of(METRIC), NoPairs), "without distances nobody can say which pairs"


def test_a_claim_in_euclidean_terms_is_measured_so_whatever_the_mechanism_uses():
    stretched = Mahalanobis(whitening=np.diag([4.0, 1.0, 1.0, 1.0]), label="stretched")
    own = MetricDP(epsilon=1.0, metric=stretched.name, standing=Standing.PROVED)
    assert word_relation(METRIC, WORDS, stretched).loss(4, 8) == word_relation(METRIC, WORDS, Euclidean()).loss(4, 8)
    expected = distances(stretched, ROWS[[4]], ROWS[[8]])[0, 0]
    assert word_relation(own, WORDS, stretched).loss(4, 8) == (pytest.approx(expected), 0.0)


def test_nearly_equal_vectors_keep_their_distance():
    rows = np.array([[1e4, 0.0], [1e4, 1e-3], [0.0, 1e4]])
    claim = MetricDP(epsilon=1.0, metric="euclidean", standing=Standing.PROVED)
    assert vector_relation(claim, Euclidean()).losses(rows, rows)[0, 1] == pytest.approx(1e-3, rel=1e-9)
    by_product = math.sqrt(max(0.0, 2e8 + 1e-6 - 2 * 1e8))
    assert abs(by_product - 1e-3) > 1e-6, "which a product of these sizes does not give"


def test_neighbour_dp_speaks_of_edges_and_of_nothing_else():
    relation = relation_of(ADJACENT, edges=EDGES)
    assert relation.loss(0, 4) == relation.loss(4, 0) == relation.loss(2, 7) == (3.0, 1e-3)
    assert relation.loss(0, 7) is None
    block = relation.losses(IDS, IDS)
    spoken = {(int(i), int(j)) for i, j in zip(*np.nonzero(block < math.inf), strict=True) if i != j}
    assert spoken == {(0, 4), (4, 0), (2, 7), (7, 2), (28, 29), (29, 28)}
    assert isinstance(relation_of(ADJACENT), NoPairs)


def test_neighbour_dp_of_vectors_finds_their_words():
    def find(rows):
        return np.array([int(np.flatnonzero((row == ROWS).all(axis=1))[0]) for row in rows])

    relation = relation_of(ADJACENT, edges=EDGES, find=find)
    assert relation.loss(ROWS[7], ROWS[2]) == (3.0, 1e-3)
    assert relation.loss(ROWS[7], ROWS[3]) is None


def test_the_worst_pairs_of_words_are_the_nearest_the_farthest_and_the_most_isolated():
    far = distances(Euclidean(), ROWS, ROWS)
    apart = np.where(far > 0, far, np.inf)
    pairs = worst_words(WORDS, word_relation(METRIC, WORDS, Euclidean()), count=6)
    assert [pair.distance for pair in pairs[:2]] == pytest.approx([apart.min(), far.max()])
    assert int(pairs[2].first) == int(pairs[3].first) == int(apart.min(axis=1).argmax())
    for pair in pairs:
        assert pair.epsilon == pytest.approx(2 * min(2.5, far[pair.first, pair.second]) + 0.25)
    edges = worst_words(WORDS, relation_of(ADJACENT, edges=EDGES), count=3)
    assert edges[0].distance == max(far[0, 4], far[7, 2], far[28, 29])
    assert all(pair.epsilon == 3.0 for pair in edges)


def test_a_pair_refuses_numbers_that_are_no_claim():
    for wrong in ({"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": 1.0, "delta": 1.0}):
        with pytest.raises(ParameterError, match="must be in"):
            Pair(first=0, second=1, label="", **wrong)
