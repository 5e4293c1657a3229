"""[TEM] Carvalho, Vasiloudis, Feyisetan (2021): classifiers trained on released reviews, and an attack on them."""

from __future__ import annotations

from wordveil.decoding.decoded import Decoded
from wordveil.embeddings.table import Embeddings
from wordveil.evaluation.base import Summary
from wordveil.evaluation.league import first_words
from wordveil.evaluation.membership import MembershipInference
from wordveil.evaluation.subjects import Subject, subject_of, unprotected
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.tem import TEM
from wordveil.reproductions.base import Comparison, Options, Reproduction, shown
from wordveil.reproductions.figures import Plotted, point

__all__ = ["reproduce"]

PAPER = {("laplace", 2.0): ("0.52", "0.50"), ("tem", 2.0): ("0.75", "0.50")}
"""(mechanism, epsilon) -> accuracy and AUC that the text states; the figures give no other number."""


def reproduce(options: Options) -> Reproduction:
    """Repeat figure 1a (accuracy) and 1b (membership attack) on IMDB."""
    options.say("reading the vocabulary")
    whole = options.table("embeddings/glove.6B.50d.top100k.npz")
    embeddings = first_words(whole, min(options.pick(60_000, 10_000, 300), len(whole.candidates)))
    limit = options.pick(25_000, 3000, 60)
    task = MembershipInference(
        train="documents/imdb.train.jsonl.gz",
        test="documents/imdb.test10k.jsonl.gz",
        limit=limit,
        epochs=options.pick(20, 20, 2),
        width=options.pick(50, 32, 4),
    )
    comparisons = [_row("baseline", None, task, unprotected(embeddings), options)]
    for epsilon in options.pick((1.0, 2.0, 3.0, 4.0, 6.0, 8.0), (2.0, 4.0, 8.0), (2.0,)):
        for name, subject in _subjects(embeddings, epsilon):
            comparisons.append(_row(name, epsilon, task, subject, options))
    return Reproduction(
        name="tem",
        reference="Carvalho, Vasiloudis, Feyisetan (2021), TEM: High Utility Metric Differential Privacy on Text",
        setting=(
            f"IMDB, {limit:,} training reviews at most, halved into TR1 and TR2; test reviews (10 000 at most) halved "
            "into TE1 and TE2. The paper has 25 000 of each.",
            f"{embeddings.header.name}, {len(embeddings):,} words x {embeddings.dimensions} dimensions; the paper has "
            "300 dimensions. Epsilon is per unit of a distance, so equal epsilon means another strength here.",
            "FastText-style classifier in NumPy, attack model with two hidden layers of 64, as in appendix C; "
            f"{options.repeats} trials, the paper has 5. gamma from theorem 3 with beta = 0.001.",
        ),
        comparisons=tuple(comparisons),
        findings=(
            "TEM keeps more utility than decoded Laplace at the same epsilon, as the paper says. It also keeps more of "
            "the text: at equal epsilon its words stay themselves far more often, and the league table shows the "
            "success of a word-guessing attacker rising with it.",
            "The epsilon at which TEM reaches the accuracy without noise lies higher than in the paper, as distances "
            "in 50 dimensions are shorter than in 300: the order of the mechanisms carries over, the epsilons do not.",
            "The AUC of the membership attack is small even without noise and follows the accuracy of the attacked "
            "classifier: it shows how much the classifier could learn, and is no measure of what word-level release "
            "protects.",
            "The remark that embeddings may be trained on the private data does not hold: the vocabulary, the metric "
            "and gamma must be public.",
        ),
        missing=("Confidence intervals of figure 1 at other epsilons: the paper prints them only as a plot.",),
    )


def _subjects(embeddings: Embeddings, epsilon: float) -> list[tuple[str, Subject]]:
    return [
        ("laplace", subject_of(Decoded(mechanism=MultivariateLaplace(epsilon=epsilon)).fit(embeddings), threads=None)),
        ("tem", subject_of(TEM(epsilon=epsilon).fit(embeddings), threads=None)),
    ]


def _row(name: str, epsilon: float | None, task: MembershipInference, subject: Subject, options: Options) -> Comparison:
    label = name if epsilon is None else f"{name}, epsilon {epsilon:g}"
    options.say(f"figure 1: {label}")
    found = options.score(task, subject, label)
    accuracy, auc = PAPER.get((name, epsilon or 0.0), ("", ""))
    return Comparison(
        what=f"figure 1, {label}: accuracy / attack AUC",
        paper=f"{accuracy} / {auc}" if accuracy else "",
        ours=f"{shown(found['accuracy'])} / {shown(found['auc'])}",
        remark="another embedding and smaller data" if accuracy else "",
        points=_points(name, epsilon, found["accuracy"], found["auc"], (accuracy, auc)),
    )


def _points(
    name: str, epsilon: float | None, accuracy: Summary, auc: Summary, paper: tuple[str, str]
) -> tuple[Plotted, ...]:
    panels = ("figure 1a: test accuracy", "figure 1b: AUC of the membership attack")
    ours = tuple(point(panel, name, epsilon, found) for panel, found in zip(panels, (accuracy, auc), strict=True))
    theirs = tuple(
        Plotted(figure=panel, series=name, epsilon=epsilon, value=float(value), paper=True)
        for panel, value in zip(panels, paper, strict=True)
        if value
    )
    return ours + theirs
