"""Builds the general stock of public sentences that comes with wordveil, for wordveil.sentences.

The input is public-en.txt.gz and its list of sources, all CC0 or in the public domain (see NOTICE): blocks of
sentences by source, of which as many are taken from each of the four groups (contributed sentences, government web
pages, speeches, books), none with words that are out of date for groups of people. Clusters and rows are those of
MiniLM, in 8 bits, with the map that lets the static encoder find its way among them. Two runs on one machine write the
same bytes. Some minutes, most of them MiniLM's; interrupted, it goes on where it stopped.

    python tools/build_sentences.py public-en.txt.gz public-en.sources.tsv --work build
"""

from __future__ import annotations

import argparse
import gzip
import re
from pathlib import Path

import numpy as np

from wordveil.sentences.building import StockSettings, build_stock
from wordveil.sentences.stock import GENERAL, MAP_FILE, Stock
from wordveil.vocabulary.table import Embeddings

DATED = re.compile(
    r"(?i)\b(?:colou?red|negro\w*|savages?|heathens?|pagans?|orientals?|gyps(?:y|ies)|squaws?|slaves?|slavery|indians?|jews?"
    r"|jewess|jewish|muslims?|catholics?|race|races|racial|natives?|primitive|whites|blacks|cripples?d?|lunatics?|idiots?)\b"
)
"""Words that old books and speeches use of groups of people: their sentences are left out."""

SETTINGS = StockSettings(
    encoder="minilm",
    each=6_000,
    name="general",
    source="public-en: Common Voice, US government web pages and speeches, Standard Ebooks (see NOTICE)",
    licence="CC0-1.0",
)


def grouped(sentences: Path, sources: Path, folder: Path) -> list[Path]:
    """Write the sentences of each group into a file of its own; return the files."""
    lines = gzip.decompress(sentences.read_bytes()).decode("utf-8").splitlines()
    groups: dict[str, list[str]] = {}
    for row in sources.read_text(encoding="utf-8").splitlines()[1:]:
        first, last, group, _, licence = row.split("\t")
        if "CC0" not in licence and "public domain" not in licence:
            raise SystemExit(f"lines {first} to {last} are neither CC0 nor in the public domain")
        own = (line for line in lines[int(first) - 1 : int(last)] if not DATED.search(line))
        groups.setdefault(group, []).extend(own)
    paths = [folder / f"{group}.txt" for group in sorted(groups)]
    for path in paths:
        path.write_text("\n".join(groups[path.stem]) + "\n", encoding="utf-8")
    return paths


def pack(stock: Stock, built: Path, folder: Path) -> None:
    """Write a stock in the layout of packaged vocabularies: 8 bits a number, one scale a column."""
    vectors = np.asarray(stock.embeddings.vectors)
    scales = (np.abs(vectors).max(axis=0) / 127).astype(np.float32)
    codes = np.rint(vectors / scales).astype(np.int8)
    header = stock.embeddings.header
    words = list(stock.embeddings.words)
    table = Embeddings.from_arrays(
        words,
        np.multiply(codes, scales, dtype=np.float32),
        name=header.name,
        source=header.source,
        licence=header.licence,
        casing="cased",
        candidate_rule="all",
    )
    folder.mkdir(exist_ok=True)
    (folder / "header.json").write_text(table.header.to_json(), encoding="utf-8")
    (folder / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    np.save(folder / "vectors.npy", codes)
    np.save(folder / "scales.npy", scales)
    np.save(folder / MAP_FILE, np.load(built / MAP_FILE).astype(np.float16))
    stock.facts.save(folder)


def main() -> None:
    """Build the stock and put it into the package."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("sentences", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="Folder for what lies between.")
    parser.add_argument("--output", type=Path, default=GENERAL)
    arguments = parser.parse_args()
    arguments.work.mkdir(exist_ok=True)
    files = grouped(arguments.sentences, arguments.sources, arguments.work)
    built = arguments.work / "general"
    stock = build_stock(files, built, SETTINGS, resume=True, progress=lambda *said: print(*said, flush=True))
    pack(stock, built, arguments.output)


if __name__ == "__main__":
    main()
