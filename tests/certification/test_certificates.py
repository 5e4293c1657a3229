"""Certificates as values: JSON round trip, what `verify` catches, and what `fit` accepts."""

import hashlib
import json
import math
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest

from certification.small_vocabularies import channel_losses, small_embeddings
from wordveil.certification import certify, verify
from wordveil.certification.certified_rate import SEARCH_TOLERANCE, largest_rate
from wordveil.certification.normalizer_lipschitz import ExactLoss
from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.metrics.distances import Euclidean, Mahalanobis, Precomputed
from wordveil.metrics.table import DistanceTable
from wordveil.promises.certificates import Certificate, compare, identity
from wordveil.promises.guarantees import MetricDP, Standing
from wordveil.vocabulary.rank_metric import NeighbourRank
from worlds import distances

MECHANISMS = [
    TEM(epsilon=1.5, calibration="certified"),
    TEM(epsilon=6.0, gamma=2.0, calibration="certified"),
    SanText(epsilon=3.0, calibration="certified"),
    SanText(epsilon=2.0, metric=Mahalanobis(whitening=np.diag(np.arange(1.0, 8.0))), calibration="certified"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("outputs", ["all", "some"])
def test_a_certified_fit_keeps_its_claim_on_the_exact_channel(mechanism, outputs):
    embeddings = small_embeddings("gaussian", outputs)
    certificate = certify(mechanism, embeddings, threads=1)
    fitted = mechanism.fit(embeddings, certificate)
    claim = fitted.guarantee()
    assert isinstance(claim, MetricDP)
    assert (claim.standing, claim.epsilon) == (Standing.CERTIFIED, mechanism.epsilon)
    assert claim.slack >= certificate.error > 0
    assert claim.largest_distance == certificate.numbers["cap"]
    s = np.minimum(distances(mechanism.metric, embeddings.vectors, embeddings.vectors), claim.largest_distance)
    loss = channel_losses(fitted)
    assert np.all(loss <= claim.epsilon * s + claim.slack)
    # The rate is worth having: above the textbook's, and within the search's tolerance of the target.
    assert certificate.numbers["rate"] > mechanism.epsilon / 2
    assert certificate.numbers["epsilon"] >= mechanism.epsilon * (1 - SEARCH_TOLERANCE)
    if outputs == "all":
        assert (loss[s > 0] / s[s > 0]).max() == pytest.approx(certificate.numbers["epsilon"], rel=1e-6)
    textbook = replace(mechanism, calibration="textbook").fit(embeddings)
    assert textbook.guarantee().standing is Standing.PROVED
    ids = embeddings.candidates
    assert np.diagonal(fitted.channel()[ids]).mean() > np.diagonal(textbook.channel()[ids]).mean()


def test_saved_certificates_come_back_equal(tmp_path):
    certificate = certify(MECHANISMS[0], small_embeddings("two words"))
    path = certificate.save(tmp_path / "tem.json")
    assert Certificate.load(path) == certificate
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert [p.name for p in tmp_path.iterdir()] == ["tem.json"]
    assert len(certificate.to_json()) < 1000


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_verify_repeats_and_agrees(mechanism, tmp_path):
    embeddings = small_embeddings("gaussian", "some")
    certificate = Certificate.load(certify(mechanism, embeddings, threads=1).save(tmp_path / "c.json"))
    assert verify(certificate, embeddings, mechanism=mechanism, threads=2).numbers == certificate.numbers


def test_verify_rebuilds_mechanisms_with_plain_metrics():
    embeddings = small_embeddings("duplicates")
    for mechanism in MECHANISMS[:3]:
        verify(certify(mechanism, embeddings), embeddings)
    special = SanText(epsilon=2.0, metric=Mahalanobis(whitening=np.eye(5)))
    with pytest.raises(CertificateError, match="pass the mechanism itself"):
        verify(certify(special, embeddings), embeddings)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"numbers": {"epsilon": 0.5}}, r"epsilon=0\.5, the repetition found"),
        ({"numbers": {"rate": 1.01}}, "repetition found"),
        ({"numbers": {"rate": 9.0}}, r"rate=9\.0 must be in"),
        ({"numbers": {"cap": 1.0}}, r"cap=1\.0, the repetition found"),
        ({"numbers": {"other": 1.0}}, "other=1.0, the repetition found None"),
        ({"error": 0.0}, r"error=0\.0, the repetition found"),
        ({"parameters": {"beta": 0.01}}, "cap="),
        ({"parameters": {"epsilon": 1.0}}, "must be in|above"),
        ({"parameters": {"metric": "Angular()"}}, "the repetition found|above"),
        ({"vocabulary": "0" * 64}, "vocabulary="),
        ({"candidates": "0" * 64}, "candidates="),
        ({"method": "guess"}, "certified by the method 'guess'"),
    ],
)
def test_verify_names_what_was_altered(change, match):
    embeddings = small_embeddings("gaussian")
    content = json.loads(certify(TEM(epsilon=1.5), embeddings).to_json())
    for name, value in change.items():
        content[name] = {**content[name], **value} if isinstance(value, dict) else value
    with pytest.raises(CertificateError, match=match):
        verify(Certificate.from_json(json.dumps(content)), embeddings)


