"""Tight constraints: the solution against a dense solver, the certificate against exact channels, checked numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

import seeds
import wordveil as wv
from certification.small_vocabularies import channel_losses, small_embeddings
from wordveil.auditing.score_channels import verify_scores
from wordveil.certification import certify, certify_rate, verify
from wordveil.certification.normalizer_lipschitz import LossComputation
from wordveil.certification.pair_spaces import DistinctVectors
from wordveil.certification.tight_constraints import solve_tight_constraints
from wordveil.errors import CertificateError, ParameterError
from wordveil.meaning.calibration import keep_probability
from wordveil.mechanisms.tight import BASE_TAIL_NATS, TightConstraints, pack_base, unpack_base
from wordveil.metrics.distances import Angular, Euclidean, Mahalanobis
from worlds import distances, placed

ANY = TightConstraints(epsilon=1.0)  # its epsilon plays no part where a rate is given


def spread_embeddings(outputs="all"):
    """Return a vocabulary so spread out that the solution is positive everywhere at rate 3."""
    rng = seeds.rng(4)
    rows = (2 * rng.normal(size=(150, 10))).astype(np.float32)
    embeddings = placed(np.concatenate([rows, rows[:9]]))
    return embeddings if outputs == "all" else embeddings.without_outputs(embeddings.words[1::3])


def losses_and_distances(fitted, embeddings, cap):
    return channel_losses(fitted), np.minimum(distances(Euclidean(), embeddings.vectors, embeddings.vectors), cap)


def test_the_solution_equals_the_dense_one_and_costs_nothing_beyond_the_rate():
    embeddings = spread_embeddings()
    base, loss = solve_tight_constraints(ANY, embeddings, 3.0, tolerance=1e-12, threads=1)
    distinct = np.unique(embeddings.canonical)
    kernel = np.exp(-3.0 * distances(Euclidean(), embeddings.vectors[distinct], embeddings.vectors[distinct]))
    dense = np.linalg.solve(kernel, np.ones(len(distinct)))
    assert base.min() > 0
    count = np.bincount(embeddings.canonical, minlength=len(embeddings))
    expected = (dense[embeddings.canonical] / count[embeddings.canonical]) / dense.max()
    np.testing.assert_allclose(base, expected / expected.max(), rtol=2**-24)  # as stored: float32
    assert loss.epsilon == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("outputs", ["all", "some"])
@pytest.mark.parametrize("rate", [0.5, 1.5, 4.0])
def test_the_exact_channel_keeps_the_certified_claim(outputs, rate):
    embeddings = spread_embeddings(outputs)
    certificate = certify_rate(ANY, embeddings, rate, threads=1)
    fitted = TightConstraints(epsilon=certificate.parameters["epsilon"]).fit(embeddings, certificate)
    claim = fitted.guarantee()
    assert (claim.standing, claim.largest_distance) == (wv.Standing.CERTIFIED, BASE_TAIL_NATS / rate)
    losses, s = losses_and_distances(fitted, embeddings, claim.largest_distance)
    assert np.all(losses <= claim.epsilon * s + claim.slack)
    assert verify_scores(fitted).holds
    assert claim.slack < 0.05
    channel, everyone = fitted.channel(), np.arange(len(embeddings), dtype=np.int32)
    np.testing.assert_allclose(channel, fitted.law(everyone), rtol=claim.slack + 1e-6)
    flat = wv.SanText(epsilon=2 * rate).fit(embeddings).law(everyone)
    assert not np.allclose(channel, flat, rtol=0.01, atol=0), "the base measure is part of the law"
    plain = LossComputation(DistinctVectors.of(embeddings, Euclidean())).metric(rate, BASE_TAIL_NATS / rate)
    if outputs == "all":
        assert rate < claim.epsilon < plain.epsilon <= 2 * rate * (1 + 1e-8)
        # The certificate is no larger than it must be: some pair attains it.
        assert (losses[s > 0] / s[s > 0]).max() == pytest.approx(certificate.numbers["epsilon"], rel=1e-5)


@pytest.mark.parametrize("metric", [Euclidean(), Angular(), Mahalanobis(whitening=np.diag(np.linspace(0.5, 2, 10)))])
def test_the_search_finds_a_rate_above_the_one_of_santext(metric):
    embeddings = spread_embeddings()
    mechanism = TightConstraints(epsilon=2.0, metric=metric)
    certificate = certify(mechanism, embeddings, threads=1)
    plain = certify(wv.SanText(epsilon=2.0, metric=metric, calibration="certified"), embeddings, threads=1)
    assert 2.0 * 0.998 <= certificate.numbers["epsilon"] <= 2.0
    assert 2.0 >= certificate.numbers["rate"] > plain.numbers["rate"] > 1.0
    kept = keep_probability(mechanism.fit(embeddings, certificate), embeddings.candidates)
    channel = mechanism.fit(embeddings, certificate).channel()
    assert kept == pytest.approx(np.diagonal(channel).mean(), rel=1e-5)


def test_a_clipped_solution_that_claims_the_bare_rate_fails(monkeypatch):
    embeddings = spread_embeddings()
    assert solve_tight_constraints(ANY, embeddings, 0.5, threads=1)[0].min() == 0
    certificate = certify_rate(ANY, embeddings, 0.5, threads=1)
    mechanism = TightConstraints(epsilon=0.5)
    bare = replace(
        certificate,
        numbers={**certificate.numbers, "epsilon": 0.5},
        parameters={**certificate.parameters, "epsilon": 0.5},
    )
    with pytest.raises(CertificateError, match="is refuted: two words of this vocabulary lose more"):
        mechanism.fit(embeddings, bare)
    monkeypatch.setattr("wordveil.mechanisms.exponential.check_certificate", lambda *_, **__: "")
    fitted = mechanism.fit(embeddings, bare)
    losses, s = losses_and_distances(fitted, embeddings, fitted.guarantee().largest_distance)
    assert not np.all(losses <= fitted.guarantee().epsilon * s + fitted.guarantee().slack)
    assert not verify_scores(fitted).holds
    with pytest.raises(CertificateError, match="found epsilon="):
        verify(bare, embeddings)


def test_certificates_hold_the_measure_and_are_verified_without_solving(monkeypatch, tmp_path):
    embeddings = spread_embeddings("some")
    mechanism = TightConstraints(epsilon=2.0)
    path = certify(mechanism, embeddings, threads=1).save(tmp_path / "tight.json")
    certificate = wv.Certificate.load(path)
    monkeypatch.setattr("wordveil.certification.rate_losses.solve_tight_constraints", None)
    assert verify(certificate, embeddings).numbers == certificate.numbers
    base = unpack_base(certificate.parameters["base"], len(embeddings.candidates))
    assert pack_base(base) == certificate.parameters["base"]
    assert base.max() == 1.0
    scaled = base.copy()
    scaled[base.argmax()] /= 2
    other = replace(certificate, parameters={**certificate.parameters, "base": pack_base(scaled)})
    with pytest.raises(CertificateError, match=r"repetition found|found epsilon"):
        verify(other, embeddings)


@pytest.mark.parametrize("base", [None, "", "####", "aGVsbG8=", pack_base(np.ones(7)), pack_base(np.full(3, -1.0))])
def test_damaged_measures_are_refused(base):
    embeddings = placed([[0.0], [1.0], [5.0]])
    certificate = certify(ANY, embeddings)
    with pytest.raises(CertificateError, match="base measure"):
        ANY.fit(embeddings, replace(certificate, parameters={**certificate.parameters, "base": base}))


def test_what_it_cannot_do_is_refused_with_the_reason(monkeypatch):
    embeddings = spread_embeddings()
    with pytest.raises(CertificateError, match="leave the checkpoint out"):
        certify(ANY, embeddings, checkpoint="work.npz")
    with pytest.raises(ParameterError, match="no theorem covers a solved measure"):
        TightConstraints(epsilon=1.0, calibration="textbook")
    monkeypatch.setattr("wordveil.certification.tight_constraints.MOST_OUTPUTS", 100)
    with pytest.raises(ParameterError, match="150 output words' are more than the 100"):
        certify(ANY, embeddings)


@pytest.mark.parametrize("case", ["duplicates", "one dimension", "two words", "hair apart"])
def test_odd_vocabularies_end_with_a_certificate(case):
    base, loss = solve_tight_constraints(ANY, small_embeddings(case), 2.0, most_iterations=50, threads=1)
    assert base.min() >= 0
    assert base.max() == 1
    assert 2.0 < loss.epsilon <= 4.0 * (1 + 1e-8)


def test_parameters_outside_their_domain_are_refused():
    embeddings = small_embeddings("gaussian")
    with pytest.raises(ParameterError, match=r"rate=inf must be in \(0, inf\)"):
        solve_tight_constraints(ANY, embeddings, math.inf)
    with pytest.raises(ParameterError, match=r"tolerance=1.0 must be in \(0, 1\)"):
        solve_tight_constraints(ANY, embeddings, 1.0, tolerance=1.0)
