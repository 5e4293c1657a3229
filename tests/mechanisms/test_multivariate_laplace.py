"""Multivariate Laplace: its radii and directions, statistically."""

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise_checks import ALPHA, assert_law, direction_p_value, noise_of, radii

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace

DIMENSIONS = [1, 2, 3, 50]


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_radii_are_gamma(d, epsilon):
    randomizer = MultivariateLaplace(epsilon=epsilon).for_dimensions(d)
    assert_law(lambda source: noise_of(randomizer, source, d), radii(stats.gamma(d, scale=1 / epsilon).cdf))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_directions_are_uniform(d):
    randomizer = MultivariateLaplace(epsilon=1.0).for_dimensions(d)
    for seed in range(2):
        assert direction_p_value(noise_of(randomizer, seeds.source(seed), d)) >= ALPHA


def test_directions_that_are_not_uniform_are_noticed():
    noise = noise_of(MultivariateLaplace(epsilon=1.0).for_dimensions(3), seeds.source(0), 3)
    assert direction_p_value(noise * [1.0, 1.0, 1.2]) < ALPHA
    assert direction_p_value(np.abs(noise)) < ALPHA


def test_dimensions_are_checked():
    with pytest.raises(ParameterError, match="dimensions=0 must be a whole number, at least 1"):
        MultivariateLaplace(epsilon=1.0).for_dimensions(0)
