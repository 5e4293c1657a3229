"""A metric derived from one of the library's: its own distances are what every engine draws by, and what is claimed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import chi2
from tests.certification.small_vocabularies import worst_by_definition
from tests.kernels.engines_here import every_engine
from tests.kernels.gpu_modules import modules

import seeds
from wordveil.certification import certify, certify_rate, verify
from wordveil.certification.normalizer_lipschitz import LossComputation
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.errors import CertificateError, ParameterError, ResumeError
from wordveil.kernels.pair_maximum import PairProblem
from wordveil.mechanisms.precomputation import precompute
from wordveil.mechanisms.santext import SanText
from wordveil.mechanisms.tem import TEM
from wordveil.mechanisms.tight import TightConstraints
from wordveil.mechanisms.worst_pairs import word_distances
from wordveil.metrics.distances import (
    SAMPLE,
    Angular,
    Euclidean,
    Mahalanobis,
    Metric,
    PairwiseMetric,
    distances,
    is_norm,
)
from wordveil.promises.guarantees import Standing
from wordveil.vocabulary.table import Embeddings

V = 90


def halved(base, **fields):
    """Half the distance of a metric of the library, under the same class attributes but its own name."""

    @dataclass(frozen=True, kw_only=True)
    class Halved(base):
        name: ClassVar[str] = f"half {base.__name__}"

        def from_squared(self, squared):
            super().from_squared(squared)
            squared *= 0.5

        def distance_error(self, squared_error):
            return 0.5 * super().distance_error(squared_error)

    return Halved(**fields)


def rooted(base, **fields):
    """The root of a metric: again a metric, and far larger near 0."""

    @dataclass(frozen=True, kw_only=True)
    class Rooted(base):
        name: ClassVar[str] = f"root of {base.__name__}"

        def from_squared(self, squared):
            super().from_squared(squared)
            np.sqrt(squared, out=squared)

        def distance_error(self, squared_error):
            return math.sqrt(super().distance_error(squared_error))

    return Rooted(**fields)


BASES = [(Euclidean, {}), (Angular, {}), (Mahalanobis, {"whitening": np.diag([2.0, 1.0, 0.5])})]
DERIVED = [
    pytest.param(make, base, id=f"{make.__name__} {base[0].__name__}") for make in (halved, rooted) for base in BASES
]


def vocabulary():
    rng = seeds.rng(1)
    rows = rng.normal(size=(V, 3)).astype(np.float32)
    words = [f"w{i}" for i in range(V)]
    return Embeddings.from_arrays(words, rows, candidate_rule="all").without_outputs(words[:9])


def by_hand(make, base, rows):
    """The derived distances, or with None the base's, from its coordinates, without `from_squared`."""
    points = base[0](**base[1]).coordinates(rows)
    table = np.linalg.norm(points[:, None] - points[None], axis=2)
    if base[0] is Angular:
        table = 2 * np.arcsin(np.minimum(table / 2, 1))
    return {halved: table / 2, rooted: np.sqrt(table), None: table}[make]


def excess(channel, s, claim):
    """Return how far the loss of any triple (x, x', y) exceeds epsilon * s(x, x') + slack, in nats."""
    log_p = np.log(channel)
    gaps = np.stack([np.abs(log_p - row).max(axis=1) for row in log_p])
    return float((gaps - claim.epsilon * s).max()) - claim.slack


