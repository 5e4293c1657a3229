import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise_checks import ALPHA, assert_law, noise_of, radii, sign_p_value

import seeds
from wordveil.mechanisms.clipped_laplace import ClippedLaplace


@pytest.mark.parametrize("d", [1, 2, 8])
def test_the_noise_is_iid_laplace(d):
    fitted = ClippedLaplace(epsilon=2.0, clip_norm=3.0).for_dimensions(d)
    assert fitted.scale == pytest.approx(2 * np.sqrt(d) * 3.0 / 2.0, rel=1e-15)
    # The L1 norm of d Laplace variates of scale b is Gamma(d, b).
    assert_law(lambda source: noise_of(fitted, source, d), radii(stats.gamma(d, scale=fitted.scale).cdf, order=1))
    assert sign_p_value(noise_of(fitted, seeds.source(7), d)) >= ALPHA


def test_the_exact_loss_between_two_clipped_vectors_is_at_most_epsilon_and_reaches_it():
    d, epsilon, radius = 4, 1.5, 2.0
    fitted = ClippedLaplace(epsilon=epsilon, clip_norm=radius).for_dimensions(d)
    rng = seeds.rng(0)
    rows = rng.standard_normal((200, d)) * 50
    clipped = fitted.sums(rows).rows
    losses = np.abs(clipped[:, None] - clipped[None]).sum(axis=2) / fitted.scale
    assert losses.max() <= epsilon
    corner = np.full((1, d), 99.0)
    pair = fitted.sums(np.concatenate((corner, -corner))).rows
    assert np.abs(pair[0] - pair[1]).sum() / fitted.scale == pytest.approx(epsilon, rel=1e-11)
