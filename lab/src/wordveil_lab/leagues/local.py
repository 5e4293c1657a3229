"""The league at equal promise: local DP at 4 to 12 nats, what the attackers name, and what is left to use.

Writes docs/results/local.json, .md and .svg. Finished cells lie in build/local.cells, so that an interrupted run goes
on where it stopped. Needs the data folder (WORDVEIL_DATA), scikit-learn, matplotlib; an hour of one core.

    python -m wordveil_lab.leagues.local [--page | --only ROW ...]     as in `stored`
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack, identity, kron, vstack

from wordveil.api import Embeddings, Float64Array, NeighbourResponse, load_embeddings
from wordveil_lab.evaluation import curves
from wordveil_lab.evaluation.audits import AuditSettings
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.classification import CentroidClassification
from wordveil_lab.evaluation.contenders import fit_contender
from wordveil_lab.evaluation.curves import HOW
from wordveil_lab.evaluation.inversion import ReviewInversion
from wordveil_lab.evaluation.league import Plan, first_words, run_league
from wordveil_lab.evaluation.overlap import AlignedSimilarity
from wordveil_lab.evaluation.priors import content_words, word_prior
from wordveil_lab.evaluation.promises import Group, Target
from wordveil_lab.evaluation.report import as_dict
from wordveil_lab.evaluation.retrieval import Retrieval
from wordveil_lab.leagues import neighbours as reviews
from wordveil_lab.leagues.rows import RANDOM, Row, score_pair, sheet
from wordveil_lab.leagues.stored import StoredRun
from wordveil_lab.plots import Plotted, draw
from wordveil_lab.tables import markdown_table, short_number

WORDS = None  # all that may be output
NATS = (4.0, 6.0, 8.0, 10.0, 12.0)
OURS = tuple(f"neighbours-{lists}" for lists in (1, 4, 16, 64, "256-classes", "16-of-4000"))
EPSILONS: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(OURS, NATS),
    "neighbours-16-of-4000": (RANDOM, 4.0, 6.0, 8.0, 9.0, 10.0, 12.0),
    "neighbours-8-of-4000": (8.0, 9.0),
    "neighbours-1-of-4000": (8.0, 9.0),
    "santext-certified": NATS,
    "projection-principal-profile-vectors": (8.0, 12.0),
    "laplace-profile-vectors": (12.0,),
    "tem-certified": NATS,
    "tem": (9.36,),
}
"""Row name -> nats, of *tem* epsilon a unit; the local forms of vectors are near chance at the largest already."""
GROUPS = {"tem": Group.METRIC}
SET = "SST-2"
RIVALS = {"tem-certified": "TEM, certified", "santext-certified": "SanText, certified"}
SCORES = ("sentiment", "topic", "search", "similarity")
MEASURED = {
    "words named": "all",
    "by": "by",
    "similarity beyond random": "similarity",
    "kept": "kept",
    **{score: score for score in SCORES[:-1]},
}
PANELS = {
    **{score: score for score in SCORES[:-1]},
    "similarity beyond random": "similarity",
}
ACROSS = "content words named by the best attacker"


class Attacked(ReviewInversion):
    """Under the name that the page's rows go by, as the tasks below."""

    name: ClassVar[str] = "SST-2 attack"


class Topic(CentroidClassification):
    """Which of four sections a piece of news is from."""

    name: ClassVar[str] = "topic"


class Sentiment(CentroidClassification):
    """The same of film reviews, trained on releases."""

    name: ClassVar[str] = "SST-2 sentiment"


class Similarity(AlignedSimilarity):
    """How alike a word and its release are."""

    name: ClassVar[str] = "SST-2 similarity"


TASKS: tuple[Task, ...] = (
    Attacked(limit=60, **reviews.MODELS),
    Sentiment(limit=3000),
    Similarity(limit=300),
    Topic(train="documents/agnews.test.tsv", test=None, text="title+description", limit=3000),
    Retrieval(documents=1000, queries=200),
)


def measure(names: Collection[str]) -> dict[str, Any]:
    """Return the run, or that of some rows."""
    embeddings = first_words(load_embeddings(), None)
    rows = targets({name: EPSILONS[name] for name in names or EPSILONS})
    plan = Plan(targets=rows, tasks=TASKS, audit=AuditSettings(samples=0))
    league = run_league(plan, embeddings, cache=RUN.cells, progress=reviews.say_progress)
    report = as_dict(league, "python -m wordveil_lab.leagues.local")
    return report | {"yardstick": yardstick(embeddings), "nats": reviews.nats_of(rows, embeddings)}


def targets(rows: Mapping[str, tuple[float, ...]]) -> tuple[Target, ...]:
    """Return the rows of a plan."""
    return reviews.targets({(GROUPS.get(name, Group.LOCAL), name): given for name, given in rows.items()})


