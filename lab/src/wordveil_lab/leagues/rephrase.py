"""Measures what rephrasing keeps of reviews and of clinical notes: the page docs/results/rephrase.md.

For each encoder and epsilon: the mean similarity of a sentence to its release, by MiniLM. It is the expectation over
the law of the response, without a draw; sizes are those that the stock's own public curve chooses. Beside it stand what
the nearest prototypes would give without noise, and random prototypes. At 6 nats two judges that are not MiniLM say the
same of the same releases: GloVe vectors, and runs of four letters.

    reviews    stock: IMDB, training part; 600 sentences of MR
    clinical   stock: notes of MTS-Dialog, training part; 400 sentences of its other parts that are not in it
    general    the stock that comes with wordveil, on both

    WORDVEIL_DATA=... python -m wordveil_lab.leagues.rephrase --work build
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from wordveil.api import (
    DocumentSettings,
    PrivateText,
    Rephraser,
    Stock,
    StockSettings,
    build_stock,
    encoder_named,
    load_embeddings,
    load_stock,
    split_sentences,
)
from wordveil.api import fill_slots as fill
from wordveil_lab.rows import locate, read_rows

EPSILONS = (4.0, 6.0, 8.0, 10.0)
JUDGED = 6.0
GLOVE = "embeddings/glove.6B.50d.top100k.npz"
PUBLIC = 20_000  # sentences of the stock's text that words and runs are counted in
Judge = Callable[[Sequence[str]], np.ndarray]
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


def minilm(sentences: Sequence[str]) -> np.ndarray:
    """Return MiniLM's vectors."""
    return encoder_named("minilm").rows(sentences, together=True)


def others(public: Sequence[str]) -> dict[str, Judge]:
    """Return judges that know nothing of MiniLM, with weights of words and runs counted in public sentences."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    table = load_embeddings(locate(GLOVE))
    words = TfidfVectorizer(vocabulary=list(table.words), norm=None, token_pattern=r"[a-z']+|\d+").fit(public)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), sublinear_tf=True).fit(public)

    def means(sentences: Sequence[str]) -> np.ndarray:
        return np.asarray(normalize(words.transform(sentences) @ table.vectors))

    common = means(public).mean(axis=0)
    return {
        "GloVe 50d, weighted means": lambda sentences: np.asarray(normalize(means(sentences) - common)),
        "runs of four letters": lambda sentences: runs.transform(sentences).toarray(),
    }


def expected(
    stock: Stock, encoder: str, sentences: Sequence[str], judge: Judge, epsilon: float, crowd: int = 1
) -> tuple[np.ndarray, float, float, int]:
    """Return the similarity of each sentence to its release, of random prototypes, of the nearest, and their number."""
    rephraser = Rephraser(stock, epsilon=epsilon, encoder=encoder, crowd=crowd)
    ids = rephraser.sanitizer.parts.encoder.nearest(sentences)  # type: ignore[attr-defined]
    law = rephraser.sanitizer.parts.randomizer.law(ids)
    prototypes = [fill(word) for word in rephraser.embeddings.words]
    similar = judge(sentences) @ judge(prototypes).T
    nearest = float(similar[np.arange(len(ids)), ids][ids >= 0].mean())
    return (law * similar).sum(axis=1), float(similar.mean()), nearest, len(prototypes)


def table(title: str, sentences: Sequence[str], stocks: Sequence[tuple[str, Stock, str, int]]) -> None:
    """Print one table in Markdown."""
    print(f"\n{title}, {len(sentences)} sentences\n")
    print(f"| stock, encoder | {' | '.join(f'{epsilon:g} nats' for epsilon in EPSILONS)} | nearest, no noise |")
    print(f"|---|{'---|' * (len(EPSILONS) + 1)}", flush=True)
    for name, stock, encoder, crowd in stocks:
        found = [expected(stock, encoder, sentences, minilm, epsilon, crowd) for epsilon in EPSILONS]
        cells = [f"{own.mean():.3f} ({size}; random {random:.3f})" for own, random, _, size in found]
        print(f"| {name} | {' | '.join(cells)} | {max(one[2] for one in found):.3f} |", flush=True)


def judged(sentences: Sequence[str], stocks: Sequence[tuple[str, Stock, str, int]], public: Sequence[str]) -> None:
    """Print what other judges say of the same releases, and how many sentences the stock's own text holds too."""
    known = set(map(str.lower, public))
    print(f"\n{sum(one.lower() in known for one in sentences)} of them stand in the text that the stock is built from")
    alone = [each for each in stocks if each[3] == 1]
    print(f"\n| judge, {JUDGED:g} nats | {' | '.join(name for name, *_ in alone)} |\n|---|{'---|' * len(alone)}")
    for judge, rows in {"MiniLM": minilm, **others(public)}.items():
        found = [expected(stock, encoder, sentences, rows, JUDGED) for _, stock, encoder, _ in alone]
        error = max(own.std(ddof=1) / np.sqrt(len(own)) for own, *_ in found)
        cells = [f"{own.mean():.3f} (random {random:.3f})" for own, random, *_ in found]
        print(f"| {judge}, standard error {error:.3f} | {' | '.join(cells)} |", flush=True)


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
            sentences = notes(own) if name == "clinical" else reviews()
            stocks = [
                (f"{name}, MiniLM", own, "minilm", 1),
                (f"{name}, MiniLM, crowds of 2", own, "minilm", 2),
                (f"{name}, static", own, "static", 1),
                (f"{name} built without MiniLM, static", plain, "static", 1),
                ("general, MiniLM", general, "minilm", 1),
                ("general, static", general, "static", 1),
            ]
            table(name, sentences, stocks)
            texts = [PrivateText(row[column]) for row in read_rows(file, [column])]
            public = public_order([one for text in texts[:PUBLIC] for one in split_sentences(text)])[:PUBLIC]
            judged(sentences, stocks, public)


if __name__ == "__main__":
    main()
