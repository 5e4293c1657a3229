import numpy as np
import pytest
from scipy import stats

import seeds
import wordveil as wv
from wordveil.errors import GuaranteeError
from wordveil.mechanisms.gaussian_scale import analytic_scale
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
