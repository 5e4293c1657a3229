"""Repeat the experiments of TrLaplace (Huang et al. 2024) at a reduced size, honestly calibrated and as published.

    WORDVEIL_DATA=DATA python tools/trlaplace_results.py docs/results/trlaplace

Every finished row is kept in rows.jsonl, so that a stopped run goes on where it stood; delete the file to start anew.
All text here is public. The noise is drawn afresh: numbers move a little from run to run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordveil.arrays import Float64Array, FloatArray
from wordveil.embeddings.table import Embeddings
from wordveil.evaluation.data import locate
from wordveil.guarantees import Guarantee, NoGuarantee, PrivacyUnit, Standing
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.rows import clip_to_ball
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace
from wordveil.neural.corpora import Dataset, TextFile, encode_texts, model_vocabulary, read_texts
from wordveil.neural.models import Classifier, Rewriter
from wordveil.neural.private_embedding import PrivateEmbedding
from wordveil.neural.scoring import score_rewrites
from wordveil.neural.training import CLASSIFY, REWRITE, Training, fit, measure
from wordveil.randomness import Draws, RandomSource, Stream

GLOVE = "embeddings/glove.6B.50d.top100k.npz"
CODE_NORM = 0.005  # the C of the published code, whose vectors are not clipped to it
HONEST = (0.1, 1.0, 5.0, 20.0, 100.0)
REWRITING: Training = replace(REWRITE, epochs=5, batch=64, hidden=64, patience=2, max_tokens=16)
CLASSIFYING: Training = replace(CLASSIFY, epochs=5, batch=64, hidden=32, patience=3, max_tokens=24, learning_rate=0.003)


@dataclass(frozen=True, kw_only=True)
class Unclipped(VectorMechanism):
    """The published code: noise made for vectors of norm C, added to vectors that were never clipped to it."""

    inner: Any
    name = "unclipped"
    paper = "code published with Huang et al. 2024"

    def fit(self, embeddings: Embeddings) -> VectorRandomizer:
        return FittedUnclipped(inner=self.inner.fit(embeddings), dimensions=embeddings.dimensions)


@dataclass(frozen=True, kw_only=True)
class FittedUnclipped(VectorRandomizer):
    """`Unclipped` for one table."""

    inner: Any
    dimensions: int

    def guarantee(self) -> Guarantee:
        reason = "the noise is made for vectors of norm C, and the vectors are not clipped to it"
        return NoGuarantee(reason=reason, unit=PrivacyUnit.VECTOR, standing=Standing.REFUTED)

    def sample(self, stream: Stream, n: int) -> Draws:
        return self.inner.sample(stream, n)

    def randomize(self, vectors: FloatArray, draws: Draws) -> Float64Array:
        rows = np.asarray(vectors, dtype=np.float64)
        return rows + self.inner.randomize(np.zeros_like(rows), draws)


def published(epsilon: float, clip_norm: float = 1.0) -> TruncatedLaplace:
    """Return the paper's truncated Laplace: delta = 4^-d, and its dummy dimensions where epsilon needs them."""
    padded = {5.0: 300, 20.0: 1700}.get(epsilon, 50)
    delta = max(0.25**padded, 1e-300)
    return TruncatedLaplace(
        epsilon=epsilon,
        delta=delta,
        clip_norm=clip_norm,
        calibration="published",
        padded_dimensions=padded,
        allow_refuted=True,
    )


