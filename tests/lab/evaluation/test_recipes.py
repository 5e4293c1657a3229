"""Local forms of additive noise keep their promise at the diameter of what it is added to, and waste nothing of it."""

import itertools
import math

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.mechanisms.laplace_profile import laplace_loss
from wordveil_lab.evaluation.promises import Group, PromiseSettings, Target
from wordveil_lab.evaluation.recipes import diameter, fit_contender, noise_diameter
from worlds import placed

EPSILON, DELTA = 2.0, 0.05
# A rectangle: its diagonal is a third longer than its shadow on the principal direction.
CORNERS = np.array([[-1, -0.9], [-1, 0.9], [1, -0.9], [1, 0.9], [0.3, 0.1]], dtype=np.float32)


def worst_delta(noise, vectors, epsilon):
    """Return the largest delta between two words at this epsilon, by sums over a grid of outputs."""
    m = noise.laplace_dimensions
    axis = np.linspace(-12, 12, {1: 200_001, 2: 1_201}[m])
    outputs = np.stack(np.meshgrid(*[axis] * m), axis=-1).reshape(-1, m)
    chances = np.exp(noise.log_density(outputs, vectors))
    chances /= chances.sum(axis=0)
    pairs = itertools.permutations(chances.T, 2)
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in pairs)


def local(words, name, settings):
    return fit_contender(Target(name=name, group=Group.LOCAL, epsilon=EPSILON), words, settings).words.randomizer


def test_the_profile_of_a_projection_is_that_of_projected_words():
    words = placed(CORNERS)
    noise = local(words, "projection-principal-profile-vectors", PromiseSettings(delta=DELTA, projected=1))
    shadow = float(np.ptp(CORNERS @ noise.matrix.T))
    assert noise_diameter(noise, words) == pytest.approx(shadow)
    assert shadow < 0.8 * diameter(words) == pytest.approx(1.6 * math.hypot(1, 0.9))
    exact = worst_delta(noise, words.vectors, EPSILON)
    assert 0.99 * DELTA <= exact <= DELTA * (1 + 1e-3)
    # At the diameter before the projection, the noise would be too large by a third and the promise half used.
    wide = wv.Projection(
        epsilon=noise.mechanism.epsilon * shadow / diameter(words),
        dimensions=1,
        directions="principal",
        sensitivity="spectral",
    )
    assert worst_delta(wide.fit(words), words.vectors, EPSILON) < 0.5 * DELTA


def test_noise_on_the_words_themselves_needs_their_own_diameter():
    words = placed(CORNERS)
    noise = local(words, "laplace-profile-vectors", PromiseSettings(delta=DELTA))
    assert noise_diameter(noise, words) == pytest.approx(diameter(words))
    assert 0.98 * DELTA <= worst_delta(noise, words.vectors, EPSILON) <= DELTA * (1 + 1e-3)
    rate = laplace_loss(EPSILON, DELTA, dimensions=2) / 2.0  # the shadow's diameter, which is not theirs
    broken = wv.MultivariateLaplace(epsilon=rate).for_dimensions(2)
    assert worst_delta(broken, words.vectors, EPSILON) > 1.5 * DELTA


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
def test_the_rate_of_a_stretched_projection_is_counted(scale):
    rng = seeds.rng(4)
    words = placed(rng.normal(size=(40, 5)).astype(np.float32))
    matrix = scale * rng.normal(size=(2, 5))
    noise = wv.Projection(epsilon=1.5, matrix=matrix.tolist(), sensitivity="exact").fit(words)
    images = words.vectors.astype(np.float64) @ matrix.T
    losses = -noise.log_density(images, words.vectors)  # at its own image a word's log-density is 0
    assert np.allclose(np.diag(losses), 0, atol=1e-6)
    assert losses.max() <= 1.5 * noise_diameter(noise, words) <= losses.max() * (1 + 1e-5)
