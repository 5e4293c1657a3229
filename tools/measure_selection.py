"""Selection rows beside the float64 product rate, taken in turns so that both see the same machine; medians.

Usage: python tools/measure_selection.py VOCABULARY DIMENSIONS [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.benchmarking.workload import Workload
from wordveil.kernels.compiled import available_engines
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics import Euclidean

SIDE = 1024
INPUTS = 384


def processor_time(work: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(vocabulary: int, dimensions: int, rounds: int) -> None:
    """Print one line per engine."""
    workload = Workload(vocabulary=vocabulary, dimensions=dimensions)
    ids = np.arange(vocabulary, dtype=np.int32)
    square = np.random.Generator(np.random.PCG64(0)).random((SIDE, SIDE))
    out = np.empty_like(square)
    for engine in available_engines():
        os.environ["WORDVEIL_ENGINE"] = engine
        rows = SelectionRows(workload.vectors, Euclidean(), ids, ids, rate=2.0, cap=10.0)
        times, ratios = [], []
        with threadpool_limits(limits=1):
            for _ in range(rounds + 1):
                product = 2.0 * SIDE**3 / processor_time(lambda: np.matmul(square, square, out=out))
                per_row = processor_time(lambda rows=rows: rows.masses(ids[:INPUTS])) / INPUTS
                times.append(per_row / vocabulary * 1e9)
                ratios.append(workload.flops_per_token / per_row / product)
        times, ratios = times[1:], ratios[1:]  # the first round touches the memory
        print(
            f"{vocabulary} x {dimensions} {engine}: best {min(times):.2f}, median {statistics.median(times):.2f} ns "
            f"for a pair; median ratio to the float64 product {statistics.median(ratios):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7)
