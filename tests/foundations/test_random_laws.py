"""Both engines draw the laws they name: quantile grids first, then Kolmogorov-Smirnov at alpha = 1e-9 with twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise_checks import ALPHA, SEEDS, TWINS

from wordveil.randomness import RandomSource, _ShakeGenerator, random_bits

ENGINES = ["aes", "shake"]
ROWS = 40_000  # a normal variate needs more than a radius for its power twin
LAWS = {
    "uniform": (lambda g: g.random(ROWS), stats.uniform()),
    "words": (lambda g: random_bits(g, (ROWS,)) / 2.0**64, stats.uniform()),
    "normal": (lambda g: g.standard_normal(ROWS), stats.norm()),
    "gamma-1": (lambda g: g.standard_gamma(1.0, ROWS), stats.gamma(1)),
    "gamma-50": (lambda g: g.standard_gamma(50.0, ROWS), stats.gamma(50)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LAWS)
def test_laws_hold_and_a_tenth_more_or_less_is_noticed(name, engine):
    draw, law = LAWS[name]
    for seed in SEEDS:
        drawn = draw(RandomSource.seeded_for_tests(seed, engine=engine).stream("law").lane(0))
        assert stats.kstest(drawn, law.cdf, method="asymp").pvalue >= ALPHA, f"seed {seed}"
        for scale in TWINS:
            assert stats.kstest(scale * drawn, law.cdf, method="asymp").pvalue < ALPHA, f"seed {seed}, x{scale}"


def shake_fed(raw: list[int]) -> _ShakeGenerator:
    generator = _ShakeGenerator(bytes(16), 0)
    generator._buffer = np.array(raw, dtype=np.uint64)
    return generator


GRID = [0, 1, 2**11, 2**12, 2**32, 2**62, 2**63 - 1, 2**63, 2**63 + 2**12, 2**64 - 2**12, 2**64 - 2, 2**64 - 1]


def test_uniforms_are_the_top_53_bits():
    assert shake_fed(GRID).random(len(GRID)).tolist() == [(w >> 11) / 2**53 for w in GRID]


@pytest.mark.parametrize("law", ["normal", "gamma"])
def test_no_word_gives_an_infinite_or_missing_variate(law):
    generator = shake_fed(GRID)
    drawn = generator.standard_normal(len(GRID)) if law == "normal" else generator.standard_gamma(9.0, len(GRID))
    assert np.all(np.isfinite(drawn))
    assert np.all(np.diff(drawn) >= 0)


def test_inversion_is_exact_on_a_quantile_grid():
    u = (np.arange(1000) + 0.5) / 1000
    raw = [int(x * 2**64) for x in u]
    assert shake_fed(raw).standard_normal(1000) == pytest.approx(stats.norm.ppf(u), rel=1e-9, abs=1e-12)
    assert shake_fed(raw).standard_gamma(7.0, 1000) == pytest.approx(stats.gamma(7).ppf(u), rel=1e-9)


def test_shake_words_depend_on_key_and_counter_alone():
    drawn = {
        (key, counter): tuple(_ShakeGenerator(bytes([key]) * 16, counter)._words(6000).tolist())
        for key in (0, 1)
        for counter in (0, 1, 1 << 40, 2**127)
    }
    assert len(set(drawn.values())) == len(drawn)
    assert drawn[0, 0] == tuple(_ShakeGenerator(bytes(16), 0)._words(6000).tolist())


def test_shake_gives_single_numbers_too():
    one, many = _ShakeGenerator(bytes(16), 0), _ShakeGenerator(bytes(16), 0)
    assert [float(one.random()) for _ in range(3)] == many.random(3).tolist()
