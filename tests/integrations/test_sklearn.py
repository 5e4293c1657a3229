"""The scikit-learn transformers with the library's own checks."""

import traceback

import leak_free
import numpy as np
import pytest

import wordveil as wv
from wordveil.errors import ParameterError

sklearn = pytest.importorskip("sklearn", reason="needs the extra sklearn")

from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from wordveil.integrations.sklearn import PrivateVectors, TextClasses, TextSanitizer

AFRESH = "every transform draws afresh"
CLASSES = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(outputs="classes:128"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [TextSanitizer(), TextClasses(sanitizer=CLASSES), PrivateVectors(wv.ClippedLaplace(epsilon=10.0))],
    ids=lambda one: type(one).__name__,
)
def test_scikit_learns_own_checks(estimator):
    excused = {"check_estimators_pickle": AFRESH, "check_fit_idempotent": AFRESH}
    answers = check_estimator(estimator, on_fail=None, expected_failed_checks=excused)
    assert [(each["check_name"], each["exception"]) for each in answers if each["status"] == "failed"] == []
    assert any(each["status"] == "passed" for each in answers)


def test_texts_are_released_in_their_shape():
    for given in (["good film", "bad film", None], np.array([["a", "b"], ["c", None]], dtype=object)):
        out = TextSanitizer(sanitizer=leak_free.sanitizer()).fit(given).transform(given)
        assert out.shape == np.shape(given)
        for text in out.ravel():
            if text is not None:
                leak_free.check_release(text)
    assert TextSanitizer().transform(["x"]).shape == (1,)
    with pytest.raises(ParameterError):
        TextSanitizer().transform([7])


def test_texts_go_through_the_classes_in_their_shape():
    made, mapped = TextClasses(sanitizer=CLASSES), wv.ClassMap(CLASSES)
    given = np.array([["a doctor", "b"], ["c", None]], dtype=object)
    assert made.fit(given).transform(given).tolist() == [mapped.map(row) for row in given.tolist()]
    assert made.transform(["a doctor"])[0] == made.transform(["a surgeon"])[0]


def test_clones_have_the_same_parameters_and_a_key_of_their_own():
    made = TextSanitizer(epsilon=3.0, sanitizer=leak_free.sanitizer())
    other = clone(made)
    assert (other.get_params()["epsilon"], other.sanitizer.mechanism) == (3.0, made.sanitizer.mechanism)
    assert other.sanitizer.source is not made.sanitizer.source
    assert TextSanitizer(epsilon=3.0).guarantee.epsilon == pytest.approx(3.0, abs=1e-12)
    assert clone(PrivateVectors(wv.MultivariateLaplace(epsilon=2.0))).mechanism == wv.MultivariateLaplace(epsilon=2.0)


def test_released_rows_lie_on_the_grid_and_say_what_they_promise():
    made = PrivateVectors(wv.Projection(epsilon=5.0, dimensions=2, directions="orthonormal", sensitivity="spectral"))
    out = made.fit_transform(np.eye(4))
    assert out.shape == (4, 2)
    assert made.guarantee_.epsilon == 5.0
    steps = out / made.grid_
    assert np.array_equal(np.round(steps), steps)
    assert not np.array_equal(made.transform(np.eye(4)), out)


def test_vectors_are_released_by_the_mechanism_that_the_guarantee_was_fitted_with():
    rows = np.zeros((200, 3))
    private = PrivateVectors(wv.ClippedLaplace(epsilon=1.0)).fit(rows)
    private.set_params(mechanism=wv.ClippedLaplace(epsilon=1e6), settings=wv.MultivariateLaplace(epsilon=1.0))
    with pytest.raises(Exception):  # noqa: B017, PT011  # settings that are none: whatever it is
        private.fit(rows)
    private.set_params(settings=None)
    assert private.guarantee_.epsilon == 1.0  # what could not be fitted changes nothing of what was
    assert np.abs(private.transform(rows)).mean() > 1.0  # the scale is 2 sqrt(3)
    private.fit(rows)
    assert private.guarantee_.epsilon == 1e6
    assert np.abs(private.transform(rows)).mean() < 1e-3


@pytest.mark.parametrize(("rows", "problem", "secret"), [
    *((row, r"Expected 2D|Complex", ".12345")
      for row in (np.array([0.12345, 0.5]), [0.12345, 0.5], 0.12345, np.array([[0.12345 + 1j, 0.5]]))),
    *((rows, "must hold finite numbers and nothing else", "Maria")
      for rows in ([["Maria"]], [["Maria", 1.0], [2.0]], np.array([["Maria", 1.0]], dtype=object))),
])  # fmt: skip
def test_nothing_of_a_row_is_shown_where_a_table_of_numbers_is_asked_for(rows, problem, secret):
    fitted = PrivateVectors().fit(np.zeros((2, len(rows[0]) if secret == "Maria" else 2)))
    for call in (PrivateVectors().fit, fitted.transform):
        with pytest.raises(ParameterError if secret == "Maria" else ValueError, match=problem) as error:
            call(rows)
        shown = "".join(traceback.format_exception(error.value))
        assert secret not in shown.replace(f'"{secret}"', "")  # but in the line of this file


@pytest.mark.parametrize("kind", [TextSanitizer, TextClasses, PrivateVectors])
def test_no_setting_puts_the_index_of_a_private_frame_beside_what_is_released(kind):
    assert not hasattr(kind(), "set_output")
