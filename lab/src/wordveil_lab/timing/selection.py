"""Selection on the clock: the whole draw of a real corpus.

Usage: python -m wordveil_lab.timing.selection glove.6B.50d.txt.gz imdb.train.jsonl.gz [--column C] [--share S]

Draws every known token of the texts, or of a share of them from the start, by TEM at epsilon 4, on NumPy and on the
fastest engine, with one thread and with two; run it on an otherwise idle machine. `timing.kernels` measures the steps.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import typer

import wordveil as wv
from wordveil.api import PrivateIds, available_engines
from wordveil_lab.benchmarks.machine import best_timing, measure_machine
from wordveil_lab.corpora import encode
from wordveil_lab.rows import read_rows


def main(vectors: Path, texts: Path, column: str = "text", share: float = 1.0) -> None:
    """Print one line per engine and number of threads: the whole draw of the corpus."""
    with tempfile.TemporaryDirectory() as scratch:
        embeddings = wv.import_embeddings(vectors, Path(scratch) / "vocabulary")
        read = [row[column] for row in read_rows(texts, (column,))]
        ids = encode(embeddings, read[: max(1, round(share * len(read)))]).tokens
        ids, machine = ids[ids >= 0], measure_machine()
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


if __name__ == "__main__":
    typer.run(main)
