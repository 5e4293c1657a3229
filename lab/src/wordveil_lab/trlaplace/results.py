r"""Repeat the experiments of TrLaplace (Huang et al. 2024), honestly calibrated, as published, and as its code does.

    WORDVEIL_DATA=DATA python -m wordveil_lab.trlaplace.results
    WORDVEIL_DATA=DATA python -m wordveil_lab.trlaplace.results --size full --device cuda --glove glove.6B.300d.txt \
        --report full.json

Writes docs/results/trlaplace/runs.json, README.md and its pictures. Finished cells lie in build/trlaplace, so that a
stopped run goes on where it stood. All text here is public. The noise is drawn afresh: numbers move a little from run
to run, and rows that carry a conclusion are trained several times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordveil.api import Embeddings, Float64Array, RandomSource, VectorMechanism, clip_to_ball
from wordveil_lab.evaluation.data import read_labelled
from wordveil_lab.evaluation.report import as_json
from wordveil_lab.leagues.stored import new_report, rows_from, score_of
from wordveil_lab.neural.corpora import Batch, Dataset, encode_texts
from wordveil_lab.neural.models import Rewriter, TextClassifier
from wordveil_lab.neural.private_embedding import PrivateEmbedding
from wordveil_lab.neural.training import Training, fit, measure
from wordveil_lab.trlaplace.contenders import (
    CERTIFIED,
    CODE,
    NONE,
    PUBLISHED,
    Contender,
    best_guess,
    contenders,
    metric_contenders,
)
from wordveil_lab.trlaplace.page import GROUPS, RUN
from wordveil_lab.trlaplace.plan import GLOVE, SIZES, Plan, Size
from wordveil_lab.trlaplace.rewrite_scores import score_rewrites

GRID = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 100.0)
"""The paper's epsilons without .2, and one at which an honest mechanism does something."""
PAPERS = GRID[:-1]
REPEATED = ("yelp-short", "glove")
DECISIVE = (None, 20.0, 100.0)
"""The table whose rewriters are trained several times, and the epsilons that decide."""
TRAININGS = {"glove": 5, "embedded": 3, "random": 3}
FEW = 2
FIGURE_FOUR = (0.01, 0.1, 1.0, 10.0)
"""Trainings of a classifier by its vectors (the paper: five), and where the row is at chance."""
ROUNDS = 7
"""Epochs over which seconds are compared."""
GUESSED = 1500
"""Words on which the best guess is tried."""


def split(data: Dataset, share: int = 10) -> tuple[Dataset, Dataset]:
    """Return training and held-out texts, one in `share` held out, by a public seed."""
    rows = np.random.Generator(np.random.PCG64(0)).permutation(len(data))
    cut = len(rows) // share
    return data.part(rows[cut:]), data.part(rows[:cut])


def texts_and_labels(path: str, **settings: Any) -> tuple[list[str], list[str]]:
    """Return the texts of a file and their classes, as `read_labelled` reads them."""
    items = read_labelled(path, **settings)
    return [item.text for item in items], [item.label for item in items]


REWRITTEN = {
    "yelp-short": ("sentences/yelp-short.train.tsv", "sentences/yelp-short.test.tsv"),
    "yahoo": ("documents/yahoo2.train.jsonl.gz", "documents/yahoo2.test.jsonl.gz"),
}
"""Training and test texts; a Yahoo text is a question with its answer, of which the first tokens are used."""


CellsOfPart = Iterator[tuple[str, str, float | None, Callable[[], dict[str, Any]]]]
"""Name of a cell, name and epsilon of its row, and what computes it."""


