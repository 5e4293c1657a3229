"""scikit-learn: transformers that release texts and vectors inside of a pipeline.

`fit` learns nothing: what is released depends on the row and on public parameters only. Every call of `transform`
draws afresh, so a text that goes through it twice (in training and again in prediction) is released twice.
"""

from __future__ import annotations

import re
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.promises.guarantees import Guarantee
from wordveil.runs.tables import released_columns
from wordveil.runs.vectors import VectorRelease, VectorSettings, release_vectors
from wordveil.sanitizing.class_map import ClassMap
from wordveil.sanitizing.default import default_sanitizer
from wordveil.sanitizing.sanitizer import Sanitizer

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.sklearn", "scikit-learn", "sklearn") from missing


# No `set_output` for either: scikit-learn would put the index of the private frame beside what is released.


class _Texts(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg, unused-ignore]
    """What takes texts: a sequence of them, or an array or data frame all of whose columns hold texts."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Remember the names of the columns."""
        rows = np.asarray(X, dtype=object)
        self.n_features_in_ = rows.shape[1] if rows.ndim == 2 else 1
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:  # noqa: N803  # scikit-learn's name
        """Return the texts that come out, of the same shape; None stays None."""
        rows = np.asarray(X, dtype=object)
        table = rows if rows.ndim == 2 else rows.reshape(-1, 1)
        columns = {str(number): column for number, column in enumerate(table.T.tolist())}
        written = np.empty(table.shape, dtype=object)
        for number, texts in self._written(columns).items():
            written[:, int(number)] = texts
        return written.reshape(rows.shape)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        tags.requires_fit = False
        return tags


class TextSanitizer(_Texts, auto_wrap_output_keys=None):  # type: ignore[call-arg, unused-ignore]
    """Releases texts.

    Args:
        epsilon: Loss between any two words, nats; of the default sanitizer.
        sanitizer: Another one, whose own parameters count then.
    """

    def __init__(self, *, epsilon: float = NeighbourResponse.epsilon, sanitizer: Sanitizer | None = None) -> None:
        self.epsilon = epsilon
        self.sanitizer = sanitizer

    @property
    def guarantee(self) -> Guarantee:
        return self._used.guarantee

    @property
    def _used(self) -> Sanitizer:
        return default_sanitizer(self.epsilon) if self.sanitizer is None else self.sanitizer

    def _written(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return released_columns(columns, self._used)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class TextClasses(_Texts, auto_wrap_output_keys=None):  # type: ignore[call-arg, unused-ignore]
    """Puts the face of its class in the place of every word, for a model that learnt from releases; no release itself.

    Args:
        sanitizer: Whose classes count; the default one unless given.
    """

    def __init__(self, *, sanitizer: Sanitizer | None = None) -> None:
        self.sanitizer = sanitizer

    def _written(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        classes = ClassMap(self.sanitizer)
        return {name: classes.map(texts) for name, texts in columns.items()}


class PrivateVectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg, unused-ignore]
    """Releases rows of numbers.

    Args:
        mechanism: A vector mechanism that needs no vocabulary; clipped Laplace noise at 10 nats a unit unless given.
        settings: Grid, type and threads; the type of the rows unless given.

    Attributes:
        guarantee_: What every released row promises.
        disclosed_: What every release discloses whatever the noise, a sentence each.
        grid_: The public grid that released numbers lie on.
    """

    def __init__(self, mechanism: VectorMechanism | None = None, *, settings: VectorSettings | None = None) -> None:
        self.mechanism = mechanism
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Remember mechanism, settings, and the number of columns and their names."""
        rows = self._rows(X)
        chosen = self.mechanism, self.settings
        promise = self._release(np.zeros((1, rows.shape[1]), rows.dtype), *chosen)  # of a public row
        self._chosen = chosen  # what is set later, or could not be fitted, has promised nothing
        self.guarantee_, self.disclosed_, self.grid_ = promise.guarantee, promise.disclosed, promise.grid
        self._n_features_out = promise.vectors.shape[1]
        return self

    def transform(self, X: Any) -> NDArray[Any]:  # noqa: N803  # scikit-learn's name
        check_is_fitted(self)
        return np.asarray(self._release(self._rows(X, reset=False), *self._chosen).vectors)

    def _rows(self, X: Any, *, reset: bool = True) -> NDArray[Any]:  # noqa: N803  # scikit-learn's name
        """Return checked rows; the errors of NumPy and scikit-learn may show what others hold."""
        try:
            return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=reset))
        except ValueError as error:
            if all(isinstance(value, Number) for value in np.asarray(X, dtype=object).flat):
                shown = r"\n(array=.*\.\n|\[.*)"  # a single row, or complex numbers
                raise ValueError(re.sub(shown, " ", str(error), flags=re.DOTALL)) from None
            raise ParameterError("X", f"<{type(X).__name__}>", "must hold finite numbers and nothing else.") from None

    @staticmethod
    def _release(
        rows: NDArray[Any], mechanism: VectorMechanism | None, settings: VectorSettings | None
    ) -> VectorRelease:
        chosen = ClippedLaplace(epsilon=10.0) if mechanism is None else mechanism
        return release_vectors(rows, chosen, settings=settings or VectorSettings(dtype=rows.dtype.name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
