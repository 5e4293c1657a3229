"""Certificates as values: JSON round trip, what `verify` catches, what `fit` accepts; and those of fitted constants."""

import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

import seeds
import wordveil as wv
from certification.small_vocabularies import channel_losses, small_embeddings
from wordveil.certification import certify_profile
from wordveil.certification.certified_rate import SEARCH_TOLERANCE, largest_rate
from wordveil.certification.normalizer_lipschitz import ExactLoss
from wordveil.errors import CertificateError, ParameterError
from wordveil.metrics.distances import Mahalanobis
from wordveil.metrics.table import DistanceTable
from wordveil.promises.certificates import identity
from worlds import distances, told

CHANGES = told(__file__, "changes")
MECHANISMS = [
    wv.TEM(epsilon=1.5, calibration="certified"),
    wv.TEM(epsilon=6.0, gamma=2.0, calibration="certified"),
    wv.SanText(epsilon=3.0, calibration="certified"),
    wv.SanText(epsilon=2.0, metric=Mahalanobis(whitening=np.diag(np.arange(1.0, 8.0))), calibration="certified"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("outputs", ["all", "some"])
def test_a_certified_fit_keeps_its_claim_on_the_exact_channel_and_verify_agrees(mechanism, outputs):
    embeddings = small_embeddings("gaussian", outputs)
    certificate = wv.certify(mechanism, embeddings, threads=1)
    again = wv.Certificate.from_json(certificate.to_json())
    assert wv.verify(again, embeddings, mechanism=mechanism, threads=2).numbers == certificate.numbers
    fitted = mechanism.fit(embeddings, certificate)
    claim = fitted.guarantee()
    assert isinstance(claim, wv.MetricDP)
    assert (claim.standing, claim.epsilon) == (wv.Standing.CERTIFIED, mechanism.epsilon)
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
    assert textbook.guarantee().standing is wv.Standing.PROVED
    ids = embeddings.candidates
    assert np.diagonal(fitted.channel()[ids]).mean() > np.diagonal(textbook.channel()[ids]).mean()


@pytest.mark.parametrize(("change", "match"), CHANGES["altered"])
def test_verify_names_what_was_altered(change, match):
    embeddings = small_embeddings("gaussian")
    content = json.loads(wv.certify(wv.TEM(epsilon=1.5), embeddings).to_json())
    for name, value in change.items():
        content[name] = {**content[name], **value} if isinstance(value, dict) else value
    with pytest.raises(CertificateError, match=match):
        wv.verify(wv.Certificate.from_json(json.dumps(content)), embeddings)


@pytest.mark.parametrize(("text", "match"), [
    (b"{", "not JSON"),
    (b"[]", "JSON object with the keys"),
    (b"{}", "JSON object with the keys"),
    (b"\xff\xfe", "no UTF-8 text"),
])  # fmt: skip
def test_malformed_files_are_refused(text, match, tmp_path):
    (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(CertificateError, match=match):
        wv.Certificate.load(tmp_path / "bad.json")


@pytest.mark.parametrize(("change", "match"), [*CHANGES["wrong"], ({"method": None}, "wrong type")])
def test_wrong_contents_are_refused(change, match):
    content = json.loads(wv.certify(wv.SanText(epsilon=2.0), small_embeddings("two words")).to_json())
    with pytest.raises(CertificateError, match=match):
        wv.Certificate.from_json(json.dumps({**content, **change}))


def test_fit_refuses_certificates_of_other_inputs():
    embeddings = small_embeddings("gaussian")
    mechanism = wv.TEM(epsilon=1.5, calibration="certified")
    certificate = wv.certify(mechanism, embeddings)
    altered = [replace(certificate, numbers={**certificate.numbers, **one}) for one in ({"rate": 9.0}, {"cap": 0.1})]
    for fitting, of, given, match in (
        (mechanism, embeddings, None, "needs a certificate"),
        (wv.TEM(epsilon=1.5), embeddings, certificate, "say 'certified'"),
        (mechanism, small_embeddings("gaussian", seed=1), certificate, "vocabulary="),
        (mechanism, small_embeddings("gaussian", "some"), certificate, "candidates="),
        (replace(mechanism, epsilon=1.4), embeddings, certificate, "epsilon="),
        (replace(mechanism, beta=0.01), embeddings, certificate, "beta="),
        (wv.SanText(epsilon=1.5, calibration="certified"), embeddings, certificate, "mechanism="),
        (mechanism, embeddings, altered[0], "does not"),
        (mechanism, embeddings, altered[1], "clips distances"),
    ):
        with pytest.raises(CertificateError, match=match):
            fitting.fit(of, given)
    for wrong in ("tem", wv.TEM, mechanism.fit(embeddings, certificate)):
        with pytest.raises(ParameterError, match="must be a mechanism, such as"):
            wv.certify(wrong, embeddings)


def test_identities_of_shipped_metrics_stay_those_of_the_certificates_in_use():
    table = DistanceTable(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert identity(wv.Euclidean()) == "Euclidean()"
    assert identity(wv.NeighbourRank(k=5)) == "NeighbourRank(k=5, cap=None)"
    # The digest that `sha256sum` gives of "<f8(1, 1)" and the eight bytes of 1.0.
    digest = hashlib.sha256(b"<f8(1, 1)" + struct.pack("<d", 1.0)).hexdigest()
    assert identity(Mahalanobis(whitening=np.eye(1))) == f"Mahalanobis(whitening='sha256:{digest}', label='')"
    assert identity(wv.Precomputed(label="x", vocabulary="5f2c", table=table)) == (
        f"Precomputed(label='x', vocabulary='5f2c', table=DistanceTable(2 words, sha256:{table.checksum}), error=0.0)"
    )
    assert identity(wv.TEM(epsilon=1.0)) == (
        "TEM(epsilon=1.0, beta=0.001, gamma=None, metric=Euclidean(), calibration='textbook')"
    )
    assert identity(Mahalanobis(whitening=2 * np.eye(1))) != identity(Mahalanobis(whitening=np.eye(1)))
    with pytest.raises(CertificateError, match="frozen dataclass"):
        identity("euclidean")


def fake(curve):
    """Return a loss function following a curve, and the rates it was asked for."""
    asked = []

    def loss(rate):
        asked.append(rate)
        value = curve(rate)
        return ExactLoss(rate=rate, cap=1.0, epsilon=value, computed=value, error=0.0)

    return loss, asked


def test_a_wild_curve_still_ends_with_a_certified_rate():
    loss, asked = fake(lambda r: 2 * r if r < 1.0 else 5.0)
    assert largest_rate(loss, 2.0).rate == pytest.approx(1.0, rel=0.1)
    assert len(asked) <= 9
    with pytest.raises(CertificateError, match="a defect"):
        largest_rate(fake(lambda r: 10.0)[0], 2.0)


CONSTANTS = [
    (wv.Projection(epsilon=2.0, dimensions=4, seed=seeds.seed(3)), "stretch"),
    (wv.Projection(epsilon=2.0, sensitivity="union-bound", beta=1.0), "stretch"),
    (wv.TruncatedLaplace(epsilon=1.0, delta=1e-5), "half_width"),
    (wv.TruncatedLaplace(epsilon=1.0, delta=1e-5, calibration="exact"), "half_width"),
    (wv.ClippedGaussian(epsilon=1.6, delta=1 / 73404), "sigma"),
    (wv.NADP(epsilon=1.0, delta=1e-5), "sigma"),
]


@pytest.mark.parametrize(("mechanism", "number"), CONSTANTS, ids=lambda x: getattr(x, "name", None))
def test_constants_are_recorded_repeated_and_guarded(mechanism, number, tmp_path):
    embeddings = small_embeddings("gaussian")
    certificate = wv.Certificate.load(wv.certify(mechanism, embeddings).save(tmp_path / "c.json"))
    assert wv.verify(certificate, embeddings).numbers == certificate.numbers
    lowered = replace(certificate, numbers={**certificate.numbers, number: certificate.numbers[number] * (1 - 1e-8)})
    with pytest.raises(CertificateError, match=f"claims {number}=.*below"):
        wv.verify(lowered, embeddings)
    halved = replace(certificate, numbers={**certificate.numbers, number: certificate.numbers[number] / 2})
    with pytest.raises(CertificateError, match=f"says {number}="):
        wv.verify(halved, embeddings)


def test_the_numbers_are_those_of_the_fitted_mechanism():
    embeddings = small_embeddings("gaussian")
    projection = CONSTANTS[0][0]
    assert wv.certify(projection, embeddings).numbers["stretch"] == projection.fit(embeddings).stretch
    gaussian = wv.certify(CONSTANTS[4][0], embeddings)
    assert gaussian.numbers["scale"] == pytest.approx(2.3940794204, abs=1e-10)
    assert gaussian.numbers["delta"] <= 1 / 73404
    planned = wv.certify(CONSTANTS[1][0], embeddings)
    assert planned.numbers["delta"] <= 1e-6


def test_vocabulary_bound_certificates_name_the_vocabulary():
    embeddings, other = small_embeddings("gaussian"), small_embeddings("gaussian", seed=1)
    with pytest.raises(CertificateError, match="vocabulary="):
        wv.verify(wv.certify(CONSTANTS[0][0], embeddings), other)
    wv.verify(wv.certify(CONSTANTS[4][0], embeddings), other)


def test_profiles_are_certified_without_a_vocabulary():
    certificate = certify_profile(wv.MultivariateLaplace(epsilon=2.0), dimensions=300, diameter=15.0, delta=1e-5)
    assert certificate.numbers["epsilon_local"] == pytest.approx(8.194003, abs=1e-6)
    embeddings = small_embeddings("two words")
    wv.verify(certificate, embeddings)
    with pytest.raises(CertificateError, match="says epsilon_local"):
        wv.verify(replace(certificate, parameters={**certificate.parameters, "diameter": 16.0}), embeddings)
    with pytest.raises(CertificateError, match="must be numbers"):
        wv.verify(replace(certificate, parameters={**certificate.parameters, "diameter": "16"}), embeddings)
    with pytest.raises(CertificateError, match="has the parameters"):
        wv.verify(replace(certificate, parameters={"mechanism": "laplace"}), embeddings)


def test_what_cannot_be_recorded_is_refused():
    embeddings = small_embeddings("gaussian")
    with pytest.raises(CertificateError, match="needs no certificate"):
        wv.certify(wv.ClippedLaplace(epsilon=1.0), embeddings)
    with pytest.raises(CertificateError, match="matrix of Projection is no single value"):
        wv.certify(wv.Projection(epsilon=1.0, matrix=[[1.0] * 7]), embeddings)
    certificate = wv.certify(CONSTANTS[2][0], embeddings)
    with pytest.raises(CertificateError, match="not those of TruncatedLaplace"):
        wv.verify(replace(certificate, parameters={**certificate.parameters, "other": 1}), embeddings)
