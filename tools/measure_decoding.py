"""Decode rates beside the product rate, taken in turns so that both see the same machine; medians of the ratios.

Usage: python tools/measure_decoding.py VOCABULARY DIMENSIONS [ROUNDS]
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
from wordveil.kernels.nearest import NearestWords

SIDE = 2048
TOKENS = 1024


def processor_time(work: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


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
                product = 2.0 * SIDE**3 / processor_time(lambda: np.matmul(square, square, out=out))
                rate = TOKENS / processor_time(lambda words=words: words.nearest(workload.queries, threads=1))
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
