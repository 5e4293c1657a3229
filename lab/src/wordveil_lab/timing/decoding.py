"""Decode rates beside the product rate, taken in turns so that both see the same machine; medians of the ratios.

Usage: python -m wordveil_lab.timing.decoding VOCABULARY DIMENSIONS [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import sys
from functools import partial

import numpy as np

from wordveil.api import NearestWords, available_engines
from wordveil_lab.benchmarks.machine import beside_product
from wordveil_lab.benchmarks.workload import Workload

SIDE = 2048
TOKENS = 1024


def main(vocabulary: int, dimensions: int, rounds: int) -> None:
    """Print one line per engine."""
    workload = Workload(vocabulary=vocabulary, dimensions=dimensions, tokens=TOKENS)
    for engine in available_engines():
        os.environ["WORDVEIL_ENGINE"] = engine
        words = NearestWords(workload.vectors, np.arange(vocabulary, dtype=np.int32))
        work = partial(words.nearest, workload.queries, threads=1)
        taken = list(beside_product(work, SIDE, np.float32, rounds))
        rates = [TOKENS / seconds for seconds, _ in taken]
        ratios = [TOKENS / seconds * workload.flops_per_token / product for seconds, product in taken]
        print(
            f"{vocabulary} x {dimensions} {engine}: best {max(rates):,.0f}, median {statistics.median(rates):,.0f} "
            f"tokens/s/core; median ratio to the float32 product {statistics.median(ratios):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7)
