"""Rounding to the public grid: exact oracle, storage, and which grid is chosen."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.runs.vectors import VectorSettings, release_vectors
from wordveil.runs.vectors import grid as grids
from wordveil.runs.vectors.binding import bind


def released(mechanism, rows, seed, **settings):
    source = seeds.source(seed)
    return release_vectors(rows, mechanism, settings=VectorSettings(**settings), source=source)


@given(
    st.lists(st.floats(-(2.0**10), 2.0**10), min_size=1, max_size=30),
    st.integers(-13, 8),
    st.sampled_from(["float32", "float64"]),
)
@example([0.5, 1.5, 2.5, -0.5, -1.5, -0.1, -0.0], 0, "float32")
def test_rounding_equals_exact_rational_arithmetic_and_zero_has_no_sign(values, exponent, dtype):
    grid = 2.0**exponent
    rounded = grids.round_to_grid(np.array([values]), grid, dtype)
    assert rounded.dtype == dtype
    for value, found in zip(values, rounded[0].tolist(), strict=True):
        assert Fraction(found) == round(Fraction(value) / Fraction(grid)) * Fraction(grid)  # ties to even
    assert not np.signbit(rounded[rounded == 0]).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("grid", [2.0**-100, 2.0**-13, 1.0, 2.0**60])
def test_every_step_in_range_is_a_value_of_the_type_and_none_beyond_is_released(dtype, grid):
    most = grids.STEPS[dtype]
    steps = np.array([[most, -most, most - 1, most // 3]], dtype=np.float64)
    assert np.array_equal(grids.round_to_grid(steps * grid, grid, dtype).astype(np.float64), steps * grid)
    for bad in (most + 1, np.inf, np.nan, 1e300):
        with pytest.raises(ParameterError, match="row 41") as error:
            grids.round_to_grid(np.array([[0.0], [bad * grid]]), grid, dtype, first_row=40)
        assert str(bad) not in str(error.value)
        assert ("dtype float64" in str(error.value)) == (dtype == "float32")


@pytest.mark.parametrize("grid", [0.0, -0.5, 0.3, 3.0, np.inf, np.nan, 2.0**-101, 2.0**101])
def test_only_powers_of_two_are_grids(grid):
    with pytest.raises(ParameterError, match="power of two"):
        grids.check_grid(grid)
    with pytest.raises(ParameterError, match="power of two"):
        VectorSettings(grid=grid)


@given(
    steps=st.lists(st.integers(-(2**23), 2**23), min_size=1, max_size=60),
    exponent=st.integers(-100, 100),
    cut=st.integers(0, 60),
)
def test_the_coarsest_grid_is_that_of_rational_arithmetic(steps, exponent, cut):
    values = np.array(steps, np.float64) * 2.0**exponent
    lowest = [(n & -n).bit_length() - 1 for n in map(abs, steps) if n]
    expected = 2.0 ** (exponent + min(lowest)) if lowest else math.inf
    assert grids.coarsest_grid([values[:cut], values[cut:].astype(np.float32)]) == (expected, len(lowest))


def test_grids_have_names_and_another_one_is_told_unless_it_could_be_chance():
    points = np.arange(1.0, 61.0) / 8
    assert grids.fits_grid([points], 1 / 8)
    assert not grids.fits_grid([points], 1 / 4)
    assert not grids.fits_grid([points], 1 / 16)
    assert grids.fits_grid([points[:20]], 1 / 16)
    assert grids.fits_grid([np.zeros(100)], 2.0)
    assert [grids.grid_name(g) for g in (2.0**-13, 1.0, 8.0)] == ["2^-13", "2^0", "2^3"]
    assert grids.on_grid(2.0**-13) == "released values are multiples of 2^-13"


@pytest.mark.parametrize(
    ("mechanism", "deviation"),
    [
        (wv.MultivariateLaplace(epsilon=10.0), np.sqrt(51) / 10),  # E ||z||^2 = d (d + 1)/eps^2
        (wv.MultivariateLaplace(epsilon=0.05), np.sqrt(51) / 0.05),
        (wv.ClippedLaplace(epsilon=9.0), np.sqrt(2) * 2 * np.sqrt(50) / 9),
        (wv.ClippedGaussian(epsilon=8.0, delta=1 / 73404), 2 * 0.5928378526),
        (wv.Projection(epsilon=4.0, dimensions=10, directions="orthonormal", sensitivity="spectral"), np.sqrt(11) / 4),
    ],
)
def test_the_default_grid_follows_the_noise(mechanism, deviation):
    binding = bind(mechanism, 50, None)
    grid = grids.public_grid(binding.randomizer, binding.probes())
    assert grid == 2.0 ** np.floor(np.log2(deviation) - 8)
    assert grid == grids.public_grid(binding.randomizer, binding.probes())


def test_a_mechanism_without_noise_has_no_default_grid():
    class Silent:
        dimensions, grid = 3, None

        def sample(self, stream, n):
            return (np.zeros(n),)

        def randomize(self, vectors, draws):
            return np.asarray(vectors)

    with pytest.raises(ParameterError, match="grid=None must be given"):
        grids.public_grid(Silent(), np.zeros((1, 3)))
