"""Metrics against direct formulas, and the axiom check against things that are no metric."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import seeds
from wordveil.errors import ParameterError
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from worlds import distances

rows = arrays(np.float64, (5, 3), elements=st.floats(-1e3, 1e3))
ROWS = seeds.rng(1).standard_normal((12, 4))


@given(rows, rows)
def test_euclidean_is_the_norm_of_the_difference(a, b):
    expected = [[math.dist(x, y) for y in b] for x in a]
    assert distances(Euclidean(), a, b) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-150)


def test_angular_is_the_angle():
    expected = [[math.acos(max(-1, min(1, x @ y / np.sqrt(x @ x * (y @ y))))) for y in ROWS] for x in ROWS]
    assert distances(Angular(), ROWS, ROWS) == pytest.approx(np.array(expected), abs=3e-8)  # acos near 0 is coarse


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.5, math.pi / 2, 3.0, math.pi])
def test_angular_keeps_small_angles(angle):
    pair = distances(Angular(), np.array([[1.0, 0.0]]), np.array([[7 * math.cos(angle), 7 * math.sin(angle)]]))
    assert pair[0, 0] == pytest.approx(angle, rel=1e-7, abs=1e-15)


def test_angular_refuses_a_zero_vector_by_its_row():
    with pytest.raises(ParameterError, match="row 1' is a zero vector"):
        Angular().coordinates(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_mahalanobis_is_the_quadratic_form():
    factor = seeds.rng(2).standard_normal((4, 4))
    matrix = factor @ factor.T + np.eye(4)
    values, axes = np.linalg.eigh(matrix)
    metric = Mahalanobis(whitening=axes @ np.diag(values**-0.5) @ axes.T)
    inverse = np.linalg.inv(matrix)
    expected = [[math.sqrt(max(0.0, (x - y) @ inverse @ (x - y))) for y in ROWS] for x in ROWS]
    assert distances(metric, ROWS, ROWS) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", [Euclidean(), Angular()])
@given(squared=st.floats(0, 4), error=st.floats(0, 1e-3))
def test_distance_error_covers_an_error_of_the_square(metric, squared, error):
    values = np.array([squared, squared + error, max(0.0, squared - error)])
    metric.from_squared(values)
    assert np.abs(values - values[0]).max() <= metric.distance_error(error) * (1 + 1e-9) + 1e-12
