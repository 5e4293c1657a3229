"""Redacting beside splitting the same texts at blanks, in processor time on one core.

The compiled pass writes placeholders that nothing links; the reference in Python everything else. Fresh texts, since
what a pass has read it remembers: dialogues with doctors, complaints to banks, film reviews and posts.

Usage: python -m wordveil_lab.timing.redaction DATA [ROUNDS]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from wordveil.api import PrivateText, Redactor
from wordveil_lab.benchmarks.machine import best_timing
from wordveil_lab.rows import read_rows

SETS = {
    "privacy/aci-bench.jsonl.gz": "dialogue",
    "documents/cfpb-complaints.jsonl.gz": "text",
    "documents/imdb.test10k.jsonl.gz": "text",
    "documents/reddit-mental-health.jsonl.gz": "text",
}
MOST = 800  # texts of a set


def texts_of(data: Path) -> list[PrivateText]:
    """Return the texts."""
    rows = ((row[column] for row in read_rows(data / name, (column,))) for name, column in SETS.items())
    return [PrivateText(text) for texts in rows for text in islice(texts, MOST)]


def main(data: Path, rounds: int) -> None:
    """Print tokens a second and the ratio to splitting."""
    texts, counts = texts_of(data), Counter[str]()
    Redactor().release_rows([[text] for text in texts])
    split = best_timing(lambda: [text.split() for text in texts], rounds).cpu

    def report(name: str, redactor: Redactor, asked: Sequence[PrivateText]) -> None:
        counts.clear()
        redactor.release_all(asked, counts) or [redactor.release(text, counts) for text in asked]
        taken = best_timing(lambda: redactor.release_rows([[text] for text in asked], judged=False), rounds).cpu
        tokens = counts["kept"] + counts["hidden"]
        beside = taken / (split * sum(map(len, asked)) / sum(map(len, texts)))
        print(f"{name}: {tokens:,} tokens, {tokens / taken / 1e6:.2f} million a second, {beside:.1f} times a split")

    report("compiled pass", Redactor(), texts)
    report("reference", Redactor(link="document"), texts[::20])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
