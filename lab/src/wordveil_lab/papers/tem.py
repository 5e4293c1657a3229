"""[TEM] Carvalho, Vasiloudis, Feyisetan (2021): classifiers trained on released reviews, and an attack on them."""

from __future__ import annotations

from collections.abc import Mapping

from wordveil.api import TEM, Embeddings, MultivariateLaplace
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.evaluation.league import first_words
from wordveil_lab.evaluation.membership import MembershipInference
from wordveil_lab.evaluation.subjects import Entrant, subject_of, unprotected
from wordveil_lab.papers.base import Comparison, Options, Reproduction, about, decoded, shown
from wordveil_lab.papers.privemb import scaled_like
from wordveil_lab.plots import Plotted, point

__all__ = ["findings", "reproduce"]

PAPER = {("laplace", 2.0): ("0.52", "0.50"), ("tem", 2.0): ("0.75", "0.50")}
"""(mechanism, epsilon) -> accuracy and AUC that the text states; the figures give no other number."""
Found = Mapping[tuple[str, float], dict[str, Summary]]
"""(name, epsilon) -> accuracy and AUC; epsilon is 0 without noise."""
WIDE = ", 300 dimensions"


def reproduce(options: Options) -> Reproduction:
    """Repeat figure 1a (accuracy) and 1b (membership attack) on IMDB."""
    options.say("reading the vocabularies")
    whole = options.table("embeddings/glove.6B.50d.top100k.npz")
    embeddings = first_words(whole, min(options.pick(60_000, 10_000, 300), len(whole.candidates)))
    wide = scaled_like(
        options.table("embeddings/word2vec-googlenews-13k-300d.bin.gz"),
        options.table("embeddings/glove.6B.300d.subset.txt"),
    )
    limit = options.pick(25_000, 3000, 60)
    task = MembershipInference(
        train="documents/imdb.train.jsonl.gz",
        test="documents/imdb.test10k.jsonl.gz",
        limit=limit,
        epochs=options.pick(20, 20, 2),
        width=options.pick(50, 32, 4),
    )
    found = {("baseline", 0.0): _scores("baseline", 0.0, task, unprotected(embeddings), options)}
    for epsilon in options.pick((1.0, 2.0, 3.0, 4.0, 6.0, 8.0), (2.0, 4.0, 8.0), (2.0,)):
        for name, subject in _subjects(embeddings, epsilon):
            found[name, epsilon] = _scores(name, epsilon, task, subject, options)
    for name, subject in _subjects(wide, 2.0):
        found[name + WIDE, 2.0] = _scores(name + WIDE, 2.0, task, subject, options)
    return Reproduction(
        name="tem",
        **about(
            "tem",
            limit=limit,
            embeddings=embeddings,
            words=len(embeddings),
            wide=wide,
            wide_words=len(wide),
            options=options,
        ),
        comparisons=tuple(_row(name, epsilon, scores) for (name, epsilon), scores in found.items()),
        findings=findings(found),
    )


def findings(found: Found) -> tuple[str, ...]:
    """Return the findings; what they say of accuracies is computed."""
    epsilons = sorted(epsilon for name, epsilon in found if name == "tem")
    ahead = [e for e in epsilons if found["tem", e]["accuracy"].mean > found["laplace", e]["accuracy"].mean]
    tem, laplace, wide, wide_laplace = (
        found[name, 2.0]["accuracy"].mean for name in ("tem", "laplace", "tem" + WIDE, "laplace" + WIDE)
    )
    met = max(tem, wide) >= 0.745
    clean = found["baseline", 0.0]["accuracy"].mean
    best = max(epsilons, key=lambda e: found["tem", e]["accuracy"].mean)
    return (
        f"TEM has more accuracy than decoded Laplace at {len(ahead)} of {len(epsilons)} epsilons; in the paper at "
        "all. At equal epsilon it also keeps more of the text: see the league table.",
        f"The paper's 75 against 52 % at epsilon 2 is {'met' if met else 'not met'}: here {100 * tem:.0f} against "
        f"{100 * laplace:.0f} % in 50 dimensions, {100 * wide:.0f} against {100 * wide_laplace:.0f} % in 300, with "
        f"{100 * clean:.0f} % without noise; in 50 dimensions TEM has at most "
        f"{100 * found['tem', best]['accuracy'].mean:.0f} %, at epsilon {best:g}.",
        "The AUC of the membership attack is small even without noise "
        f"({found['baseline', 0.0]['auc'].mean:.3f}) and follows the accuracy of the attacked classifier: it shows how "
        "much the classifier could learn, and is no measure of what word-level release protects.",
        "The remark that embeddings may be trained on the private data does not hold: the vocabulary, the metric and "
        "gamma must be public.",
    )


def _subjects(embeddings: Embeddings, epsilon: float) -> list[tuple[str, Entrant]]:
    return [
        ("laplace", decoded(MultivariateLaplace(epsilon=epsilon), embeddings)),
        ("tem", subject_of(TEM(epsilon=epsilon).fit(embeddings), threads=None)),
    ]


def _scores(
    name: str, epsilon: float, task: MembershipInference, subject: Entrant, options: Options
) -> dict[str, Summary]:
    label = _label(name, epsilon)
    options.say(f"figure 1: {label}")
    return options.score(task, subject, label)


def _label(name: str, epsilon: float) -> str:
    return f"{name}, epsilon {epsilon:g}" if epsilon else name


def _row(name: str, epsilon: float, found: dict[str, Summary]) -> Comparison:
    accuracy, auc = PAPER.get((name.removesuffix(WIDE), epsilon), ("", ""))
    return Comparison(
        what=f"figure 1, {_label(name, epsilon)}: accuracy / attack AUC",
        paper=f"{accuracy} / {auc}" if accuracy else "",
        ours=f"{shown(found['accuracy'])} / {shown(found['auc'])}",
        remark="another embedding and smaller data" if accuracy else "",
        points=_points(name, epsilon or None, found["accuracy"], found["auc"], (accuracy, auc)),
    )


def _points(
    name: str, epsilon: float | None, accuracy: Summary, auc: Summary, paper: tuple[str, str]
) -> tuple[Plotted, ...]:
    panels = ("figure 1a: test accuracy", "figure 1b: AUC of the membership attack")
    ours = tuple(point(panel, name, epsilon, found) for panel, found in zip(panels, (accuracy, auc), strict=True))
    theirs = tuple(
        Plotted(figure=panel, series=name, epsilon=epsilon, value=float(value), paper=True)
        for panel, value in zip(panels, paper, strict=True)
        if value and not name.endswith(WIDE)
    )
    return ours + theirs
