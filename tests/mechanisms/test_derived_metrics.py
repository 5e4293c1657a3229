"""A metric of a user's own coordinates: its own distances are what every engine draws by, and what is claimed."""

import re
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from noise_checks import excess
from tests.kernels.engines_here import every_selecting, modules

import seeds
import wordveil as wv
from wordveil.certification.normalizer_lipschitz import LossComputation
from wordveil.certification.pair_spaces import DistinctVectors
from wordveil.errors import CertificateError, ParameterError, ResumeError
from wordveil.mechanisms.worst_pairs import word_distances
from wordveil.metrics.distances import SAMPLE, Mahalanobis, Metric, is_norm
from worlds import distances, drawn, placed

V = 90


def vocabulary():
    return drawn(V, 3, seed=1, barred=9)


class Cubes(wv.Euclidean):
    """Coordinates of a user's own, measured as Euclidean ones."""

    name = "cubes"

    def coordinates(self, vectors):
        return np.asarray(vectors, dtype=np.float64) ** 3


class Turned(wv.Angular):
    """The same, measured by their angle."""

    name = "angle of cubes"

    def coordinates(self, vectors):
        return super().coordinates(np.asarray(vectors, dtype=np.float64) ** 3 + 0.5)


DERIVED = [Cubes, Turned]


def by_hand(kind, rows):
    """The derived distances, without `coordinates` and `from_squared`."""
    points = rows.astype(np.float64) ** 3
    if kind is Turned:
        points = points + 0.5
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return 2 * np.arcsin(np.minimum(np.linalg.norm(points[:, None] - points[None], axis=2) / 2, 1))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