def test_a_claim_a_little_below_the_repetition_is_refused():
    certificate = certify(SanText(epsilon=2.0), small_embeddings("gaussian"))
    lowered = replace(
        certificate, numbers={**certificate.numbers, "epsilon": certificate.numbers["epsilon"] * (1 - 1e-8)}
    )
    with pytest.raises(CertificateError, match="below the"):
        compare(lowered, certificate)
    compare(certificate, certificate)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object with the keys"),
        (b"{}", "JSON object with the keys"),
        (b"\xff\xfe", "no UTF-8 text"),
    ],
)
def test_malformed_files_are_refused(text, match, tmp_path):
    (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(CertificateError, match=match):
        Certificate.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"numbers": {"epsilon": math.inf}}, "finite"),
        ({"numbers": {"epsilon": True}}, "finite"),
        ({"numbers": 3}, "wrong type"),
        ({"error": -1.0}, "finite"),
        ({"error": "none"}, "wrong type"),
        ({"format": 2}, "format 2"),
        ({"method": None}, "wrong type"),
    ],
)
def test_wrong_contents_are_refused(change, match):
    content = json.loads(certify(SanText(epsilon=2.0), small_embeddings("two words")).to_json())
    with pytest.raises(CertificateError, match=match):
        Certificate.from_json(json.dumps({**content, **change}))


def test_fit_refuses_certificates_of_other_inputs():
    embeddings = small_embeddings("gaussian")
    mechanism = TEM(epsilon=1.5, calibration="certified")
    certificate = certify(mechanism, embeddings)
    with pytest.raises(CertificateError, match="needs a certificate"):
        mechanism.fit(embeddings)
    with pytest.raises(CertificateError, match="say 'certified'"):
        TEM(epsilon=1.5).fit(embeddings, certificate)
    with pytest.raises(CertificateError, match="vocabulary="):
        mechanism.fit(small_embeddings("gaussian", seed=1), certificate)
    with pytest.raises(CertificateError, match="candidates="):
        mechanism.fit(small_embeddings("gaussian", "some"), certificate)
    with pytest.raises(CertificateError, match="epsilon="):
        replace(mechanism, epsilon=1.4).fit(embeddings, certificate)
    with pytest.raises(CertificateError, match="beta="):
        replace(mechanism, beta=0.01).fit(embeddings, certificate)
    with pytest.raises(CertificateError, match="mechanism="):
        SanText(epsilon=1.5, calibration="certified").fit(embeddings, certificate)
    forged = replace(certificate, numbers={**certificate.numbers, "rate": 9.0})
    with pytest.raises(CertificateError, match="does not"):
        mechanism.fit(embeddings, forged)
    forged = replace(certificate, numbers={**certificate.numbers, "cap": 0.1})
    with pytest.raises(CertificateError, match="clips distances"):
        mechanism.fit(embeddings, forged)
    for wrong in ("tem", TEM, mechanism.fit(embeddings, certificate)):
        with pytest.raises(ParameterError, match="must be a mechanism, such as"):
            certify(wrong, embeddings)


def test_identities_tell_metrics_apart():
    a, b = Mahalanobis(whitening=np.eye(3)), Mahalanobis(whitening=2 * np.eye(3))
    assert identity(a) == identity(Mahalanobis(whitening=np.eye(3)))
    assert len({identity(a), identity(b), identity(Euclidean())}) == 3
    with pytest.raises(CertificateError, match="frozen dataclass"):
        identity("euclidean")


def test_identities_of_shipped_metrics_stay_those_of_the_certificates_in_use():
    table = DistanceTable(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert identity(Euclidean()) == "Euclidean()"
    assert identity(NeighbourRank(k=5)) == "NeighbourRank(k=5, cap=None)"
    # The digest that `sha256sum` gives of "<f8(1, 1)" and the eight bytes of 1.0.
    digest = hashlib.sha256(b"<f8(1, 1)" + struct.pack("<d", 1.0)).hexdigest()
    assert identity(Mahalanobis(whitening=np.eye(1))) == f"Mahalanobis(whitening='sha256:{digest}', label='')"
    assert identity(Precomputed(label="x", vocabulary="5f2c", table=table)) == (
        f"Precomputed(label='x', vocabulary='5f2c', table=DistanceTable(2 words, sha256:{table.checksum}), error=0.0)"
    )
    assert identity(TEM(epsilon=1.0)) == (
        "TEM(epsilon=1.0, beta=0.001, gamma=None, metric=Euclidean(), calibration='textbook')"
    )


def fake(curve):
    """Return a loss function following a curve, and the rates it was asked for."""
    asked = []

    def loss(rate):
        asked.append(rate)
        value = curve(rate)
        return ExactLoss(rate=rate, cap=1.0, epsilon=value, computed=value, error=0.0, worst=(0, 1))

    return loss, asked


@pytest.mark.parametrize("curve", [lambda r: r, lambda r: 2 * r, lambda r: r + 0.3 * min(r, 1.0), lambda r: r * 1.5])
def test_the_search_reaches_the_target_from_below(curve):
    loss, asked = fake(curve)
    found = largest_rate(loss, 2.0)
    assert 2.0 * (1 - SEARCH_TOLERANCE) <= found.epsilon <= 2.0 or found.rate >= 1.0 * (1 - 1e-8)
    assert curve(found.rate) <= 2.0
    assert len(asked) <= 9


def test_a_wild_curve_still_ends_with_a_certified_rate():
    loss, asked = fake(lambda r: 2 * r if r < 1.0 else 5.0)
    assert largest_rate(loss, 2.0).rate == pytest.approx(1.0, rel=0.1)
    assert len(asked) <= 9
    with pytest.raises(CertificateError, match="a defect"):
        largest_rate(fake(lambda r: 10.0)[0], 2.0)
