"""A gallery of claims with a counter-example: each entry computes the numbers of its text, in `gallery.toml`.

All but one run without data, in seconds. The mechanisms in question are written anew here, from the
papers, as small as shows the point; nothing is said of any code but our own. What is exact is computed over all inputs
and outputs; the one sampled entry states its chance of error.

The lists that reach as far from the private word as a noise vector is long, as in RANTEXT, are written anew from the
formulas of Tong et al. (2023), arXiv:2310.12214, and of their public code as we read it. Everything there errs towards
the claim: lengths are rounded up, so that lists are longer and distant words likelier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

import wordveil.api as wv
from wordveil.api import Float64Array
from wordveil_lab.corpora import encode, part_of
from wordveil_lab.package import told
from wordveil_lab.papers.base import table_of

Numbers = dict[str, object]
WORDS = 600
GLOVE = "embeddings/glove.6B.50d.top100k.npz"


def _words(count: int) -> wv.Embeddings:
    """Return the commonest public words of three letters or more."""
    whole = wv.load_embeddings()
    return part_of(whole, np.array([i for i in whole.candidates[: 2 * count] if len(whole.words[int(i)]) > 2][:count]))


@cache
def _table() -> tuple[wv.Embeddings, wv.Float64Array]:
    """Return some words and all their distances."""
    table, ids = _words(WORDS), np.arange(WORDS, dtype=np.int32)
    return table, wv.word_distances(table, wv.Euclidean())(ids, ids)


def _exponential(rate: float, scores: wv.Float64Array) -> wv.Float64Array:
    weights = np.exp(-rate * scores)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _nearest(scores: wv.Float64Array, k: int) -> NDArray[np.bool_]:
    """Return which outputs are among the k nearest of each input, ties by id, shape (v, v)."""
    return np.asarray(np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1, kind="stable") < k)


def _example(channel: wv.Float64Array, table: wv.Float64Array) -> tuple[int, int, int]:
    """Return the nearest two inputs of which one has an output that the other cannot give, and that output."""
    order = np.argsort(np.where(table > 0, table, np.inf), axis=None)
    for place in order:
        first, second = divmod(int(place), len(table))
        only = np.where(channel[second] == 0, channel[first], 0.0)
        if only.max() > 0:
            return first, second, int(only.argmax())
    raise wv.ParameterError("channel", len(table), "has the same outputs for all inputs.")


def told_apart(possible: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the shares of pairs, in per cent, in which an output of one is impossible for the other, and all are."""
    own = possible.astype(np.float64)
    shared, off = own @ own.T, ~np.eye(len(own), dtype=bool)
    size = own.sum(axis=1)
    differ = (shared < size[:, None]) | (shared < size[None, :])
    return 100 * float(differ[off].mean()), 100 * float((shared[off] == 0).mean())


def _pair(table: wv.Embeddings, gaps: wv.Float64Array, first: int, second: int) -> Numbers:
    named = {"words": WORDS, "first": f"*{table.words[first]}*", "second": f"*{table.words[second]}*"}
    return {**named, "distance": gaps[first, second]}


def _trlaplace() -> Numbers:
    d, epsilon = 300, 0.1
    half = wv.published_half_width(d, epsilon, 4.0**-d)
    inside = 1 - wv.escape_chance(np.array([2 / math.sqrt(d)]), epsilon / (2 * math.sqrt(d)), half)[0]
    alpha, delta = 1 / (2 * math.sqrt(d)), 1e-5
    certified = wv.noise_deviation(alpha, wv.certified_half_width(d, 1.0, delta))
    numbers = {"epsilon": epsilon, "ends": 1 - inside**d, "delta": wv.largest_delta(d, epsilon, half)}
    return {**numbers, "certified": certified, "gaussian": 2 * wv.analytic_scale(1.0, delta)}


def _jaccard() -> Numbers:
    ratio = wv.Jaccard.dense_factor / wv.Jaccard.sparse_factor
    wide, narrow = wv.class_errors(300, ratio)
    return {"wide": wide, "narrow": narrow, "delta": wv.class_delta(300, ratio, 1.0)}


def _nadp() -> Numbers:
    table = _words(1000)

    def silent(tau: float, isolated: str) -> str:
        fitted = wv.NADP(epsilon=1.0, tau=tau, isolated=isolated).fit(table)
        return f"{100 * fitted.noiseless_share:.1f}"

    shares = {"verbatim": silent(0.5, "verbatim"), "low": silent(0.1, "verbatim"), "mended": silent(0.5, "global")}
    return {"words": len(table), **shares}


