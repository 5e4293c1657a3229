"""What mechanisms say beyond their guarantee: plain advice with computed numbers, printed by `explain`."""

import re

import pytest

from wordveil import NADP, ClippedGaussian, Decoded, Jaccard, MultivariateLaplace, TruncatedLaplace
from wordveil.meaning.explanations import explain
from worlds import drawn


def test_the_corrected_truncated_laplace_says_that_it_gains_nothing():
    advice = TruncatedLaplace(epsilon=1.0, delta=1e-5).for_dimensions(300).advice()
    assert advice.startswith("No gain over the plain clipped Laplace, and a delta on top")
    own, plain, gaussian = (
        float(re.search(pattern, advice)[1])
        for pattern in (r"deviation ([\d.]+)", r"clipped-laplace ([\d.]+) with", r"clipped-gaussian ([\d.]+)\.")
    )
    assert (own, plain, gaussian) == pytest.approx((48.957, 48.990, 7.461), abs=1.1e-3)
    assert "Use clipped-gaussian here" in advice


@pytest.mark.parametrize(("dimensions", "use"), [(1, "laplace"), (3, "laplace"), (50, "gaussian"), (768, "gaussian")])
def test_it_recommends_what_has_less_noise(dimensions, use):
    assert f"Use clipped-{use} here" in TruncatedLaplace(epsilon=1.0).for_dimensions(dimensions).advice()


def test_a_real_gain_is_not_called_none():
    advice = TruncatedLaplace(epsilon=1.0, delta=0.4).for_dimensions(2).advice()
    assert advice.startswith("A gain of at most ")


def test_refuted_calibrations_say_what_to_use_instead():
    published = TruncatedLaplace(epsilon=0.1, delta=4.0**-300, calibration="published", allow_refuted=True)
    assert "clipped-gaussian" in published.for_dimensions(300).advice()
    classical = ClippedGaussian(epsilon=30.0, calibration="classical", allow_refuted=True)
    assert "analytic" in classical.for_dimensions(3).advice()
    assert ClippedGaussian(epsilon=30.0).for_dimensions(3).advice() == ""
    assert "No smaller epsilon repairs it" in Jaccard(epsilon=1.0, allow_refuted=True).fit(drawn(30, 3)).advice()


def test_nadp_counts_the_pairs_it_promises_anything_for():
    fitted = NADP(epsilon=4.0).fit(drawn(30, 3))
    assert fitted.advice().startswith(f"Of 435 pairs of words, {len(fitted.graph.edges)} are adjacent")


def test_advice_reaches_the_explanation_through_a_decoder():
    words = drawn(30, 3)
    fitted = Decoded(mechanism=TruncatedLaplace(epsilon=1.0)).fit(words)
    text = str(explain(words, fitted.guarantee(), randomizer=fitted))
    assert text.splitlines()[-1] == f"Advice: {fitted.advice()}"
    assert "Advice" not in str(explain(words, fitted.guarantee()))
    assert Decoded(mechanism=MultivariateLaplace(epsilon=1.0)).fit(words).advice() == ""
