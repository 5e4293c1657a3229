"""The exact nearest-neighbour graph of generated vectors on the clock, checked against the float64 oracle.

Usage: python -m wordveil_lab.timing.graph [--vocabulary V --dimensions D --neighbours K --threads T --engine NAME]

Run it on an otherwise idle machine. A word's own place is counted among the K, as in the lists that graphs are made of.
"""

from __future__ import annotations

import os

import numpy as np
import typer
from numpy.typing import NDArray

from wordveil.api import Float32Array, IdArray, engine_name, nearest_lists
from wordveil_lab.benchmarks.machine import Workload, best_timing, measure_machine, peak_memory_bytes

CHECKED = 200
GIGA = 1e9


def recall(vectors: Float32Array, lists: IdArray, sample: NDArray[np.integer]) -> float:
    """Return the share of the oracle's neighbours that the lists of some words hold."""
    exact, found, k = vectors.astype(np.float64), 0, lists.shape[1]
    for word in sample:
        difference = exact - exact[word]
        squared = np.einsum("ij,ij->i", difference, difference)
        squared[word] = -1.0  # a word stands first in its own list
        nearest = np.lexsort((np.arange(len(vectors)), squared))[:k]
        found += len(np.intersect1d(nearest, lists[word]))
    return float(found / (len(sample) * k))


def main(
    vocabulary: int = 73_404, dimensions: int = 300, neighbours: int = 11, threads: int = 2, engine: str = ""
) -> None:
    """Build the lists once and print one line; the fastest engine is the default."""
    if engine:
        os.environ["WORDVEIL_ENGINE"] = engine
    workload, machine = Workload(vocabulary=vocabulary, dimensions=dimensions), measure_machine()
    vectors, made = workload.vectors, list[IdArray]()
    timing = best_timing(lambda: made.append(nearest_lists(vectors, neighbours, threads=threads)), 1)
    flops = vocabulary * workload.flops_per_token / GIGA
    sample = np.random.Generator(np.random.PCG64(1)).choice(vocabulary, min(CHECKED, vocabulary), False)
    print(
        f"{vocabulary} x {dimensions}, {neighbours - 1} nearest and the word, {engine_name()}, "
        f"{threads} threads: {timing.wall:.1f} s on the clock, {timing.cpu:.1f} s of processor time; "
        f"{flops / timing.wall / machine.float32_all:.2f} of the float32 product on all {machine.cores} cores "
        f"({machine.float32_all:.0f} GFLOP/s), {flops / timing.cpu / machine.float32_rate:.2f} of one core's a core; "
        f"recall {recall(vectors, made[0], sample):.4f} on {len(sample)} words; "
        f"peak memory {peak_memory_bytes() / 2**20:,.0f} MiB"
    )


if __name__ == "__main__":
    typer.run(main)
