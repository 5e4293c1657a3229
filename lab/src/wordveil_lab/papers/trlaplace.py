"""[TL] Huang et al. (2024), TrLaplace: share of unchanged words against epsilon, published and certified noise.

The mechanisms at word level, and what stands in front of the models that `trlaplace_neural` trains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import wordveil.api as wv
from wordveil_lab.evaluation.base import Summary, summarize
from wordveil_lab.evaluation.subjects import Entrant, subject_of
from wordveil_lab.package import told
from wordveil_lab.papers.base import Comparison, Options, Reproduction, about, computed, scaled, shown, verdict
from wordveil_lab.plots import Plotted, point

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
PUBLISHED, CERTIFIED = "TrLaplacian, published", "TrLaplacian, certified"
PADDED = {10.0: 500, 20.0: 1700}
CERTIFIED_DELTA = 1e-5
SMALLEST_DELTA = 1e-300
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
class Published(wv.VectorMechanism):
    """Theorem 3 with the paper's delta = 4^-d and its dummy dimensions, for any d: 4^-d need not be a float."""

    name: ClassVar[str] = "truncated-laplace-published"
    paper: ClassVar[str] = "Huang et al. 2024, Theorem 3"
    epsilon: float
    padded_dimensions: int  # the d of the formulas, at least that of the vectors
    clip_norm: float = 1.0  # C

    def fit(self, embeddings: wv.Embeddings) -> wv.FittedTruncatedLaplace:
        return self.for_dimensions(embeddings.dimensions)

    def for_dimensions(self, dimensions: int) -> wv.FittedTruncatedLaplace:
        """Return the noise for vectors of this many dimensions."""
        d, epsilon = self.padded_dimensions, self.epsilon
        if epsilon >= math.sqrt(d) / 2:
            raise wv.ParameterError("padded_dimensions", d, f"must be above {4 * epsilon**2:g}: theorem 3 needs it.")
        half_width = -2 * math.sqrt(d) / epsilon * math.log1p(-2 * epsilon / math.sqrt(d))
        exact = wv.largest_delta(dimensions, epsilon * math.sqrt(dimensions / d), half_width)
        reason = (
            f"the published calibration claims delta 4^-{d} at epsilon {wv.round_up(epsilon)}; its exact delta in "
            f"{dimensions} dimensions is {wv.round_up(exact)}"
        )
        fitted = wv.TruncatedLaplace(epsilon=epsilon, clip_norm=self.clip_norm).for_dimensions(dimensions)
        return replace(
            fitted,
            scale=2 * math.sqrt(d) * self.clip_norm / epsilon,
            reach=half_width * epsilon / (2 * math.sqrt(d)),
            claim=wv.NoGuarantee(reason=reason, unit=wv.PrivacyUnit.VECTOR, standing=wv.Standing.REFUTED),
        )


def kept_share(subject: Entrant, size: int, options: Options, label: str) -> Summary:
    """Return N_w, the mean share of words that are released as themselves, over words spread over the vocabulary."""
    ids = np.unique(np.linspace(0, len(subject.embeddings) - 1, size).astype(np.int32))
    shares = [
        float((subject.release_words(ids, options.source(f"kept {label} {i}"), label) == ids).mean())
        for i in range(options.repeats)
    ]
    return summarize(shares)


def reproduce(options: Options) -> Reproduction:
    """Repeat figures 2 and 5 (N_w against epsilon), and 1 and 6, for the mechanisms as published and as certified."""
    options.say("reading the vocabulary")
    embeddings = scaled(options.table("vectors"))  # C = 1 then clips half of it
    d = embeddings.dimensions
    size = options.pick(len(embeddings), 1500, 50)
    rows = []
    for epsilon in options.among(EPSILONS, EPSILONS, (0.1, 10.0)):
        options.say(f"N_w at epsilon {epsilon:g}")
        for name, mechanism in mechanisms(d, epsilon).items():
            rows.append(_row(embeddings, name, epsilon, mechanism, size, options))
    return Reproduction(
        **about("trlaplace", embeddings=embeddings, words=len(embeddings), d=d, size=min(size, len(embeddings))),
        comparisons=(_theorem_three(d), *(comparison for comparison, _ in rows)),
        findings=_findings(d, {comparison.what: share.mean for comparison, share in rows}),
    )


