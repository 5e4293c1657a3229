"""[TL] Huang et al. (2024), TrLaplace: models trained behind its noise, `wordveil reproduce trlaplace --neural`.

Rewriters (tables 2 and 3, figures 2, 3 and 5), classifiers (figure 4), seconds (table 5), and what the refuted noise
gives away of a word. All text is public. Models are trained on the graphics card that PyTorch finds, else on one core.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import wordveil as wv
from wordveil.api import Float64Array, clip_to_ball, largest_delta
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.neural import models as neural
from wordveil_lab.neural.backend import torch
from wordveil_lab.neural.corpora import Dataset, encode_texts, frequent_words, random_vectors
from wordveil_lab.neural.private_embedding import PrivateEmbedding
from wordveil_lab.papers.base import Options, Reproduction, about, labelled
from wordveil_lab.papers.trlaplace import CERTIFIED, PUBLISHED, Contender, best_guess, contenders
from wordveil_lab.papers.trlaplace_results import Found, absent, findings, numbers, results
from wordveil_lab.rows import LabelledText, train_and_test

PAPER = "trlaplace-neural"
EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0, 100.0)
"""The paper's of all tables, and one at which an honest mechanism does something."""
PARTS: tuple[tuple[str, str, str, tuple[float, ...]], ...] = (
    ("rewrite", "yelp", "glove", EPSILONS[1:]),
    ("rewrite", "yelp", "wide", (1.0, 20.0, 100.0)),
    ("rewrite", "yahoo", "glove", EPSILONS[1:]),
    *(("classify", data, table, EPSILONS) for table in ("glove", "embedded", "random") for data in ("sst2", "agnews")),
)
"""What is trained, on which texts, behind which vectors, at which epsilons."""
COLUMNS = {"agnews": "title+description"}
GUESSED = 1500  # words on which the best guess is tried


class Size(NamedTuple):
    """Training texts at most, words of a rewriter, dimensions of random vectors, and how models are trained."""

    texts: int
    words: int
    dimensions: int
    rewrite: neural.Training
    classify: neural.Training