def contenders(epsilons: tuple[float, ...]) -> list[tuple[str, float | None, VectorMechanism | None]]:
    """Return (name, epsilon, mechanism) of every row."""
    rows: list[tuple[str, float | None, VectorMechanism | None]] = [("none", None, None)]
    for epsilon in epsilons:
        rows.append(("gaussian, analytic", epsilon, ClippedGaussian(epsilon=epsilon)))
        rows.append(("laplace, clipped", epsilon, ClippedLaplace(epsilon=epsilon)))
        rows.append(("truncated, certified", epsilon, TruncatedLaplace(epsilon=epsilon)))
    for epsilon in (0.1, 1.0, 5.0, 20.0):
        rows.append(("truncated, published (refuted)", epsilon, published(epsilon)))
    for epsilon in (0.1, 1.0, 20.0):
        laplace = ClippedLaplace(epsilon=epsilon, clip_norm=CODE_NORM)
        rows.append(("laplace, code (no clipping)", epsilon, Unclipped(inner=laplace)))
        rows.append(("truncated, code (no clipping)", epsilon, Unclipped(inner=published(epsilon, CODE_NORM))))
    return rows


class Journal:
    """Finished rows, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def add(self, key: dict[str, Any], work: Callable[[], dict[str, Any]]) -> None:
        """Do a piece of work unless its row is there."""
        if any(all(row.get(name) == value for name, value in key.items()) for row in self.rows):
            return
        started = time.perf_counter()
        row = {**key, **work()}
        row["wall_seconds"] = round(time.perf_counter() - started, 1)
        self.rows.append(row)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def halves(texts: list[str], labels: list[str], vocabulary: Embeddings, tokens: int) -> tuple[Dataset, Dataset]:
    """Return training and held-out texts."""
    data = encode_texts("texts", texts, vocabulary, labels=labels, classes=sorted(set(labels)), max_tokens=tokens)
    rows = np.random.Generator(np.random.PCG64(0)).permutation(len(data))
    cut = len(rows) // 10
    return data.part("training", rows[cut:]), data.part("held out", rows[:cut])


def rewriting(journal: Journal) -> None:
    """Tables 1 to 3: loss, ROUGE-1, BLEU and N_w on Yelp, GloVe vectors."""
    texts, _ = read_texts(TextFile(path="sentences/yelp-short.train.tsv", limit=4000))
    unseen, _ = read_texts(TextFile(path="sentences/yelp-short.test.tsv", limit=500))
    vocabulary = model_vocabulary("glove", texts, vectors=locate(GLOVE), size=2000)
    training, held_out = halves(texts, [], vocabulary, REWRITING.max_tokens)
    test = encode_texts("test", unseen, vocabulary, max_tokens=REWRITING.max_tokens)
    for name, epsilon, mechanism in contenders(HONEST):

        def one(mechanism: VectorMechanism | None = mechanism) -> dict[str, Any]:
            torch.manual_seed(0)
            layer = PrivateEmbedding(vocabulary, mechanism, text_is_public=True)
            model = Rewriter(layer, hidden=REWRITING.hidden, dropout=REWRITING.dropout)
            log = fit(model, training, held_out, REWRITING)
            scores = asdict(score_rewrites(model, test))
            return {**scores, "guarantee": layer.guarantee().sentence(), "epochs": len(log)}

        journal.add({"task": "rewrite", "data": "yelp-short", "mechanism": name, "epsilon": epsilon}, one)


def classification(journal: Journal) -> None:
    """Figure 4: accuracy on SST-2, for random, GloVe and embedded vectors."""
    texts, labels = read_texts(TextFile(path="sentences/sst2.train.tsv", label="label", limit=3000))
    unseen, truth = read_texts(TextFile(path="sentences/sst2.dev.tsv", label="label"))
    for table in ("glove", "random", "embedded"):
        vocabulary = model_vocabulary(table, texts, vectors=locate(GLOVE), size=4000, dimensions=50)
        training, held_out = halves(texts, labels, vocabulary, CLASSIFYING.max_tokens)
        test = encode_texts("test", unseen, vocabulary, labels=truth, classes=["0", "1"], max_tokens=24)
        rows = contenders((1.0, 5.0, 20.0, 100.0))
        if table != "glove":
            rows = [row for row in rows if row[0] in ("none", "gaussian, analytic") and row[1] in (None, 20.0, 100.0)]
        for name, epsilon, mechanism in rows:

            def one(
                mechanism: VectorMechanism | None = mechanism,
                vocabulary: Embeddings = vocabulary,
                parts: tuple[Dataset, Dataset, Dataset] = (training, held_out, test),
            ) -> dict[str, Any]:
                torch.manual_seed(0)
                layer = PrivateEmbedding(vocabulary, mechanism, text_is_public=True)
                model = Classifier(layer, ["0", "1"], hidden=CLASSIFYING.hidden, dropout=CLASSIFYING.dropout)
                fit(model, parts[0], parts[1], CLASSIFYING)
                return {"accuracy": float(np.mean([measure(model, parts[2], 256)[1] for _ in range(5)]))}

            key = {"task": "classify", "data": "sst2", "table": table, "mechanism": name, "epsilon": epsilon}
            journal.add(key, one)


def seconds(journal: Journal) -> None:
    """Table 5: processor seconds of the same training batches with and without the mechanism, 300 dimensions."""
    texts, _ = read_texts(TextFile(path="sentences/yelp-short.train.tsv", limit=1000))
    vocabulary = model_vocabulary("random", texts, size=2000, dimensions=300)
    data = encode_texts("texts", texts, vocabulary, max_tokens=16)
    named: list[tuple[str, VectorMechanism | None]] = [
        ("none", None),
        ("gaussian, analytic", ClippedGaussian(epsilon=1.0)),
        ("laplace, clipped", ClippedLaplace(epsilon=1.0)),
        ("truncated, certified", TruncatedLaplace(epsilon=1.0)),
    ]

    def all_of_them() -> dict[str, Any]:
        models = {}
        for name, mechanism in named:
            torch.manual_seed(0)
            layer = PrivateEmbedding(vocabulary, mechanism, text_is_public=True)
            models[name] = Rewriter(layer, hidden=256, dropout=0.5)
        spent: dict[str, list[float]] = {name: [] for name in models}
        for _ in range(3):
            for name, model in models.items():
                optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
                started = time.process_time()
                for batch in data.batches(256):
                    optimizer.zero_grad()
                    model.loss(batch)[0].backward()
                    optimizer.step()
                spent[name].append(time.process_time() - started)
        return {name: min(times) for name, times in spent.items()}

    journal.add({"task": "seconds", "data": "yelp-short, 1 000 sentences, d = 300, hidden 256"}, all_of_them)


def support_attack(journal: Journal) -> None:
    """How many of 2 000 words are still possible after one noisy vector of the published truncated Laplace."""
    texts, _ = read_texts(TextFile(path="sentences/yelp-short.train.tsv", limit=4000))
    vocabulary = model_vocabulary("glove", texts, vectors=locate(GLOVE), size=2000)
    rows = clip_to_ball(np.asarray(vocabulary.vectors, dtype=np.float64), 1.0)
    for epsilon in (0.1, 1.0, 5.0):
        for name, mechanism in (
            ("truncated, published (refuted)", published(epsilon)),
            ("truncated, certified", TruncatedLaplace(epsilon=epsilon)),
        ):

            def one(mechanism: TruncatedLaplace = mechanism) -> dict[str, Any]:
                fitted = mechanism.fit(vocabulary)
                chosen = np.linspace(0, len(rows) - 1, 400).astype(int)
                noisy = fitted.release(rows[chosen], RandomSource())
                left = [int((np.abs(vector - rows).max(axis=1) <= fitted.half_width).sum()) for vector in noisy]
                return {"half_width": fitted.half_width, "words_left": float(np.mean(left)), "of": len(rows)}

            journal.add({"task": "support", "mechanism": name, "epsilon": epsilon}, one)


def main() -> None:
    """Run every part whose rows are not there yet."""
    torch.set_num_threads(1)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    journal = Journal(directory / "rows.jsonl")
    support_attack(journal)
    seconds(journal)
    rewriting(journal)
    classification(journal)


if __name__ == "__main__":
    main()