def yardstick(embeddings: Embeddings) -> list[dict[str, float]]:
    """Return mean distances of word and release among the 100 commonest content words, at length 1.

    The best channel of all is found by a linear program.
    """
    prior = np.where(content_words(embeddings), word_prior(embeddings), 0.0)
    ids = np.sort(np.argsort(-prior, kind="stable")[:100])
    units = embeddings.vectors[ids] / np.linalg.norm(embeddings.vectors[ids], axis=1, keepdims=True)
    few = Embeddings.from_arrays(
        [embeddings.words[int(i)] for i in ids], units, name="100 words", source="", licence=""
    )
    every = np.arange(100, dtype=np.int32)
    distance = np.linalg.norm(units[:, None].astype(np.float64) - units[None], axis=2)
    lines = []
    for epsilon in (1.0, 2.0, 4.0, 6.0, 8.0):
        laws = {k: NeighbourResponse(epsilon=epsilon, k=k, outputs=None).fit(few).law(every) for k in range(1, 33)}
        costs = {k: float((law * distance).sum(axis=1).mean()) for k, law in laws.items()}
        line = {"epsilon": epsilon, "best channel": best_channel(distance, epsilon)}
        line |= {"k": min(costs, key=costs.__getitem__), "neighbour response": min(costs.values()), "k = 1": costs[1]}
        for name in ("tem-certified", "santext-certified"):
            target = Target(name=name, group=Group.LOCAL, epsilon=epsilon)
            law = fit_contender(target, few, reviews.PROMISES).words.law(every)
            assert law is not None
            line[name] = float((law * distance).sum(axis=1).mean())
        lines.append(line)
    return lines


def best_channel(distance: Float64Array, epsilon: float) -> float:
    """Return the least mean distance of any epsilon-LDP channel: P(y|x) between m(y) and e^epsilon m(y)."""
    v = len(distance)
    cells = v * v
    floor = kron(np.ones((v, 1)), identity(v))  # m(y) for each cell (x, y)
    upper = hstack([identity(cells), -math.exp(epsilon) * floor])
    lower = hstack([-identity(cells), floor])
    rows = coo_array((np.ones(cells), (np.repeat(np.arange(v), v), np.arange(cells))), shape=(v, cells + v))
    found = linprog(
        np.append(distance.ravel() / v, np.zeros(v)),
        A_ub=vstack([upper, lower]).tocsr(),
        b_ub=np.zeros(2 * cells),
        A_eq=rows.tocsr(),
        b_eq=np.ones(v),
        method="highs-ipm",
    )
    return float(found.fun)


class LocalRow(Row):
    """One row of the run, with "all" (words of any kind that the best attacker names), "topic" and "search"."""

    def __init__(self, row: dict[str, Any], report: dict[str, Any]) -> None:
        super().__init__(row, SET, report)
        cells = {task: cell["scores"] for task, cell in row["cells"].items()}
        self.scores |= {
            "all": score_pair(cells[Attacked.name]["best"]),
            "topic": score_pair(cells["topic"]["accuracy"]),
            "search": score_pair(cells["retrieval"]["ndcg"]),
        }


def rows_of(report: dict[str, Any]) -> list[LocalRow]:
    """Return the rows, the baselines first."""
    return [LocalRow(row, report) for row in report["rows"]]


def tables(report: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page."""
    rows, yardstick = rows_of(report), report["yardstick"]
    return {
        "## Where neighbour response is ahead, and where not": _verdict(rows),
        "## What is named and what is left": sheet(rows, MEASURED),
        "## Beside the best channel there is": markdown_table(list(yardstick[0]), map(_yardstick_line, yardstick)),
    }


def _at_epsilon(values: Mapping[float | None, curves.CurveValue], row: Row) -> curves.CurveValue | None:
    return values.get(row.epsilon)


def _verdict(rows: list[LocalRow]) -> list[str]:
    body = []
    for score in SCORES:
        for rival, shown in RIVALS.items():
            own = {row.epsilon: curves.CurveValue(*row.scores[score]) for row in rows if row.name == rival}
            promised = reviews.compare(rows, score, rival, partial(_at_epsilon, own))
            attacked = reviews.compare(rows, score, rival)
            which = ", ".join(name.replace(" nats", "") for name in attacked["behind"])
            counts = [f"{len(found[how])}" for found in (promised, attacked) for how in HOW]
            body.append([score, shown, *counts[:-1], counts[-1] + (f": {which}" if which else "")])
    places = (f"{at}: {how}" for at in ("equal promise", "equal attack") for how in HOW)
    return markdown_table(["score", "beside", *places], body)


def _yardstick_line(line: dict[str, float]) -> list[str]:
    return [f"{value:g}" if name in ("epsilon", "k") else short_number(value) for name, value in line.items()]


def points(report: dict[str, Any]) -> Iterator[Plotted]:
    """Yield what the figure shows: rows at all epsilons; the others lie where random words do."""
    for title, score in PANELS.items():
        for row in rows_of(report):
            if score in row.scores and (row.name == "random words" or len(EPSILONS.get(row.name, ())) >= len(NATS)):
                value, error = row.scores[score]
                yield Plotted(figure=title, series=row.name, epsilon=row.named[0], value=value, error=error)


def picture(report: dict[str, Any]) -> bytes:
    """Return the figure."""
    return draw(list(points(report)), "Local DP at 4 to 12 nats", across=ACROSS)


RUN = StoredRun(name="local", rows=EPSILONS, measure=measure, tables=tables, pictures={"local.svg": picture})

if __name__ == "__main__":
    RUN.main(__doc__)
