"""[CD] Asghar, Carpentier, Zhao, Kaafar (2025): decoded Laplace noise keeps a word or loses it, and their repair.

The noisy dot product of multivariate Laplace noise says how far noise moves a vector along one direction. For z = L u
with L ~ Gamma(d, 1/epsilon) and u uniform on the sphere, X = u . a for a unit vector a; the noisy dot product is L X.
It equals sqrt(G) N with G ~ Gamma((d + 1)/2, scale 2/epsilon^2) and N standard normal, which gives the cdf in
one-dimensional form. With it the chance that one word is closer to the noisy vector than another is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr

import wordveil as wv
from wordveil.api import Float64Array, IdArray, NearestWords, ParameterError, as_floats, check_positive, check_whole
from wordveil_lab.evaluation.base import Summary, summarize
from wordveil_lab.evaluation.subjects import Entrant, subject_of
from wordveil_lab.package import told
from wordveil_lab.papers.base import Comparison, Options, Reproduction, Scores, about, computed, shown, verdict
from wordveil_lab.plots import Plotted

_NODES = 16
_PANELS = 32
_CHUNK = 4096


def dot_product_cdf(t: ArrayLike, *, dimensions: int, epsilon: float) -> Float64Array:
    """Return P[L X <= t] = E[Phi(epsilon t / S)], S having the chi law with d + 1 degrees of freedom.

    Args:
        t: Where, unit of distance, any shape.
        dimensions: d, at least 1.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape of `t`, in [0, 1], absolute error below 1e-12 (measured against 25 digits, not proved).
    """
    check_whole("dimensions", dimensions)
    check_positive("epsilon", epsilon)
    points = as_floats("t", t)  # infinite ones included
    if np.isnan(points).any():
        raise ParameterError("t", "<array>", "must not hold NaN.")
    x = epsilon * points
    if dimensions == 1:  # the Laplace law itself, whose quadrature is the least exact
        tail = 0.5 * np.exp(-np.abs(x))
        return np.asarray(np.where(x < 0, tail, 1 - tail))
    degrees = dimensions + 1
    middle = math.sqrt(degrees)
    low, high = max(0.0, middle - 9.0), middle + 9.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # Near S = 0 the integrand turns sharply around |x|; the square crowds the nodes there.
    edges = low + (high - low) * np.linspace(0.0, 1.0, _PANELS + 1) ** (2 if low == 0 else 1)
    half = np.diff(edges)[:, None] / 2
    s = (edges[:-1, None] + half * (nodes + 1)).ravel()
    log_density = (degrees - 1) * np.log(s) - s * s / 2 - (degrees / 2 - 1) * math.log(2) - float(gammaln(degrees / 2))
    mass = (half * weights).ravel() * np.exp(log_density)
    mass /= mass.sum()
    flat = x.reshape(-1)
    parts = [ndtr(flat[i : i + _CHUNK, None] / s) @ mass for i in range(0, len(flat), _CHUNK)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *parts]), 0.0, 1.0).reshape(x.shape))


def closer_probability(original: ArrayLike, first: ArrayLike, second: ArrayLike, *, epsilon: float) -> Float64Array:
    """Return the exact probability that the noisy vector of a word is closer to `first` than to `second`.

    P[L X <= (||x - b||^2 - ||x - a||^2) / (2 ||a - b||)], for x the original, a the first and b the second vector.

    Args:
        original: The word's vectors, shape (..., d).
        first: Shape (..., d).
        second: Shape (..., d), nowhere equal to `first`.
        epsilon: Rate of the noise, 1/distance, in (0, inf).

    Returns:
        Shape (...).

    Reference:
        Asghar et al. (2025), Theorem 1 of section 6 and Equations (17) to (19).
    """
    parts = (("original", original), ("first", first), ("second", second))
    x, a, b = (_finite(name, part) for name, part in parts)
    gap = np.linalg.norm(a - b, axis=-1)
    if not np.all(gap > 0):  # a NaN included
        raise ParameterError("second", "<equal rows>", "must differ from `first` everywhere; equal vectors always tie.")
    threshold = (np.square(x - b).sum(axis=-1) - np.square(x - a).sum(axis=-1)) / (2 * gap)
    return dot_product_cdf(threshold, dimensions=np.shape(original)[-1], epsilon=epsilon)


def _finite(name: str, rows: ArrayLike) -> Float64Array:
    found = as_floats(name, rows)
    if not np.all(np.isfinite(found)):
        raise ParameterError(name, "<array>", "must be finite.")
    return found


NEAR = 100
FIGURE_SIX = (1.0, 2.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0)
CLAIMS: dict[str, str] = told("papers/numbers.toml")["curse"]["claims"]
TUNING = (5.0, 10.0, 15.0, 20.0, 25.0)
"""The epsilons over which c of the rank softmax is chosen."""
SHARE_EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0)
ALL_EPSILONS = (*SHARE_EPSILONS, 40.0, 50.0, 60.0, 70.0)
"""As far as the authors' code goes."""
AUTHORS_C = 0.04
AUTHORS_WIDE = "stored run, with the authors' c = .007 for Word2Vec: .151 / .680 / .169 at epsilon 30"
PaperRow = tuple[str, tuple[float, ...]]
"""Name and means of a row of table 2."""
Shares = dict[tuple[str, str, float], list[float]]
"""(table, figure, epsilon) -> shares of the original, its 100 nearest, any other word."""
BOUNDS = ("half distance to the nearest", "first against second", "first against 101st")