def _top_k(k: int = 20, epsilon: float = 4.0) -> Numbers:
    table, gaps = _table()
    whole = _exponential(epsilon / 2, gaps)
    cut = np.where(_nearest(gaps, k), whole, 0.0)
    cut /= cut.sum(axis=1, keepdims=True)
    first, second, output = _example(cut, gaps)
    tight = wv.verify_channel(whole, gaps, epsilon).tight_epsilon
    claim = {"k": k, "epsilon": epsilon, "allowed": epsilon * gaps[first, second], "whole": wv.round_up(tight, 3)}
    shown = {"output": f"*{table.words[output]}*", "probability": cut[first, output], "share": told_apart(cut > 0)[0]}
    return {**_pair(table, gaps, first, second), **claim, **shown}


def _tem_bottom(epsilon: float = 16.0, gamma: float = 2.0) -> Numbers:
    table, gaps = _table()
    near = gaps <= gamma
    size = near.sum(axis=1, keepdims=True)
    far = np.maximum(WORDS - size, 1)

    def channel(bottom: wv.Float64Array) -> wv.Float64Array:
        weights = np.where(near, np.exp(-epsilon / 2 * gaps), np.exp(epsilon / 2 * bottom) / far)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    broken = wv.verify_channel(channel(-gamma + np.log(WORDS / size)), gaps, epsilon)
    paper = wv.verify_channel(channel(-gamma + 2 * np.log(far) / epsilon), gaps, epsilon)
    excess, honest = broken.worst_loss - epsilon * broken.worst_distance, paper.tight_slack - paper.tolerance
    numbers = {"epsilon": epsilon, "gamma": gamma, "excess": excess, "honest": max(0.0, honest)}
    return {**_pair(table, gaps, *broken.worst_pair), **numbers}


def _private_budgets(total: float = 20.0) -> Numbers:
    table, gaps = _table()
    frequency = wv.word_frequencies(wv.load_embeddings())
    texts = ("her family", "the family")

    def shares(text: str) -> wv.Float64Array:
        worth = -np.log(frequency[wv.load_embeddings().ids(text.split())])
        return np.asarray(total * worth / worth.sum())

    before, after = (float(shares(text)[1]) for text in texts)
    row = int(table.ids(["family"])[0])
    channels = [_exponential(epsilon / 2, gaps[row : row + 1]) for epsilon in (before, after)]
    shown = {"one": texts[0], "other": texts[1], "before": before, "after": after}
    unchanged = float(np.abs(np.log(channels[0]) - np.log(channels[1])).max())
    return {"words": WORDS, "total": total, **shown, "unchanged": unchanged, "vectors": 128 * math.log(2)}


def nearest_of(once: wv.Float64Array, gaps: wv.Float64Array, draws: int) -> wv.Float64Array:
    """Return the law of the draw that is nearest to the input, of several by the same law, shape (v, v)."""
    order = np.argsort(gaps, axis=1, kind="stable")
    # The nearest of n draws is the j-th nearest or a farther one with probability (tail from j)^n.
    tails = np.cumsum(np.take_along_axis(once, order, axis=1)[:, ::-1], axis=1)[:, ::-1] ** draws
    best = np.empty_like(once)
    np.put_along_axis(best, order, np.maximum(tails - np.pad(tails[:, 1:], ((0, 0), (0, 1))), 0), axis=1)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _post_processing(draws: int = 10, epsilon: float = 4.0) -> Numbers:
    table, gaps = _table()
    once = _exponential(epsilon / 2, gaps)
    best = nearest_of(once, gaps, draws)
    found = wv.verify_channel(best, gaps, epsilon)
    tight, allowed = found.tight_epsilon, epsilon * found.worst_distance
    claim = {"draws": draws, "epsilon": epsilon, "allowed": allowed, "loss": found.worst_loss}
    shares = {"kept": float(np.diag(best).mean()), "once": float(np.diag(once).mean())}
    return {**_pair(table, gaps, *found.worst_pair), **claim, "tight": tight, "times": tight / epsilon, **shares}