def published(d: int, epsilon: float, clip_norm: float = 1.0) -> Published:
    """Return the paper's noise for d dimensions, with dummy ones where the paper or its logarithm has them."""
    padded = max(PADDED.get(epsilon, d), d, math.ceil(4.25 * epsilon**2))  # theorem 3 needs more than 4 epsilon^2
    return Published(epsilon=epsilon, padded_dimensions=padded, clip_norm=clip_norm)


def mechanisms(d: int, epsilon: float) -> dict[str, wv.VectorMechanism]:
    """Return the mechanisms as published and as certified for vectors of d dimensions, by name."""
    classical = {"delta": max(4.0**-d, SMALLEST_DELTA), "calibration": "classical", "allow_refuted": True}
    return {
        "Gaussian, published": wv.ClippedGaussian(epsilon=epsilon, **classical),  # type: ignore[arg-type]
        "Gaussian, analytic": wv.ClippedGaussian(epsilon=epsilon, delta=CERTIFIED_DELTA),
        "Laplacian": wv.ClippedLaplace(epsilon=epsilon),
        PUBLISHED: published(d, epsilon),
        CERTIFIED: wv.TruncatedLaplace(epsilon=epsilon, delta=CERTIFIED_DELTA),
    }


def _row(
    embeddings: wv.Embeddings, name: str, epsilon: float, mechanism: wv.VectorMechanism, size: int, options: Options
) -> tuple[Comparison, Summary]:
    paper = name.split(",")[0] if name.endswith("published") or name == "Laplacian" else ""
    theirs = printed("yelp", paper, epsilon).get("N_w")
    fitted = wv.Decoded(mechanism=mechanism).fit(embeddings)
    claim = fitted.guarantee()
    kept = kept_share(subject_of(fitted, threads=None), size, options, f"{name} {epsilon}")
    panels = {"as published": bool(paper), "as certified": not name.endswith("published")}
    points = [point(f"N_w, noise {how}, here", name, epsilon, kept) for how, fits in panels.items() if fits]
    if theirs is not None:
        panel = "figure 2: N_w in the paper (tables 2 and 3, Yelp)"
        points.append(Plotted(figure=panel, series=paper, epsilon=epsilon, value=theirs, paper=True))
    comparison = Comparison(
        what=f"N_w, {name}, epsilon {epsilon:g}",
        paper="" if theirs is None else f"{theirs:.3f}",
        ours=shown(kept),
        remark=f"refuted: {claim.reason}" if claim.epsilon is None else "",
        points=tuple(points),
    )
    return comparison, kept


def printed(data: str, name: str, epsilon: float | None) -> dict[str, float]:
    """Return what tables 2 and 3 of the paper print (GloVe) of a set, the paper's mechanism and an epsilon."""
    for *row, rouge, kept in told("papers/numbers.toml")["trlaplace"]["tables"]:
        epsilons = EPSILONS if name != "none" else (None,)
        if row == [data, name] and epsilon in epsilons:
            place = epsilons.index(epsilon)
            return {"ROUGE-1": rouge[place], "N_w": kept[place]}
    return {}


def _theorem_three(d: int) -> Comparison:
    exact = wv.largest_delta(d, 0.1, Published(epsilon=0.1, padded_dimensions=d).for_dimensions(d).half_width)
    return Comparison(
        what="theorem 3, at epsilon .1",
        paper=f"delta 4^-{d}",
        ours=f"exact delta {wv.round_up(exact)} in {d} dimensions: proved, without a run",
        verdict=verdict(exact <= 1e-6, full=True),
    )


def _findings(d: int, shares: Mapping[str, float]) -> tuple[str, ...]:
    gaussian = 2 * math.sqrt(2 * math.log(1.25) + 2 * d * math.log(4.0))
    small = [share for what, share in shares.items() if float(what.split()[-1]) <= 0.5]
    certified = wv.TruncatedLaplace(epsilon=1.0, delta=CERTIFIED_DELTA).for_dimensions(d)
    wide = wv.noise_deviation(certified.alpha, certified.half_width)
    facts = {"d": d, "delta": CERTIFIED_DELTA, "plain": math.sqrt(8 * d), "wide": wide, "gaussian": gaussian}
    facts |= {"analytic": 2 * wv.analytic_scale(1.0, CERTIFIED_DELTA), "small": max(small)}
    return computed("trlaplace", **facts, largest=max(shares.values()))


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
