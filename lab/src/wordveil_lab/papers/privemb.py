"""[PE] Feyisetan, Kasiviswanathan (2021), PrivEmb: noise after a random projection (M2) against plain noise (M1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from wordveil.api import Embeddings, MultivariateLaplace, Projection, VectorMechanism, published_dimensions
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.evaluation.classification import CentroidClassification, LexiconClassification
from wordveil_lab.evaluation.subjects import unprotected
from wordveil_lab.evaluation.word_tasks import DistanceDistortion
from wordveil_lab.papers.base import Comparison, Options, Reproduction, about, decoded, shown
from wordveil_lab.plots import Plotted, point

__all__ = ["findings", "published", "reproduce", "scaled_like"]

FIGURE_THREE = {
    5.0: ("accuracy between .535 and .550, AUC between .55 and .59", "M2 above M1, more so for larger beta"),
    10.0: ("accuracy between .70 and .72, AUC between .77 and .78", "M2 above M1"),
    20.0: ("accuracy between .81 and .825, AUC about .89 to .90", "M2 above M1"),
}
TABLE_ONE = {
    "MR": ("sentences/mr.tsv", None, ".5561", ".5811"),
    "MPQA": ("sentences/mpqa.tsv", None, ".7798", ".7886"),
    "SST-5": ("sentences/sst5.train.tsv", "sentences/sst5.dev.tsv", ".3190", ".3249"),
    "TREC-6": ("sentences/trec6.train.tsv", "sentences/trec6.test.tsv", ".5320", ".7300"),
}
"""Set -> training file, test file, test accuracy of M1 and of M2 at epsilon 10, beta .9."""


def published(epsilon: float, beta: float) -> Projection:
    """Return M2 with the paper's delta = 1e-6 and its formula for the number of dimensions."""
    return Projection(epsilon=epsilon, beta=beta, delta=1e-6, sensitivity="published")


Pairs = dict[str, list[tuple[str, float, float]]]
"""Figure or table -> case, the score of M2, the score of what it is compared with."""


def reproduce(options: Options) -> Reproduction:
    """Repeat figures 1 to 4 and table 1."""
    options.say("reading the vocabularies")
    glove = options.table("embeddings/glove.6B.300d.subset.txt")
    word2vec = scaled_like(options.table("embeddings/word2vec-googlenews-13k-300d.bin.gz"), glove)
    small = options.table("embeddings/glove.6B.50d.top100k.npz")
    pairs: Pairs = defaultdict(list)
    comparisons = (
        *_distortion(glove, pairs, options),
        *_lexicon(word2vec, pairs, options),
        *_sentences(word2vec, pairs, options),
        *_dimensions(glove.dimensions),
        *_trained_small(word2vec, small, pairs, options),
    )
    return Reproduction(
        name="privemb",
        **about(
            "privemb",
            glove=glove,
            glove_words=len(glove),
            word2vec=word2vec,
            word2vec_words=len(word2vec),
            options=options,
        ),
        comparisons=comparisons,
        findings=findings(pairs),
    )


def findings(pairs: Pairs) -> tuple[str, ...]:
    """Return the findings; what they say of figures and tables is computed."""
    return (
        f"Figures 1 and 2: M2 is closer than M1 in {_won(pairs['figure 1'], lower=True)} by distance, in "
        f"{_won(pairs['figure 2'], lower=True)} by inner product. The noise has norm m(1 + beta)/epsilon against "
        "d/epsilon, and at beta = .5 m is over half of d.",
        f"Figure 3: M2 is ahead of M1 in {_won(pairs['figure 3'])} by the mean accuracy; in the paper it is "
        "everywhere, by .01 to .02.",
        f"Table 1: M2 is ahead of M1 in {_won(pairs['table 1'])} with one noisy vector a word, in "
        f"{_won(pairs['tokens'])} with fresh noise for every token. Where a word keeps its noisy vector, a classifier "
        "learns that vector as the word's name, and more dimensions make better names; a release draws afresh. The "
        "paper's words point to one vector a word, its order to fresh noise.",
        f"Figure 4, 50 dimensions: M2 is ahead of A1 in {_won(pairs['figure 4'])} by accuracy; in the paper nowhere.",
        "The number of dimensions rests on omega = sqrt(log d), which is the paper's choice and not the Gaussian "
        "width of a vocabulary: its (epsilon, delta) is published, not verified. Certified by the exact stretch of "
        "the one matrix drawn, the same noise is a proof for this vocabulary.",
        "Principal directions need no stretch at all (Delta = 1): see the league table.",
        "The paper's two statements of its privacy, the inequality with delta and the bound of the log ratio with "
        "probability 1 - delta, are not equivalent: the second is stronger.",
    )


