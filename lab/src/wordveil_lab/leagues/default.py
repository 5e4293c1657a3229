"""The default of word-level release: chosen on four sets of texts, and measured on five others.

Writes docs/results/default.json and .md. Finished cells lie in build/default.cells, so that an interrupted run goes on
where it stopped. Needs the data folder (WORDVEIL_DATA) and scikit-learn; over an hour of one core.

    python -m wordveil_lab.leagues.default [--page | --only ROW ...]     as in `stored`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil.api import Float64Array, IdArray, RandomSource, WordRandomizer, build_classes, word_classes
from wordveil_lab.corpora import Corpus
from wordveil_lab.evaluation import subjects
from wordveil_lab.evaluation.evidence import content_words, observe
from wordveil_lab.evaluation.inversion import in_context, likeliest
from wordveil_lab.evaluation.models import standardized
from wordveil_lab.evaluation.overlap import AlignedSimilarity
from wordveil_lab.evaluation.recipes import listed
from wordveil_lab.evaluation.report import new_report
from wordveil_lab.evaluation.retrieval import ranked
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.leagues import default_page
from wordveil_lab.leagues.default_page import BEFORE, NO_NOISE
from wordveil_lab.leagues.stored import StoredRun, rounded_score, rows_from
from wordveil_lab.leagues.trial_texts import CHOICE, GROWTH, PLAN, REPORTED, SETS, TextSet, table

VERSION = 3  # raised whenever a score's meaning changes
RUNS = 3  # of the noise, for whatever is left
RIDGE = 30.0
FOUND = 10  # texts that a search shows
WEIGHED = 128, 48, 32  # for each token: words that attackers weigh, rarer ones, and those that they read triples of
ROOTS = {"": 1, ", fourth roots": 2, ", all alike": 30}
"""End of a row's name -> how often the square root of a count is taken for the weight of a word."""
ROWS = PLAN["rows"]
"""Sets -> name of a row -> epsilons measured on them."""


@dataclass(frozen=True)
class Trial:
    """One mechanism on one set."""

    row: str
    epsilon: float | None
    texts: TextSet

    @property
    def subject(self) -> Entrant:
        """The mechanism."""
        if self.epsilon is None:
            return subjects.unprotected(table())
        return subjects.subject_of(fitted(self.row, self.epsilon))

    def cell(self) -> dict[str, Any]:
        """Return all scores: those finished before, or new ones."""

        def compute() -> dict[str, Any]:
            return {"scores": {name: rounded_score(*pair) for name, pair in (self.left() | self.named()).items()}}

        return RUN.once([VERSION, RUNS, self.row, self.epsilon, repr(self.texts)], compute)

    def left(self) -> dict[str, tuple[float, float]]:
        """Return what is left to use, by a model that learnt from releases: of releases, and of texts as they are."""
        subject, (train, test) = self.subject, self.texts.corpora
        classes, faces = self.texts.labels(1), class_map(self.row)
        real = {"real": test.tokens}
        if faces is not None:
            real["real, by its classes"] = np.where(test.tokens < 0, -1, faces[test.tokens])
        found: dict[str, list[Float64Array]] = defaultdict(list)
        for run in range(1 if subject.is_baseline else RUNS):
            source = RandomSource.seeded_for_tests(run)
            learnt = subjects.released_tokens(train, subject, source, "train")
            tested = subjects.released_tokens(test, subject, source, "test")
            model = ridge(_means(learnt, train), self.texts.labels(0))
            for name, tokens in {"released": tested, **real}.items():
                found[name].append((model(_means(tokens, test)) == classes).astype(np.float64))
            if self.texts.search:
                found["search"].append(searched(_means(tested, test), classes))
            found["similarity"].append(_likeness(test, tested))
        return {name: _over_texts(runs) for name, runs in found.items()}

    def named(self) -> dict[str, tuple[float, float]]:
        """Return which words the best attacker names: all, and the rarer ones."""
        if self.epsilon is None:
            return {"named": (1.0, 0.0), "rarer": (1.0, 0.0)}
        return named_by(self.subject, self.texts.attack, self.texts.priors)


