"""Lanes draw the laws they name: Kolmogorov-Smirnov at alpha = 1e-9 with twins."""

import pytest
from scipy import stats
from tests.mechanisms.noise_checks import ALPHA, SEEDS, TWINS

import seeds
from wordveil.randomness import random_bits

ROWS = 40_000  # a normal variate needs more than a radius for its power twin
LAWS = {
    "uniform": (lambda g: g.random(ROWS), stats.uniform()),
    "words": (lambda g: random_bits(g, (ROWS,)) / 2.0**64, stats.uniform()),
    "normal": (lambda g: g.standard_normal(ROWS), stats.norm()),
    "gamma-1": (lambda g: g.standard_gamma(1.0, ROWS), stats.gamma(1)),
    "gamma-50": (lambda g: g.standard_gamma(50.0, ROWS), stats.gamma(50)),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_hold_and_a_tenth_more_or_less_is_noticed(name):
    draw, law = LAWS[name]
    for seed in SEEDS:
        drawn = draw(seeds.source(seed).stream("law").lane(0))
        assert stats.kstest(drawn, law.cdf, method="asymp").pvalue >= ALPHA, f"seed {seed}"
        for scale in TWINS:
            assert stats.kstest(scale * drawn, law.cdf, method="asymp").pvalue < ALPHA, f"seed {seed}, x{scale}"
