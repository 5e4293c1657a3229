"""A certificate is a claim: what it says of pairs of words is computed again where it is used."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import wordveil as wv
from certification.small_vocabularies import SMALL, channel_losses, small_embeddings
from wordveil.certification import _rebuilt as rebuild_mechanism
from wordveil.errors import CertificateError
from wordveil.mechanisms.certificate_check import WHOLE
from wordveil.metrics.table import DistanceTable
from wordveil.sanitizing.fitting import FOLDER
from wordveil.vocabulary import rank_metric
from worlds import drawn, placed


def forged(certificate, **numbers):
    return replace(certificate, numbers={**certificate.numbers, **numbers})


MECHANISMS = [
    wv.SanText(epsilon=3.0, calibration="certified"),
    wv.SanText(epsilon=3.0, calibration="certified-local"),
    wv.SanText(epsilon=3.0, metric=wv.Angular(), calibration="certified"),
    wv.SanText(epsilon=3.0, metric=wv.NeighbourRank(k=20), calibration="certified"),
    wv.TEM(epsilon=3.0, gamma=4.0, calibration="certified"),
    wv.TEM(epsilon=3.0, gamma=4.0, calibration="certified-local"),
    wv.TightConstraints(epsilon=3.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name} {m.calibration} {m.metric.name}")
@pytest.mark.parametrize("outputs", ["all", "some"])
def test_in_a_small_vocabulary_every_pair_is_held_against_it(mechanism, outputs):
    """One part in ten thousand below the truth is seen; the truth itself passes."""
    embeddings = small_embeddings("gaussian", outputs)
    certificate = wv.certify(mechanism, embeddings)
    claim = mechanism.fit(embeddings, certificate).guarantee()
    assert "held against every pair of words when fitted" in claim.assumptions[-1]
    with pytest.raises(CertificateError, match="is refuted: two words"):
        mechanism.fit(embeddings, forged(certificate, epsilon=certificate.numbers["epsilon"] * (1 - 1e-4)))


@pytest.mark.parametrize("calibration", ["certified", "certified-local"])
def test_words_that_share_a_vector_but_no_row_of_a_matrix_are_held_against_it_too(calibration):
    """One vector for all words: a matrix tells them apart, so that every pair counts."""
    embeddings = placed(np.zeros((5, 1)))
    places = np.array([0.0, 1, 2, 7, 8])
    matrix = DistanceTable(np.abs(places[:, None] - places))
    metric = wv.Precomputed(label="places", vocabulary=embeddings.header.checksum, table=matrix)
    mechanism = wv.SanText(epsilon=4.0, metric=metric, calibration=calibration)
    certificate = wv.certify(mechanism, embeddings)
    assert mechanism.fit(embeddings, certificate).guarantee().standing is wv.Standing.CERTIFIED
    rate = 3.9999 if calibration == "certified" else 50.0
    with pytest.raises(CertificateError, match="is refuted: two words"):
        mechanism.fit(embeddings, forged(certificate, rate=rate, cap=28.0 / rate, epsilon=3.9))


@pytest.mark.parametrize("case", [case for case in SMALL if case != "two words"])
@pytest.mark.parametrize("kind", [wv.SanText, wv.TEM])
def test_an_honest_certificate_is_never_refused(case, kind):
    """Local ones of words that are all outputs: `test_one_rate`."""
    for calibration, outputs in (("certified", "all"), ("certified", "some"), ("certified-local", "some")):
        embeddings, mechanism = small_embeddings(case, outputs), kind(epsilon=5.0, calibration=calibration)
        mechanism.fit(embeddings, wv.certify(mechanism, embeddings))


def test_a_measure_that_was_altered_is_refused():
    embeddings = small_embeddings("gaussian")
    mechanism = wv.TightConstraints(epsilon=2.0)
    certificate = wv.certify(mechanism, embeddings)
    other = wv.certify(wv.TightConstraints(epsilon=1.0), embeddings).parameters["base"]
    with pytest.raises(CertificateError, match="is refuted"):
        mechanism.fit(embeddings, replace(certificate, parameters={**certificate.parameters, "base": other}))


def large(v=WHOLE + 200):
    words = drawn(v, 6, seed=5)
    return words.without_outputs(words.words[100:109])


def test_in_a_large_vocabulary_some_pairs_are_and_the_promise_says_so():
    embeddings = large()
    for calibration in ("certified", "certified-local"):
        mechanism = wv.SanText(epsilon=4.0, calibration=calibration)
        certificate = wv.certify(mechanism, embeddings)
        fitted = mechanism.fit(embeddings, certificate)
        said = fitted.guarantee().assumptions[-1]
        held = re.search(r"not repeated when fitted: only the pairs of (\d+) words were held against it", said)
        assert 57 <= int(held[1]) <= 105  # 48 evenly spaced, 48 far out, of which some may be both, and 9 barred
        assert fitted.guarantee().standing is wv.Standing.CERTIFIED
        for share in (0.5, 0.9):
            lowered = forged(certificate, epsilon=certificate.numbers["epsilon"] * share)
            with pytest.raises(CertificateError, match="is refuted"):
                mechanism.fit(embeddings, lowered)


@pytest.mark.parametrize("name", ["tem-9.36", "santext-4", "santext-local-8", "tem-local-16"])
def test_shipped_certificates_pass_and_their_forgeries_do_not(name):
    embeddings = wv.load_embeddings()
    certificate = wv.Certificate.load(FOLDER / f"{name}.json")
    mechanism = rebuild_mechanism(certificate)
    claim = mechanism.fit(embeddings, certificate).guarantee()
    assert "not repeated when fitted" in claim.assumptions[-1]
    rate = certificate.numbers["rate"] * 1.2
    with pytest.raises(CertificateError, match="is refuted"):
        mechanism.fit(embeddings, forged(certificate, rate=rate, cap=mechanism.cap(rate, len(embeddings.candidates))))


@pytest.mark.parametrize("off", [1.1, 0.9, 1 + 1e-9, 1 - 1e-9])
@pytest.mark.parametrize(
    "mechanism",
    [MECHANISMS[0], MECHANISMS[-1], wv.TEM(epsilon=3.0, beta=0.01, calibration="certified-local")],
    ids=lambda m: m.name,
)
def test_a_cap_that_is_not_the_mechanisms_is_refused(mechanism, off):
    """The loss was computed at the mechanism's cap; at another it is another."""
    embeddings = small_embeddings("gaussian")
    certificate = wv.certify(mechanism, embeddings)
    cap = certificate.numbers["cap"]
    assert cap == pytest.approx(mechanism.cap(certificate.numbers["rate"], len(embeddings.candidates)), rel=1e-15)
    with pytest.raises(CertificateError, match="clips distances"):
        mechanism.fit(embeddings, forged(certificate, cap=cap * off))
    mechanism.fit(embeddings, forged(certificate, cap=float(np.nextafter(cap, 9e9))))  # a unit in the last place


