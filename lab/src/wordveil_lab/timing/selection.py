"""Selection on the clock: the whole draw of a real corpus.

Usage: python -m wordveil_lab.timing.selection glove.6B.50d.txt.gz imdb.train.jsonl.gz [--share S]

Draws every known token of the texts by TEM at epsilon 4, on NumPy and on the fastest engine, with one thread and with
two; run it on an otherwise idle machine. `timing.kernels` measures the steps.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import wordveil as wv
from wordveil.api import IdArray, PrivateIds, available_engines
from wordveil_lab.benchmarks.machine import best_timing, measure_machine
from wordveil_lab.corpora import encode
from wordveil_lab.rows import read_rows


def known_tokens(embeddings: wv.Embeddings, texts: Path, column: str, share: float) -> IdArray:
    """Return the ids of all known tokens of the first texts, end to end."""
    read = [row[column] for row in read_rows(texts, (column,))]
    ids = encode(embeddings, read[: max(1, round(share * len(read)))]).tokens
    return np.asarray(ids[ids >= 0])


def measure_corpus(vectors: Path, texts: Path, column: str, share: float) -> None:
    """Print one line per engine and number of threads: the whole draw of the corpus."""
    with tempfile.TemporaryDirectory() as scratch:
        embeddings = wv.import_embeddings(vectors, Path(scratch) / "vocabulary")
        ids = known_tokens(embeddings, texts, column, share)
        machine = measure_machine()
        print(
            f"{len(ids):,} tokens, {len(np.unique(ids)):,} distinct words, {len(embeddings):,} x "
            f"{embeddings.dimensions}; {machine.processor}, float64 product {machine.float64_rate:.0f} GFLOP/s on one "
            f"core, {machine.float64_all:.0f} on {machine.cores}",
            flush=True,
        )
        for engine in dict.fromkeys((available_engines()[-1], "numpy")):
            os.environ["WORDVEIL_ENGINE"] = engine
            fitted = wv.TEM(epsilon=4.0).fit(embeddings)
            draws, given = fitted.sample(wv.RandomSource().fresh_stream(), len(ids)), PrivateIds(ids)
            for threads in (2, 1):
                timing = best_timing(partial(fitted.for_batch_job().randomize, given, draws, threads=threads), 1)
                print(
                    f"{engine}, {threads} threads: {timing.wall:.1f} s on the clock, {len(ids) / timing.wall:,.0f} "
                    f"tokens/s; {timing.cpu:.1f} s of processor time, {len(ids) / timing.cpu:,.0f} tokens/s a core",
                    flush=True,
                )


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path, help="embeddings, in any format that wordveil imports")
    parser.add_argument("texts", type=Path, help="a .jsonl.gz file")
    parser.add_argument("--column", default="text", help="where a line of the texts holds its text")
    parser.add_argument("--share", type=float, default=1.0, help="share of the texts, from the start")
    given = parser.parse_args()
    measure_corpus(given.vectors, given.texts, given.column, given.share)


if __name__ == "__main__":
    main()
