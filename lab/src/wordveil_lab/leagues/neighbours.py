"""Neighbour response beside TEM, SanText and Laplace noise on three sets of reviews, at equal promise and equal attack.

Writes docs/results/neighbours.json and .md. Finished cells lie in build/neighbours.cells, so that an interrupted
run goes on where it stopped. Needs the data folder (WORDVEIL_DATA), scikit-learn; half an hour of one core.

    python -m wordveil_lab.leagues.neighbours [--page | --only ROW ...]     as in `stored`
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from wordveil.api import TEM, Embeddings, SanText, certify_rate, laplace_to_local, load_embeddings
from wordveil_lab.evaluation.audits import AuditSettings
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.classification import CentroidClassification
from wordveil_lab.evaluation.contenders import fit_contender
from wordveil_lab.evaluation.curves import HOW, CurveValue, read_at, standing
from wordveil_lab.evaluation.inversion import ReviewInversion
from wordveil_lab.evaluation.league import Plan, first_words, run_league
from wordveil_lab.evaluation.overlap import AlignedSimilarity
from wordveil_lab.evaluation.promises import Group, PromiseSettings, Target
from wordveil_lab.evaluation.recipes import noise_diameter
from wordveil_lab.evaluation.report import as_dict
from wordveil_lab.leagues.rows import RANDOM, Row, sheet, shown_score
from wordveil_lab.leagues.stored import StoredRun
from wordveil_lab.tables import markdown_table, short_number

FILMS, PLACES = "documents/imdb.train.jsonl.gz", "documents/yelp-stars.dev.jsonl.gz"

SETS: dict[str, dict[str, dict[str, Any]]] = {
    "MR": {
        "attack": {"path": "sentences/mr.tsv", "public": FILMS, "limit": 60},
        "sentiment": {"train": "sentences/mr.tsv", "test": None, "limit": 3750},
        "similarity": {"path": "sentences/mr.tsv", "limit": 400},
    },
    "Yelp": {
        "attack": {
            "path": "sentences/yelp-short.test.tsv",
            "public": PLACES,
            "limit": 120,
        },
        "sentiment": {
            "train": "sentences/yelp-short.train.tsv",
            "test": "sentences/yelp-short.test.tsv",
            "limit": 3000,
            "test_limit": 1000,
        },
        "similarity": {"path": "sentences/yelp-short.test.tsv", "limit": 800},
    },
    "IMDB": {
        "attack": {
            "path": "documents/imdb.test10k.jsonl.gz",
            "public": FILMS,
            "limit": 60,
            "length": 20,
        },
        "sentiment": {"train": FILMS, "test": "documents/imdb.test10k.jsonl.gz", "limit": 1000, "test_limit": 400},
        "similarity": {"path": "documents/imdb.test10k.jsonl.gz", "limit": 40},
    },
}
MODELS: dict[str, Any] = {"public_limit": 4000}
KINDS: dict[str, type[Task]] = {
    "attack": ReviewInversion,
    "sentiment": CentroidClassification,
    "similarity": AlignedSimilarity,
}

NATS = (4.0, 8.0, 12.0)
SELECTIONS: dict[str, type[Any]] = {"tem": TEM, "santext": SanText}
PROMISES = PromiseSettings()
EVERYWHERE: Mapping[tuple[Group, str], tuple[float, ...]] = {
    (Group.LOCAL, "neighbours-16-of-4000"): (RANDOM, 6.0, 8.0, 10.0),
    (Group.LOCAL, "neighbours-8-of-4000"): (8.0, 10.0, 12.0),
    (Group.LOCAL, "neighbours-16"): (10.0,),
    (Group.LOCAL, "neighbours-4"): (12.0,),
    (Group.LOCAL, "neighbours-256-classes"): (8.0,),
    (Group.METRIC, "tem"): (7.0, 8.0, 9.36, 10.5),
    (Group.METRIC, "projection-principal-vectors"): (20.0, 35.0, 60.0),
    (Group.METRIC, "santext"): (7.5, 8.5, 9.5),
    (Group.METRIC, "projection-principal+nearest"): (20.0, 35.0),
}
ON_IMDB: Mapping[tuple[Group, str], tuple[float, ...]] = {
    (Group.LOCAL, f"neighbours-{k}"): NATS for k in ("8-of-4000", "16-of-4000", "256-classes", 1, 4, 16, 64)
}


RIVALS = {
    "tem": "TEM",
    "santext": "SanText",
    "projection-principal+nearest": "principal Laplace, words",
    "projection-principal-vectors": "principal Laplace, vectors",
}
SCORES = ("sentiment", "similarity")
MEASURED = {"by": "by", "similarity beyond random": "similarity", "kept": "kept", "sentiment": "sentiment"}
ABOUT = {
    "MR": "sentences of film reviews",
    "Yelp": "sentences of reviews of restaurants and shops",
    "IMDB": "whole film reviews, of which the attacker sees the first 20 words",
}


def task(kind: str, name: str) -> Task:
    """Return a task of one set, under a name of its own: a table holds several of a kind."""
    own = type(KINDS[kind].__name__, (KINDS[kind],), {"name": f"{name} {kind}"})
    settings = SETS[name][kind] | (MODELS if kind == "attack" else {})
    built: Task = own(**settings)
    return built


def targets(rows: Mapping[tuple[Group, str], tuple[float, ...]]) -> tuple[Target, ...]:
    """Return the rows of a plan."""
    return tuple(Target(name=name, group=group, epsilon=e) for (group, name), given in rows.items() for e in given)


def measure(names: Collection[str] = ()) -> dict[str, Any]:
    """Return the run, or that of some rows: those on all sets, then those on IMDB alone."""
    embeddings = first_words(load_embeddings(), None)
    both = tuple(row for row in targets(EVERYWHERE) if not names or row.name in names)
    plans = (
        (both, tuple(SETS)),
        (
            tuple(row for row in targets(ON_IMDB) if row not in both and (not names or row.name in names)),
            ("IMDB",),
        ),
    )
    report: dict[str, Any] = {}
    for rows, sets in plans:
        tasks = tuple(task(kind, name) for name in sets for kind in KINDS)
        plan = Plan(targets=rows, tasks=tasks, audit=AuditSettings(samples=0))
        league = run_league(plan, embeddings, cache=RUN.cells, progress=say_progress)
        found = as_dict(league, "python -m wordveil_lab.leagues.neighbours")
        if report:
            report["rows"] += [row for row in found["rows"] if row["group"] is not None]
        else:
            report = found
    return report | {"nats": nats_of(both, embeddings)}


def nats_of(rows: Iterable[Target], embeddings: Embeddings) -> dict[str, float]:
    """Return what any two words lose by each row of metric DP."""
    return {row.label: nats for row in rows if (nats := local_nats(row, embeddings)) is not None}


def local_nats(target: Target, embeddings: Embeddings) -> float | None:
    """Return what any two words lose by a row of metric DP: by certificate, or by the profile of its noise at delta."""
    if target.group is not Group.METRIC:
        return None

    def compute() -> dict[str, float]:
        if target.name in SELECTIONS:
            local = SELECTIONS[target.name](epsilon=1.0, calibration="certified-local")
            return {"nats": certify_rate(local, embeddings, target.epsilon / 2, threads=1).numbers["epsilon"]}
        noise: Any = fit_contender(target, embeddings, PROMISES).words.vectors
        reach = noise_diameter(noise, embeddings)
        return {"nats": laplace_to_local(noise, diameter=reach, delta=PROMISES.delta).epsilon}

    found = RUN.once([target.label, embeddings.header.checksum], compute)
    return float(found["nats"])


def say_progress(done: int, total: int, row: str) -> None:
    """Print how many cells are done."""
    print(f"{done:5,} of {total:,} cells: {row}", file=sys.stderr, flush=True)


def rows_of(report: dict[str, Any], name: str) -> list[Row]:
    """Return the rows of one set, the baselines first."""
    return [Row(row, name, report) for row in report["rows"] if f"{name} attack" in row["cells"]]


def read(rows: Sequence[Row], rival: str, score: str, level: float) -> CurveValue | None:
    """Return a rival's score where the best attacker names as many content words of it.

    Its curve runs from random words through its epsilons to no noise, in straight lines.
    """
    ends = [row for row in rows if row.group is None]
    own = sorted((row for row in rows if row.name == rival), key=lambda row: row.named[0])
    curve = [row for row in (ends[1], *own, ends[0]) if score in row.scores]
    return read_at([(*row.named, *row.scores[score]) for row in curve], level) if own and len(curve) > 2 else None


def tables(report: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page."""
    sizes = ([name, *_sizes(**of)] for name, of in SETS.items())
    head = ["set", "attacked", "attackers' public text", "sentiment learnt from, told of", "similarity"]
    found = {
        "# Neighbour response on three sets of reviews": markdown_table(head, sizes),
        "## Where neighbour response is ahead, and where not": _verdict(report),
    }
    for name in SETS:
        rows = rows_of(report, name)
        found |= {
            f"## {name}: {ABOUT[name]}": sheet(rows, MEASURED),
            f"### {name}, at equal attack": _equal_table(rows),
        }
    return found


