"""What each compiled kernel gains over NumPy: both in turns in one process, medians of the ratios of their times.

Usage: python -m wordveil_lab.timing.kernels [VOCABULARY DIMENSIONS ...] [--rounds N] [--threads 1 2]

One thread is timed by the processor, several on the clock, which other programs on the machine disturb. A processor
without AVX-512 is imitated by the environment of `HASWELL`: there only the line of avx2 counts. A kernel that gains
less than `LEAST` is not kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from wordveil.api import Euclidean, NearestWords, SelectionRows, available_engines
from wordveil_lab.benchmarks.machine import best_timing
from wordveil_lab.benchmarks.workload import Workload

HASWELL = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
LEAST = 1.2
SIZES = [400_001, 50, 70_000, 300, 4_000, 4_000]
QUERIES, INPUTS, DRAWS = 512, 256, 4_096
NEIGHBOURS = 11


def works(workload: Workload) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Yield the name of each kernel and what it does, of the engine that is chosen now, with some threads."""
    ids = np.arange(workload.vocabulary, dtype=np.int32)
    words = NearestWords(workload.vectors, ids)
    queries = workload.queries[:QUERIES]
    yield "nearest", lambda threads: words.nearest(queries, threads=threads)
    yield f"nearest {NEIGHBOURS}", lambda threads: words.top(queries, NEIGHBOURS, threads=threads)
    rows = SelectionRows(workload.vectors, Euclidean(), ids, ids, rate=2.0, cap=10.0)
    generator = np.random.Generator(np.random.PCG64(1))
    tokens = ids[generator.integers(0, INPUTS, DRAWS)]
    bits = generator.integers(0, 2**64, (DRAWS, rows.draw_width), dtype=np.uint64)
    kept = rows.with_cache(1 << 28)
    kept.draw(tokens, bits, threads=1)
    yield "exact masses", lambda threads: rows.log_normalizers(ids[:INPUTS], threads=threads)
    yield "draw, ceilings new", lambda threads: rows.with_cache(1 << 28).draw(tokens, bits, threads=threads)
    yield "draw, ceilings kept", lambda threads: kept.draw(tokens, bits, threads=threads)


def measure(vocabulary: int, dimensions: int, rounds: int, counts: list[int]) -> None:
    """Print one line for each kernel, engine and number of threads."""
    workload = Workload(vocabulary=vocabulary, dimensions=dimensions)
    kernels: dict[str, dict[str, Callable[[int], Any]]] = {}
    for engine in available_engines():
        os.environ["WORDVEIL_ENGINE"] = engine
        for name, work in works(workload):
            kernels.setdefault(name, {})[engine] = work
    for name, by_engine in kernels.items():
        for threads in counts:
            times: dict[str, list[float]] = {engine: [] for engine in by_engine}
            for _ in range(rounds):
                for engine, work in by_engine.items():
                    taken = best_timing(partial(work, threads), 1)
                    times[engine].append(taken.cpu if threads == 1 else taken.wall)
            slowest = times["numpy"]
            for engine, seconds in times.items():
                ratio = statistics.median(a / b for a, b in zip(slowest, seconds, strict=True))
                print(
                    f"{vocabulary} x {dimensions} | {name} | {threads} | {engine} | "
                    f"{1e3 * statistics.median(seconds):.1f} ms | {ratio:.2f}",
                    flush=True,
                )


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help="pairs of words and dimensions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    for vocabulary, dimensions in zip(given.sizes[::2], given.sizes[1::2], strict=True):
        measure(vocabulary, dimensions, given.rounds, given.threads)


if __name__ == "__main__":
    main()
