"""The sizes of the TrLaplace experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wordveil.api import Embeddings
from wordveil_lab.neural.corpora import model_vocabulary
from wordveil_lab.neural.training import CLASSIFY, REWRITE, Training
from wordveil_lab.rows import locate

__all__ = ["GLOVE", "SIZES", "Plan", "Size"]

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
        name: Of the size.
        device: Where models are trained.
        glove: GloVe file, or a name inside the data folder.
    """

    name: str = "reduced"
    device: str = "cpu"
    glove: str = GLOVE

    @property
    def size(self) -> Size:
        """How large."""
        return SIZES[self.name]

    def vocabulary(self, table: str, texts: Sequence[str], words: int, dimensions: int | None = None) -> Embeddings:
        """Return the words of the texts with their vectors."""
        file = {"glove": self.glove, "word2vec": WORD2VEC}.get(table)
        vectors = None if file is None else locate(file)
        dimensions = dimensions or self.size.dimensions
        return model_vocabulary(table, texts, vectors=vectors, size=words, dimensions=dimensions)
