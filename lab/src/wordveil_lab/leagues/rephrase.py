"""What rephrasing keeps of reviews and of clinical notes: a sentence's similarity to its release, by three judges.

Writes docs/results/rephrase.json and the tables of rephrase.md. It is the expectation over the law of the response,
without a draw; sizes are those that the stock's own public curve chooses. Beside it stand what the nearest prototypes
would give without noise, and random prototypes. At 6 nats two judges that are not MiniLM say the same of the same
releases: GloVe vectors, and runs of four letters.

    clinical   stock: notes of MTS-Dialog, training part; 400 sentences of its other parts that are not in it
    reviews    stock: IMDB, training part; 600 sentences of MR
    general    the stock that comes with wordveil, on both

Stocks are built in build/rephrase, once. Needs the data folder (WORDVEIL_DATA), scikit-learn and MiniLM.

    python -m wordveil_lab.leagues.rephrase [--page | --only DOMAIN ...]     as in `stored`
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

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
from wordveil_lab.clone import ROOT
from wordveil_lab.leagues.stored import StoredRun, new_report, new_row, rounded_score
from wordveil_lab.rows import locate, read_rows
from wordveil_lab.tables import markdown_table, short_number

EPSILONS = (4.0, 6.0, 8.0, 10.0)
JUDGED = 6.0
MINILM = "MiniLM"
WORK = ROOT / "build/rephrase"
DOMAINS = {
    "clinical": ("privacy/mts-dialog.train.jsonl.gz", "note", "## Clinical notes"),
    "reviews": ("documents/imdb.train.jsonl.gz", "text", "## Film reviews"),
}
"""Domain -> file of its stock, column of the text, heading of its table."""
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


def built(name: str, encoder: str) -> Stock:
    """Return a stock of one domain, built where it is not there yet."""
    file, column, _ = DOMAINS[name]
    folder = WORK / f"{name}-{encoder}"
    if not folder.exists():
        WORK.mkdir(parents=True, exist_ok=True)
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


def expected(rephraser: Rephraser, sentences: Sequence[str], judge: Judge) -> tuple[np.ndarray, float, float]:
    """Return the similarity of each sentence to its release, of random prototypes, and of the nearest."""
    ids = rephraser.sanitizer.parts.encoder.nearest(sentences)  # type: ignore[attr-defined]
    law = rephraser.sanitizer.parts.randomizer.law(ids)
    similar = judge(sentences) @ judge([fill(word) for word in rephraser.embeddings.words]).T
    nearest = float(similar[np.arange(len(ids)), ids][ids >= 0].mean())
    return (law * similar).sum(axis=1), float(similar.mean()), nearest


def cell(rephraser: Rephraser, sentences: Sequence[str], judges: Mapping[str, Judge]) -> dict[str, Any]:
    """Return what all judges say of one stock at one epsilon; the nearest prototypes are MiniLM's."""
    found = {name: expected(rephraser, sentences, judge) for name, judge in judges.items()}
    errors = {name: own.std(ddof=1) / np.sqrt(len(own)) for name, (own, *_) in found.items()}
    return {
        "scores": {name: rounded_score(own.mean(), errors[name]) for name, (own, *_) in found.items()},
        "random": {name: rounded_score(random, 0.0) for name, (_, random, _) in found.items()},
        "nearest": rounded_score(found[MINILM][2], 0.0),
        "prototypes": len(rephraser.embeddings),
    }


def measure(names: Collection[str] = ()) -> dict[str, Any]:
    """Return the run, or that of some domains."""
    general, rows, facts = load_stock(), [], {}
    for name in names or DOMAINS:
        own, plain = built(name, "minilm"), built(name, "static")
        sentences = notes(own) if name == "clinical" else reviews()
        file, column, _ = DOMAINS[name]
        texts = [PrivateText(row[column]) for row in read_rows(file, [column])]
        public = public_order([one for text in texts[:PUBLIC] for one in split_sentences(text)])[:PUBLIC]
        known = set(map(str.lower, public))
        facts[name] = {"sentences": len(sentences), "in public text": sum(one.lower() in known for one in sentences)}
        stocks = {
            f"{name}, MiniLM": (own, "minilm"),
            f"{name}, static": (own, "static"),
            f"{name} built without MiniLM, static": (plain, "static"),
            "general, MiniLM": (general, "minilm"),
            "general, static": (general, "static"),
        }
        every = {MINILM: minilm, **others(public)}
        for shown, (stock, encoder) in stocks.items():
            for epsilon in EPSILONS:
                judges = every if epsilon == JUDGED else {MINILM: minilm}
                rephraser = Rephraser(stock, epsilon=epsilon, encoder=encoder)
                rows.append(new_row(shown, "local", epsilon, {name: cell(rephraser, sentences, judges)}))
                print(rows[-1], flush=True)
    return new_report("rephrase", rows, repeats=1, domains=facts)


def tables(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page: MiniLM's at every epsilon, and at one of them what the other judges say."""
    found = {}
    for name, (_, _, heading) in DOMAINS.items():
        cells = {(row["name"], row["epsilon"]): row["cells"][name] for row in report["rows"] if name in row["cells"]}
        stocks = list(dict.fromkeys(stock for stock, _ in cells))
        body = []
        for stock in stocks:
            own = [cells[stock, epsilon] for epsilon in EPSILONS]
            sizes = [f"{one['prototypes']:,}; ".replace(",", " ") for one in own]
            shown = [_mean(one, MINILM, size) for one, size in zip(own, sizes, strict=True)]
            body.append([stock, *shown, short_number(max(one["nearest"]["mean"] for one in own))])
        head = ["stock, encoder", *(f"{epsilon:g} nats" for epsilon in EPSILONS), "nearest, no noise"]
        found[heading] = markdown_table(head, body)
        if name == "clinical":
            found[f"#{heading}, by other judges"] = _judged({stock: cells[stock, JUDGED] for stock in stocks})
    return found


def _judged(cells: Mapping[str, Any]) -> list[str]:
    """Return what every judge says of the stocks that all of them looked at."""
    every = {stock: cell for stock, cell in cells.items() if len(cell["scores"]) > 1}
    body = []
    for judge in next(iter(every.values()))["scores"]:
        error = max(cell["scores"][judge]["standard_error"] for cell in every.values())
        body.append([f"{judge}, {short_number(error)}", *(_mean(cell, judge) for cell in every.values())])
    return markdown_table([f"judge and standard error, {JUDGED:g} nats", *every], body)


def _mean(cell: Mapping[str, Any], judge: str, size: str = "") -> str:
    own, random = (short_number(cell[kind][judge]["mean"]) for kind in ("scores", "random"))
    return f"{own} ({size}random {random})"


RUN = StoredRun(name="rephrase", rows=DOMAINS, measure=measure, tables=tables)

if __name__ == "__main__":
    RUN.main(__doc__)