def paper_row(embeddings: wv.Embeddings) -> PaperRow | None:
    """Return name and means of the paper's table of this size and dimension, or None: no other row fits a table.

    A file may hold a few rows more or less, as for its unknown word.
    """
    for name, words, dimensions, means in told("papers/numbers.toml")["curse"]["tables"]:
        if embeddings.dimensions == dimensions and abs(len(embeddings) - words) <= words // 1000:
            return f"{name} {dimensions}", means
    return None


def table_two(embeddings: wv.Embeddings, ids: IdArray, far: int = 101) -> Scores:
    """Return the three means of table 2 over some words, with their errors as a sample of words.

    With x_i the i-th nearest word: ||w - x_1||/2, and (||w - x_i||^2 - ||w - x_1||^2)/(2 ||x_1 - x_i||) for i = 2 and
    i = `far`. Neighbours equal to the word or to x_1 are left out, as their quotient is 0/0.
    """
    search = NearestWords(embeddings.vectors, np.arange(len(embeddings), dtype=np.int32))
    near, distances = search.top(embeddings.vectors[ids], far + 1, threads=None)
    rows = np.asarray(embeddings.vectors, dtype=np.float64)
    answer = {"half distance to the nearest": summarize(distances[:, 1] / 2)}
    for name, place in (("first against second", 2), ("first against 101st", far)):
        gap = np.linalg.norm(rows[near[:, 1]] - rows[near[:, place]], axis=1)
        apart = gap > 0
        answer[name] = summarize((distances[apart, place] ** 2 - distances[apart, 1] ** 2) / (2 * gap[apart]))
    return answer


def neighbour_shares(subject: Entrant, ids: IdArray, near: IdArray, options: Options, label: str) -> list[float]:
    """Return the shares of outputs that are the word, one of its near neighbours, and any other word.

    Neighbours are given with the word itself first, shape (n, k + 1).
    """
    counts = np.zeros(3)
    for i in range(options.repeats):
        released = subject.release_words(ids, options.source(f"shares {label} {i}"), label)
        same = released == ids
        close = (near[:, 1:] == released[:, None]).any(axis=1) & ~same
        counts += [same.mean(), close.mean(), (~same & ~close).mean()]
    return [float(share) for share in counts / options.repeats]