QUICK = replace(neural.CLASSIFY, epochs=4, batch=128, hidden=32, patience=2, max_tokens=20, learning_rate=0.005)
SHORT = replace(neural.REWRITE, epochs=5, batch=64, hidden=64, patience=2, max_tokens=16)
TINY = replace(neural.REWRITE, epochs=1, batch=64, hidden=8, max_tokens=8)
SIZES = {
    "paper": Size(1_000_000, 10_000, 300, neural.REWRITE, neural.CLASSIFY),
    "reduced": Size(3000, 2000, 50, SHORT, QUICK),
    "miniature": Size(60, 100, 8, TINY, TINY),
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One data set behind one table of vectors."""

    vocabulary: wv.Embeddings  # the words of the training texts with their vectors
    training: neural.Training  # how models are trained
    whole: Dataset  # all training texts, of which some are held out
    tests: Dataset  # texts that are scored
    classes: tuple[str, ...] = ()  # those of a classifier; where there are none a rewriter is trained

    def model(self, mechanism: wv.VectorMechanism | None, source: wv.RandomSource | None = None, seed: int = 0) -> Any:
        """Return a model that has learnt nothing yet."""
        torch.manual_seed(seed)
        layer = PrivateEmbedding(self.vocabulary, mechanism, source=source, text_is_public=True)
        make = partial(neural.TextClassifier, classes=self.classes) if self.classes else neural.Rewriter
        model = make(layer, hidden=self.training.hidden, dropout=self.training.dropout)
        return model.to("cuda" if torch.cuda.is_available() else "cpu")

    def run(self, mechanism: wv.VectorMechanism | None, source: wv.RandomSource, seed: int) -> dict[str, float]:
        """Train one model behind the noise and return its scores on one noisy pass over unseen text."""
        model = self.model(mechanism, source, seed)
        neural.fit(model, *self.whole.split(self.training.validation), replace(self.training, seed=seed))
        if self.classes:
            return {"accuracy": neural.measure(model, self.tests, 256)[1]}
        seen, known = (data.corpus.tokens[data.corpus.tokens >= 0] for data in (self.whole, self.tests))
        guess = best_guess(mechanism, self.vocabulary, known[:GUESSED], seen, source)
        return {**neural.score_rewrites(model, self.tests), "best guess": guess}

    @property
    def digest(self) -> str:
        """SHA-256 of the encoded texts: of their files, how many are read, and which words the vocabulary holds."""
        parts = [part for data in (self.whole, self.tests) for part in (data.corpus.tokens, data.corpus.offsets)]
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def reproduce(options: Options) -> Reproduction:
    """Repeat tables 2, 3 and 5 and figures 2 to 5 with other models, and with calibrations that hold."""
    torch.set_num_threads(1)
    wanted = options.among(EPSILONS, (0.1, 1.0, 20.0, 100.0), (0.1,))
    found: Found = {}
    for kind, data, table, epsilons in PARTS:
        cell = f"{kind} {data}, {table}"
        options.say(f"{cell}: reading")
        experiment = experiment_of(options, kind, data, table)
        own, paper = tuple(e for e in epsilons if e in wanted), table == "glove"
        rows = contenders(experiment.vocabulary.dimensions, own, code=paper, metric=paper and kind == "classify")
        found |= {(cell, *row[:2]): trained(options, experiment, cell, row) for row in rows}
    yelp = experiment_of(options, "rewrite", "yelp", "glove")
    found |= dict(support_attack(yelp, options)) | seconds(yelp, options)
    words = about(PAPER, size=SIZES[options.size], glove=options.table("glove"), repeats=options.repeats)
    return Reproduction(
        **words | {"missing": (*absent(found), *words["missing"])},
        comparisons=(*results(found, full=options.whole()), *numbers(found)),
        findings=findings(found),
    )


def experiment_of(options: Options, kind: str, data: str, table: str) -> Experiment:
    """Return the experiment of one of `PARTS`; of a set of which only a training file is given a fifth is held out."""
    size = SIZES[options.size]
    settings = size.rewrite if kind == "rewrite" else size.classify
    alone = f"{data}-train" in options.files and f"{data}-test" not in options.files
    test = None if alone or not options.has(f"{data}-test") else options.file(f"{data}-test")
    limits = (
        size.texts if test else size.texts * 5 // 4,
        size.texts if kind == "classify" else min(size.texts // 10, 2000),
    )
    column = COLUMNS.get(data, "text")
    own, unseen = train_and_test(options.file(f"{data}-train"), test, text=column, limits=limits)
    words = size.words * (2 if kind == "classify" else 1)
    whole = wv.load_embeddings() if table == "embedded" else options.table("glove" if table == "random" else table)
    vocabulary = frequent_words(whole, [item.text for item in own], words)
    if table == "random":
        vocabulary = random_vectors(vocabulary, size.dimensions)
    classes = tuple(sorted({item.label for item in own})) if kind == "classify" else ()
    encoded = (_encoded(items, vocabulary, classes, settings.max_tokens) for items in (own, unseen))
    return Experiment(
        vocabulary=vocabulary, training=settings, whole=next(encoded), tests=next(encoded), classes=classes
    )


def _encoded(items: list[LabelledText], vocabulary: wv.Embeddings, classes: tuple[str, ...], most: int) -> Dataset:
    labels = [item.label for item in items] if classes else ()
    return encode_texts([item.text for item in items], vocabulary, labels=labels, classes=classes, max_tokens=most)


def trained(options: Options, experiment: Experiment, cell: str, row: Contender) -> Mapping[str, Summary]:
    """Return the scores of models trained behind one mechanism."""
    name, epsilon, mechanism = row
    label = f"{cell}: {labelled(name, epsilon)}"
    options.say(label)

    def run(i: int) -> Mapping[str, float]:
        return experiment.run(mechanism, options.source(f"{label} {i}"), options.seed * options.repeats + i)

    facts = [label, experiment.vocabulary.header.checksum, experiment.digest, repr(mechanism)]
    return options.over_runs([*facts, repr(experiment.training), options.seed], run, options.repeats)


def support_attack(
    yelp: Experiment, options: Options
) -> Iterator[tuple[tuple[str, str, float], Mapping[str, Summary]]]:
    """Yield how many words are still possible after one noisy vector of the truncated Laplace."""
    rows = clip_to_ball(np.asarray(yelp.vocabulary.vectors, dtype=np.float64), 1.0)
    for name, epsilon, mechanism in contenders(rows.shape[1], (0.1, 1.0, 5.0), code=False):
        if epsilon is not None and name in (PUBLISHED, CERTIFIED):
            run = partial(_words_left, mechanism, rows, options.source(f"support {labelled(name, epsilon)}"))
            yield ("support", name, epsilon), options.over_runs([name, epsilon, options.seed, *rows.shape], run, 1)


def _words_left(mechanism: Any, rows: Float64Array, source: wv.RandomSource, _: int) -> dict[str, float]:
    """Return how many rows' boxes hold a noisy vector, on average, and the exact delta."""
    fitted = mechanism.for_dimensions(rows.shape[1])
    chosen = np.linspace(0, len(rows) - 1, 400).astype(int)
    noisy = fitted.release(rows[chosen], source)
    left = [int((np.abs(vector - rows).max(axis=1) <= fitted.half_width).sum()) for vector in noisy]
    exact = largest_delta(rows.shape[1], fitted.alpha * 2 * np.sqrt(rows.shape[1]), fitted.half_width)
    return {"half-width": fitted.half_width, "words left": float(np.mean(left)), "of": len(rows), "exact delta": exact}


def seconds(yelp: Experiment, options: Options) -> Found:
    """Return the processor seconds of the same training batches with each mechanism, 300 dimensions, secure noise."""
    settings = replace(yelp.training, hidden=256 if options.size != "miniature" else 8)
    wide = replace(yelp, vocabulary=random_vectors(yelp.vocabulary, 300), training=settings)
    models = {row[:2]: wide.model(row[2]) for row in contenders(300, (1.0,), code=False) if row[0] != PUBLISHED}
    data = yelp.whole.part(np.arange(min(1000, len(yelp.whole))))
    epochs = 1 if options.size == "miniature" else 7
    rounds = partial(_rounds, list(models.values()), data, epochs)
    spent = options.over_runs(["seconds", yelp.digest, options.size], lambda _: rounds(), 1)
    return {
        ("seconds", *row): {score: spent[f"{score} {i}"] for score in ("seconds", "beyond none")}
        for i, row in enumerate(models)
    }


def _rounds(models: list[Any], data: Dataset, count: int) -> dict[str, float]:
    """Return the least processor seconds of an epoch, and the median over rounds of what is beyond the first model.

    All models train on a batch before any goes to the next, in turning order: a machine that is busy for a while is
    busy for all of them.
    """
    optimizers = [torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01) for model in models]
    spent = np.zeros((count + 1, len(models)))
    for row in spent:
        for number, batch in enumerate(data.batches(64)):
            for i in np.roll(np.arange(len(models)), number):
                started = time.process_time()
                models[i].train()
                optimizers[i].zero_grad()
                models[i].loss(batch)[0].backward()
                optimizers[i].step()
                row[i] += time.process_time() - started
    spent = spent[1:]  # the first one warms up
    beyond = np.median(spent / spent[:, :1] - 1, axis=0)
    return {
        **{f"seconds {i}": float(value) for i, value in enumerate(spent.min(axis=0))},
        **{f"beyond none {i}": float(value) for i, value in enumerate(beyond)},
    }
