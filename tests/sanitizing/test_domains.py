"""Under one key, sanitizers with different settings share no noise, and equal settings share it in every process."""

import copy
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.installed_packages import install
from tests.tables import read_rows, write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import CertificateError, GuaranteeError, ParameterError
from wordveil.mechanisms.on_grid import RadialRandomizer
from wordveil.metrics.distances import Mahalanobis
from wordveil.promises.certificates import identity
from wordveil.runs.tables import released_columns
from wordveil.sanitizing import assembly, places
from worlds import SIXTEEN, sixteen, told

TOLD = told(__file__)

VOCABULARY = sixteen()
DEFAULTS = wv.TextOptions()
TEXT = " ".join(SIXTEEN * 20)


def released(mechanism, options=DEFAULTS):
    source = seeds.source(1)
    return wv.Sanitizer(VOCABULARY, mechanism, options=options, source=source)(TEXT, document_id="a").text


def agreement(a, b):
    return np.mean([x.lower() == y.lower() for x, y in zip(a.split(), b.split(), strict=True)])


def test_vocabularies_that_read_texts_otherwise_draw_independently():
    others = [VOCABULARY.with_header(**change) for change in ({"casing": "cased"}, {"order": "frequency"})]
    assert {table.header.checksum for table in others} == {VOCABULARY.header.checksum}
    domains = {wv.Sanitizer(table, wv.SanText(epsilon=1.0)).parts.domain for table in (VOCABULARY, *others)}
    assert len(domains) == 3


@dataclass(frozen=True, kw_only=True)
class Own(wv.Euclidean):
    """A user's metric, of a class that no package brings."""

    scale: float = 1.0
    name = "own"

    def coordinates(self, vectors):
        return self.scale * np.asarray(vectors, dtype=np.float64) ** 3


NARROWED = VOCABULARY.without_outputs([SIXTEEN[3]])
STRETCHED = Mahalanobis(whitening=np.diag([1.0, 1.0, 1.0, 1.001]))
BASE = wv.SanText(epsilon=0.01)
OTHERS = {
    "epsilon": (VOCABULARY, wv.SanText(epsilon=0.010001), DEFAULTS),
    "mechanism": (VOCABULARY, wv.TEM(epsilon=0.01), DEFAULTS),
    "casing": (VOCABULARY, BASE, wv.TextOptions(casing="vocabulary")),
    "candidates": (NARROWED, BASE, DEFAULTS),
    "public words": (VOCABULARY, BASE, wv.TextOptions(public_words={"pp"})),
    "metric": (VOCABULARY, replace(BASE, metric=Own()), DEFAULTS),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_settings_draw_independently(name):
    # 320 tokens, almost uniform over 16 words: independent draws agree in a share of 1/16; shared ones in nearly all.
    table, mechanism, options = OTHERS[name]
    source = seeds.source(1)
    other = wv.Sanitizer(table, mechanism, options=options, source=source)(TEXT, document_id="a").text
    assert agreement(released(BASE), other) < 0.25


def domain(mechanism, **settings):
    return wv.Sanitizer(VOCABULARY, mechanism, **settings).parts.domain


def test_metrics_that_differ_in_a_matrix_a_field_or_a_class_draw_independently():
    metrics = [wv.Euclidean(), Mahalanobis(whitening=np.eye(4)), STRETCHED, Own(), Own(scale=1.0001)]
    domains = [domain(wv.SanText(epsilon=1.0, metric=metric)) for metric in metrics]
    assert len(set(domains)) == len(metrics)
    assert domain(wv.SanText(epsilon=1.0, metric=Mahalanobis(whitening=np.eye(4)))) == domains[1]
    again = [domain(wv.SanText(epsilon=1.0, metric=Own())) for _ in range(2)]
    assert len(set(again)) == 2, "what cannot be named is never taken for the same"


@pytest.mark.parametrize("kind", [wv.SanText, wv.TEM, wv.NeighbourResponse])
def test_a_rate_is_one_rate_however_it_is_written(kind):
    assert len({domain(kind(epsilon=written)) for written in (8, 8.0, np.float64(8))}) == 1
    rows, source = np.ones((2, 3)), seeds.source(1)
    draws = [
        wv.release_vectors(rows, wv.MultivariateLaplace(epsilon=written), source=source).vectors
        for written in (8, 8.0, np.float64(8))
    ]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[1], draws[2])
    with pytest.raises(ParameterError, match="a float of 64 bits"):
        kind(epsilon=np.float32(8))