def reproduce(options: Options) -> Reproduction:
    """Repeat tables 1 and 2, figures 2, 6, 8 and 9, and the laws of section 5 beside the paper's bounds."""
    options.say("reading the vocabularies")
    embeddings, wide = options.table("vectors"), options.table("wide")
    tables = [table.first(options.pick(None, 20_000, 500)) for table in (embeddings, wide)]
    tuned = {table.header.name: tuned_c(table, options) for table in tables}
    shares: Shares = {}
    for table in tables:
        shares |= _all_shares(table, options)
    size = min(options.pick(5000, 5000, 100), len(embeddings))
    options.say(f"table 2 on {size} words")
    generator = np.random.Generator(np.random.PCG64(options.seed))
    ids = np.sort(generator.choice(len(embeddings), size, replace=False)).astype(np.int32)
    means = table_two(embeddings, ids, far=min(101, len(embeddings) - 2))
    sample = min(options.pick(5000, 1000, 50), len(tables[1]))
    facts = {"limit": len(tables[0]), "sample": sample}
    return Reproduction(
        **about("curse", **facts, embeddings=embeddings, words=len(embeddings), wide=wide, wide_words=len(tables[1])),
        comparisons=(
            _table(means, paper_row(embeddings), embeddings, options),
            *_probabilities(embeddings, means, options),
            *results(shares, tables[1], full=options.whole() and paper_row(wide) is not None),
            *(_share_row(table, name, epsilon, found) for (table, name, epsilon), found in shares.items()),
        ),
        findings=findings(shares, tuned),
    )


def tuned_c(table: wv.Embeddings, options: Options) -> tuple[float, float, float]:
    """Return the c under which near neighbours come out most often; their mean share with it, and with c = .04."""
    options.say(f"c of the rank softmax for {table.header.name}")
    grid, sample = options.pick(TUNING, TUNING, (10.0,)), options.pick(200, 200, 20)
    tune = partial(wv.tune_rank_softmax, sample=sample, neighbours=NEAR, seed=options.seed)
    tuning = tune(lambda epsilon: wv.MultivariateLaplace(epsilon=epsilon), table, grid)
    best, authors = (float(np.mean(tuning.near[tuning.grid.index(c)])) for c in (tuning.c, AUTHORS_C))
    return tuning.c, best, authors


def most(shares: Shares, table: str, figure: str) -> tuple[float, float]:
    """Return the most that the 100 nearest words together get, and the epsilon at which they do."""
    return max((found[1], e) for (name, row, e), found in shares.items() if (name, row) == (table, figure))


def findings(shares: Shares, tuned: Mapping[str, tuple[float, float, float]]) -> tuple[str, ...]:
    """Return the findings; what they say of shares is computed."""
    lines: list[str] = []
    for table, (c, best, authors) in tuned.items():
        peaks = {figure: most(shares, table, figure) for figure in CLAIMS}
        listed = ", ".join(f"{share:.3f} at epsilon {e:g} ({figure})" for figure, (share, e) in peaks.items())
        lines += computed("curse", table=table, listed=listed, c=c, best=best, authors=authors)
    return tuple(lines)


def results(shares: Shares, wide: wv.Embeddings, *, full: bool) -> Iterator[Comparison]:
    """Yield one row for each figure of shares, on the wide table; `full` is at the paper's size."""
    for figure, claim in CLAIMS.items():
        fair = "softmax" in figure
        at = {e: found for (name, row, e), found in shares.items() if (name, row) == (wide.header.name, figure)}
        # Where the smallest of the three shares is largest, or else where the nearest words get most.
        epsilon = max(at, key=lambda e: (min(at[e]) if fair else at[e][1], e))
        own, share, other = at[epsilon]
        ours = f"the 100 nearest get {share:.3f}" + (" at most, " if not fair else ", where the shares are fairest, ")
        yield Comparison(
            what=figure,
            paper=claim,
            ours=ours + f"at epsilon {epsilon:g}; the word itself {own:.3f} there, others {other:.3f} "
            f"({wide.header.name}); asked: {'each .1 at least' if fair else '.1 at most'}",
            remark=AUTHORS_WIDE if fair and wide.header.name.startswith("word2vec") else "",
            verdict=verdict(min(own, share, other) >= 0.1 if fair else share <= 0.1, full=full),
        )


def _table(means: Mapping[str, Summary], own: PaperRow | None, table: wv.Embeddings, options: Options) -> Comparison:
    """Table 2; the paper's words are another sample: seven standard errors are five of the difference of two."""
    theirs = own[1] if own else ()
    near = all(abs(means[b].mean - x) <= 7 * means[b].standard_error for b, x in zip(BOUNDS, theirs, strict=False))
    return Comparison(
        what=f"table 2, {own[0] if own else table.header.name}: {', '.join(BOUNDS)}",
        paper=" / ".join(f"{value:.3f}" for value in theirs) or "no table of this size",
        ours=" / ".join(shown(means[bound]) for bound in BOUNDS) + "; asked: within 7 standard errors" * bool(own),
        verdict=verdict(bool(own) and near, full=bool(own) and options.size == "paper"),
    )


