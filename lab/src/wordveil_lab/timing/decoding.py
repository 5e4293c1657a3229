"""Decode rates beside the product rate, taken in turns so that both see the same machine; medians of the ratios.

Usage: python -m wordveil_lab.timing.decoding VOCABULARY DIMENSIONS [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import sys
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.api import NearestWords, available_engines
from wordveil_lab.benchmarks.machine import best_timing
from wordveil_lab.benchmarks.workload import Workload

SIDE = 2048
TOKENS = 1024


def main(vocabulary: int, dimensions: int, rounds: int) -> None:
    """Print one line per engine."""
    workload = Workload(vocabulary=vocabulary, dimensions=dimensions, tokens=TOKENS)
    square = np.random.Generator(np.random.PCG64(0)).random((SIDE, SIDE), dtype=np.float32)
    out = np.empty_like(square)
    for engine in available_engines():
        os.environ["WORDVEIL_ENGINE"] = engine
        words = NearestWords(workload.vectors, np.arange(vocabulary, dtype=np.int32))
        rates, ratios = [], []
        with threadpool_limits(limits=1):
            for _ in range(rounds + 1):
                product = 2.0 * SIDE**3 / best_timing(lambda: np.matmul(square, square, out=out), 1).cpu
                decoding = best_timing(partial(words.nearest, workload.queries, threads=1), 1)
                rate = TOKENS / decoding.cpu
                rates.append(rate)
                ratios.append(rate * workload.flops_per_token / product)
        rates, ratios = rates[1:], ratios[1:]  # the first round touches the memory
        print(
            f"{vocabulary} x {dimensions} {engine}: best {max(rates):,.0f}, median {statistics.median(rates):,.0f} "
            f"tokens/s/core; median ratio to the float32 product {statistics.median(ratios):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7)
