"""[NA] Bollegala, Machide, Kawarabayashi (2023): noise fitted to neighbourhoods; utility, skewness, silent words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wordveil.api import NADP, Embeddings, Mahalanobis, NearestWords
from wordveil_lab.evaluation.base import Summary, Task
from wordveil_lab.evaluation.classification import CentroidClassification
from wordveil_lab.evaluation.deniability import OverlapSkewness
from wordveil_lab.evaluation.league import first_words
from wordveil_lab.evaluation.sentence_tasks import SentenceSimilarity
from wordveil_lab.evaluation.subjects import unprotected
from wordveil_lab.evaluation.word_tasks import OddManOut, WordSimilarity
from wordveil_lab.papers.base import Comparison, Options, Reproduction, about, decoded, shown
from wordveil_lab.papers.nadp_checks import findings, leads, lowest_skewness, sizes
from wordveil_lab.papers.nadp_noise import DELTA, FlatNoise, contenders
from wordveil_lab.plots import Plotted, point

__all__ = ["reproduce", "silent_share"]

TAUS = (0.1, 0.2, 0.3, 0.4, 0.5)
SILENT = {0.1: "10.5 % of the authors' tables", 0.5: "70.6 % of the authors' tables"}
WORDS = ("misogynist", "police", "hitler", "wikileaks", "fbi")
PANELS = {
    "MEN": "figure 2a: word similarity (MEN), Spearman",
    "SimLex": "figure 2a: word similarity (SimLex), Spearman",
    "STS": "figure 2b: STS-B, Pearson",
    "reviews": "figure 2c: classification (MR, MPQA), accuracy",
    "odd-man-out": "figure 2d: odd-man-out, accuracy",
}
STORED: Mapping[tuple[str, float], tuple[float, Mapping[str, float]]] = {
    ("NADP, tau 0.1", 1.0): (0.8, {"MEN": -0.009, "SimLex": -0.128, "MR": 0.608, "STS12-16": 0.564}),
    ("Laplacian, code", 1.0): (0.8, {"MEN": -0.003, "SimLex": -0.009, "MR": 0.614, "STS12-16": 0.498}),
    ("Mahalanobis, lam 1", 1.0): (0.8, {"MEN": 0.007, "SimLex": -0.043, "MR": 0.605, "STS12-16": 0.487}),
    ("Gaussian, code", 5.0): (4.8, {"MEN": -0.031, "SimLex": -0.005, "MR": 0.610, "STS12-16": 0.503}),
    ("Gaussian, code", 10.0): (10.4, {"MEN": 0.003, "SimLex": 0.008, "MR": 0.634, "STS12-16": 0.496}),
    ("Gaussian, code", 20.0): (20.0, {"MEN": 0.057, "SimLex": 0.005, "MR": 0.621, "STS12-16": 0.505}),
    ("Gaussian, code", 40.0): (
        40.0,
        {"MEN": 0.152, "SimLex": 0.044, "MR": 0.667, "STS12-16": 0.498, "odd-man-out": 0.261},
    ),
    ("NADP, tau 0.5", 40.0): (40.0, {"odd-man-out": 0.450}),
    ("Laplacian, code", 40.0): (40.0, {"odd-man-out": 0.171}),
    ("Mahalanobis, lam 1", 40.0): (40.0, {"odd-man-out": 0.414}),
}
"""(name, our epsilon) -> the authors' epsilon and scores, from the result files in their repository, one run each. Of
odd-man-out the share among the sets that their vocabulary covers, 75.8 % of all."""


def silent_share(embeddings: Embeddings, tau: float) -> float:
    """Return the share of words that NADP as published releases without noise."""
    return NADP(epsilon=1.0, delta=DELTA, tau=tau, isolated="verbatim").fit(embeddings).noiseless_share


def reproduce(options: Options) -> Reproduction:
    """Repeat figures 2 to 4 and table 1, and count the words without noise."""
    options.say("reading the vocabulary")
    whole = options.table("embeddings/glove.6B.50d.top100k.npz")
    embeddings = first_words(whole, min(options.pick(70_000, 10_000, 300), len(whole.candidates)))
    rows = dict(_curves(embeddings, options))
    silent = {tau: silent_share(embeddings, tau) for tau in options.pick(TAUS, TAUS, (0.1, 0.5))}
    each = {(name, epsilon): _fresh_noise(embeddings, name, epsilon, options) for name, epsilon in _TOKENWISE}
    comparisons = (
        *leads(rows),
        lowest_skewness(rows),
        *_silent(silent),
        *(_row(name, epsilon, scores) for (name, epsilon), scores in rows.items()),
        *(_tokenwise(name, epsilon, rows, found) for (name, epsilon), found in each.items()),
        *_histograms(embeddings, options),
        *_neighbours(embeddings, options),
    )
    stretch = Mahalanobis(epsilon=1.0, lam=1.0).fit(embeddings).euclidean_epsilon
    return Reproduction(
        name="nadp",
        **about("nadp", embeddings=embeddings, words=len(embeddings), options=options, **sizes(embeddings)),
        comparisons=comparisons,
        findings=findings(embeddings, rows, silent, {key: scores["STS"] for key, scores in each.items()}, stretch),
    )


_TOKENWISE = (("NADP, tau 0.5", 10.0), ("Gaussian, code", 10.0))
"""What figure 2b is drawn for once more, with fresh noise for every token."""


def _silent(shares: Mapping[float, float]) -> Iterator[Comparison]:
    for tau, share in shares.items():
        yield Comparison(
            what=f"share of words released without noise, tau {tau:g}",
            paper=f"not stated; {SILENT[tau]}" if tau in SILENT else "not stated",
            ours=f"{100 * share:.1f} %",
            remark="another vocabulary: the share depends on it" if tau in SILENT else "",
        )


def _tasks(options: Options) -> dict[str, Task]:
    """Return the tasks of figure 2 that are at hand; each set of reviews holds out a random fifth."""
    tasks: dict[str, Task] = {"MEN": WordSimilarity(), "odd-man-out": OddManOut()}
    if options.size == "miniature":
        return {**tasks, "STS": SentenceSimilarity(), "review": CentroidClassification(limit=40, test_limit=20)}
    tasks["SimLex"] = WordSimilarity(path="wordsim/simlex999.tsv")
    tasks["STS"] = SentenceSimilarity(path="sentences/stsb.test.tsv")
    whole = CentroidClassification(test=None, limit=options.pick(None, 5000, None))
    return tasks | {f"review {name}": replace(whole, train=f"sentences/{name}.tsv") for name in ("mr", "mpqa")}


def _spread(options: Options) -> OverlapSkewness:
    return OverlapSkewness(words=options.pick(5000, 1000, 30), neighbours=10)


def _mean(parts: Sequence[Summary]) -> Summary:
    """Return the mean over data sets of means over runs; the sets' errors are independent."""
    error = float(np.sqrt(sum(part.standard_error**2 for part in parts))) / len(parts)
    mean, low, high = (float(np.mean([getattr(part, name) for part in parts])) for name in ("mean", "low", "high"))
    return Summary(mean=mean, standard_error=error, low=low, high=high, runs=parts[0].runs)