def _probabilities(embeddings: wv.Embeddings, means: Mapping[str, Summary], options: Options) -> Iterator[Comparison]:
    """Figure 6: the exact chance that the noisy dot product stays below each bound, at the paper's means and ours."""
    printed = told("papers/numbers.toml")["curse"]["tables"]
    theirs = {f"{name} {d}": (d, tuple(bounds)) for name, _, d, bounds in printed}
    ours = (embeddings.dimensions, tuple(means[bound].mean for bound in BOUNDS))
    epsilons = np.array(options.pick(FIGURE_SIX, FIGURE_SIX, (10.0,)))
    for name, (dimensions, bounds) in {**theirs, f"{embeddings.header.name}, our means": ours}.items():
        below = [dot_product_cdf(np.array(bounds), dimensions=dimensions, epsilon=float(e)) for e in epsilons]
        cells = "; ".join(
            f"{e:g}: {', '.join(f'{p:.3f}' for p in row)}"
            for e, row in zip(epsilons, below, strict=True)
            if e in (5.0, 10.0, 20.0, 40.0)
        )
        yield Comparison(
            what=f"figure 6, {name}: P[L X <= each of the three] by epsilon",
            paper="the first dominates from moderate epsilon on",
            ours=cells,
            remark="follows from table 2",  # a larger mean has a larger chance at every epsilon
            verdict=verdict(bounds[0] > bounds[2] > bounds[1], full=name in theirs),
            points=tuple(
                Plotted(figure=f"figure 6, {name}: P[L X <= bound]", series=bound, epsilon=float(e), value=float(p))
                for e, row in zip(epsilons, below, strict=True)
                for bound, p in zip(BOUNDS, row, strict=True)
                if name in ("GloVe-Wiki 50", "GloVe-Wiki 300")
            ),
        )


def _all_shares(table: wv.Embeddings, options: Options) -> Shares:
    size = min(options.pick(5000, 1000, 50), len(table))
    generator = np.random.Generator(np.random.PCG64(options.seed + 1))
    ids = np.sort(generator.choice(len(table), size, replace=False)).astype(np.int32)
    near = NearestWords(table.vectors, table.candidates).top(table.vectors[ids], min(NEAR + 1, len(table)))[0]
    shares: Shares = {}
    for epsilon in options.among(ALL_EPSILONS, SHARE_EPSILONS, (10.0,)):
        options.say(f"figures 2, 8 and 9 of {table.header.name} at epsilon {epsilon:g}")
        laplace = wv.MultivariateLaplace(epsilon=epsilon)
        softmax = wv.RankSoftmax(epsilon=epsilon, c=AUTHORS_C)
        fitted = {
            "figure 2, Laplace": wv.Decoded(mechanism=laplace).fit(table),
            "figure 8, rank softmax": wv.Decoded(mechanism=laplace, decoder=softmax).fit(table),
            "figure 9, exponential": wv.SanText(epsilon=epsilon).fit(table),
        }
        for name, randomizer in fitted.items():
            subject = subject_of(randomizer, threads=None)
            label = f"{table.header.name} {name} {epsilon}"
            shares[table.header.name, name, epsilon] = neighbour_shares(subject, ids, near, options, label)
    return shares


def _share_row(table: str, name: str, epsilon: float, shares: list[float]) -> Comparison:
    return Comparison(
        what=f"{name}, {table}, epsilon {epsilon:g}: original / 100 nearest / other",
        paper=CLAIMS[name],
        ours=" / ".join(f"{share:.3f}" for share in shares),
        points=tuple(
            Plotted(figure=f"{name}, {table}: share of outputs", series=kind, epsilon=epsilon, value=share)
            for kind, share in zip(("original", "100 nearest", "other"), shares, strict=True)
        ),
    )
