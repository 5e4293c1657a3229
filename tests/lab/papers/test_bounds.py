"""The noisy dot product against 40-digit arithmetic and its definition; bounds of papers against exact laws."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist
from scipy.stats import chi2

import seeds
from wordveil.errors import ParameterError
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.vocabulary.table import Embeddings
from wordveil_lab.papers import privemb
from wordveil_lab.papers.base import HOLDS, Options
from wordveil_lab.papers.curse import closer_probability, dot_product_cdf
from wordveil_lab.papers.privemb import distance_bound, inner_product_bound, linear_loss_bound, norm_bound


def test_one_dimension_is_the_laplace_law():
    points = np.linspace(-3, 3, 13)
    expected = np.where(points < 0, 0.5 * np.exp(2 * points), 1 - 0.5 * np.exp(-2 * points))
    np.testing.assert_allclose(dot_product_cdf(points, dimensions=1, epsilon=2.0), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dimensions", [2, 50])
def test_the_noise_of_the_mechanism_has_this_law_and_the_check_has_power(dimensions):
    n = 40_000
    noise = (
        MultivariateLaplace(epsilon=3.0).for_dimensions(dimensions).release(np.zeros((n, dimensions)), seeds.source(1))
    )
    axis = np.ones(dimensions) / math.sqrt(dimensions)
    products = noise @ axis
    spread = math.sqrt(dimensions + 1) / 3.0
    edges = spread * np.linspace(-2.5, 2.5, 51)
    counts = np.histogram(products, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    for epsilon, holds in [(3.0, True), (2.7, False), (3.3, False)]:
        steps = np.concatenate([[0.0], dot_product_cdf(edges, dimensions=dimensions, epsilon=epsilon), [1.0]])
        expected = n * np.diff(steps)
        p = chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)
        assert bool(p > 1e-9) is holds


def test_one_comparison_of_real_decoding_is_exact():
    rng = seeds.rng(2)
    d, n, epsilon = 8, 40_000, 6.0
    rows = rng.normal(size=(12, d))
    rows = rows[np.argsort(np.linalg.norm(rows - rows[0], axis=1))]
    noisy = (
        MultivariateLaplace(epsilon=epsilon).for_dimensions(d).release(np.repeat(rows[:1], n, axis=0), seeds.source(2))
    )
    squared = np.square(noisy[:, None, :] - rows).sum(axis=2)
    error = 6 * 0.5 / math.sqrt(n)  # six standard errors at most
    for i, j in [(0, 1), (1, 2), (5, 0)]:
        exact = float(closer_probability(rows[0], rows[i], rows[j], epsilon=epsilon))
        assert abs(np.mean(squared[:, i] < squared[:, j]) - exact) < error
    assert float(closer_probability(rows[0], rows[0], rows[1], epsilon=epsilon)) == pytest.approx(
        float(dot_product_cdf(np.linalg.norm(rows[0] - rows[1]) / 2, dimensions=d, epsilon=epsilon)), abs=1e-12
    )


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5, 8, 50])
def test_the_error_of_the_cdf_is_as_stated_near_zero_too(dimensions):
    """At d = 1 the quadrature, without the closed form, is off by 3.6e-10 where epsilon t = -1.9e-4."""
    mpmath = pytest.importorskip("mpmath")
    order = mpmath.mpf(dimensions + 1)

    def law(s):
        return mpmath.exp((order - 1) * mpmath.log(s) - s * s / 2 - (order / 2 - 1) * mpmath.log(2)) / mpmath.gamma(
            order / 2
        )

    for x in (-1e-6, -1.9457917847842e-4, -1e-3, -0.03, -0.7, -4.0):
        with mpmath.workdps(25):
            breaks = [0, abs(x) / 5, abs(x), 5 * abs(x) + 0.01, *(b + 5 * abs(x) for b in (1, 3, 7, 12, 25))]
            exact = mpmath.quad(lambda s, x=x: mpmath.ncdf(x / s) * law(s), breaks)
            assert abs(float(dot_product_cdf(x / 2, dimensions=dimensions, epsilon=2.0) - exact)) < 1e-12


def test_bad_input_is_refused():
    for bad in (math.nan, "x", 1j, None):
        with pytest.raises(ParameterError, match="t="):
            dot_product_cdf(bad, dimensions=3, epsilon=1.0)
    assert float(dot_product_cdf(math.inf, dimensions=3, epsilon=1.0)) == 1.0
    for rows in ([[0.0], [math.nan]], [[0.0], [math.inf]], [["a"], ["b"]]):
        with pytest.raises(ParameterError, match="second="):
            closer_probability([0.0], [1.0], rows[1], epsilon=1.0)
    with pytest.raises(ParameterError, match=r"epsilon=inf must be in \(0, inf\)"):
        dot_product_cdf(0.0, dimensions=3, epsilon=math.inf)
    with pytest.raises(ParameterError, match="always tie"):
        closer_probability(np.zeros(2), np.ones(2), np.ones(2), epsilon=1.0)


# The laws of section 5 beside the bounds of the paper, each written down here.


def test_the_variance_is_that_of_theorem_nine():
    """E[(L X)^2] = 4 int t P[L X > t] dt, from the cdf alone."""
    for d, epsilon in ((50, 10.0), (300, 25.0)):
        width = 15 * (d + 1) ** 0.5 / epsilon
        nodes, weights = np.polynomial.legendre.leggauss(200)
        t = width / 2 * (nodes + 1)
        moment = 4 * width / 2 * weights @ (t * (1 - dot_product_cdf(t, dimensions=d, epsilon=epsilon)))
        assert moment == pytest.approx((d + 1) / epsilon**2, rel=1e-6)


@pytest.mark.parametrize("d", [3, 50, 300])
def test_the_cosine_has_the_moments_of_theorem_one_and_the_tails_of_theorem_five(d):
    law = stats.beta(0.5, (d - 1) / 2)  # of the square of the cosine of a random direction
    assert law.mean() == pytest.approx(1 / d)
    assert law.moment(2) == pytest.approx(3 / (d * (d + 2)))
    for t in (0.05, 0.2, 0.4, 0.8):
        assert law.sf(t * t) <= 2 * np.exp(-d * t * t / 2)


@pytest.mark.parametrize("d", [1, 50, 300])
def test_the_length_has_the_tails_of_theorem_seven(d):
    length = stats.gamma(d)
    for share in (1.1, 1.3, 2.0):
        assert length.sf(share * d) <= (share * np.exp(1 - share)) ** d
    for share in (0.5, 0.7, 0.9):
        assert length.cdf(share * d) <= (share * np.exp(1 - share)) ** d
    if d == 50:  # the numbers of the page
        assert (length.sf(65), length.cdf(35)) == (pytest.approx(0.0235, abs=1e-4), pytest.approx(0.00985, abs=1e-4))


@pytest.mark.parametrize("d", [5, 50, 300])
def test_the_noisy_dot_product_has_the_tails_of_theorem_eight_and_corollary_ten(d):
    """Theorem 8: |L X| <= c s d unless the length or the cosine is beyond its own bound."""
    exact = lambda t: 2 * float(dot_product_cdf(-t, dimensions=d, epsilon=1.0))  # noqa: E731
    for c in (1.2, 1.5, 2.0):
        for s in (0.2, 0.5, 0.9):
            within = (1 - (c * np.exp(1 - c)) ** d) * max(0.0, 1 - 2 * np.exp(-d * s * s / 2))
            assert 1 - exact(c * s * d) >= within
    for deviations in (1.5, 2.0, 4.0):
        assert exact(deviations * (d + 1) ** 0.5) <= 1 / deviations**2
    if d == 50:  # the numbers of the page: both factors of the bound are the root of .99 at c = 1.533 and s = .4894
        assert (1 - (1.5335 * np.exp(-0.5335)) ** d) * (1 - 2 * np.exp(-d * 0.4895**2 / 2)) == pytest.approx(
            0.99, abs=1e-4
        )
        assert 1.5335 * 0.4895 * d == pytest.approx(37.5, abs=0.05)
        assert exact(18.7) == pytest.approx(0.01, abs=1e-4)
        assert exact(2 * 51**0.5) == pytest.approx(0.0465, abs=1e-4)


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


def test_what_the_page_computes_holds_the_bounds_and_what_is_drawn():
    """The noise of one of the 20 words exceeds the length with a chance of 1e-9."""
    vectors = seeds.rng(4).normal(size=(20, 30))
    table = Embeddings.from_arrays([f"word{i}" for i in range(20)], vectors, candidate_rule="all")
    options = Options(paper="privemb", size="miniature", repeats=2)
    claims = [row for row in privemb.bound_rows(table, options) if "matrices" in row.what]
    assert [row.verdict for row in claims] == [HOLDS] * 3
    assert all("exact law" in row.ours for row in claims)
    fitted, rows = privemb.published(5.0, 0.7).fit(table), table.vectors.astype(float)
    images = rows @ fitted.matrix.T
    length = 1.7 / 5.0 * stats.gamma(fitted.dimensions).isf(1e-9 / 20)
    released = np.asarray(fitted.randomize(rows, fitted.sample(seeds.source(3).stream("bounds"), 20)))
    upper = np.triu_indices(20, 1)
    moved = [abs(pdist(released) - pdist(rows)).max(), abs(released @ released.T - rows @ rows.T)[upper].max()]
    assert np.all(moved <= np.array(privemb._moved(rows, images, length)))
    assert np.any(moved > np.array(privemb._moved(rows, images, 0.0)))


@pytest.mark.parametrize("wrong", [{"m": 0}, {"epsilon": 0.0}, {"beta": -1.0}, {"gamma": 0.0}, {"gamma": 1.0}])
def test_parameters_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        norm_bound(**{"m": 3, "epsilon": 1.0, "beta": 0.5, "gamma": 0.1, **wrong})