@pytest.fixture
def package(monkeypatch, tmp_path):
    """An installed package: a metric, a mechanism with arrays in a tuple, and one that computes its epsilon."""
    return install(monkeypatch, tmp_path / "site", TOLD["package"])


@pytest.fixture
def holding(package):
    """The metric, with a field that may hold anything."""
    return package.Holding


A_HAIR, LONG = np.array([1.0, 1.0 + 1e-9]), np.zeros(2000)
CHANGED = LONG.copy()
CHANGED[1000] = 7.0
HELD = {
    "tuple": ((np.ones(2),), (A_HAIR,)),
    "list": ([np.ones(2), 3], [A_HAIR, 3]),
    "nested dict": ({"w": [(np.ones(2),)]}, {"w": [(A_HAIR,)]}),
    "middle of a long array": ((LONG,), (CHANGED,)),
    "NumPy number": (np.float64(1.0), np.float64(1.0 + 2**-52)),
    "type in a tuple": ((np.ones(2),), (np.ones(2, dtype=np.float32),)),
    "set": (frozenset({1, 2}), frozenset({1, 3})),
}
NAMELESS = {
    "objects": np.array([object()]),
    "masked": np.ma.array(np.ones(2), mask=[True, False]),
    "function": len,
    "iterator": iter((1, 2)),
    "inside": ({"a": [object()]},),
    "more than a number": type("Number", (float,), {})(1.0),
}


@pytest.mark.parametrize("kind", HELD)
def test_metrics_that_differ_deep_in_a_field_share_nothing(holding, kind):
    one, other = (holding(held=held) for held in HELD[kind])
    again = holding(held=copy.deepcopy(HELD[kind][0]))
    mechanisms = [wv.SanText(epsilon=1.0, metric=metric, calibration="certified") for metric in (one, other, again)]
    found = wv.certify(mechanisms[0], VOCABULARY)
    assert mechanisms[2].fit(VOCABULARY, found).guarantee().epsilon == 1.0
    with pytest.raises(CertificateError, match="metric="):
        mechanisms[1].fit(VOCABULARY, found)
    domains = [domain(wv.SanText(epsilon=1.0, metric=metric)) for metric in (one, other, again)]
    assert domains[0] == domains[2] != domains[1]


@pytest.mark.parametrize("kind", NAMELESS)
def test_what_no_name_can_show_draws_afresh_and_is_not_certified(holding, kind):
    mechanism = wv.SanText(epsilon=1.0, metric=holding(held=NAMELESS[kind]))
    assert domain(mechanism) != domain(mechanism)
    with pytest.raises(CertificateError, match="cannot be named"):
        wv.certify(replace(mechanism, calibration="certified"), VOCABULARY)


def test_mechanisms_of_one_class_name_and_other_code_draw_independently():
    def make(steps):
        @dataclass(frozen=True, kw_only=True)
        class Turned(wv.NeighbourResponse):
            name = "turned"

            def fit(self, embeddings):
                fitted = super().fit(embeddings)
                return replace(fitted, lists=np.roll(fitted.lists, steps, axis=1))

        return Turned(epsilon=2.0, k=4, outputs=None)

    assert domain(make(0)) != domain(make(1))
    names = [places.vector_setting(make(i), make(i).fit(VOCABULARY), VOCABULARY) for i in (0, 1)]
    assert names[0] != names[1]


