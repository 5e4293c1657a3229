"""The Jaccard baseline: one Gaussian for words of dense neighbourhoods, another for the rest. Refuted as published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtr, chdtrc

from wordveil.errors import ParameterError, RefutedClaimError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.gaussian_scale import classical_scale
from wordveil.mechanisms.word_rows import FittedWordNoise, WordRows
from wordveil.parameters import check_delta, check_positive, check_whole
from wordveil.promises.guarantees import LocalDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.rounding import round_up
from wordveil.vocabulary.nearest_lists import nearest_lists
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Jaccard(VectorMechanism):
    """Add N(0, sigma_i^2), sigma_i = alpha_i Delta sqrt(2 ln(1.25/delta))/epsilon, i the word's density class.

    A word is dense when its mean distance to its neighbours is below a threshold; Delta is the *average* distance
    between a word and the farthest of its neighbours.

    Guarantee:
        None: refuted. Words of different classes get noise of different size, so the norm of the noise alone tells
        them apart (in 300 dimensions with errors 5.3e-6 and 4.1e-6), however close they are; and an average is no
        sensitivity. A baseline for experiments only. The authors' code cancels to one global Gaussian: reproduce
        their figures with that.

    Attributes:
        epsilon: Claimed loss in nats, in (0, inf).
        delta: Claimed delta, in (0, 1).
        neighbours: Length of the neighbour lists, the word itself counted, at least 2.
        dense_factor: alpha of dense words, in (0, inf).
        sparse_factor: alpha of the others, in (0, inf), different from the former.
        threshold: Density threshold, in the units of the embedding; None takes the median, which halves the words.
        allow_refuted: Must be True.

    Raises:
        ParameterError: If a parameter is outside its domain.
        RefutedClaimError: Without `allow_refuted`.

    Reference:
        Bollegala et al. (2023), section 5 and appendix C.3.

    Example:
        >>> from wordveil import Embeddings, RandomSource
        >>> points = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4]]
        >>> colours = Embeddings.from_arrays(["red", "green", "blue", "cat", "dog"], points)
        >>> randomizer = Jaccard(epsilon=1.0, neighbours=2, allow_refuted=True).fit(colours)
        >>> randomizer.release(colours.vectors, RandomSource.seeded_for_tests(1)).shape
        (5, 2)
        >>> print(randomizer.guarantee().sentence())  # doctest: +ELLIPSIS
        no guarantee (refuted): the norm of the noise alone tells the two density classes apart with errors ...
        >>> f"{class_delta(300, 1.835 / 1.276, epsilon=1.0):.3f}"  # exact, in 300 dimensions, where 1e-05 is claimed
        '1.000'
    """

    name: ClassVar[str] = "jaccard"
    paper: ClassVar[str] = "Bollegala et al. 2023, appendix C.3"
    epsilon: float
    delta: float = 1e-5
    neighbours: int = 10
    dense_factor: float = 1.835
    sparse_factor: float = 1.276
    threshold: float | None = None
    allow_refuted: bool = False

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        check_positive("dense_factor", self.dense_factor)
        check_positive("sparse_factor", self.sparse_factor)
        if self.dense_factor == self.sparse_factor:
            raise ParameterError("sparse_factor", self.sparse_factor, "must differ from dense_factor.")
        check_whole("neighbours", self.neighbours, 2)
        if self.threshold is not None:
            check_positive("threshold", self.threshold)
        if self.allow_refuted is not True:
            raise RefutedClaimError(
                "The Jaccard mechanism is refuted: the norm of its noise alone tells dense from sparse words. Use "
                "ClippedGaussian or NADP, or pass allow_refuted=True for an experiment."
            )

    @classmethod
    def examples(cls) -> tuple[Jaccard, ...]:
        return (cls(epsilon=2.0, allow_refuted=True),)

    def fit(self, embeddings: Embeddings) -> FittedJaccard:
        lists = nearest_lists(embeddings.vectors, min(self.neighbours, len(embeddings)))
        own = embeddings.vectors.astype(np.float64)
        lengths = np.stack([np.linalg.norm(own - own[column], axis=1) for column in lists.T], axis=1)
        density = lengths.mean(axis=1)
        threshold = float(np.median(density)) if self.threshold is None else self.threshold
        reach = float(lengths.max(axis=1).mean())
        if reach == 0:
            raise ParameterError("embeddings", f"{len(embeddings)} words", "have no neighbour apart from themselves.")
        factors = np.where(density < threshold, self.dense_factor, self.sparse_factor)
        return FittedJaccard(
            mechanism=self,
            dimensions=embeddings.dimensions,
            embeddings=embeddings,
            sigmas=factors * reach * classical_scale(self.epsilon, self.delta),
            rows=WordRows(embeddings),
        )


@dataclass(frozen=True, kw_only=True)
class FittedJaccard(FittedWordNoise):
    """The Jaccard baseline bound to a vocabulary."""

    mechanism: Jaccard

    def published(self) -> LocalDP:
        epsilon, delta = self.mechanism.epsilon, self.mechanism.delta
        return LocalDP(epsilon=epsilon, delta=delta, unit=PrivacyUnit.VECTOR, standing=Standing.REFUTED)

    def guarantee(self) -> NoGuarantee:
        ratio = self.mechanism.dense_factor / self.mechanism.sparse_factor
        wide, narrow = class_errors(self.dimensions, ratio)
        exact = class_delta(self.dimensions, ratio, self.mechanism.epsilon)
        return NoGuarantee(
            reason=(
                f"the norm of the noise alone tells the two density classes apart with errors {round_up(wide, 2)} and "
                f"{round_up(narrow, 2)} in {self.dimensions} dimensions; at the claimed epsilon "
                f"{round_up(self.mechanism.epsilon)} two words of different classes, however close, have delta "
                f"{round_up(exact)} where {round_up(self.mechanism.delta)} is claimed; its sensitivity is an average"
            ),
            unit=PrivacyUnit.VECTOR,
            standing=Standing.REFUTED,
        )

    def advice(self) -> str:
        return (
            "No smaller epsilon repairs it: more noise for both classes leaves their ratio, and with it the delta. "
            "Use clipped-gaussian to cover every pair of words, nadp to cover neighbours."
        )


def class_errors(dimensions: int, ratio: float) -> tuple[float, float]:
    """Return both errors of the likelihood-ratio test between N(0, ratio^2 I) and N(0, I) on the noise's norm.

    That is the chance that the wider noise is taken for the narrower, and the reverse; the ratio is not 1.
    """
    wide = max(ratio, 1 / ratio)
    cut = _cut(dimensions, wide, 0.0)
    return float(chdtr(dimensions, cut / wide**2)), float(chdtrc(dimensions, cut))


def class_delta(dimensions: int, ratio: float, epsilon: float) -> float:
    """Return the exact delta at epsilon between N(0, ratio^2 I) and N(0, I): two classes at the same place."""
    wide = max(ratio, 1 / ratio)
    cut = _cut(dimensions, wide, epsilon)
    narrow = float(chdtrc(dimensions, cut))
    claimed = math.exp(min(epsilon + math.log(narrow), 0.0)) if narrow else 0.0
    return float(chdtrc(dimensions, cut / wide**2)) - claimed


def _cut(dimensions: int, wide: float, epsilon: float) -> float:
    """Return the squared norm, in narrow variances, beyond which the wide noise is e^epsilon times likelier."""
    return 2 * (epsilon + dimensions * math.log(wide)) / (1 - wide**-2)