def named_by(subject: Entrant, corpus: Corpus, priors: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """Return the share of all words, and of the rarer ones, that the best of several attackers names.

    They name the released word, or the likeliest one by its own release, or by the whole release and one of the priors:
    what they have read. They know which words are the rarer ones.
    """
    rarer = np.flatnonzero(content_words(table())).astype(np.int32)
    source, v = RandomSource.seeded_for_tests(0), len(table())
    frequencies = (priors[0].frequency[:v] / priors[0].frequency[:v].sum()).astype(np.float64)
    inputs = subjects.place_unknown(corpus.tokens, subject, source, "attack")
    seen = observe(subject, inputs, frequencies, source, "attack")
    kinds, which = np.unique(seen.kinds, return_inverse=True)
    rows = seen.likelihoods(kinds).astype(np.float32)
    alone = likeliest(rows[:, :-1] * frequencies, rarer)[:, which]
    parts = np.split(which.astype(np.int32), corpus.offsets[1:-1])
    read = [in_context(parts, rows, prior, rarer, WEIGHED) for prior in priors]
    found = {}
    for i, (name, counted) in enumerate((("named", corpus.tokens >= 0), ("rarer", np.isin(corpus.tokens, rarer)))):
        guesses = (seen.named, alone[i], *(guess[i] for guess in read))
        shares = [_share((guess == corpus.tokens) & counted, counted, corpus) for guess in guesses]
        found[name] = max(shares)
    return found


def _share(hits: NDArray[np.bool_], counted: NDArray[np.bool_], corpus: Corpus) -> tuple[float, float]:
    """Return the share of hits, and its standard error over texts."""
    sums = [np.add.reduceat(one.astype(np.float64), corpus.offsets[:-1]) for one in (hits, counted)]
    share = float(sums[0].sum() / sums[1].sum())
    return share, float(np.sqrt(np.square(sums[0] - share * sums[1]).sum()) / sums[1].sum())


def _means(tokens: IdArray, corpus: Corpus) -> Float64Array:
    return subjects.centroids(tokens, corpus, table().vectors)


def _likeness(corpus: Corpus, released: IdArray) -> Float64Array:
    """Return of every rarer word that was released how like it its release is."""
    units, content = judge()
    rare = (corpus.tokens >= 0) & content[corpus.tokens] & (released >= 0)
    likeness = np.einsum("ij,ij->i", units[corpus.tokens[rare]], units[released[rare]])
    return np.asarray(likeness, dtype=np.float64)


@cache
def judge() -> tuple[Any, NDArray[np.bool_]]:
    """Return vectors that no mechanism uses, at length 1, and which words are the rarer ones."""
    return AlignedSimilarity(limit=1).prepare(table())[1:]


def _over_texts(runs: Sequence[Float64Array]) -> tuple[float, float]:
    """Return the mean over runs and texts; its standard error is of the choice of texts and of the noise together."""
    means = np.mean(runs, axis=0)
    noise = np.var([run.mean() for run in runs], ddof=1) / len(runs) if len(runs) > 1 else 0.0
    return float(means.mean()), float(np.sqrt(means.var(ddof=1) / len(means) + noise))


def searched(rows: Float64Array, classes: NDArray[np.int64]) -> Float64Array:
    """Return nDCG of each text as a query among all others, those of its class being relevant."""
    units = subjects.unit_rows(rows)
    scores, relevant = units @ units.T, classes[:, None] == classes
    np.fill_diagonal(scores, -np.inf)
    np.fill_diagonal(relevant, False)
    asked = relevant.any(axis=1)
    return ranked(scores[asked], relevant[asked], FOUND)[0]


def ridge(rows: Float64Array, classes: NDArray[np.int64]) -> Callable[[Float64Array], NDArray[np.int64]]:
    """Return a linear classifier of mean vectors by least squares, one class against the others."""
    (own,) = standardized(rows)
    targets = (classes[:, None] == np.arange(classes.max() + 1)).astype(np.float64)
    shares = targets.mean(axis=0)
    weights = np.linalg.solve(own.T @ own + RIDGE * np.eye(rows.shape[1]), own.T @ (targets - shares))
    return lambda asked: np.asarray((standardized(rows, asked)[1] @ weights + shares).argmax(axis=1))


def fitted(row: str, epsilon: float) -> WordRandomizer:
    """Return the mechanism of a row: "16 of 4000", "256 classes", "256 classes, all alike", "TEM" and the like."""
    first, _, rest = row.partition(" ")
    if row == "TEM":
        return wv.TEM(epsilon=epsilon).fit(table())
    if rest.startswith("classes"):
        classes = classes_of(int(first), ROOTS[rest.removeprefix("classes")])
        made = wv.NeighbourResponse(epsilon=epsilon, k=1, outputs=len(classes.outputs)).fit(table())
        return replace(made, chosen=classes.outputs, lists=classes.face[:, None])
    outputs = None if rest == "of all" else int(rest.removeprefix("of "))
    return listed(wv.NeighbourResponse(k=int(first), outputs=outputs), table())(epsilon)


@cache
def classes_of(k: int, roots: int) -> Any:
    """Return classes; those of square roots are the stored ones."""
    return word_classes(table(), k) if roots == 1 else build_classes(table(), k, roots=roots)


def class_map(row: str) -> IdArray | None:
    """Return the face of every word, where a row releases faces."""
    first, _, rest = row.partition(" ")
    return classes_of(int(first), ROOTS[rest.removeprefix("classes")]).face if "classes" in rest else None


def measure(names: Collection[str] = ()) -> dict[str, Any]:
    """Return the run, or that of some rows."""
    plan = [Trial(NO_NOISE, None, one) for one in (*CHOICE, *REPORTED)]
    for part, sets in (("both", (*CHOICE, *REPORTED)), ("choice", CHOICE), ("reported", REPORTED)):
        kept = ((row, e) for row, given in ROWS[part].items() for e in given if not names or row in names)
        plan += [Trial(row, e, one) for row, e in kept for one in sets]
    groups = {"TEM": "metric", NO_NOISE: None}
    work = [(one.row, groups.get(one.row, "local"), one.epsilon, one.texts.name, one.cell) for one in plan]
    facts = {name: _facts(one) for name, one in SETS.items()}
    found = [] if names else growth()
    return new_report("python -m wordveil_lab.leagues.default", rows_from(work), sets=facts, growth=found, repeats=RUNS)


def _facts(one: TextSet) -> dict[str, Any]:
    learnt, tested = (len(part) for part in one.texts)
    known = one.attack.tokens[one.attack.tokens >= 0]
    majority, rarer = np.bincount(one.labels(1)).max() / tested, content_words(table())[known].sum()
    shown = {"learnt": learnt, "tested": tested, "classes": len(one.classes), "majority": round(float(majority), 4)}
    attacked = {"attacked": len(one.attack), "words": len(known), "rarer": int(rarer)}
    return {**shown, **attacked, "public": [[path, most] for path, _, most in one.public]}


def growth() -> list[dict[str, Any]]:
    """Return what attackers name who have read more and more."""

    def named(row: str, epsilon: float, texts: TextSet, public: Any) -> dict[str, Any]:
        found = named_by(subjects.subject_of(fitted(row, epsilon)), texts.attack, [texts.prior_from(public)])
        return {score: rounded_score(*pair) for score, pair in found.items()}

    cells = []
    for name, known in GROWTH.items():
        for (said, public), (row, epsilon) in product(known.items(), (BEFORE, ("256 classes", 7.0))):
            facts = [VERSION, "growth", name, said, row, epsilon]
            scores = RUN.once(facts, partial(named, row, epsilon, SETS[name], public))
            cells.append({"set": name, "read": said, "row": row, "epsilon": epsilon, "scores": scores})
    return cells


NAMES = sorted({name for part in ROWS.values() for name in part})
RUN = StoredRun(name="default", rows=NAMES, measure=measure, tables=default_page.tables)

if __name__ == "__main__":
    RUN.main(__doc__)