def _sizes(attack: dict[str, Any], sentiment: dict[str, Any], similarity: dict[str, Any]) -> list[str]:
    cut = f", the first {attack['length']} words of each" if "length" in attack else ""
    learnt, told = sentiment["limit"], sentiment.get("test_limit", "a fifth of them")
    return [
        f"{attack['limit']} of {attack['path']}{cut}",
        f"{MODELS['public_limit']} of {attack['public']}",
        f"{learnt}, {told}",
        str(similarity["limit"]),
    ]


def _equal_table(rows: list[Row]) -> list[str]:
    columns = [(score, rival) for score in SCORES for rival in RIVALS if score == "sentiment" or "vectors" not in rival]
    head = ["row", "promise", "named"]
    for score, rival in columns:
        head += [*([f"{score}: own"] if rival == "tem" else []), RIVALS[rival]]
    body = []
    for row in _ours(rows):
        cells = [row.name, row.promise, short_number(row.named[0])]
        for score, rival in columns:
            found = read(rows, rival, score, row.named[0])
            cells += [shown_score(row.scores[score])] * (rival == "tem")
            cells.append(shown_score(None if found is None else (found.value, found.error)))
        body.append(cells)
    return markdown_table(head, body)


def _ours(rows: Sequence[Row]) -> list[Row]:
    ours = [row for row in rows if row.name.startswith("neighbours")]
    return sorted(ours, key=lambda row: (row.epsilon, row.name))


