"""NADP and Jaccard, whose noise depends on the word: scales, graph, promise; and what mechanisms advise, in numbers."""

import re

import numpy as np
import pytest
from scipy import stats

import seeds
import wordveil as wv
from wordveil import NADP, ClippedGaussian, Decoded, MultivariateLaplace, TruncatedLaplace
from wordveil.errors import GuaranteeError, RefutedClaimError
from wordveil.meaning.explanations import explain
from wordveil.mechanisms.gaussian_scale import analytic_scale, classical_scale
from wordveil.mechanisms.jaccard import Jaccard, class_delta, class_errors
from worlds import drawn, placed

# Two pairs and a loner on a line; with overlap = 2 and tau = 1 only mutual nearest words are adjacent.
LINE = placed([[0.0], [1.0], [10.0], [13.0], [100.0]])
STRICT = {"adjacent": 2, "overlap": 2, "tau": 1.0}


def test_sigma_is_the_analytic_scale_times_the_longest_edge_of_the_component():
    scale = analytic_scale(2.0, 1e-5)
    fitted = wv.NADP(epsilon=2.0, **STRICT).fit(LINE)
    assert fitted.sigmas == pytest.approx([scale, scale, 3 * scale, 3 * scale, 3 * scale], rel=1e-12)
    assert (fitted.isolated_share, fitted.noiseless_share) == (0.2, 0.0)
    verbatim = wv.NADP(epsilon=2.0, isolated="verbatim", **STRICT).fit(LINE)
    assert verbatim.sigmas == pytest.approx([scale, scale, 3 * scale, 3 * scale, 0.0], rel=1e-12)
    assert verbatim.noiseless_share == 0.2


def test_verbatim_words_come_back_unchanged_and_the_guarantee_says_how_many():
    fitted = wv.NADP(epsilon=2.0, isolated="verbatim", **STRICT).fit(LINE)
    released = fitted.release(LINE.vectors[[4, 4, 0]], seeds.source(0))
    assert released[:2].tolist() == [[100.0], [100.0]]
    assert released[2, 0] != 0.0
    assert "20 % of the words have no neighbour and no noise" in fitted.guarantee().assumptions
    assert len(wv.NADP(epsilon=2.0, **STRICT).fit(LINE).guarantee().assumptions) == 1


def test_adjacent_words_satisfy_the_exact_gaussian_delta():
    table = drawn(80, 2, seed=5)
    fitted = wv.NADP(epsilon=1.5, delta=1e-3, tau=0.2).fit(table)
    for i, j in fitted.graph.edges:
        assert fitted.sigmas[i] == fitted.sigmas[j]
        u = fitted.sigmas[i] / np.linalg.norm(table.vectors[i].astype(float) - table.vectors[j])
        delta = stats.norm.cdf(1 / (2 * u) - 1.5 * u) - np.exp(1.5) * stats.norm.cdf(-1 / (2 * u) - 1.5 * u)
        assert delta <= 1e-3


def test_the_guarantee_names_its_graph():
    claim = wv.NADP(epsilon=2.0, delta=1e-4, **STRICT).fit(LINE).guarantee()
    assert isinstance(claim, wv.NeighbourDP)
    assert (claim.epsilon, claim.delta, claim.standing) == (2.0, 1e-4, wv.Standing.CERTIFIED)
    assert "tau 1" in claim.graph
    assert LINE.header.checksum[:12] in claim.graph


def test_graphs_that_differ_in_the_last_digits_of_tau_have_two_names():
    """Releases of two graphs do not add up, however alike the graphs print."""
    table = drawn(12, 2, seed=4)
    claims = [wv.NADP(epsilon=1.0, tau=tau, overlap=4).fit(table).guarantee() for tau in (0.333333, 0.33333334)]
    with pytest.raises(GuaranteeError):
        wv.compose_releases(claims)


def vocabulary(d: int = 2) -> wv.Embeddings:
    rng = seeds.rng(0)
    rows = np.concatenate((rng.standard_normal((20, d)), 30 + 5 * rng.standard_normal((20, d))))
    return placed(rows)


def test_the_errors_and_the_delta_agree_with_simulated_likelihood_ratios():
    d, ratio, epsilon = 6, 1.5, 0.7
    rng = seeds.rng(0)
    squared = rng.chisquare(d, 400_000)
    log_ratio = lambda s: -d * np.log(ratio) + s / 2 * (1 - ratio**-2)  # noqa: E731
    wide, narrow = class_errors(d, ratio)
    assert np.mean(log_ratio(ratio**2 * squared) < 0) == pytest.approx(wide, abs=0.005)
    assert np.mean(log_ratio(squared) >= 0) == pytest.approx(narrow, abs=0.005)
    hockey = np.maximum(0, 1 - np.exp(epsilon - log_ratio(ratio**2 * squared))).mean()
    assert class_delta(d, ratio, epsilon) == pytest.approx(hockey, abs=0.005)
    assert class_errors(d, 1 / ratio) == (wide, narrow)


def test_sigmas_follow_the_classes_and_the_average_reach():
    table = vocabulary()
    fitted = Jaccard(epsilon=2.0, neighbours=4, allow_refuted=True).fit(table)
    rows = table.vectors.astype(np.float64)
    lengths = np.sort(np.linalg.norm(rows[:, None] - rows[None], axis=2), axis=1)[:, :4]
    unit = lengths[:, -1].mean() * classical_scale(2.0, 1e-5)
    dense = lengths.mean(axis=1) < np.median(lengths.mean(axis=1))
    assert dense.sum() == 20
    assert fitted.sigmas == pytest.approx(unit * np.where(dense, 1.835, 1.276), rel=1e-12)


def test_it_promises_nothing_and_prints_the_counter_example():
    claim = Jaccard(epsilon=1.0, allow_refuted=True).fit(vocabulary(d=300)).guarantee()
    assert isinstance(claim, wv.NoGuarantee)
    assert claim.standing is wv.Standing.REFUTED
    assert "5.3e-06 and 4.1e-06" in claim.reason
    assert class_delta(300, 1.835 / 1.276, 1.0) > 0.9999
    with pytest.raises(RefutedClaimError, match="dense from sparse"):
        Jaccard(epsilon=1.0)


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