def _won(cases: Sequence[tuple[str, float, float]], *, lower: bool = False) -> str:
    """Return in how many cases M2's score is better than its rival's, and in which it is not."""
    lost = [case for case, own, rival in cases if (own >= rival if lower else own <= rival)]
    text = f"{len(cases) - len(lost)} of {len(cases)} cases"
    return f"{text} (not: {'; '.join(lost)})" if 0 < len(lost) < len(cases) else text


def scaled_like(table: Embeddings, like: Embeddings) -> Embeddings:
    """Return a table scaled by one public number to another's median norm: an epsilon then means about the same."""
    own, other = (
        float(np.median(np.linalg.norm(np.asarray(part.vectors, dtype=np.float64), axis=1))) for part in (table, like)
    )
    return Embeddings.from_arrays(
        list(table.words),
        np.asarray(table.vectors, dtype=np.float64) * (other / own),
        name=f"{table.header.name} (scaled)",
        candidate_rule="all",
    )


def _mechanisms(epsilon: float, betas: tuple[float, ...]) -> Iterator[tuple[str, VectorMechanism]]:
    yield "M1", MultivariateLaplace(epsilon=epsilon)
    for beta in betas:
        yield f"M2, beta {beta:g}", published(epsilon, beta)


def _distortion(table: Embeddings, pairs: Pairs, options: Options) -> Iterator[Comparison]:
    task = DistanceDistortion(words=options.pick(100, 100, 10))
    for epsilon in options.pick((1.0, 2.0, 5.0), (1.0, 2.0, 5.0), (2.0,)):
        plain: dict[str, Summary] = {}
        for name, mechanism in _mechanisms(epsilon, options.pick((0.5, 0.6, 0.7), (0.5, 0.6, 0.7), (0.7,))):
            options.say(f"figures 1 and 2: {name}, epsilon {epsilon:g}")
            found = options.score(task, decoded(mechanism, table), f"{name} {epsilon}")
            plain = plain or found
            if name != "M1":
                case = f"{name} at epsilon {epsilon:g}"
                for part, score in (("figure 1", "distance"), ("figure 2", "inner-product")):
                    pairs[part].append((case, found[score].mean, plain[score].mean))
            yield Comparison(
                what=f"figures 1, 2, {name}, epsilon {epsilon:g}: distance / inner-product difference",
                paper="M2 below M1, lower for larger beta",
                ours=f"{shown(found['distance'], 1)} / {shown(found['inner-product'], 0)}",
                points=(
                    point("figure 1: mean difference of distances", name, epsilon, found["distance"]),
                    point("figure 2: mean difference of inner products", name, epsilon, found["inner-product"]),
                ),
            )


def _lexicon(table: Embeddings, pairs: Pairs, options: Options) -> Iterator[Comparison]:
    task = LexiconClassification(cap=options.pick(1899, 1899, 30))
    clean = options.score(task, unprotected(table), "clean")
    yield Comparison(
        what="figure 3, no noise: accuracy / AUC",
        paper="",
        ours=_two(clean, "accuracy", "auc"),
        points=_figure_three("no noise", None, clean),
    )
    for epsilon in options.pick((5.0, 10.0, 20.0), (5.0, 10.0, 20.0), (20.0,)):
        plain: dict[str, Summary] = {}
        for name, mechanism in _mechanisms(epsilon, options.pick((0.7, 0.8, 0.9), (0.7, 0.8, 0.9), (0.9,))):
            options.say(f"figure 3: {name}, epsilon {epsilon:g}")
            found = options.score(task, decoded(mechanism, table), f"{name} {epsilon}")
            plain = plain or found
            if name != "M1":
                case = f"{name} at epsilon {epsilon:g}"
                pairs["figure 3"].append((case, found["accuracy"].mean, plain["accuracy"].mean))
            axis, order = FIGURE_THREE[epsilon]
            yield Comparison(
                what=f"figure 3, {name}, epsilon {epsilon:g}: accuracy / AUC",
                paper=f"{axis}; {order}",
                ours=_two(found, "accuracy", "auc"),
                remark="word2vec in place of GloVe" if name == "M1" else "",
                points=_figure_three(name, epsilon, found),
            )