def _gathered(tasks: Mapping[str, Task], found: Sequence[dict[str, Summary]]) -> dict[str, Summary]:
    """Return the first score of every task, and the mean over the sets of reviews."""
    scores = {name: next(iter(score.values())) for name, score in zip(tasks, found, strict=True)}
    scores["reviews"] = _mean([summary for name, summary in scores.items() if name.startswith("review")])
    return {name: scores[name] for name in PANELS if name in scores}


def _curves(embeddings: Embeddings, options: Options) -> Iterator[tuple[tuple[str, float], dict[str, Summary]]]:
    """Yield name and epsilon of every row of figures 2 and 3, and its scores; epsilon is 0 where there is no noise."""
    tasks, spread = _tasks(options), _spread(options)
    clean = unprotected(embeddings)
    scores = _gathered(tasks, [options.score(task, clean, "no noise") for task in tasks.values()])
    yield ("no noise", 0.0), scores | options.score(spread, clean, "no noise")
    for epsilon in options.pick((1.0, 5.0, 10.0, 20.0, 40.0), (1.0, 5.0, 10.0, 20.0, 40.0), (10.0,)):
        for name, mechanism in contenders(embeddings, epsilon):
            label = f"{name}, epsilon {epsilon:g}"
            options.say(f"figures 2 and 3: {label}")
            subject = decoded(mechanism, embeddings)
            scores = _gathered(tasks, options.score_tables(list(tasks.values()), subject, label))
            yield (name, epsilon), scores | options.score(spread, subject, label)
        for tau in options.pick(TAUS[1:-1], TAUS[1:-1], ()):
            subject = decoded(NADP(epsilon=epsilon, delta=DELTA, tau=tau, isolated="verbatim"), embeddings)
            yield (f"NADP, tau {tau:g}", epsilon), options.score(spread, subject, f"tau {tau:g}, epsilon {epsilon:g}")


