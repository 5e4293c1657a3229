import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.projection_matrices import draw_matrix, principal_directions, random_rows
from wordveil.mechanisms.stretch import exact_stretch, spectral_stretch


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