def compare(
    rows: Sequence[Row], score: str, rival: str, beside: Callable[[Row], CurveValue | None] | None = None
) -> dict[str, list[str]]:
    """Return the rows of neighbour response that are ahead of a rival, behind, or near.

    Ahead and behind are by more than two standard errors of both together. `beside` says what of the rival a row is
    compared with; as a rule its curve at equal attack.
    """
    found: dict[str, list[str]] = {how: [] for how in HOW}
    for row in _ours(rows):
        other = beside(row) if beside else read(rows, rival, score, row.named[0])
        if other is not None:
            where = standing(row.scores[score], other)
            found[where].append(f"{row.name.removeprefix('neighbours-')} at {row.promise}")
    return found


def _verdict(report: dict[str, Any]) -> list[str]:
    body = []
    for name in SETS:
        rows = rows_of(report, name)
        for score in SCORES:
            for rival, shown in RIVALS.items():
                found = compare(rows, score, rival)
                counts = {how: len(those) for how, those in found.items()}
                if any(counts.values()):
                    which = ", ".join(found["behind"]) if counts["ahead"] + counts["near"] else "all"
                    behind = f"{counts['behind']}" + (f": {which}" if found["behind"] else "")
                    body.append([name, score, shown, str(counts["ahead"]), str(counts["near"]), behind])
    return markdown_table(["set", "score", "beside", *HOW], body)


RUN = StoredRun(
    name="neighbours",
    rows=sorted({name for _, name in (*EVERYWHERE, *ON_IMDB)}),
    measure=measure,
    tables=tables,
)

if __name__ == "__main__":
    RUN.main(__doc__)