def _row(name: str, epsilon: float, scores: Mapping[str, Summary]) -> Comparison:
    label = f"{name}, epsilon {epsilon:g}" if epsilon else name
    at = epsilon or None
    utility = [panel for panel in PANELS if panel in scores]
    place, stored = STORED.get((name, epsilon), (epsilon, {}))
    listed = ", ".join(f"{score} {value:.3f}" for score, value in stored.items())
    theirs = [
        Plotted(figure=PANELS[score], series=name, epsilon=place, value=value, paper=True)
        for score, value in stored.items()
        if score in PANELS
    ]
    drawn = not name.endswith("text")  # with them the panels cannot be read
    spread = f"skewness {shown(scores['skewness'], 2)}, overlap {shown(scores['overlap'])}"
    return Comparison(
        what=f"figures 2 and 3, {label}: {' / '.join(utility)}; skewness, overlap" if utility else f"figure 3, {label}",
        paper=f"stored, epsilon {place:g}: {listed}" if stored else "",
        ours=f"{' / '.join(shown(scores[panel]) for panel in utility)}; {spread}" if utility else spread,
        points=(
            *(point(PANELS[panel], name, at, scores[panel]) for panel in utility),
            *theirs,
            point("figure 3: skewness", name, at, scores["skewness"]),
            point("share of neighbours kept (not in the paper)", name, at, scores["overlap"]),
        )
        if drawn
        else (),
    )


def _fresh_noise(embeddings: Embeddings, name: str, epsilon: float, options: Options) -> dict[str, Summary]:
    """Return STS and review scores where every token has noise of its own, as in a release."""
    tasks = {key: task for key, task in _tasks(options).items() if key == "STS" or key.startswith("review")}
    subject = decoded(dict(contenders(embeddings, epsilon))[name], embeddings)
    options.say(f"fresh noise for every token: {name}, epsilon {epsilon:g}")
    return _gathered(tasks, [options.score(task, subject, f"tokens {key} {name}") for key, task in tasks.items()])


def _tokenwise(
    name: str,
    epsilon: float,
    rows: Mapping[tuple[str, float], Mapping[str, Summary]],
    found: Mapping[str, Summary],
) -> Comparison:
    once = rows[name, epsilon]
    return Comparison(
        what=f"figures 2b and 2c, {name}, epsilon {epsilon:g}: fresh noise for every token (one vector a word)",
        paper="one noisy vector a word (code)",
        ours=", ".join(f"{panel} {shown(found[panel])} ({shown(once[panel])})" for panel in ("STS", "reviews")),
        remark="in brackets the rows above",
    )


def _histograms(embeddings: Embeddings, options: Options) -> Iterator[Comparison]:
    """Figure 4: skewness and mean of the overlaps against the size of Gaussian noise."""
    spread = _spread(options)
    options.say("figure 4")
    seen = []
    for sigma in np.linspace(0.05, 1, options.pick(20, 20, 2)):
        subject = decoded(FlatNoise(law="gaussian", scale=float(sigma)), embeddings)
        found = options.score(spread, subject, f"sigma {sigma:.2f}")
        seen.append((float(sigma), found["skewness"].mean, found["overlap"].mean))
    falls = [sigma for (sigma, now, _), (_, before, _) in zip(seen[1:], seen, strict=False) if now < before]
    yield Comparison(
        what="figure 4, Gaussian noise: skewness (mean overlap) at sigma",
        paper="0 at sigma 0; rises with sigma, except at .05",
        ours="; ".join(f"{sigma:.2f}: {skewness:.2f} ({share:.3f})" for sigma, skewness, share in seen),
        remark=f"falls at {', '.join(f'{sigma:.2f}' for sigma in falls)}" if falls else "rises from .05 on",
    )


def _neighbours(embeddings: Embeddings, options: Options) -> Iterator[Comparison]:
    """Table 1: nearest words of the released vector; the paper does not state its epsilon."""
    ids = embeddings.ids([word for word in WORDS if word in embeddings] or [embeddings.words[0]])
    search = NearestWords(embeddings.vectors, embeddings.candidates)
    words = embeddings.words
    for name in ("NADP, tau 0.1", "NADP, tau 0.5", "Mahalanobis, lam 1"):
        subject = decoded(dict(contenders(embeddings, 10.0))[name], embeddings)
        near = search.top(subject.release_vectors(ids, options.source(f"table 1 {name}"), name), 3)[0]
        listed = "; ".join(
            f"{words[int(i)]}: {', '.join(words[int(j)] for j in row)}" for i, row in zip(ids, near, strict=True)
        )
        back = sum(int(i) in row for i, row in zip(ids, near.tolist(), strict=True))
        yield Comparison(
            what=f"table 1, {name}, epsilon 10: three nearest words",
            paper="none of the five words comes back" if name.startswith("NADP") else "four of the five come back",
            ours=f"{back} of {len(ids)} come back: {listed}",
            remark="one draw; the paper states no epsilon",
        )
