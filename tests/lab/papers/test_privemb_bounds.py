"""PrivEmb's bounds: Claim 6 against the exact law of the noise, the propositions against sums written out by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from wordveil.errors import ParameterError
from wordveil_lab.papers.privemb_bounds import distance_bound, inner_product_bound, linear_loss_bound, norm_bound


@pytest.mark.parametrize("m", [1, 2, 50, 199])
@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-6])
def test_the_noise_exceeds_claim_six_less_often_than_it_says(m, gamma):
    """The length of noise of density exp(-epsilon |z|/(1 + beta)) follows Gamma(m, (1 + beta)/epsilon)."""
    epsilon, beta = 5.0, 0.7
    length = stats.gamma(m, scale=(1 + beta) / epsilon)
    assert length.sf(norm_bound(m, epsilon, beta, gamma)) <= gamma * (1 + 1e-9)


def test_the_propositions_at_round_numbers():
    """m = 10, epsilon = 2, n = 5, delta = .1: R = 2 * 10 * ln(1000)/2 = 69.0776; tau = 3, beta = .5."""
    noise = 10 * math.log(1000)
    given = {"n": 5, "tau": 3.0}
    assert distance_bound(10, 2.0, 0.5, 0.1, **given) == pytest.approx(2 * 0.5 * 3 + 2 * noise)
    assert inner_product_bound(10, 2.0, 0.5, 0.1, **given) == pytest.approx(0.5 * 9 + 4 * 3 * noise + noise**2)
    loss = linear_loss_bound(10, 2.0, 0.5, 0.1, **given, lipschitz=1.5, diameter=2.0)
    assert loss == pytest.approx(1.5 * 2 * (2 * noise + 0.5 * 3))
    page = linear_loss_bound(89, 5.0, 0.7, 0.05, n=100, tau=8.494, lipschitz=1.0, diameter=1.0)
    assert page == pytest.approx(916.1, abs=0.1)


@pytest.mark.parametrize("wrong", [{"m": 0}, {"epsilon": 0.0}, {"beta": -1.0}, {"gamma": 0.0}, {"gamma": 1.0}])
def test_parameters_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        norm_bound(**{"m": 3, "epsilon": 1.0, "beta": 0.5, "gamma": 0.1, **wrong})
