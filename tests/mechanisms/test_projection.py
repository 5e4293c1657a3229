import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.mechanisms.projection_matrices import log_union_bound, plan_dimensions, published_dimensions
from wordveil.mechanisms.stretch import exact_stretch, spectral_stretch
from worlds import drawn

vocabulary = partial(drawn, 80, 6)


@pytest.mark.parametrize(
    ("v", "plan"),
    [
        (100_000, {0.468: 170, 0.66: 89, 0.9: 50, 1: 41, 2: 12}),
        (400_000, {0.468: 184, 0.66: 96, 0.9: 54, 1: 44, 2: 13}),
        (3_000_000, {0.468: 205, 0.66: 107, 0.9: 60, 1: 49, 2: 14}),
    ],
)
def test_the_planned_dimensions_of_the_design(v, plan):
    assert {beta: plan_dimensions(v, beta, 1e-6) for beta in plan} == plan


def test_the_published_dimensions_of_the_paper():
    assert [published_dimensions(300, beta, 1e-6) for beta in (0.93, 0.66, 0.468)] == [51, 100, 199]


def test_the_union_bound_equals_the_chi_square_tail_and_bounds_it_where_it_underflows():
    for v, m, beta in [(2, 1, 0.5), (50_000, 7, 2.0), (1000, 300, 0.3)]:
        exact = math.log(v * (v - 1) / 2) + stats.chi2.logsf(m * (1 + beta) ** 2, m)
        assert log_union_bound(v, m, beta) == pytest.approx(exact, abs=1e-7)
    import mpmath

    with mpmath.workdps(50):
        tail = mpmath.log(mpmath.gammainc(200, 200 * 81, regularized=True))
    bound = log_union_bound(2, 400, 8.0)
    assert float(tail) <= bound <= float(tail) + 0.1


@pytest.mark.parametrize("directions", ["gaussian", "orthonormal", "principal"])
def test_the_exact_loss_between_any_two_words_is_at_most_epsilon_times_distance(directions):
    table = vocabulary()
    fitted = wv.Projection(epsilon=2.0, dimensions=3, directions=directions).fit(table)
    rows = table.vectors.astype(np.float64)
    images = fitted.sums(table.vectors).centres()[0]
    assert np.allclose(images, rows @ fitted.matrix.T, rtol=1e-12)
    losses = np.linalg.norm(images[:, None] - images[None], axis=2) * 2.0 / fitted.stretch
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    assert np.all(losses <= 2.0 * distances * (1 + 1e-12))
    assert np.max(losses / (2.0 * distances + np.eye(80))) > 1 - 1e-8


def test_each_sensitivity_states_its_stretch_standing_and_delta():
    table = vocabulary()
    spectral = wv.Projection(epsilon=1.0, dimensions=3, sensitivity="spectral").fit(table)
    assert spectral.stretch == spectral_stretch(spectral.matrix)
    exact = wv.Projection(epsilon=1.0, dimensions=3).fit(table)
    assert (exact.stretch, exact.guarantee().delta) == (exact_stretch(table.vectors, exact.matrix), 0.0)
    assert spectral.guarantee().standing is wv.Standing.CERTIFIED
    for directions in ("orthonormal", "principal"):
        unit = wv.Projection(epsilon=1.0, dimensions=3, directions=directions, sensitivity="spectral").fit(table)
        assert (unit.stretch, unit.guarantee().standing) == (1.0, wv.Standing.PROVED)
    bound = wv.Projection(epsilon=1.0, sensitivity="union-bound", beta=0.9).fit(table)
    assert (bound.stretch, bound.dimensions) == (1.9, plan_dimensions(80, 0.9, 1e-6))
    assert (bound.guarantee().delta, bound.guarantee().standing) == (1e-6, wv.Standing.CERTIFIED)
    assert bound.loss_profile(1.0) is None, "the chance of an unlucky matrix is in no profile"
    paper = wv.Projection(epsilon=1.0, sensitivity="published", beta=0.9).fit(table)
    assert (paper.stretch, paper.dimensions) == (1.9, published_dimensions(6, 0.9, 1e-6))
    assert paper.guarantee().standing is wv.Standing.PUBLISHED


def test_a_given_matrix_is_used_and_survives_repr():
    matrix = np.arange(12.0).reshape(2, 6)
    mechanism = wv.Projection(epsilon=1.0, matrix=matrix)
    assert eval(repr(mechanism), {"Projection": wv.Projection}) == mechanism
    assert hash(mechanism) == hash(wv.Projection(epsilon=1.0, matrix=matrix.tolist()))
    assert np.array_equal(mechanism.fit(vocabulary()).matrix, matrix)
    fitted = wv.Projection(epsilon=1.0, matrix=matrix, sensitivity="spectral").for_dimensions(6)
    assert fitted.guarantee().standing is wv.Standing.CERTIFIED


def test_decoding_happens_in_the_projected_space_among_the_same_candidates():
    table = vocabulary().without_outputs(["w0"])
    fitted = wv.Decoded(mechanism=wv.Projection(epsilon=1e9, dimensions=3)).fit(table)
    ids = np.arange(80, dtype=np.int32)
    released = fitted.release(ids, seeds.source(0))
    assert np.array_equal(released[1:], ids[1:])
    assert released[0] != 0
    assert fitted.draw_width == 4 + 2 + 2  # two pairs, two uniforms of the radius, a key


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({}, "dimensions"),
        ({"dimensions": 2, "sensitivity": "union-bound", "beta": 0.0}, "beta"),
        ({"dimensions": 2, "sensitivity": "union-bound", "delta": 1.0}, "delta"),
        ({"dimensions": 2, "sensitivity": "union-bound", "directions": "principal"}, "gaussian"),
        ({"dimensions": 3, "matrix": [[1.0, 2.0]]}, "dimensions"),
        ({"matrix": [[1.0]], "sensitivity": "published"}, "gaussian"),
    ],
)
def test_parameters_outside_their_domain_are_refused(parameters, match):
    with pytest.raises(ParameterError, match=match):
        wv.Projection(**{"epsilon": 1.0, **parameters})
