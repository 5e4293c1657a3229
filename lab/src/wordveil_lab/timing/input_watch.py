"""How often English text is taken for another language: unknown words, and texts and samples that would be warned of.

    WORDVEIL_DATA=FOLDER python -m wordveil_lab.timing.input_watch

A line for each data set of FOLDER/documents; docs/documents.md sums them up. Texts are the longest field of a record.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import wordveil as wv
from wordveil.api import UNKNOWN_READING as UNKNOWN
from wordveil.api import WATCHED_LEAST as LEAST
from wordveil.api import WATCHED_SAMPLE as SAMPLE
from wordveil.api import PrivateText
from wordveil.api import exceeds_unknown_limit as _exceeds

TEXTS = 20_000


def texts_of(path: Path) -> Iterator[PrivateText]:
    """Yield the longest field of each record of a TSV or JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line).values() if ".jsonl" in path.name else line.rstrip("\n").split("\t")
            yield PrivateText(max((field for field in fields if isinstance(field, str)), key=len, default=""))


def main() -> None:
    """Print a line for each data set."""
    options = wv.TextOptions(unknown="typed")
    encoder = wv.Sanitizer(wv.load_embeddings(), wv.NeighbourResponse(), options=options).parts.encoder
    for path in sorted((Path(os.environ["WORDVEIL_DATA"]) / "documents").iterdir()):
        parts = list(encoder.encode_parts(islice(texts_of(path), TEXTS)))
        ids, ends = np.concatenate([part.ids for part in parts]), np.cumsum(np.concatenate([p.counts for p in parts]))
        words, unknown = (np.concatenate([[0], np.cumsum(one)]) for one in (ids >= UNKNOWN, ids == UNKNOWN))

        def warned(bounds: list[int], words: np.ndarray = words, unknown: np.ndarray = unknown) -> str:
            pairs = list(zip(np.diff(unknown[bounds]).tolist(), np.diff(words[bounds]).tolist(), strict=True))
            judged = [pair for pair in pairs if pair[1] >= LEAST]
            return f"{sum(_exceeds(*pair) for pair in judged)} of {len(judged):,}"

        share = unknown[-1] / words[-1]
        samples = warned(list(range(0, len(ids), SAMPLE)))
        print(f"{path.name:34} {share:6.1%} unknown; texts {warned([0, *ends.tolist()])}; samples {samples}")


if __name__ == "__main__":
    main()
