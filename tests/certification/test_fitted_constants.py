"""Certificates of fitted constants: round trip, agreement with the guarantee, and what verification catches."""

from dataclasses import replace

import pytest

import seeds
import wordveil as wv
from certification.small_vocabularies import small_embeddings
from wordveil.certification import certify_profile
from wordveil.errors import CertificateError

MECHANISMS = [
    (wv.Projection(epsilon=2.0, dimensions=4, seed=seeds.seed(3)), "stretch"),
    (wv.Projection(epsilon=2.0, sensitivity="union-bound", beta=1.0), "stretch"),
    (wv.TruncatedLaplace(epsilon=1.0, delta=1e-5), "half_width"),
    (wv.TruncatedLaplace(epsilon=1.0, delta=1e-5, calibration="exact"), "half_width"),
    (wv.ClippedGaussian(epsilon=1.6, delta=1 / 73404), "sigma"),
    (wv.NADP(epsilon=1.0, delta=1e-5), "sigma"),
]


@pytest.mark.parametrize(("mechanism", "number"), MECHANISMS, ids=lambda x: getattr(x, "name", None))
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
    projection = MECHANISMS[0][0]
    assert wv.certify(projection, embeddings).numbers["stretch"] == projection.fit(embeddings).stretch
    gaussian = wv.certify(MECHANISMS[4][0], embeddings)
    assert gaussian.numbers["scale"] == pytest.approx(2.3940794204, abs=1e-10)
    assert gaussian.numbers["delta"] <= 1 / 73404
    planned = wv.certify(MECHANISMS[1][0], embeddings)
    assert planned.numbers["delta"] <= 1e-6


def test_vocabulary_bound_certificates_name_the_vocabulary():
    embeddings, other = small_embeddings("gaussian"), small_embeddings("gaussian", seed=1)
    with pytest.raises(CertificateError, match="vocabulary="):
        wv.verify(wv.certify(MECHANISMS[0][0], embeddings), other)
    wv.verify(wv.certify(MECHANISMS[4][0], embeddings), other)


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
    certificate = wv.certify(MECHANISMS[2][0], embeddings)
    with pytest.raises(CertificateError, match="not those of TruncatedLaplace"):
        wv.verify(replace(certificate, parameters={**certificate.parameters, "other": 1}), embeddings)
