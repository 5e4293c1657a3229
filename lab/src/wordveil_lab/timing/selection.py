"""Selection, two ways: rows beside the float64 product rate, and the whole draw of a real corpus on the clock.

Usage:
    python -m wordveil_lab.timing.selection VOCABULARY DIMENSIONS [--rounds N]
    python -m wordveil_lab.timing.selection --vectors glove.6B.50d.txt.gz --texts imdb.train.jsonl.gz [--share S]

The first takes rows and product in turns, so that both see the same machine, and prints medians. The second draws every
known token of the texts by TEM at epsilon 4, on NumPy and on the fastest engine, with one thread and with two; run it
on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from wordveil.api import (
    TEM,
    Embeddings,
    Encoder,
    Euclidean,
    IdArray,
    PrivateIds,
    PrivateText,
    RandomSource,
    SelectionRows,
    available_engines,
    import_embeddings,
    tokenizer_for,
)
from wordveil_lab.benchmarks.machine import beside_product, best_timing, measure_machine
from wordveil_lab.benchmarks.workload import Workload

SIDE = 1024
INPUTS = 384
BATCH = 4096  # texts encoded at a time


def measure_rows(vocabulary: int, dimensions: int, rounds: int) -> None:
    """Print two lines per engine: time for one pair of words in a row of exact masses, and in one of ceilings."""
    workload = Workload(vocabulary=vocabulary, dimensions=dimensions)
    ids = np.arange(vocabulary, dtype=np.int32)
    for engine in available_engines():
        os.environ["WORDVEIL_ENGINE"] = engine
        rows = SelectionRows(workload.vectors, Euclidean(), ids, ids, rate=2.0, cap=10.0)
        rows.draw(ids[:1], np.zeros((1, rows.draw_width), dtype=np.uint64))  # lays the words out
        for name, work in (("exact", rows.masses), ("ceilings", rows._ceiling_rows)):
            taken = list(beside_product(partial(work, ids[:INPUTS]), SIDE, np.float64, rounds))
            times = [seconds / INPUTS / vocabulary * 1e9 for seconds, _ in taken]
            ratios = [workload.flops_per_token * INPUTS / seconds / product for seconds, product in taken]
            print(
                f"{vocabulary} x {dimensions} {engine}, {name}: best {min(times):.2f}, median "
                f"{statistics.median(times):.2f} ns for a pair; median ratio to the float64 product "
                f"{statistics.median(ratios):.2f}",
                flush=True,
            )


def known_tokens(embeddings: Embeddings, texts: Path, column: str, share: float) -> IdArray:
    """Return the ids of all known tokens of the first texts, in lower case, end to end."""
    encoder = Encoder(lookup=embeddings.ids, tokenizer=tokenizer_for(embeddings.header.tokenizer))
    with gzip.open(texts, "rt", encoding="utf-8") as lines:
        read = [PrivateText(json.loads(line)[column]) for line in lines]
    read = read[: max(1, round(share * len(read)))]
    ids = np.concatenate([encoder.encode_batch(read[i : i + BATCH]).ids for i in range(0, len(read), BATCH)])
    return np.asarray(ids[ids >= 0])


def measure_corpus(vectors: Path, texts: Path, column: str, share: float) -> None:
    """Print one line per engine and number of threads: the whole draw of the corpus."""
    with tempfile.TemporaryDirectory() as scratch:
        embeddings = import_embeddings(vectors, Path(scratch) / "vocabulary")
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
            fitted = TEM(epsilon=4.0).fit(embeddings)
            draws, given = fitted.sample(RandomSource().fresh_stream(), len(ids)), PrivateIds(ids)
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
    parser.add_argument("vocabulary", type=int, nargs="?", default=400_001)
    parser.add_argument("dimensions", type=int, nargs="?", default=50)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--vectors", type=Path, help="embeddings, in any format that wordveil imports")
    parser.add_argument("--texts", type=Path, help="a .jsonl.gz file")
    parser.add_argument("--column", default="text", help="where a line of --texts holds its text")
    parser.add_argument("--share", type=float, default=1.0, help="share of the texts, from the start")
    given = parser.parse_args()
    if given.vectors and given.texts:
        measure_corpus(given.vectors, given.texts, given.column, given.share)
    else:
        measure_rows(given.vocabulary, given.dimensions, given.rounds)


if __name__ == "__main__":
    main()
