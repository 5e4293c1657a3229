"""One rate: what it costs, whether it keeps a promise, both promises, and work that dies and is continued."""

import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.dying import Death, in_child, interrupt_after

import wordveil as wv
from certification.small_vocabularies import SMALL, channel_losses, small_embeddings
from wordveil.auditing.score_channels import verify_scores
from wordveil.certification.normalizer_lipschitz import LossComputation
from wordveil.certification.pair_spaces import DistinctVectors, WordPairs
from wordveil.errors import CertificateError, ParameterError, ResumeError
from wordveil.mechanisms.exponential import LARGEST_LOSS
from wordveil.metrics.table import DistanceTable
from wordveil.promises.rounding import claimed
from worlds import distances, drawn, placed


def own(embeddings):
    """The matrix of Euclidean distances, which the library knows as no closed form."""
    table = DistanceTable(distances(wv.Euclidean(), embeddings.vectors, embeddings.vectors))
    return wv.Precomputed(label="own", vocabulary=embeddings.checksum_in_use, table=table, error=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "own"])
@pytest.mark.parametrize("kind", [wv.SanText, wv.TEM])
def test_a_rate_is_certified_for_exactly_what_it_costs(kind, metric):
    embeddings = small_embeddings("gaussian")
    mechanism = kind(epsilon=1.0) if metric == "euclidean" else kind(epsilon=1.0, metric=own(embeddings))
    certificate = wv.certify_rate(mechanism, embeddings, 1.3, threads=1)
    promised = certificate.parameters["epsilon"]
    assert certificate.numbers["rate"] == 1.3
    assert 0 <= promised - certificate.numbers["epsilon"] <= 1e-5
    assert len(f"{promised}") <= 7, "a number that can be typed"
    costing = replace(mechanism, epsilon=promised, calibration="certified")
    fitted = costing.fit(embeddings, certificate)
    s = np.minimum(distances(wv.Euclidean(), embeddings.vectors, embeddings.vectors), certificate.numbers["cap"])
    assert (channel_losses(fitted)[s > 0] / s[s > 0]).max() == pytest.approx(promised, rel=2e-5)
    assert wv.verify(certificate, embeddings, mechanism=costing).numbers == certificate.numbers


def test_a_rate_is_certified_for_a_promise_that_it_keeps_and_refused_for_one_it_breaks(tmp_path):
    embeddings = small_embeddings("gaussian")
    cost = wv.certify_rate(wv.SanText(epsilon=1.0), embeddings, 1.3).numbers["epsilon"]
    generous = wv.SanText(epsilon=cost * 1.01, calibration="certified")
    certificate = wv.certify(generous, embeddings, rate=1.3)
    assert (certificate.numbers["epsilon"], certificate.parameters["epsilon"]) == (cost, generous.epsilon)
    assert generous.fit(embeddings, certificate).rows.rate == 1.3
    wv.verify(certificate, embeddings)
    work = tmp_path / "work.npz"
    with pytest.raises(CertificateError, match=r"rate 1\.3 costs epsilon=.*lower the rate, or promise that much"):
        wv.certify(replace(generous, epsilon=cost * 0.999), embeddings, rate=1.3, checkpoint=str(work))
    # The work is kept: the answer to a larger promise takes none.
    visits = []
    assert wv.certify(generous, embeddings, rate=1.3, checkpoint=str(work), progress=visits.append) == certificate
    assert visits == []
    assert not work.exists()


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("mechanism", [wv.SanText, wv.TEM, "gamma"])
@pytest.mark.parametrize("epsilon", [1.0, 7.0])
def test_a_local_certificate_keeps_its_epsilon_between_any_two_words(case, mechanism, epsilon):
    embeddings = small_embeddings(case)
    parameters = {"epsilon": epsilon, "calibration": "certified-local"}
    chosen = wv.TEM(**parameters, gamma=1.5) if mechanism == "gamma" else mechanism(**parameters)
    if case == "two words" and mechanism is wv.TEM:
        chosen = replace(chosen, gamma=4.0)  # the formula has none for so few words
    certificate = wv.certify(chosen, embeddings, threads=1)
    assert certificate.method == LARGEST_LOSS
    fitted = chosen.fit(embeddings, certificate)
    claim = fitted.guarantee()
    assert isinstance(claim, wv.LocalDP)
    assert (claim.epsilon, claim.standing) == (claimed(certificate.numbers["epsilon"]), wv.Standing.CERTIFIED)
    assert claim.epsilon <= epsilon
    worst = channel_losses(fitted).max()
    # Every input is an output here, so what is claimed is attained, up to the search's tolerance.
    assert 0.99 * epsilon <= worst <= epsilon + claim.slack
    assert verify_scores(fitted, local=True).holds
    assert wv.verify(certificate, embeddings).numbers == certificate.numbers


