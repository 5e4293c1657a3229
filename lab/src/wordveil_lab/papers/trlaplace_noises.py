"""[TL] The noises in front of the trained models: certified, published, as the published code draws, others'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import wordveil.api as wv
from wordveil_lab.papers.trlaplace import PUBLISHED, mechanisms, published

NONE = "none"
CODE = ("Laplacian, code (no clipping)", "TrLaplacian, code (no clipping)")
METRIC = ("CMP", "Mahalanobis", "PTE")
"""The other three methods of figure 4; their epsilon is per unit of distance, and nothing is clipped."""
CODE_EPSILONS, METRIC_EPSILONS = (0.1, 1.0, 20.0), (0.01, 0.1, 1.0, 10.0)
LARGEST = 20.0  # the paper's
CODE_NORM = 0.005  # the C of the published code, whose vectors are not clipped to it

Contender = tuple[str, float | None, wv.VectorMechanism | None]
"""Name, epsilon and mechanism of a row."""


@dataclass(frozen=True, kw_only=True)
class Unclipped(wv.VectorMechanism):
    """The published code: noise made for vectors of norm C, added to vectors that were never clipped to it."""

    inner: wv.VectorMechanism
    name = "unclipped"
    paper = "code published with Huang et al. 2024"

    def fit(self, embeddings: wv.Embeddings) -> wv.VectorRandomizer:
        return FittedUnclipped(inner=self.inner.fit(embeddings), dimensions=embeddings.dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedUnclipped(wv.VectorRandomizer):
    """`Unclipped` for one table."""

    inner: wv.VectorRandomizer
    dimensions: int

    def guarantee(self) -> wv.Guarantee:
        reason = "the noise is made for vectors of norm C, and the vectors are not clipped to it"
        return wv.NoGuarantee(reason=reason, unit=wv.PrivacyUnit.VECTOR, standing=wv.Standing.REFUTED)

    def sample(self, stream: wv.Stream, n: int) -> wv.Draws:
        return self.inner.sample(stream, n)

    def randomize(self, vectors: wv.FloatArray, draws: wv.Draws) -> wv.ReleasedVectors:
        rows = np.asarray(vectors, dtype=np.float64)
        return wv.ReleasedVectors(rows + self.inner.randomize(np.zeros_like(rows), draws))

    def log_density(self, outputs: wv.Float64Array, vectors: wv.FloatArray) -> wv.Float64Array:
        # Noise does not depend on where it is added: that of outputs minus vectors, around the origin.
        densities = [self.inner.log_density(outputs - row, np.zeros_like(outputs[:1])) for row in vectors]
        return np.concatenate([density for density in densities if density is not None], axis=1)


def contenders(d: int, epsilons: tuple[float, ...], *, code: bool = True, metric: bool = False) -> list[Contender]:
    """Return the rows of a table for vectors of d dimensions, the first without noise.

    Args:
        d: Dimensions of the vectors.
        epsilons: The epsilons; beyond the paper's largest its own calibration is left out.
        code: Whether what the published code draws is among them, at `CODE_EPSILONS`.
        metric: Whether `METRIC` is, at `METRIC_EPSILONS`: noise of Feyisetan et al. 2020, of Xu et al. 2020, and
            PrivEmb's at beta .9.
    """
    rows: list[Contender] = [(NONE, None, None)]
    for epsilon in epsilons:
        own = mechanisms(d, epsilon)
        del own["Gaussian, published"]  # of larger noise than the analytic one
        if epsilon > LARGEST:
            del own[PUBLISHED]
        if code and epsilon in CODE_EPSILONS:
            own[CODE[0]] = Unclipped(inner=wv.ClippedLaplace(epsilon=epsilon, clip_norm=CODE_NORM))
            own[CODE[1]] = Unclipped(inner=published(d, epsilon, CODE_NORM))
        if metric and epsilon in METRIC_EPSILONS:
            own[METRIC[0]] = wv.MultivariateLaplace(epsilon=epsilon)
            own[METRIC[1]] = wv.Mahalanobis(epsilon=epsilon)
            own[METRIC[2]] = wv.Projection(epsilon=epsilon, sensitivity="published")
        rows += [(name, epsilon, mechanism) for name, mechanism in own.items()]
    return rows


def best_guess(
    mechanism: wv.VectorMechanism | None,
    vocabulary: wv.Embeddings,
    known: wv.IdArray,
    seen: wv.IdArray,
    source: wv.RandomSource,
) -> float:
    """Return how many words the best guess recovers that looks at one noisy vector and at public word frequencies.

    No training is in it: where it fails, no rewriter that reads one word at a time can do better. Frequencies are those
    of the words seen in public training texts.
    """
    if mechanism is None:
        return 1.0
    prior = np.bincount(seen, minlength=len(vocabulary)) + 0.5
    fitted = mechanism.fit(vocabulary)
    rows = np.asarray(vocabulary.vectors[known], dtype=np.float64)
    likelihoods = fitted.log_density(fitted.release(rows, source), vocabulary.vectors)
    assert likelihoods is not None
    return float(((likelihoods + np.log(prior)).argmax(axis=1) == known).mean())