def _clusters(clusters: int = 20, nats: float = 6.0) -> Numbers:
    table, gaps = _table()
    owner = gaps[:, :: WORDS // clusters].argmin(axis=1)  # each word's nearest of so many public ones
    same = owner[:, None] == owner[None, :]
    first, second, _ = _example(same / same.sum(axis=1, keepdims=True), gaps)
    right = math.exp(nats) / (math.exp(nats) + clusters - 1)
    wrong = (1 - right) / (clusters - 1)
    response = np.full((clusters, clusters), wrong) + np.eye(clusters) * (right - wrong)
    assert wv.verify_channel(response, 1.0, nats).holds
    numbers = {"clusters": clusters, "share": told_apart(same)[1], "nats": nats, "right": right}
    return {**_pair(table, gaps, first, second), **numbers}


def _unknown_words(listed: int = 10_000) -> Numbers:
    table = wv.load_embeddings().first(listed)
    generator = np.random.default_rng(0)

    def release(text: str) -> str:
        tokens = text.split()
        known = table.ids([token.lower() for token in tokens]) >= 0
        drawn = generator.integers(len(table), size=len(tokens))
        return " ".join(table.words[int(i)] if k else t for t, k, i in zip(tokens, known, drawn, strict=True))

    words = [table.words[int(i)] for i in table.ids(["house", "doctor", "green", "music"])]
    found = {finding.check: finding for finding in wv.check_text(release, wv.TextChecks(words=words))}["unknown words"]
    assert found.refuted
    sentences = wv.load_prior().held_out
    corpus = encode(table, sentences)
    unknown = np.add.reduceat(corpus.tokens < 0, corpus.offsets[:-1]) > 0
    share = 100 * float(unknown.mean())
    return {"observed": found.observed, "sentences": len(sentences), "share": share, "listed": listed}


def _floorless(k: int = 20, nats: float = 8.0) -> Numbers:
    table, gaps = _table()
    lists = _nearest(gaps, k)
    first, second, _ = _example(lists / lists.sum(axis=1, keepdims=True), gaps)
    share, apart = told_apart(lists)
    high = math.exp(nats) / (k * math.exp(nats) + WORDS - k)
    with_floor = np.where(lists, high, high / math.exp(nats))
    exact, own = wv.verify_channel(with_floor, 1.0, nats).tight_epsilon, int((lists[first] & ~lists[second]).sum())
    numbers = {"k": k, "own": own, "share": share, "apart": apart, "nats": nats, "exact": exact}
    return {**_pair(table, gaps, first, second), **numbers}


def _radius(epsilon: float = 4.0, unseen: float = 1e-12) -> Numbers:
    table, gaps = _table()
    # The scale of a coordinate's noise, for epsilon above 2: its range over a fitted function.
    fitted = 0.01658160142016071 * math.log(19.064721649556482 * epsilon - 38.1294334077209) + 9.311083811697406
    lengths, chances = length_law(np.ptp(table.vectors.astype(np.float64), axis=0) / fitted, longest=4.0)
    mean = chances @ lengths
    own = np.array([own_chance(row, lengths, chances, epsilon) for row in gaps])
    reaches = np.append(np.cumsum(chances[::-1])[::-1], 0.0)[np.searchsorted(lengths, gaps, side="right")] + unseen
    losses = np.where(gaps > 0, np.log(own[:, None] / reaches), -np.inf)  # of the first word, as itself
    first, second = divmod(int(np.argsort(gaps, axis=None)[gaps.size // 2]), len(table))
    law = {"length": mean, "deviation": math.sqrt(chances @ (lengths - mean) ** 2)}
    bounds = {"own": wv.round_down(own[first], 2), "other": wv.round_up(reaches[first, second], 2)}
    found = {"loss": wv.round_down(losses[first, second], 3), "worst": wv.round_down(losses.max(), 3)}
    share = 100 * float((losses > epsilon)[gaps > 0].mean())
    numbers = {"epsilon": epsilon, "d": table.dimensions, "share": share}
    return {**_pair(table, gaps, first, second), **numbers, **law, **bounds, **found}


def _tem_ten(epsilon: float = 10.0, asked: int = 200) -> Numbers:
    table = table_of(GLOVE)
    fitted = wv.TEM(epsilon=epsilon).fit(table)
    ids = np.unique(np.linspace(0, 20_000, asked).astype(np.int32))
    law, gaps = fitted.law(ids), fitted.distances(ids)
    gaps[np.arange(len(ids)), ids] = np.inf
    near = gaps.argmin(axis=1)
    own, other = law[np.arange(len(ids)), ids], fitted.law(near.astype(np.int32))
    right = (own + other[np.arange(len(ids)), near]) / 2  # by naming the released word
    nearest, sure = float(np.median(gaps.min(axis=1))), f"at least {float(np.median(right)):.3f} in the median"
    shares = {"nearest": nearest, "kept": float(own.mean()), "local": wv.round_up(epsilon * fitted.rows.cap, 3)}
    return {"words": len(table), "asked": len(ids), **shares, "sure": sure}


def _two_statements(allowed: float = 2.0, delta: float = 0.05, rare: float = 0.1) -> Numbers:
    first, second = np.array([allowed * rare + delta, 0.0]), np.array([rare, 1 - rare])
    first[1] = 1 - first[0]
    over = max(float(np.maximum(p - allowed * q, 0).sum()) for p, q in ((first, second), (second, first)))
    beyond = float(first[first > allowed * second].sum())
    return {"allowed": allowed, "first": first[0], "second": rare, "delta": over, "beyond": beyond}


def _private_table(epsilon: float = 4.0) -> Numbers:
    def law(places: Sequence[float]) -> wv.Float64Array:
        words = ["tea", "coffee", "milk", "water"][: len(places)]
        table = wv.Embeddings.from_arrays(words, np.array(places)[:, None])
        return np.asarray(wv.TEM(epsilon=epsilon).fit(table).law(np.zeros(1, dtype=np.int32))[0])

    without, moved, added = law((0.0, 1.0, 2.0)), law((0.0, 1.0, 3.0)), law((0.0, 1.0, 2.0, 0.5))
    loss = float(np.abs(np.log(moved / without)).max())
    return {"epsilon": epsilon, "chance": added[3], "loss": wv.round_down(loss, 3)}


ENTRIES: Mapping[str, Callable[[], Numbers]] = {
    "trlaplace-published": _trlaplace,
    "jaccard": _jaccard,
    "nadp-isolated": _nadp,
    "top-k": _top_k,
    "tem-bottom": _tem_bottom,
    "private-budgets": _private_budgets,
    "post-processing": _post_processing,
    "clusters": _clusters,
    "unknown-words": _unknown_words,
    "floorless-lists": _floorless,
    "radius-lists": _radius,
    "tem-epsilon-10": _tem_ten,
    "two-statements": _two_statements,
    "private-table": _private_table,
}
"""Name -> what computes its numbers."""

NEEDS = {"tem-epsilon-10": GLOVE}
"""Name -> file of the data folder that it reads."""


def exhibit(name: str) -> str:
    """Return an entry as a section of Markdown, its numbers computed now."""
    wv.check_choice("paper", name, ENTRIES)
    numbers = ENTRIES[name]()
    said = {part: sentence.format(**numbers) for part, sentence in told("papers/gallery.toml")[name].items()}
    lines = [f"## {said['title']}", "", f"    wordveil reproduce {name}", "", said["source"], ""]
    for part, heading in (("claim", "Claim"), ("counter", "Counter-example"), ("bound", "Certified"), ("mend", "Mend")):
        lines += [f"**{heading}.** {said[part]}", ""]
    return "\n".join(lines)


def gallery_page(names: Iterable[str] = tuple(ENTRIES)) -> str:
    """Return the whole page; an entry whose data is not here says so."""
    parts = [told("papers/gallery.toml")["head"]]
    for name in names:
        try:
            parts.append(exhibit(name))
        except wv.ParameterError as error:
            if name not in NEEDS:
                raise
            parts.append(f"## {name}\n\nSkipped: {error}\n")
    return "\n".join(parts)


def length_law(
    scales: Float64Array, *, longest: float, steps: int = 2**18, kept: int = 256
) -> tuple[Float64Array, Float64Array]:
    """Return lengths and their probabilities, for a vector of independent Laplace noise.

    Squares of coordinates are rounded up to a grid and convolved, and lengths then rounded up to a coarser one. What
    the convolution wraps or rounds, below 1e-12 where `longest` is twice the mean or more, is left to the caller. The
    largest squared length on the grid is twice the square of `longest`; up to it the fine grid has so many steps, a
    multiple of those that the coarse one keeps.
    """
    squares = longest**2 * np.arange(1, steps + 1) / steps
    law = np.ones(steps + 1, dtype=np.complex128)
    for scale in scales:
        law *= np.fft.rfft(np.diff(-np.expm1(-np.sqrt(squares) / scale), prepend=0.0), 2 * steps)
    chances = np.maximum(np.fft.irfft(law, 2 * steps), 0.0).reshape(2 * kept, -1)
    chances[-1, -1] += max(1.0 - chances.sum(), 0.0)  # coordinates longer than `longest`
    # The first entry of a law is one step, so that index i of the convolution stands for i + len(scales) steps.
    last = np.arange(1, 2 * kept + 1) * chances.shape[1] - 1 + len(scales)
    return np.sqrt(longest**2 * last / steps), chances.sum(axis=1)


def own_chance(gaps: Float64Array, lengths: Float64Array, chances: Float64Array, epsilon: float) -> float:
    """Return the probability that a word is released as itself; longer lists make it smaller.

    Given are its distances to all words, itself among them, and the lengths of the noise with their probabilities.
    Inside a list an exponential mechanism has the weights exp(epsilon/2 (1 - distance/length)).
    """
    weights = np.where(gaps < lengths[:, None], np.exp(epsilon / 2 * (1 - gaps / lengths[:, None])), 0.0)
    return float(chances @ (math.exp(epsilon / 2) / weights.sum(axis=1)))