def test_a_local_rate_beats_the_theorem_and_a_twin_without_the_normalizer_fails():
    embeddings = small_embeddings("gaussian")
    mechanism = wv.SanText(epsilon=4.0, calibration="certified-local")
    certificate = wv.certify(mechanism, embeddings)
    table = distances(mechanism.metric, embeddings.vectors, embeddings.vectors)
    by_theorem = mechanism.epsilon / (2 * table.max())
    assert 1.1 * by_theorem < certificate.numbers["rate"] < 2 * by_theorem
    # The broken twin counts the score alone: rate = epsilon / diameter.
    weights = np.exp(-2 * by_theorem * table)
    broken = weights / weights.sum(axis=1, keepdims=True)
    apart = 1.0 - np.eye(len(embeddings))
    assert not wv.verify_channel(broken, apart, 4.0, slack=0.01).holds
    assert wv.verify_channel(mechanism.fit(embeddings, certificate).channel(), apart, 4.0, slack=0.01).holds


def test_promises_are_not_mixed_up():
    embeddings = small_embeddings("gaussian")
    local, metric = (wv.SanText(epsilon=3.0, calibration=c) for c in ("certified-local", "certified"))
    with pytest.raises(CertificateError, match="method="):
        metric.fit(embeddings, wv.certify(local, embeddings))
    with pytest.raises(CertificateError, match="method="):
        local.fit(embeddings, wv.certify(metric, embeddings))
    one = placed([[1.0], [1.0]])
    with pytest.raises(ParameterError, match="must hold two words apart"):
        wv.certify(local, one)
    with pytest.raises(CertificateError, match="belong to selection mechanisms"):
        wv.certify(wv.ClippedLaplace(epsilon=1.0), embeddings, rate=2.0)


@pytest.mark.parametrize("closed", [True, False], ids=["a closed form", "a matrix"])
@pytest.mark.parametrize("find", ["metric", "local"])
def test_interrupted_losses_are_resumed_bit_for_bit_and_other_inputs_are_refused(tmp_path, monkeypatch, closed, find):
    monkeypatch.setattr("wordveil.certification.normalizer_lipschitz._SECONDS", 0.0)
    embeddings, path, visits = small_embeddings("outlier", "some"), tmp_path / "work.npz", []

    def work(of=embeddings, **given):
        pairs = DistinctVectors.of(of, wv.Euclidean()) if closed else WordPairs(of, own(of))
        return LossComputation(pairs, **given)

    def found(**given):
        return getattr(work(**given), find)(2.0, 3.0)

    expected = found(threads=1, progress=visits.append)
    v, steps = len(embeddings), len(visits)
    assert closed or sum(visits) == v * (v + len(embeddings.candidates))
    for limit in (1, 2, 2, *range(3, 99)):
        try:
            assert found(threads=2, progress=interrupt_after(limit), checkpoint=str(path)) == expected
            break
        except KeyboardInterrupt:
            pass
    assert 2 < limit < steps, "no run went all the way by itself"
    visits.clear()
    assert found(progress=visits.append, checkpoint=str(path)) == expected
    assert visits == []
    with pytest.raises(ResumeError, match="other inputs"):
        work(small_embeddings("gaussian"), checkpoint=str(path))
    work(checkpoint=str(path)).finish()
    assert not path.exists()
    path.write_bytes(b"not an archive")
    with pytest.raises(ResumeError, match="no saved certification"):
        work(checkpoint=str(path))


def test_a_word_without_any_output_is_an_error_for_any_metric():
    barred = small_embeddings("two words").without_outputs(["w1"])
    for pairs in (WordPairs(barred, own(barred)), DistinctVectors.of(barred, wv.Euclidean())):
        with pytest.raises(ParameterError, match="without any output"):
            LossComputation(pairs).metric(200.0)


@pytest.mark.slow
def test_a_killed_certification_of_one_rate_is_continued_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("wordveil.certification.normalizer_lipschitz._SECONDS", 0.0)
    work, progress = tmp_path / "work.npz", []
    certified = partial(wv.certify_rate, wv.SanText(epsilon=1.0), drawn(1500, seed=3), 2.0)
    for step in (2, 5, 3):
        death = Death(step)
        again = partial(certified, threads=2, progress=lambda _, death=death: death.step(), checkpoint=str(work))
        assert in_child(again)[0] == -signal.SIGKILL
        progress.append(work.read_bytes())
    assert len(set(progress)) == 3, "each run went on from the one before"
    assert certified(checkpoint=str(work)).to_json() == certified().to_json()
    assert list(tmp_path.iterdir()) == []
