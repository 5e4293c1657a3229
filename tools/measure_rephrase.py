"""Measures what rephrasing keeps of reviews and of clinical notes: the page docs/results/rephrase.md.

For each encoder and epsilon: the mean similarity of a sentence to its release, by MiniLM. It is the expectation over
the law of the response, without a draw; sizes are those that the stock's own public curve chooses. Beside it stand what
the nearest prototypes would give without noise, and random prototypes.

    reviews    stock: IMDB, training part; 600 sentences of MR
    clinical   stock: notes of MTS-Dialog, training part; 400 sentences of its other parts that are not in it
    general    the stock that comes with wordveil, on both

    WORDVEIL_DATA=... python tools/measure_rephrase.py --work build
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordveil.arrays import PrivateText
from wordveil.documents import DocumentSettings
from wordveil.documents.rows import locate, read_rows
from wordveil.sentences.building import StockSettings, build_stock
from wordveil.sentences.encoding import encoder_named
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.slots import fill
from wordveil.sentences.splitting import split_sentences
from wordveil.sentences.stock import Stock, load_stock

EPSILONS = (4.0, 6.0, 8.0, 10.0)
CLINICAL = ("privacy/mts-dialog.dev.jsonl.gz", "privacy/mts-dialog.test.jsonl.gz")


def public_order(sentences: Sequence[str]) -> list[str]:
    """Return different sentences in an order that a public hash gives."""
    return sorted(set(sentences), key=lambda one: hashlib.blake2b(one.encode(), digest_size=8).digest())


def reviews() -> list[str]:
    """Return 600 sentences of MR."""
    return public_order([row["text"] for row in read_rows("sentences/mr.tsv", ["text"])])[:600]


def notes(stock: Stock) -> list[str]:
    """Return 400 clinical sentences of four words or more that are no prototypes."""
    texts = [PrivateText(row["note"]) for name in CLINICAL for row in read_rows(name, ["note"])]
    sentences = [sentence for text in texts for sentence in split_sentences(text) if len(sentence.split()) > 3]
    return public_order([one for one in sentences if one not in set(stock.embeddings.words)])[:400]


def built(work: Path, name: str, file: str, column: str, encoder: str) -> Stock:
    """Return a stock of one domain, built where it is not there yet."""
    folder = work / f"{name}-{encoder}"
    if not folder.exists():
        settings = StockSettings(
            encoder=encoder, judge="minilm", each=16_384, name=name, documents=DocumentSettings(columns=(column,))
        )
        build_stock([locate(file)], folder, settings, resume=True, progress=lambda *said: print(*said, flush=True))
    return load_stock(folder)


def kept(stock: Stock, encoder: str, sentences: Sequence[str], judged: np.ndarray, crowd: int) -> list[str]:
    """Return a row of the table: for each epsilon the similarity and the size, then what there is without noise."""
    cells, without = [], 0.0
    for epsilon in EPSILONS:
        rephraser = Rephraser(stock, epsilon=epsilon, encoder=encoder, crowd=crowd)
        ids = rephraser.parts.encoder.nearest(sentences)  # type: ignore[attr-defined]
        law = rephraser.parts.randomizer.law(ids)
        prototypes = [fill(word) for word in rephraser.embeddings.words]
        similar = judged @ encoder_named("minilm").rows(prototypes, together=True).T
        value, random = float((law * similar).sum(axis=1).mean()), float(similar.mean())
        without = max(without, float(similar[np.arange(len(ids)), ids][ids >= 0].mean()))
        cells.append(f"{value:.3f} ({len(prototypes)}; random {random:.3f})")
    return [*cells, f"{without:.3f}"]


def table(title: str, sentences: Sequence[str], stocks: Sequence[tuple[str, Stock, str, int]]) -> None:
    """Print one table in Markdown."""
    judged = encoder_named("minilm").rows(sentences, together=True)
    print(f"\n{title}, {len(sentences)} sentences\n")
    print(f"| stock, encoder | {' | '.join(f'{epsilon:g} nats' for epsilon in EPSILONS)} | nearest, no noise |")
    print(f"|---|{'---|' * (len(EPSILONS) + 1)}", flush=True)
    for name, stock, encoder, crowd in stocks:
        print(f"| {name} | {' | '.join(kept(stock, encoder, sentences, judged, crowd))} |", flush=True)


def main() -> None:
    """Build the stocks and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, required=True, help="Folder for the stocks.")
    parser.add_argument("--only", choices=("reviews", "clinical"), help="Measure one of the two.")
    arguments = parser.parse_args()
    arguments.work.mkdir(exist_ok=True)
    general = load_stock()
    domains = {
        "clinical": ("privacy/mts-dialog.train.jsonl.gz", "note"),
        "reviews": ("documents/imdb.train.jsonl.gz", "text"),
    }
    for name, (file, column) in domains.items():
        if arguments.only in (None, name):
            own = built(arguments.work, name, file, column, "minilm")
            plain = built(arguments.work, name, file, column, "static")
            table(
                name,
                notes(own) if name == "clinical" else reviews(),
                [
                    (f"{name}, MiniLM", own, "minilm", 1),
                    (f"{name}, MiniLM, crowds of 2", own, "minilm", 2),
                    (f"{name}, static", own, "static", 1),
                    (f"{name} built without MiniLM, static", plain, "static", 1),
                    ("general, MiniLM", general, "minilm", 1),
                    ("general, static", general, "static", 1),
                ],
            )


if __name__ == "__main__":
    main()
