"""Projections: planned dimensions, exact losses, what each sensitivity states; their matrices and exact stretch."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.mechanisms.projection_matrices import (
    draw_matrix,
    log_union_bound,
    plan_dimensions,
    principal_directions,
    published_dimensions,
    random_rows,
)
from wordveil.mechanisms.stretch import exact_stretch, spectral_stretch
from worlds import drawn

vocabulary = partial(drawn, 80, 6)


@pytest.mark.parametrize(("v", "plan"), [
    (100_000, {0.468: 170, 0.66: 89, 0.9: 50, 1: 41, 2: 12}),
    (400_000, {0.468: 184, 0.66: 96, 0.9: 54, 1: 44, 2: 13}),
    (3_000_000, {0.468: 205, 0.66: 107, 0.9: 60, 1: 49, 2: 14}),
])  # fmt: skip
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


@pytest.mark.parametrize(("parameters", "match"), [
    ({}, "dimensions"),
    ({"dimensions": 2, "sensitivity": "union-bound", "beta": 0.0}, "beta"),
    ({"dimensions": 2, "sensitivity": "union-bound", "delta": 1.0}, "delta"),
    ({"dimensions": 2, "sensitivity": "union-bound", "directions": "principal"}, "gaussian"),
    ({"dimensions": 3, "matrix": [[1.0, 2.0]]}, "dimensions"),
    ({"matrix": [[1.0]], "sensitivity": "published"}, "gaussian"),
])  # fmt: skip
def test_parameters_outside_their_domain_are_refused(parameters, match):
    with pytest.raises(ParameterError, match=match):
        wv.Projection(**{"epsilon": 1.0, **parameters})


def oracle(vectors: np.ndarray, matrix: np.ndarray) -> float:
    """All pairs by direct differences."""
    rows = vectors.astype(np.float64)
    difference = rows[:, None] - rows[None]
    lengths = np.linalg.norm(difference, axis=2)
    images = np.linalg.norm(difference @ matrix.T, axis=2)
    return float(np.max(images / np.where(lengths > 0, lengths, 1), where=lengths > 0, initial=0.0))


@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(2, 90), st.integers(1, 6), st.integers(1, 6), st.sampled_from([1e-3, 1.0, 1e6])
)
def test_it_bounds_and_meets_the_oracle(seed, v, d, m, offset):
    rng = seeds.rng(seed)
    vectors = rng.standard_normal((v, d)).astype(np.float32) + np.float32(offset)
    matrix = rng.standard_normal((m, d))
    exact = oracle(vectors, matrix)
    assert exact <= exact_stretch(vectors, matrix) <= exact * (1 + 1e-9)
    assert exact <= spectral_stretch(matrix)


def test_several_tiles_duplicates_and_threads():
    rng = seeds.rng(1)
    vectors = rng.standard_normal((1300, 4)).astype(np.float32)
    vectors[600:] = vectors[rng.integers(0, 600, 700)]
    matrix = rng.standard_normal((2, 4))
    expected = oracle(vectors[:600], matrix)
    one, two = (exact_stretch(vectors, matrix, threads=threads) for threads in (1, 2))
    assert one == two
    assert expected <= one <= expected * (1 + 1e-9)


def test_ties_everywhere_and_no_pair_at_all():
    vectors = seeds.rng(2).standard_normal((300, 5))
    assert exact_stretch(vectors, np.eye(5)) == pytest.approx(1.0, rel=1e-9)
    assert exact_stretch(vectors[:1], np.eye(5)) == 0.0
    assert exact_stretch(np.ones((4, 5)), np.eye(5)) == 0.0
    zeros = np.array([[0.0], [-0.0], [1e-300], [2.0]])
    assert exact_stretch(zeros, np.array([[3.0]])) == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(ParameterError, match="matrix"):
        exact_stretch(vectors, np.eye(4))


def test_the_matrices_are_what_they_say():
    matrix = draw_matrix(400, 50, seed=seeds.seed(3))
    assert matrix.std() == pytest.approx(1 / np.sqrt(400), rel=0.02)
    assert np.array_equal(matrix, draw_matrix(400, 50, seed=seeds.seed(3)))
    rows = random_rows(7, 20, seed=seeds.seed(1))
    assert np.allclose(rows @ rows.T, np.eye(7), atol=1e-4)  # on the grid, and shrunk
    assert 1 - 1e-4 < np.linalg.svd(rows)[1].min() <= np.linalg.svd(rows)[1].max() <= 1
    assert np.array_equal(np.rint(rows * 2**20), rows * 2**20)
    spread = seeds.rng(4).standard_normal((500, 6)) * [1, 9, 2, 8, 3, 7] + 100
    assert set(np.abs(principal_directions(spread, 3)).argmax(axis=1)) == {1, 3, 5}
    with pytest.raises(ParameterError, match="at most 6"):
        random_rows(7, 6, seed=seeds.seed(0))


def turned(d, seed):
    return np.linalg.qr(seeds.rng(seed).standard_normal((d, d)))[0]


@pytest.mark.parametrize("seed", range(5))
def test_directions_of_equal_variance_have_one_basis(seed, monkeypatch):
    """Whatever basis of a space the eigensolver gives, as another processor's may, the rows are the same bytes."""
    rng = seeds.rng(seed)
    spectrum = np.array([9.0, 4.0, 4.0, 4.0, 1.0, 0.0, 0.0, 0.0])
    tables = [np.eye(20), rng.standard_normal((5, 12)), np.sqrt(spectrum) * turned(8, seed).T]
    plain = np.linalg.eigh
    for table in tables:
        for m in (1, 3, table.shape[1]):
            ours = principal_directions(table, m)

            def other(scatter):
                values, axes = plain(scatter)
                for start in range(len(values)):  # turn every space of equal variances
                    space = np.flatnonzero(np.abs(values - values[start]) < 1e-9 * values[-1])
                    if space[0] == start:
                        axes[:, space] = axes[:, space] @ turned(len(space), seed + start)
                return values, axes

            monkeypatch.setattr(np.linalg, "eigh", other)
            theirs = principal_directions(table, m)
            monkeypatch.setattr(np.linalg, "eigh", plain)
            assert np.array_equal(ours, theirs)
            assert np.linalg.svd(ours)[1].max() <= 1
            assert np.allclose(ours @ ours.T, np.eye(m), atol=1e-4)


def test_principal_directions_hold_the_most_variance():
    rows = seeds.rng(6).standard_normal((300, 9)) @ turned(9, 1) * [5, 1, 1, 1, 2, 1, 1, 3, 1]
    centred = rows - rows.mean(axis=0)
    for m in (1, 4, 9):
        held = np.square(centred @ principal_directions(rows, m).T).sum()
        assert held == pytest.approx(np.sort(np.linalg.eigvalsh(centred.T @ centred))[-m:].sum(), rel=1e-4)