@pytest.mark.parametrize("epsilon", [0.2, 30.0, 200.0])
def test_a_local_promise_is_what_was_found_not_what_was_asked(epsilon):
    embeddings = small_embeddings("outlier")
    for kind in (wv.SanText, wv.TEM):
        mechanism = kind(epsilon=epsilon, calibration="certified-local")
        certificate = wv.certify(mechanism, embeddings)
        fitted = mechanism.fit(embeddings, certificate)
        claim = fitted.guarantee()
        assert isinstance(claim, wv.LocalDP)
        assert claim.epsilon == certificate.numbers["epsilon"] <= epsilon
        worst = channel_losses(fitted).max()
        assert worst - claim.slack <= claim.epsilon <= worst * (1 + 1e-5) + claim.slack
    # However much is asked, a tail of 28 nats loses little more.
    asked = wv.SanText(epsilon=200.0, calibration="certified-local")
    assert asked.fit(embeddings, wv.certify(asked, embeddings)).guarantee().epsilon < 35


RANKS = wv.SanText(epsilon=3.0, metric=wv.NeighbourRank(k=20), calibration="certified")


def test_a_certificate_of_other_ranks_is_refused(monkeypatch):
    """Near ties may be ranked otherwise by another build of SciPy: the ranks are part of what is certified."""
    embeddings = small_embeddings("gaussian")
    certificate = wv.certify(RANKS, embeddings)
    claim = RANKS.fit(embeddings, certificate).guarantee()
    known = rank_metric._larger_ranks

    def one_more(*given):
        return known(*given) + 1

    monkeypatch.setattr(rank_metric, "_larger_ranks", one_more)
    monkeypatch.setattr(rank_metric, "_LAST", {})
    with pytest.raises(CertificateError, match="matrix="):
        RANKS.fit(embeddings, certificate)
    other = wv.SanText(epsilon=3.0, metric=wv.NeighbourRank(k=20)).fit(embeddings).guarantee()
    assert other.metric != claim.metric


def last_bit_off(known):
    return lambda x, **more: known(x, **more) * (1 + 2.0**-52)


def test_ranks_and_their_certificate_are_the_same_where_logarithms_are_not(monkeypatch):
    """Another C library's logarithms differ in the last bits; weights are of decimal ones, and their sums exact."""
    embeddings = small_embeddings("gaussian")
    certificate = wv.certify(RANKS, embeddings)
    here = wv.NeighbourRank(k=20).bind(embeddings.vectors, embeddings.header.checksum)
    for known in (np.log, np.log1p, np.log2):
        monkeypatch.setattr(np, known.__name__, last_bit_off(known))
    monkeypatch.setattr(rank_metric, "_LAST", {})
    elsewhere = wv.NeighbourRank(k=20).bind(embeddings.vectors, embeddings.header.checksum)
    assert elsewhere.table is not here.table
    assert elsewhere.table.matrix.tobytes() == here.table.matrix.tobytes()
    wv.verify(certificate, embeddings, mechanism=RANKS)
    assert pickle.loads(pickle.dumps(elsewhere.table)) == elsewhere.table


def test_a_certificate_for_one_rate_says_what_a_lower_promise_would_need():
    embeddings = small_embeddings("gaussian")
    certificate = wv.certify_rate(wv.SanText(epsilon=1.0), embeddings, 1.3)
    lower = replace(certificate, parameters={**certificate.parameters, "epsilon": 1.4})
    with pytest.raises(CertificateError, match="does not keep the promised"):
        wv.SanText(epsilon=1.4, calibration="certified").fit(embeddings, lower)