@every_engine
@pytest.mark.parametrize(("make", "base"), DERIVED)
@pytest.mark.parametrize("calibration", ["textbook", "certified", "certified-local"])
@pytest.mark.parametrize("kind", [SanText, TEM])
def test_the_exact_law_of_every_engine_is_that_of_the_derived_distance(
    monkeypatch, engine, make, base, calibration, kind
):
    monkeypatch.setenv("WORDVEIL_ENGINE", engine)
    embeddings, metric = vocabulary(), make(base[0], **base[1])
    mechanism = kind(epsilon=2.0, metric=metric, calibration=calibration)
    fitted = mechanism.fit(embeddings, None if calibration == "textbook" else certify(mechanism, embeddings))
    rate, cap, claim = fitted.rows.rate, fitted.rows.cap, fitted.guarantee()
    s = np.minimum(by_hand(make, base, embeddings.vectors), cap)
    expected = np.exp(-rate * s[:, embeddings.candidates])
    np.testing.assert_allclose(fitted.channel(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)
    assert excess(fitted.channel(), 1.0 - np.eye(V) if calibration == "certified-local" else s, claim) <= 0
    assert claim.standing is Standing.PUBLISHED
    if calibration != "certified-local":
        assert re.fullmatch(rf"{re.escape(metric.name)} \(class [0-9a-f]{{12}}\)", claim.metric)
    if calibration == "certified":
        # What engines drew that took the derived distance for its base's, at the rate of the derived one.
        broken = np.exp(-rate * np.minimum(by_hand(None, base, embeddings.vectors), cap)[:, embeddings.candidates])
        assert excess(broken / broken.sum(axis=1, keepdims=True), s, claim) > 0.05


@every_engine
@pytest.mark.parametrize("make", [halved, rooted])
def test_released_words_follow_the_derived_distance(monkeypatch, engine, make):
    """False alarm 1e-9; the same check tells the Euclidean law apart."""
    monkeypatch.setenv("WORDVEIL_ENGINE", engine)
    embeddings, n, word = vocabulary(), 40_000, 20
    fitted = SanText(epsilon=3.0, metric=make(Euclidean)).fit(embeddings)
    drawn = fitted.release(np.full(n, word, dtype=np.int32), seeds.source(1))
    counts = np.bincount(np.searchsorted(embeddings.candidates, drawn), minlength=len(embeddings.candidates))
    for table, holds in (
        (by_hand(make, BASES[0], embeddings.vectors), True),
        (distances(Euclidean(), embeddings.vectors, embeddings.vectors), False),
    ):
        law = np.exp(-1.5 * table[word, embeddings.candidates])
        law *= n / law.sum()
        assert bool(chi2.sf(((counts - law) ** 2 / law).sum(), len(law) - 1) > 1e-9) is holds


@pytest.mark.parametrize(("make", "base"), DERIVED)
def test_certificates_of_derived_metrics_see_every_pair(make, base):
    """The screen for chords must not be used: the worst pair is found among all, by brute force."""
    embeddings, metric = vocabulary(), make(base[0], **base[1])
    mechanism = SanText(epsilon=2.0, metric=metric, calibration="certified")
    certificate = certify_rate(mechanism, embeddings, 1.1)
    table = by_hand(make, base, embeddings.vectors)
    s = np.minimum(table, certificate.numbers["cap"])
    exact = max(1.1, worst_by_definition(s, 1.1, embeddings.candidates)[0])
    rounding = certificate.error / s[s > 0].min()  # of a loss, by the least distance: what its slope may be off
    assert certificate.numbers["epsilon"] == pytest.approx(exact, abs=rounding)
    with pytest.raises(CertificateError, match="pass the mechanism itself"):
        verify(certificate, embeddings)


def test_no_kernel_takes_a_derived_metric_for_a_norm():
    class Plain(Euclidean):
        name = "plain"

    assert is_norm(Plain())
    assert is_norm(Mahalanobis(whitening=np.eye(3)))
    for metric in (halved(Euclidean), rooted(Mahalanobis, whitening=np.eye(3)), Angular(), halved(Angular)):
        assert not is_norm(metric)
    patched = Plain()
    object.__setattr__(patched, "from_squared", lambda squared: np.cbrt(squared, out=squared))
    assert not is_norm(patched)
    gpu = modules("torch")
    for metric in (halved(Euclidean), Angular()):
        rows = SanText(epsilon=1.0, metric=metric).fit(vocabulary()).rows
        with pytest.raises(ParameterError, match="has no kernel on a graphics card"):
            gpu.selection.GpuSelection(rows, device="cpu")


@pytest.mark.parametrize(("make", "base"), DERIVED)
def test_precomputed_rows_have_the_derived_law(make, base):
    embeddings, metric = vocabulary(), make(base[0], **base[1])
    fitted = precompute(TEM(epsilon=6.0, metric=metric).fit(embeddings))
    s = np.minimum(by_hand(make, base, embeddings.vectors), fitted.rows.cap)
    expected = np.exp(-3.0 * s[:, embeddings.candidates])
    np.testing.assert_allclose(fitted.channel(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    assert excess(fitted.channel(), s, fitted.guarantee()) <= 0


def test_a_derived_metric_needs_a_name_and_an_error_of_its_own():
    class Nameless(Euclidean):
        def from_squared(self, squared):
            np.cbrt(squared, out=squared)

        def distance_error(self, squared_error):
            return float(np.cbrt(squared_error))

    class Careless(Euclidean):
        name = "careless"

        def from_squared(self, squared):
            np.sqrt(squared, out=squared)
            np.sqrt(squared, out=squared)

    for metric, match in ((Nameless(), "is not what Nameless is; give it its own name"),
                          (Careless(), "give it its own distance_error too")):  # fmt: skip
        with pytest.raises(ParameterError, match=match):
            SanText(epsilon=1.0, metric=metric).fit(vocabulary())
        with pytest.raises(ParameterError, match=match):
            certify(SanText(epsilon=1.0, metric=metric), vocabulary())


def test_a_certificate_of_a_library_metric_is_none_of_a_users_of_the_same_class_name():
    own = dataclass(frozen=True)(type("Euclidean", (Euclidean,), {"name": "mine", "__module__": __name__}))
    certificate = certify(SanText(epsilon=2.0, calibration="certified"), vocabulary())
    with pytest.raises(CertificateError, match=r"metric='Euclidean\(\)', but \"own Euclidean\(name='mine'"):
        SanText(epsilon=2.0, metric=own(), calibration="certified").fit(vocabulary(), certificate)


def test_tight_constraints_take_no_derived_distance():
    with pytest.raises(ParameterError, match="not known to be of negative type"):
        TightConstraints(epsilon=1.0, metric=halved(Angular))
    with pytest.raises(ParameterError, match="not known to be of negative type"):
        TightConstraints(epsilon=1.0, metric=rooted(Euclidean))


@dataclass(frozen=True, kw_only=True)
class Powered(Metric):
    """||x - y||^power, a metric for powers up to 1."""

    name: ClassVar[str] = "powered"
    power: float

    def coordinates(self, vectors):
        return np.asarray(vectors, dtype=np.float64)

    def from_squared(self, squared):
        np.power(squared, self.power / 2, out=squared)

    def distance_error(self, squared_error):
        return float(squared_error ** (self.power / 2))


def test_interrupted_work_belongs_to_one_parameter_of_a_metric(tmp_path):
    path = str(tmp_path / "work.npz")
    embeddings = vocabulary()
    first = DistinctVectors.of(embeddings, Powered(power=0.5))
    second = DistinctVectors.of(embeddings, Powered(power=0.9))
    LossComputation(first, checkpoint=path).metric(1.0, 3.0)
    with pytest.raises(ResumeError, match="other inputs"):
        LossComputation(second, checkpoint=path)


def test_values_no_distance_can_have_stop_a_draw():
    """128 of the words are looked at when fitted; beyond them a user's distances are checked as they are used."""

    class Late(Powered):
        name = "late"

        def from_squared(self, squared):
            np.sqrt(squared, out=squared)
            squared[squared > 30] = np.nan

        def distance_error(self, squared_error):
            return math.sqrt(squared_error)

    rows = seeds.rng(2).normal(size=(400, 2)).astype(np.float32)
    rows[1] += 50
    embeddings = Embeddings.from_arrays([f"w{i}" for i in range(400)], rows, candidate_rule="all")
    fitted = TEM(epsilon=1.0, gamma=3.0, metric=Late(power=1.0)).fit(embeddings)
    with pytest.raises(ParameterError, match="metric='late' gives a negative or non-finite distance"):
        fitted.release(np.array([0], dtype=np.int32), seeds.source(0))
    everyone = np.arange(400, dtype=np.int32)
    with pytest.raises(ParameterError, match="metric='late' gives a negative or non-finite distance"):
        word_distances(embeddings, fitted.metric)(everyone, everyone)
    with pytest.raises(ParameterError, match="metric='late' gives a negative or non-finite distance"):
        certify(SanText(epsilon=1.0, metric=Late(power=1.0)), embeddings)


def test_whitening_is_copied_checked_and_frozen():
    own = np.eye(3)
    metric = Mahalanobis(whitening=own)
    own[:] = 9.0
    assert np.array_equal(metric.whitening, np.eye(3))
    with pytest.raises(ValueError, match="read-only"):
        metric.whitening[0, 0] = 2.0
    for bad in (np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.ones(3), np.ones((0, 3))):
        with pytest.raises(ParameterError, match="whitening="):
            Mahalanobis(whitening=bad)


def test_the_screen_is_for_norms_and_angles():
    embeddings = vocabulary()
    for metric, fast in ((Euclidean(), True), (Angular(), True), (halved(Euclidean), False), (rooted(Angular), False)):
        space = DistinctVectors.of(embeddings, metric)
        sums = space.sums(1.0, 2.0)
        assert sum(sums.steps(1)) > 0
        problem = PairProblem(values=sums.logs(), rate=1.0, cap=2.0, tolerance=1e-9, per_distance=True)
        assert space.maximum(problem, space.outputs)._fast is fast


class Rooting:
    """The root and its error, as a class of a user's own writes them: no kernel takes it for a norm then."""

    def from_squared(self, squared):
        np.sqrt(squared, out=squared)

    def distance_error(self, squared_error):
        return math.sqrt(squared_error)


class Centred(Metric):
    name = "all but the mean"

    def coordinates(self, vectors):
        return np.ascontiguousarray(vectors - vectors.mean(axis=0), dtype=np.float64)


class Standardized(Rooting, Metric):
    name = "z-score"

    def coordinates(self, vectors):
        spread = vectors.std(axis=0)
        return np.asarray((vectors - vectors.mean(axis=0)) / np.where(spread, spread, 1), dtype=np.float64)


class Numbered(Rooting, Metric):
    name = "by place"

    def coordinates(self, vectors):
        return vectors + 0.1 * np.arange(len(vectors), dtype=np.float64)[:, None]


class Shared(Rooting, Euclidean):
    name = "share of the largest"

    def from_squared(self, squared):
        np.sqrt(squared, out=squared)
        squared /= max(1.0, squared.max())

    def distance_error(self, squared_error):
        return math.sqrt(squared_error)


class StandardizedPairs(PairwiseMetric):
    name = "z-score of pairs"

    def between(self, a, b):
        spread = b.std(axis=0)
        return np.linalg.norm((a[:, None] - b[None]) / np.where(spread, spread, 1), axis=2).astype(np.float64)


class StandardizedWhereMany(Standardized):
    """In samples it does nothing: only the whole table tells."""

    name = "z-score of many"

    def coordinates(self, vectors):
        return super().coordinates(vectors) if len(vectors) > SAMPLE else np.asarray(vectors, dtype=np.float64)


class PairsOfMany(StandardizedPairs):
    name = "z-score of pairs of many"

    def between(self, a, b):
        return (
            super().between(a, b) if len(b) > SAMPLE else np.linalg.norm((a[:, None] - b[None]).astype(float), axis=2)
        )


@pytest.mark.parametrize("own", [StandardizedWhereMany, PairsOfMany])
def test_a_metric_that_looks_at_other_rows_of_large_tables_is_refused(own):
    rows = seeds.rng(4).normal(size=(3 * SAMPLE, 5)) * [1, 2, 3, 4, 5]
    words = ["w" + "abcdefghij"[i // 100] + "abcdefghij"[i // 10 % 10] + "abcdefghij"[i % 10] for i in range(len(rows))]
    table = Embeddings.from_arrays(words, rows.astype(np.float32))
    with pytest.raises(ParameterError, match="another distance alone than among others"):
        SanText(epsilon=1.0, metric=own()).fit(table)


@pytest.mark.parametrize("own", [Centred, Standardized, Numbered, Shared, StandardizedPairs])
def test_a_metric_that_looks_at_other_rows_is_refused(own):
    for refused in (
        lambda: SanText(epsilon=1.0, metric=own()).fit(vocabulary()),
        lambda: TEM(epsilon=1.0, gamma=3.0, metric=own()).fit(vocabulary()),
        lambda: certify(SanText(epsilon=1.0, metric=own()), vocabulary()),
    ):
        with pytest.raises(ParameterError, match="another distance alone than among others; hold what belongs to"):
            refused()


def test_what_belongs_to_the_vocabulary_may_be_held_in_a_field():
    @dataclass(frozen=True)
    class Fixed(Rooting, Metric):
        mean: np.ndarray
        spread: np.ndarray
        name: ClassVar[str] = "z-score of the vocabulary"

        def coordinates(self, vectors):
            return (vectors - self.mean) / self.spread

    rows = vocabulary().vectors.astype(np.float64)
    fitted = SanText(epsilon=2.0, metric=Fixed(rows.mean(axis=0), rows.std(axis=0))).fit(vocabulary())
    expected = np.exp(-fitted.rows.rate * np.linalg.norm((rows[:, None] - rows[None, 9:]) / rows.std(axis=0), axis=2))
    np.testing.assert_allclose(fitted.channel(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)


class SlyRows(Metric):
    """Passes what is tried when fitted: it looks at other rows only where there are two to ten of them."""

    name = "sly"

    def coordinates(self, vectors):
        shift = np.arange(len(vectors)) * (1 < len(vectors) < 11)
        return vectors + shift[:, None].astype(np.float64)


class SlyTile(Rooting, Euclidean):
    """The same of tiles: only one row, or the sample of 90 words, is left alone."""

    name = "sly tile"

    def from_squared(self, squared):
        np.sqrt(squared, out=squared)
        if squared.ndim == 2 and len(squared) not in (1, V):
            squared *= 1 + squared[:3].mean()

    def distance_error(self, squared_error):
        return math.sqrt(squared_error)


@every_engine
@pytest.mark.parametrize("own", [SlyRows, SlyTile])
def test_no_law_depends_on_the_words_beside_whatever_the_class_computes(monkeypatch, engine, own):
    monkeypatch.setenv("WORDVEIL_ENGINE", engine)
    fitted = SanText(epsilon=2.0, metric=own()).fit(vocabulary())
    rows = vocabulary().vectors.astype(np.float64)
    expected = np.exp(-fitted.rows.rate * np.linalg.norm(rows[20] - rows[9:], axis=1))
    for ids in ([20], [20, 3], [20, 3, 50], range(20, 90)):
        asked = np.array(ids, dtype=np.int32)
        for weights in (fitted.rows.weights(asked)[0], fitted.law(asked)[0]):
            np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum(), rtol=1e-5)
        found = word_distances(fitted.embeddings, fitted.metric)(asked, asked)
        np.testing.assert_allclose(found, np.linalg.norm(rows[asked][:, None] - rows[asked][None], axis=2), atol=1e-6)
    n = 5_000
    bits = fitted.sample(seeds.source(1).stream("a", "b"), 2 * n)
    alone = fitted.randomize(np.full(2 * n, 20, dtype=np.int32), bits)[:n]
    beside = fitted.randomize(np.repeat(np.array([20, 3], dtype=np.int32), n), bits)[:n]
    assert np.array_equal(alone, beside)