def rewrite_table(
    plan: Plan,
    data: str,
    table: str,
    honest: tuple[float, ...],
    refuted: tuple[float, ...],
    code: tuple[float, ...],
) -> CellsOfPart:
    """Train and score the rewriters of one data set and one table of vectors."""
    size, settings = plan.size, plan.size.rewriting
    train, test = REWRITTEN[data]
    texts, _ = texts_and_labels(train, limit=size.texts[data])
    unseen, _ = texts_and_labels(test, limit=size.tests)
    vocabulary = plan.vocabulary(table, texts, size.words)
    whole = encode_texts(texts, vocabulary, max_tokens=settings.max_tokens)
    parts = split(whole)
    tests = encode_texts(unseen, vocabulary, max_tokens=settings.max_tokens)
    seen, known = (part.corpus.tokens[part.corpus.tokens >= 0] for part in (whole, tests))
    facts: dict[str, float] = {"words": len(vocabulary), "dimensions": vocabulary.dimensions}
    facts["covered"] = float((tests.corpus.tokens >= 0).mean())
    for name, epsilon, mechanism in contenders(vocabulary.dimensions, honest, refuted, code):
        count = size.repeats if (data, table) == REPEATED and epsilon in DECISIVE else 1
        train_once = partial(rewriter_scores, plan, vocabulary, mechanism, parts, tests)
        guess = partial(best_guess, mechanism, vocabulary, known[:GUESSED], seen)
        yield f"rewrite {data}, {table}", name, epsilon, partial(rewriter_row, facts, train_once, count, guess)


def rewriter_row(
    facts: dict[str, Any], train_once: Callable[[int], dict[str, Any]], count: int, guess: Callable[[], float]
) -> dict[str, Any]:
    """Return a row: what the rewriters score, and what the best guess word by word recovers."""
    cell = columns(train_once, count)
    cell["scores"]["best_guess"] = score_of([guess()])
    return {**facts, **cell}


def rewriter_scores(
    plan: Plan,
    vocabulary: Embeddings,
    mechanism: VectorMechanism | None,
    parts: tuple[Dataset, Dataset],
    tests: Dataset,
    seed: int,
) -> dict[str, Any]:
    """Train one rewriter and return its scores on unseen text."""
    model = trained(plan, vocabulary, mechanism, parts, replace(plan.size.rewriting, seed=seed), Rewriter)
    return asdict(score_rewrites(model, tests))


def trained(
    plan: Plan,
    vocabulary: Embeddings,
    mechanism: VectorMechanism | None,
    parts: tuple[Dataset, Dataset],
    settings: Training,
    make: Callable[..., Any],
) -> Any:
    """Return a model trained behind the noise on some texts, others held out."""
    torch.manual_seed(settings.seed)
    layer = PrivateEmbedding(vocabulary, mechanism, text_is_public=True)
    model = make(layer, hidden=settings.hidden, dropout=settings.dropout).to(plan.device)
    fit(model, *parts, settings)
    return model


def columns(train_once: Callable[[int], Mapping[str, Any]], count: int) -> dict[str, Any]:
    """Return the scores of several trainings as a cell; it says why scores are left out that lack a package."""
    trainings = [train_once(seed) for seed in range(count)]
    absent = trainings[0].get("absent", {})
    names = [name for name in trainings[0] if name != "absent" and name not in absent]
    scores = {name: score_of([training[name] for training in trainings]) for name in names}
    return {"scores": scores} | ({"absent": dict(absent)} if absent else {})


def labelled(size: Size, data: str) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]]:
    """Return (texts, labels) for training and for the test.

    Of AG News only the official test part with all four classes is at hand: 7 600 texts, cut into 6 600 and 1 000.
    """
    if data == "sst2":
        train = texts_and_labels("sentences/sst2.train.tsv", limit=size.labelled)
        return train, texts_and_labels("sentences/sst2.dev.tsv")
    texts, labels = texts_and_labels("documents/agnews.test.tsv", text="title+description")
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(texts)).tolist()
    picked = (order[1000:][: size.labelled], order[:1000])
    first, second = (([texts[i] for i in rows], [labels[i] for i in rows]) for rows in picked)
    return first, second