def test_vector_mechanisms_that_differ_in_a_long_array_draw_independently(package):
    rows = np.zeros((64, 4))
    source = seeds.source(1)

    def released(held):
        return wv.release_vectors(rows, package.Shifted(held=held), vocabulary=VOCABULARY, source=source).vectors

    one, other = HELD["middle of a long array"]
    np.testing.assert_array_equal(released(one), released((LONG.copy(),)))
    # On a grid of 2 with noise of scale 363 two numbers agree with probability 2 / (4 * 363), and four in one of the 64
    # rows with 64 * (2 / 1452)**4 = 3e-10.
    assert not (released(one) == released(other)).all(axis=1).any()


def test_certificates_engines_and_versions_draw_independently(monkeypatch):
    mechanism = wv.SanText(epsilon=1.0, calibration="certified")
    found = wv.certify(mechanism, VOCABULARY)
    numbers = {**found.numbers, "rate": found.numbers["rate"] * 0.999}
    slower = replace(found, numbers=numbers | {"cap": mechanism.cap(numbers["rate"], len(VOCABULARY.candidates))})
    one = domain(mechanism, certificate=found)
    assert one == domain(mechanism, certificate=found)
    assert one != domain(mechanism, certificate=slower)
    assert wv.Sanitizer(VOCABULARY, mechanism, certificate=slower).provenance.certificate == slower.checksum
    selection, noise = domain(BASE), domain(wv.MultivariateLaplace(epsilon=1.0))
    monkeypatch.setenv("WORDVEIL_ENGINE", "numpy")
    monkeypatch.setattr(assembly, "arithmetic_name", lambda: "another")
    assert selection == domain(BASE), "words drawn by ideal weights do not differ"
    assert noise == domain(wv.MultivariateLaplace(epsilon=1.0)), "decoded words do not"
    monkeypatch.setattr(assembly, "__version__", "another")
    assert noise != domain(wv.MultivariateLaplace(epsilon=1.0))


def test_epsilons_of_two_metrics_of_one_name_are_not_added(holding):
    matrices = [Mahalanobis(whitening=factor * np.eye(4), label="covariance") for factor in (1, 10)]
    metrics = [holding(held=1.0), holding(held=1.0), holding(held=5.0), Own(), Own(), *matrices]
    claims = [wv.SanText(epsilon=1.0, metric=metric).fit(VOCABULARY).guarantee() for metric in metrics]
    assert wv.compose_releases(claims[:2]).epsilon == pytest.approx(2.0)
    assert all("covariance" in claim.metric for claim in claims[5:])
    for one, other in ((0, 2), (0, 3), (3, 4), (5, 6)):
        with pytest.raises(GuaranteeError, match="metric"):
            wv.compose_releases([claims[one], claims[other]])


READ = wv.Embeddings.from_arrays(
    ["Well-Known", "Cold-Water", "well", "known", "cold", "water", "14", "15", "2026", "2027", "march", "april"],
    seeds.rng(0).normal(size=(12, 3)),
    casing="cased",
    candidate_rule="all",
)
FOLDED = READ.with_header(casing="lower")
READINGS = {  # two readings of one text, and what is one token to the first and several to the second
    "markup": (
        (READ, wv.TextOptions(markup="html")),
        (READ, DEFAULTS),
        ("<b well cold well>", "<b known water known>"),
    ),
    "typed": (
        (READ, wv.TextOptions(unknown="typed", numbers="vocabulary")),
        (READ, wv.TextOptions(numbers="vocabulary")),
        ("14 march 2026", "15 april 2027"),
    ),
    "casing": ((READ, DEFAULTS), (FOLDED, DEFAULTS), ("Well-Known", "Cold-Water")),
    "numbers": (
        (READ, wv.TextOptions(numbers="vocabulary")),
        (READ, wv.TextOptions(unknown="typed", public_words={"well"})),
        ("well 14 cold", "well 15 water"),
    ),
}