@every_selecting
@pytest.mark.parametrize("metric", DERIVED)
@pytest.mark.parametrize("kind", [wv.SanText, wv.TEM])
def test_the_exact_law_of_every_selecting_is_that_of_the_derived_distance(engine, metric, kind):
    embeddings = vocabulary()
    fitted = kind(epsilon=2.0, metric=metric()).fit(embeddings)
    rate, cap, claim = fitted.rows.rate, fitted.rows.cap, fitted.guarantee()
    s = np.minimum(by_hand(metric, embeddings.vectors), cap)
    expected = np.exp(-rate * s[:, embeddings.candidates])
    np.testing.assert_allclose(fitted.channel(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)
    assert excess(fitted.channel(), s, claim) <= 0
    assert claim.standing is wv.Standing.PUBLISHED
    assert re.fullmatch(rf"{metric.name} \(class [0-9a-f]{{12}}\)", claim.metric)
    assert f"{metric.name} gives a vector its own coordinates" in claim.assumptions[0]
    # What engines drew that took the derived distance for its base's.
    base = metric.__bases__[0]()
    broken = np.exp(-rate * np.minimum(distances(base, embeddings.vectors, embeddings.vectors), cap))
    broken = broken[:, embeddings.candidates]
    assert excess(broken / broken.sum(axis=1, keepdims=True), s, claim) > 0.05


def test_no_kernel_takes_a_derived_metric_for_a_norm():
    assert is_norm(Cubes())
    assert is_norm(Mahalanobis(whitening=np.eye(3)))
    for metric in (Turned(), wv.Angular()):
        assert not is_norm(metric)
    patched = Cubes()
    object.__setattr__(patched, "from_squared", lambda squared: np.cbrt(squared, out=squared))
    assert not is_norm(patched)
    gpu = modules("torch")
    for metric in (Turned(), wv.Angular()):
        rows = wv.SanText(epsilon=1.0, metric=metric).fit(vocabulary()).rows
        with pytest.raises(ParameterError, match="has no kernel on a graphics card"):
            gpu.selection.GpuSelection(rows, device="cpu")


def own(base, coordinates=None, **body):
    """A metric of a class of its own: what it takes for coordinates, and what else it does otherwise than its base."""
    if coordinates is not None:
        body["coordinates"] = lambda self, vectors: coordinates(vectors)
    return type("Own", (base,), {"name": "own", **body})()


def as_they_are(vectors):
    return np.asarray(vectors, dtype=np.float64)


KNOWN = "take it from Euclidean or Angular, or give the distances as a Precomputed"
REFUSED = [
    (own(wv.Euclidean, name="euclidean"), "is not what Own is; give it its own name"),
    (own(Metric, as_they_are, from_squared=lambda self, squared: None), f"has its own from_squared; {KNOWN}"),
    (own(wv.Angular, distance_error=lambda self, error: 0.0), f"has its own distance_error; {KNOWN}"),
    (own(Cubes, from_squared=wv.Angular.from_squared), f"has its own from_squared; {KNOWN}"),
    (own(wv.Euclidean, lambda vectors: np.full((len(vectors), 2), np.nan)), "must give finite float64 coordinates"),
    (own(wv.Angular, as_they_are), r"must give unit vectors, as super\(\)\.coordinates makes them"),
]


@pytest.mark.parametrize(("metric", "match"), REFUSED)
def test_a_derived_metric_has_a_name_of_its_own_and_a_closed_form_that_is_known(metric, match):
    for use in (
        wv.SanText(epsilon=1.0, metric=metric).fit,
        partial(wv.certify, wv.SanText(epsilon=1.0, metric=metric)),
    ):
        with pytest.raises(ParameterError, match=match):
            use(vocabulary())


def test_a_certificate_of_a_library_metric_is_none_of_a_users_of_the_same_class_name():
    own = dataclass(frozen=True)(type("Euclidean", (wv.Euclidean,), {"name": "mine", "__module__": __name__}))
    certificate = wv.certify(wv.SanText(epsilon=2.0, calibration="certified"), vocabulary())
    for use in (
        lambda: wv.SanText(epsilon=2.0, metric=own(), calibration="certified").fit(vocabulary(), certificate),
        lambda: wv.certify(wv.SanText(epsilon=2.0, metric=own(), calibration="certified"), vocabulary()),
    ):
        with pytest.raises(CertificateError, match="in no installed release of a package"):
            use()


def test_tight_constraints_take_no_derived_distance():
    with pytest.raises(ParameterError, match="not known to be of negative type"):
        wv.TightConstraints(epsilon=1.0, metric=Turned())


def test_interrupted_work_belongs_to_one_parameter_of_a_metric(tmp_path):
    path = str(tmp_path / "work.npz")
    embeddings = vocabulary()
    first, second = (DistinctVectors.of(embeddings, Mahalanobis(whitening=x * np.eye(3))) for x in (0.5, 0.9))
    LossComputation(first, checkpoint=path).metric(1.0, 3.0)
    with pytest.raises(ResumeError, match="other inputs"):
        LossComputation(second, checkpoint=path)


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


def standardized(vectors):
    spread = vectors.std(axis=0)
    return np.asarray((vectors - vectors.mean(axis=0)) / np.where(spread, spread, 1), dtype=np.float64)


LOOKING = {
    "all but the mean": lambda vectors: as_they_are(vectors - vectors.mean(axis=0)),
    "z-score": standardized,
    "by place": lambda vectors: vectors + 0.1 * np.arange(len(vectors), dtype=np.float64)[:, None],
}
OTHERS = "other coordinates alone than among others; hold what belongs to"


def test_a_metric_that_looks_at_other_rows_of_large_tables_is_refused():
    """In samples it does nothing: only the whole table tells."""
    rows = seeds.rng(4).normal(size=(3 * SAMPLE, 5)) * [1, 2, 3, 4, 5]
    metric = own(Metric, lambda vectors: standardized(vectors) if len(vectors) > SAMPLE else as_they_are(vectors))
    with pytest.raises(ParameterError, match=OTHERS):
        wv.SanText(epsilon=1.0, metric=metric).fit(placed(rows.astype(np.float32)))


@pytest.mark.parametrize("coordinates", LOOKING.values(), ids=LOOKING)
def test_a_metric_that_looks_at_other_rows_is_refused(coordinates):
    metric = own(Metric, coordinates)
    for refused in (
        lambda: wv.SanText(epsilon=1.0, metric=metric).fit(vocabulary()),
        lambda: wv.TEM(epsilon=1.0, gamma=3.0, metric=metric).fit(vocabulary()),
        lambda: wv.certify(wv.SanText(epsilon=1.0, metric=metric), vocabulary()),
    ):
        with pytest.raises(ParameterError, match=OTHERS):
            refused()


def test_what_belongs_to_the_vocabulary_may_be_held_in_a_field():
    @dataclass(frozen=True)
    class Fixed(wv.Euclidean):
        mean: np.ndarray
        spread: np.ndarray
        name: ClassVar[str] = "z-score of the vocabulary"

        def coordinates(self, vectors):
            return (vectors - self.mean) / self.spread

    rows = vocabulary().vectors.astype(np.float64)
    fitted = wv.SanText(epsilon=2.0, metric=Fixed(rows.mean(axis=0), rows.std(axis=0))).fit(vocabulary())
    expected = np.exp(-fitted.rows.rate * np.linalg.norm((rows[:, None] - rows[None, 9:]) / rows.std(axis=0), axis=2))
    np.testing.assert_allclose(fitted.channel(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)


def sly(vectors):
    """Coordinates that pass what is tried when fitted: they look at other rows only where there are two to ten."""
    shift = np.arange(len(vectors)) * (1 < len(vectors) < 11)
    return vectors + shift[:, None].astype(np.float64)


@every_selecting
def test_no_law_depends_on_the_words_beside_whatever_the_class_computes(engine):
    fitted = wv.SanText(epsilon=2.0, metric=own(Metric, sly)).fit(vocabulary())
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