def classification(plan: Plan, table: str) -> CellsOfPart:
    """Figure 4: accuracy on SST-2 and AG News for one table of vectors, several trainings each."""
    size, settings = plan.size, plan.size.classifying
    for data in ("sst2", "agnews"):
        (texts, labels), (unseen, truth) = labelled(size, data)
        classes = sorted(set(labels))
        vocabulary = plan.vocabulary(table, texts, 2 * size.words)
        cut: dict[str, Any] = {"classes": classes, "max_tokens": settings.max_tokens}
        parts = split(encode_texts(texts, vocabulary, labels=labels, **cut))
        tests = encode_texts(unseen, vocabulary, labels=truth, **cut)
        for name, epsilon, mechanism in classified(table, vocabulary.dimensions):
            train_once = partial(accuracy, plan, vocabulary, mechanism, classes, parts, tests)
            decisive = epsilon in DECISIVE or name in CODE
            count = TRAININGS[table] if decisive else FEW
            yield f"classify {data}, {table}", name, epsilon, partial(columns, train_once, count)


def classified(table: str, dimensions: int) -> list[Contender]:
    """Return the rows of a table of classifiers; small epsilons and the published code are shown for GloVe only."""
    if table == "glove":
        epsilons = (0.01, 0.1, 1.0, 5.0, 10.0, 20.0)
        return contenders(dimensions, (*epsilons, 100.0), epsilons, (1.0, 20.0)) + metric_contenders(FIGURE_FOUR)
    return contenders(dimensions, (20.0, 100.0), (20.0,), ())


def accuracy(
    plan: Plan,
    vocabulary: Embeddings,
    mechanism: VectorMechanism | None,
    classes: list[str],
    parts: tuple[Dataset, Dataset],
    tests: Dataset,
    seed: int,
) -> dict[str, Any]:
    """Train one classifier behind the noise and return its accuracy on one noisy pass over unseen text."""
    make = partial(TextClassifier, classes=classes)
    model = trained(plan, vocabulary, mechanism, parts, replace(plan.size.classifying, seed=seed), make)
    return {"accuracy": measure(model, tests, 256)[1]}


def seconds(plan: Plan) -> CellsOfPart:
    """Table 5: processor seconds of the same training batches with and without the mechanism, 300 dimensions.

    On 1 000 sentences of Yelp, with 256 hidden units.
    """
    texts, _ = texts_and_labels("sentences/yelp-short.train.tsv", limit=1000)
    vocabulary = plan.vocabulary("random", texts, 2000, dimensions=300)
    data = encode_texts(texts, vocabulary, max_tokens=16)
    models, chosen = {}, contenders(300, (1.0,), (), ())
    for name, _, mechanism in chosen:
        torch.manual_seed(0)
        layer = PrivateEmbedding(vocabulary, mechanism, text_is_public=True)
        models[name] = Rewriter(layer, hidden=256, dropout=0.5).to(plan.device)
    compared = cache(partial(compared_seconds, models, data))
    for name, epsilon, _ in chosen:
        yield "seconds", name, epsilon, partial(_compared, compared, name)


def _compared(compared: Callable[[], dict[str, dict[str, Any]]], name: str) -> dict[str, Any]:
    return compared()[name]


def compared_seconds(models: dict[str, Rewriter], data: Dataset) -> dict[str, dict[str, Any]]:
    """Return the least processor seconds of an epoch, and the median over rounds of what is beyond `NONE`, by name.

    All models train on a batch before any goes to the next, in turning order: a machine that is busy for a while is
    busy for all of them.
    """
    optimizers = {name: torch.optim.Adam(_learned(model), lr=0.01) for name, model in models.items()}
    names, rounds = list(models), []
    for number in range(ROUNDS + 1):
        spent = dict.fromkeys(models, 0.0)
        for batch in data.batches(64):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                spent[name] += batch_seconds(models[name], optimizers[name], batch)
        rounds.append(spent)
    rounds = rounds[1:]  # the first one warms up
    return {
        name: {
            "scores": {
                "seconds": score_of([min(spent[name] for spent in rounds)]),
                "over": score_of([float(np.median([spent[name] / spent[NONE] - 1 for spent in rounds]))]),
            }
        }
        for name in models
    }


