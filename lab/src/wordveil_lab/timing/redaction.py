"""Redacting beside splitting the same texts at blanks, in processor time on one core.

The compiled pass writes placeholders that nothing links; the reference in Python everything else. Fresh texts, since
what a pass has read it remembers: dialogues with doctors, complaints to banks, film reviews and posts.

Usage: python -m wordveil_lab.timing.redaction DATA [ROUNDS]
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from wordveil.api import PrivateText, Redactor

SETS = {
    "privacy/aci-bench.jsonl.gz": "dialogue",
    "documents/cfpb-complaints.jsonl.gz": "text",
    "documents/imdb.test10k.jsonl.gz": "text",
    "documents/reddit-mental-health.jsonl.gz": "text",
}
MOST = 800  # texts of a set


def texts_of(data: Path) -> list[PrivateText]:
    """Return the texts."""
    texts: list[PrivateText] = []
    for name, column in SETS.items():
        with gzip.open(data / name, "rt", encoding="utf-8") as file:
            texts += [PrivateText(json.loads(line)[column]) for _, line in zip(range(MOST), file, strict=False)]
    return texts


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the processor time of one call, the best of some."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def main(data: Path, rounds: int) -> None:
    """Print tokens a second and the ratio to splitting."""
    texts, counts = texts_of(data), Counter[str]()
    Redactor().release_rows([[text] for text in texts])
    split = seconds(lambda: [text.split() for text in texts], rounds)

    def report(name: str, redactor: Redactor, asked: Sequence[PrivateText]) -> None:
        counts.clear()
        redactor.release_all(asked, counts) or [redactor.release(text, counts) for text in asked]
        taken = seconds(lambda: redactor.release_rows([[text] for text in asked], judged=False), rounds)
        tokens = counts["kept"] + counts["hidden"]
        beside = taken / (split * sum(map(len, asked)) / sum(map(len, texts)))
        print(f"{name}: {tokens:,} tokens, {tokens / taken / 1e6:.2f} million a second, {beside:.1f} times a split")

    report("compiled pass", Redactor(), texts)
    report("reference", Redactor(link="document"), texts[::20])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
