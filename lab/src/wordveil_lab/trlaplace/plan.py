"""The sizes of the TrLaplace experiments, and the journal of their finished rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordveil.api import Embeddings
from wordveil_lab.neural.corpora import model_vocabulary
from wordveil_lab.neural.training import CLASSIFY, REWRITE, Training
from wordveil_lab.rows import locate

__all__ = ["GLOVE", "SIZES", "Journal", "Plan", "Size"]

GLOVE = "embeddings/glove.6B.50d.top100k.npz"
WORD2VEC = "embeddings/word2vec-googlenews-13k-300d.bin.gz"


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large the experiments are.

    Attributes:
        texts: Sentences of a rewriter's training by data set, None for all there are.
        tests: Sentences it is tested on.
        words: Vocabulary of a rewriter.
        labelled: Texts of a classifier's training.
        rewriting: Training of rewriters.
        classifying: Training of classifiers.
        repeats: Trainings of a decisive rewriter on Yelp; of classifiers see `TRAININGS`.
        dimensions: The d of random vectors.
    """

    texts: Mapping[str, int | None]
    tests: int
    words: int
    labelled: int | None
    rewriting: Training
    classifying: Training
    repeats: int = 3
    dimensions: int = 50


SIZES = {
    "reduced": Size(
        texts={"yelp-short": 3000, "yahoo": 2000},
        tests=300,
        words=2000,
        labelled=3000,
        rewriting=replace(REWRITE, epochs=5, batch=64, hidden=64, patience=2, max_tokens=16),
        classifying=replace(
            CLASSIFY, epochs=4, batch=128, hidden=32, patience=2, max_tokens=20, learning_rate=0.005, validation=0.1
        ),
    ),
    "full": Size(
        texts={"yelp-short": None, "yahoo": None},
        tests=2000,
        words=10_000,
        labelled=None,
        rewriting=REWRITE,
        classifying=CLASSIFY,
        repeats=5,
        dimensions=300,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one call runs.

    Attributes:
        journal: Where rows go.
        size: How large.
        device: Where models are trained.
        glove: GloVe file, or a name inside the data folder.
    """

    journal: Journal
    size: Size
    device: str
    glove: str

    def vocabulary(self, table: str, texts: Sequence[str], words: int, dimensions: int | None = None) -> Embeddings:
        """Return the words of the texts with their vectors."""
        file = {"glove": self.glove, "word2vec": WORD2VEC}.get(table)
        vectors = None if file is None else locate(file)
        dimensions = dimensions or self.size.dimensions
        return model_vocabulary(table, texts, vectors=vectors, size=words, dimensions=dimensions)


@dataclass
class Journal:
    """Finished rows, one JSON object a line; a line cut off by a crash is written again."""

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
        self.rows = [json.loads(line) for line in whole.splitlines()]

    def add(self, key: dict[str, Any], work: Callable[[], dict[str, Any]]) -> None:
        """Do a piece of work unless its row is there."""
        if any(all(row.get(name) == value for name, value in key.items()) for row in self.rows):
            return
        started = time.process_time()
        row = {**key, **work()}
        row["processor_seconds"] = round(time.process_time() - started, 1)
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
