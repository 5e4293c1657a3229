"""[TEM] Carvalho, Vasiloudis, Feyisetan (2021): classifiers trained on released reviews, and an attack on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from wordveil.api import TEM, Embeddings, MultivariateLaplace
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.evaluation.classification import MembershipInference
from wordveil_lab.evaluation.subjects import Entrant, subject_of, unprotected
from wordveil_lab.package import told
from wordveil_lab.papers import base
from wordveil_lab.papers.base import Comparison, Options, Reproduction, Scores
from wordveil_lab.plots import Plotted, point

PAPER = {("laplace", 2.0): ("0.52", "0.50"), ("tem", 2.0): ("0.75", "0.50")}
"""(mechanism, epsilon) -> accuracy and AUC that the text states; the figures give no other number."""
Row = tuple[str, float]
Found = Mapping[Row, Scores]
"""(name, epsilon) -> accuracy and AUC; epsilon is 0 without noise."""
PANELS: dict[str, dict[str, str]] = told("papers/numbers.toml")["tem"]["panels"]
SMALL = ", the small table"
SMALL_WORDS = 10_000


def reproduce(options: Options) -> Reproduction:
    """Repeat figure 1a (accuracy) and 1b (membership attack) on IMDB."""
    options.say("reading the vocabularies")
    wide = options.scaled_table("vectors")
    small = options.table("small")
    small = small.first(min(options.pick(SMALL_WORDS, SMALL_WORDS, 300), len(small.candidates)))
    limit = options.pick(25_000, 3000, 60)
    task = MembershipInference(
        train=options.file("imdb-train"),
        test=options.file("imdb-test"),
        limit=limit,
        epochs=options.pick(20, 20, 2),
        width=options.pick(50, 32, 4),
    )
    epsilons = options.among((2.0, 1.0, 4.0, 8.0), (2.0, 4.0, 8.0), (2.0,))
    found = {}
    for row, subject in _subjects(wide, small, epsilons):
        options.say(f"figure 1: {base.labelled(*row)}")
        found[row] = options.score(task, subject, base.labelled(*row))
    facts = {"limit": limit, "trained": len(task.prepare(wide)[0][0]), "options": options}
    return Reproduction(
        **base.about("tem", **facts, small=small, small_words=len(small), wide=wide, wide_words=len(wide)),
        comparisons=(
            *results(found, full=options.whole()),
            *(_row(name, epsilon, scores) for (name, epsilon), scores in found.items()),
        ),
        findings=findings(found),
    )


def findings(found: Found) -> tuple[str, ...]:
    """Return the findings; what they say of accuracies is computed."""
    epsilons = sorted(epsilon for name, epsilon in found if name == "tem")
    ahead = [e for e in epsilons if found["tem", e]["accuracy"].mean > found["laplace", e]["accuracy"].mean]
    return base.computed("tem", ahead=len(ahead), of=len(epsilons), clean=found["baseline", 0.0]["auc"].mean)


def results(found: Found, *, full: bool) -> Iterator[Comparison]:
    """Yield one row for each panel of figure 1; `full` is at the paper's size and on its own embedding."""
    if ("tem", 2.0) not in found:
        return
    tem, laplace, clean = found["tem", 2.0], found["laplace", 2.0], found["baseline", 0.0]
    ahead = tem["accuracy"].mean - laplace["accuracy"].mean
    near = all(abs(part["auc"].mean - 0.5) <= 0.02 for part in (tem, laplace))
    holds = {"a": tem["accuracy"].mean >= 0.745 and ahead >= 0.2, "b": near}
    for panel, said in PANELS.items():
        pair, bare = (base.shown(row[said["score"]]) for row in (laplace, tem)), clean[said["score"]].mean
        yield Comparison(
            what=f"figure 1{panel}, epsilon 2",
            paper=said["paper"],
            ours=f"{' and '.join(pair)}; without noise {bare:.3f}; asked: {said['asked']}",
            verdict=base.verdict(holds[panel], full=full),
        )
    yield _other_epsilons(found, "a", full=full)
    yield _other_epsilons(found, "b", full=False)  # that noise leaves nothing to be found is no claim about its size


def _other_epsilons(found: Found, panel: str, *, full: bool) -> Comparison:
    score = PANELS[panel]["score"]
    epsilons = sorted(epsilon for name, epsilon in found if name == "tem" and epsilon != 2.0)
    laplace, tem = ([found[name, e][score] for e in epsilons] for name in ("laplace", "tem"))
    listed = "; ".join(
        f"{e:g}: {base.shown(one)} and {base.shown(two)}" for e, one, two in zip(epsilons, laplace, tem, strict=True)
    )
    said = "TEM's is higher in {}, level in {}, lower in {}"
    counts = base.standing(zip(pooled(tem), pooled(laplace), strict=True))
    if panel == "b":
        late = [one for e, one in zip(epsilons, pooled(laplace), strict=True) if e >= 4]
        counts = base.standing(((one, found["baseline", 0.0][score]) for one in late), lower=True)
        said = "from epsilon 4 on Madlib's is lower than without noise in {}, level in {}, higher in {}"
    return Comparison(
        what=f"figure 1{panel}, other epsilons: Madlib and TEM",
        paper=PANELS[panel]["others"],
        ours=f"{listed}; {said.format(*counts)} (two standard errors, pooled)" if epsilons else "not in this run",
        verdict=base.ahead_verdict(counts, full=full),
    )


def pooled(scores: Sequence[Summary]) -> list[Summary]:
    """Return scores with the root mean square of their standard errors: that of two trials alone is mostly chance."""
    error = math.sqrt(sum(score.standard_error**2 for score in scores) / max(1, len(scores)))
    return [replace(score, standard_error=error) for score in scores]


def _subjects(wide: Embeddings, small: Embeddings, epsilons: tuple[float, ...]) -> Iterator[tuple[Row, Entrant]]:
    yield ("baseline", 0.0), unprotected(wide)
    for table, kind, epsilon in (*((wide, "", epsilon) for epsilon in epsilons), (small, SMALL, 2.0)):
        yield ("tem" + kind, epsilon), subject_of(TEM(epsilon=epsilon).fit(table), threads=None)
        yield ("laplace" + kind, epsilon), base.decoded(MultivariateLaplace(epsilon=epsilon), table)


def _row(name: str, epsilon: float, found: Scores) -> Comparison:
    panels = {"figure 1a: test accuracy": "accuracy", "figure 1b: AUC of the membership attack": "auc"}
    printed = dict(zip(panels, PAPER.get((name, epsilon), ()), strict=False))  # of the small table there is none
    theirs = [Plotted(panel, name, epsilon, float(value), paper=True) for panel, value in printed.items()]
    intervals = ", ".join(f"{found[score].low:.3f} to {found[score].high:.3f}" for score in panels.values())
    return Comparison(
        what=f"figure 1, {base.labelled(name, epsilon)}: accuracy / attack AUC",
        paper=" / ".join(printed.values()),
        ours=f"{base.shown(found['accuracy'])} / {base.shown(found['auc'])}",
        remark="" if found["auc"].runs == 1 else f"95 % intervals {intervals}",
        points=(*(point(panel, name, epsilon or None, found[score]) for panel, score in panels.items()), *theirs),
    )