def _learned(model: Rewriter) -> list[Any]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def batch_seconds(model: Rewriter, optimizer: Any, batch: Batch) -> float:
    """Train one batch and return its processor seconds."""
    model.train()
    started = time.process_time()
    optimizer.zero_grad()
    model.loss(batch)[0].backward()
    optimizer.step()
    return time.process_time() - started


def support_attack(plan: Plan) -> CellsOfPart:
    """How many words are still possible after one noisy vector of the truncated Laplace."""
    texts, _ = texts_and_labels("sentences/yelp-short.train.tsv", limit=plan.size.texts["yelp-short"])
    vocabulary = plan.vocabulary("glove", texts, plan.size.words)
    rows = clip_to_ball(np.asarray(vocabulary.vectors, dtype=np.float64), 1.0)
    for name, epsilon, mechanism in contenders(vocabulary.dimensions, (0.1, 1.0, 5.0), (0.1, 1.0, 5.0), ()):
        if name in (PUBLISHED, CERTIFIED):
            yield "support", name, epsilon, partial(words_left, mechanism, rows)


def words_left(mechanism: Any, rows: Float64Array) -> dict[str, Any]:
    """Return how many rows' boxes hold a noisy vector, on average."""
    fitted = mechanism.for_dimensions(rows.shape[1])
    chosen = np.linspace(0, len(rows) - 1, 400).astype(int)
    noisy = fitted.release(rows[chosen], RandomSource())
    left = [int((np.abs(vector - rows).max(axis=1) <= fitted.half_width).sum()) for vector in noisy]
    scores = {
        "half_width": score_of([fitted.half_width]),
        "words_left": score_of([float(np.mean(left))]),
    }
    return {"scores": scores, "of": len(rows), "guarantee": fitted.guarantee().sentence()}


PARTS: dict[str, Callable[[Plan], CellsOfPart]] = {
    "support": support_attack,
    "seconds": seconds,
    "yelp": partial(
        rewrite_table, data="yelp-short", table="glove", honest=GRID, refuted=PAPERS, code=(0.1, 1.0, 20.0)
    ),
    "glove": partial(classification, table="glove"),
    "wide": partial(
        rewrite_table, data="yelp-short", table="word2vec", honest=(1.0, 20.0, 100.0), refuted=(1.0, 20.0), code=()
    ),
    "yahoo": partial(rewrite_table, data="yahoo", table="glove", honest=GRID, refuted=PAPERS, code=(0.1, 1.0, 20.0)),
    "embedded": partial(classification, table="embedded"),
    "random": partial(classification, table="random"),
}
"""Tables 2 and 3 (yelp, yahoo), the same in 300 dimensions (wide), figure 4 (glove, embedded, random), table 5."""


def measured(parts: Collection[str] = (), plan: Plan = Plan()) -> dict[str, Any]:  # noqa: B008 (frozen)
    """Return the run, or that of some parts."""

    def group(name: str) -> str | None:
        return None if name in (NONE, PUBLISHED, *CODE) else GROUPS.get(name, "local")

    work = (
        (name, group(name), e, cell, partial(RUN.once, [plan.name, plan.glove, cell, name, e], compute))
        for part in parts or PARTS
        for cell, name, e, compute in PARTS[part](plan)
    )
    return new_report("trlaplace.results", rows_from(work), size=plan.name)


def main() -> None:
    """Run every part whose cells are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="reduced")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--glove", default=GLOVE, help="GloVe file; the default has 50 dimensions")
    parser.add_argument("--only", choices=PARTS, action="append", help="compute the cells of these parts alone")
    parser.add_argument("--report", type=Path, help="write the run here, and no page")
    given = parser.parse_args()
    if given.device == "cpu":
        torch.set_num_threads(1)
    report = measured(given.only or (), Plan(name=given.size, device=given.device, glove=given.glove))
    if given.report:
        given.report.write_text(as_json(report), encoding="utf-8")
    elif not given.only:
        RUN.write(report)


if __name__ == "__main__":
    main()