def loss(sanitizer, texts):
    """The exact loss between two texts, from the law of each token."""
    one, other = (sanitizer.parts.encoder.encode([text])[0].ids for text in texts)
    weights = (sanitizer.parts.randomizer.law(np.maximum(ids, -1)) for ids in (one, other))
    return float(np.abs(np.log(np.divide(*weights))).max(axis=1).sum())


@pytest.mark.parametrize("name", READINGS)
def test_releases_that_read_texts_otherwise_are_not_added(name):
    *readings, texts = READINGS[name]
    mechanism = wv.NeighbourResponse(epsilon=4.0, k=1, outputs=None)
    one, other = (wv.Sanitizer(table, mechanism, options=options) for table, options in readings)
    summed = one.guarantee.epsilon + other.guarantee.epsilon
    if name != "numbers":
        assert loss(one, texts) + loss(other, texts) > 1.4 * summed, "what the sum would have claimed for one token"
    with pytest.raises(GuaranteeError, match="differ in their scope"):
        wv.compose_releases([one.guarantee, other.guarantee])
    for mechanism in (wv.SanText(epsilon=1.0), wv.MultivariateLaplace(epsilon=1.0)):
        claims = [wv.Sanitizer(table, mechanism, options=options).guarantee for table, options in readings]
        with pytest.raises(GuaranteeError, match="differ in their"):
            wv.compose_releases(claims)


def test_releases_that_only_write_otherwise_are_added():
    mechanism = wv.NeighbourResponse(epsilon=4.0, k=1, outputs=None)
    narrowed = READ.without_outputs(["march"])
    claims = [
        wv.Sanitizer(table, mechanism, options=wv.TextOptions(casing=casing)).guarantee
        for table, casing in ((READ, "sentence"), (READ, "vocabulary"), (narrowed, "sentence"))
    ]
    assert wv.compose_releases(claims).epsilon == sum(claim.epsilon for claim in claims)


def test_a_document_is_the_same_in_all_releases_that_are_added_up():
    options = wv.TextOptions(per="document")
    sanitizer = wv.Sanitizer(READ, wv.NeighbourResponse(epsilon=4.0, k=1, outputs=None), options=options)
    (assumed,) = [line for line in sanitizer.guarantee.assumptions if "documents begin and end" in line]
    assert "the same in all releases that are added up" in assumed


def test_a_retry_in_another_process_draws_the_same_noise():
    command, answers = [sys.executable, "-c", TOLD["retry"], seeds.key(16).hex()], set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answers.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(answers) == 1


# Lanes; that no two consumers of a stream share one is part of the contract of every mechanism.
def test_the_first_unknown_token_of_a_document_follows_its_law_on_two_thousand_words():
    """Blocks, too, must be picked by draws that the stand-in was not picked by."""
    words = [f"{a}{b}{c}q" for a in "abcdefghijklmnopqrst" for b in "bcdfghjklm" for c in "aeiouyrstv"]
    rows = seeds.rng(5).normal(size=(2000, 3))
    table = wv.Embeddings.from_arrays(words, rows[np.argsort(rows[:, 0])])  # near words have near numbers
    mechanism = wv.SanText(epsilon=6.0)
    n = 40_000
    sanitizer = wv.Sanitizer(table, mechanism, source=wv.RandomSource(seeds.key(17)), threads=1)
    nonces = [i << 8 for i in range(n)]
    drawn = sanitizer.release_ids(np.full(n, -1, np.int32), np.ones(n, np.int64), nonces)
    expected = mechanism.fit(table).channel().mean(axis=0)
    assert chisquare(np.bincount(drawn, minlength=2000), expected * n).pvalue > 1e-9