def _figure_three(name: str, epsilon: float | None, found: dict[str, Summary]) -> tuple[Plotted, ...]:
    panels = {"accuracy": "figure 3: accuracy on the opinion lexicon", "auc": "figure 3: AUC on the opinion lexicon"}
    return tuple(point(panel, name, epsilon, found[score]) for score, panel in panels.items())


def _two(found: dict[str, Summary], first: str, second: str) -> str:
    return f"{shown(found[first])} / {shown(found[second])}"


def _sentences(table: Embeddings, pairs: Pairs, options: Options) -> Iterator[Comparison]:
    sets = options.pick(tuple(TABLE_ONE), tuple(TABLE_ONE), ("TREC-6",))
    subjects = (decoded(MultivariateLaplace(epsilon=10.0), table), decoded(published(10.0, 0.9), table))
    for name in sets:
        train, test, *paper = TABLE_ONE[name]
        limit = options.pick(None, 3000, 60)
        task = CentroidClassification(train=train, test=test, limit=limit, test_limit=options.pick(None, 1000, 30))
        clean = options.score(task, unprotected(table), f"{name} clean")["accuracy"]
        yield Comparison(what=f"table 1, {name}, no noise: test accuracy", paper="", ours=shown(clean))
        once, afresh = [], []
        for label, theirs, subject in zip(("M1", "M2, beta 0.9"), paper, subjects, strict=True):
            options.say(f"table 1: {name}, {label}")
            once.append(options.score_tables([task], subject, f"{name} {label}")[0]["accuracy"])
            afresh.append(options.score(task, subject, f"{name} {label}")["accuracy"])
            yield Comparison(
                what=f"table 1, {name}, {label}, epsilon 10: test accuracy (fresh noise for every token)",
                paper=theirs,
                ours=f"{shown(once[-1])} ({shown(afresh[-1])})",
                remark="word2vec, fewer texts",
            )
        pairs["table 1"].append((name, once[1].mean, once[0].mean))
        pairs["tokens"].append((name, afresh[1].mean, afresh[0].mean))


def _dimensions(d: int) -> Iterator[Comparison]:
    for beta, paper in ((0.93, 50), (0.66, 100), (0.468, 200)):
        ours = published_dimensions(d, beta, 1e-6)
        yield Comparison(
            what=f"figure 4, dimensions at beta {beta:g}",
            paper=str(paper),
            ours=str(ours),
            remark="the formula's ceiling at d = 300" if d == 300 else f"the formula's ceiling at d = {d}",
        )


def _trained_small(large: Embeddings, small: Embeddings, pairs: Pairs, options: Options) -> Iterator[Comparison]:
    """Figure 4 in 50 dimensions: A1, noise on a table trained in them, against M2 from 300; the same lexicon words."""
    first_table, second_table = _within(small, large), _within(large, small)
    task = LexiconClassification(cap=options.pick(1899, 1899, 30))
    for epsilon in options.pick((5.0, 10.0, 20.0), (5.0, 10.0, 20.0), (20.0,)):
        options.say(f"figure 4: epsilon {epsilon:g}")
        first = options.score(task, decoded(MultivariateLaplace(epsilon=epsilon), first_table), f"A1 {epsilon}")
        second = options.score(task, decoded(published(epsilon, 0.93), second_table), f"M2 50 {epsilon}")
        pairs["figure 4"].append((f"epsilon {epsilon:g}", second["accuracy"].mean, first["accuracy"].mean))
        for name, found in ((f"A1 ({small.header.name})", first), ("M2, beta 0.93", second)):
            yield Comparison(
                what=f"figure 4, 50 dimensions, {name}, epsilon {epsilon:g}: accuracy / AUC",
                paper="A1 above M2",
                ours=_two(found, "accuracy", "auc"),
                points=tuple(
                    point(f"figure 4, 50 dimensions: {score}", name, epsilon, found[score])
                    for score in ("accuracy", "auc")
                ),
            )


def _within(table: Embeddings, other: Embeddings) -> Embeddings:
    """Return the part of a table whose words the other holds too."""
    kept = np.flatnonzero(other.ids(list(table.words)) >= 0)
    words = [table.words[int(i)] for i in kept]
    return Embeddings.from_arrays(words, table.vectors[kept], name=table.header.name, candidate_rule="all")
