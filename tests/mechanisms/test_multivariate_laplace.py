"""Multivariate Laplace: its density exactly, its radii and directions statistically, its claim as a value."""

import math

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


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_radial_law_is_that_of_the_density(d):
    """Density proportional to exp(-epsilon |z|), times the sphere's r^(d-1), is the Gamma(d) density tested above.

    Hence the log-ratio of two inputs' densities is epsilon * (|z - x'| - |z - x|), at most epsilon * |x - x'|, and
    reached on the line through both: the claim is tight.
    """
    epsilon, r = 2.5, np.linspace(0.1, 30.0, 50)
    gamma = stats.gamma(d, scale=1 / epsilon).logpdf(r) - (d - 1) * np.log(r)
    assert np.diff(gamma) == pytest.approx(-epsilon * np.diff(r), rel=1e-9)
    generator = seeds.rng(d)
    x, y = generator.standard_normal((2, d))
    z = generator.standard_normal((2000, d)) * 5
    loss = epsilon * (np.linalg.norm(z - y, axis=1) - np.linalg.norm(z - x, axis=1))
    assert loss.max() <= epsilon * math.dist(x, y) * (1 + 1e-12)
    beyond = x + 3 * (x - y)
    assert epsilon * (math.dist(beyond, y) - math.dist(beyond, x)) == pytest.approx(epsilon * math.dist(x, y))


def test_dimensions_are_checked():
    with pytest.raises(ParameterError, match="dimensions=0 must be a whole number, at least 1"):
        MultivariateLaplace(epsilon=1.0).for_dimensions(0)