def test_what_a_users_class_computes_of_its_arguments_is_in_its_name(package):
    calibrated = package.Calibrated
    fitted = calibrated(diameter=1.0).for_dimensions(4)
    names = {places.vector_setting(calibrated(diameter=d), fitted, None) for d in (1.0, 2.0)}
    assert len(names) == 2
    assert "epsilon=4.0" in places.shown(calibrated(diameter=2.0))
    assert len({identity(calibrated(diameter=d)) for d in (1.0, 2.0)}) == 2


def test_other_columns_of_equal_rows_draw_noise_of_their_own_under_one_key(tmp_path):
    rows = [{"title": TEXT, "body": TEXT}] * 2
    write_rows(tmp_path / "in.jsonl", rows)
    sanitizer = wv.Sanitizer(VOCABULARY, wv.SanText(epsilon=0.01))

    def of_file(column, again=""):
        output = tmp_path / f"{column}{again}.jsonl"
        wv.sanitize_documents(
            tmp_path / "in.jsonl", output, sanitizer, settings=DocumentSettings(columns=(column,), keep_others=True)
        )
        return [row[column] for row in read_rows(output)]

    def of_table(column):
        return released_columns({column: [TEXT] * 2}, sanitizer, ["a", "b"])[column]

    for release in (of_file, of_table):
        for title, body in zip(release("title"), release("body"), strict=True):
            assert agreement(title, body) < 0.2
    assert of_file("title", " again") == of_file("title", " third"), "a retry"
    assert of_table("title") == of_table("title")
    assert agreement(of_table(1)[0], of_table("1")[0]) < 0.2, "columns of a frame may have numbers as names"


def test_no_name_of_a_file_passes_for_another_s_columns(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"title": TEXT}) + "\n")
    (tmp_path / '["title"]in.jsonl').write_text(json.dumps(TEXT) + "\n")
    sanitizer, column = (
        wv.Sanitizer(VOCABULARY, wv.SanText(epsilon=0.01)),
        DocumentSettings(columns=("title",), keep_others=True),
    )
    wv.sanitize_documents(tmp_path / "in.jsonl", tmp_path / "a.jsonl", sanitizer, settings=column)
    wv.sanitize_documents(tmp_path / '["title"]in.jsonl', tmp_path / "b.jsonl", sanitizer)
    a, b = (json.loads((tmp_path / name).read_text()) for name in ("a.jsonl", "b.jsonl"))
    assert agreement(a["title"], b) < 0.2


def test_other_arrays_of_equal_rows_draw_noise_of_their_own_under_one_key(tmp_path):
    rows, source = np.ones((3, 4)), wv.RandomSource()
    np.savez(tmp_path / "in.npz", one=rows, other=rows)

    def released(column):
        settings = wv.VectorSettings(column=column)
        return wv.release_vectors(tmp_path / "in.npz", wv.ClippedLaplace(epsilon=1.0), settings=settings, source=source)

    same = released("one").vectors == released("other").vectors  # one number of twelve may be, on a grid of noise
    assert not same.all(axis=1).any()
    assert np.array_equal(released("one").vectors, released("one").vectors)


class Plain(RadialRandomizer):
    """A third party's randomizer that is no dataclass."""

    dimensions = 4
    deviation = 3.0
    sums = guarantee = None


def test_what_a_plain_class_computes_when_asked_does_not_change_where_its_noise_lies():
    plain = Plain()
    before = plain.public_data
    assert plain.draw_width > 0 < plain.grid
    assert plain.public_data == before


def test_the_code_that_places_noise_stays_where_it_is():
    """A class that moves draws anew under a key that stays; what moves on purpose is said under Guarantees."""
    homes = [line.split() for line in (Path(wv.__file__).parent / "__init__.pyi").read_text().splitlines()]
    kept = ("wordveil.mechanisms.", "wordveil.decoding.", "wordveil.metrics.", "wordveil.vocabulary.rank")
    code = sorted(f"{line[1]}.{line[3]}" for line in homes if line[:1] == ["from"] and line[1].startswith(kept))
    assert hashlib.sha256("\n".join(code).encode()).hexdigest()[:16] == "78451ca9053905fb", code
