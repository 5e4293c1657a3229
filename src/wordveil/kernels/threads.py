"""Our own threads over row chunks, with BLAS held to one thread each.

BLAS may split one product differently for different thread counts, and the bits of the answer follow. So every
product here is a fixed tile computed by one BLAS thread, and parallelism comes from handing out tiles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np  # noqa: F401 - loads the BLAS that `_controller` must find
from threadpoolctl import ThreadpoolController

from wordveil.errors import ParameterError

__all__ = ["even_size", "map_chunks", "resolve_threads"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries loaded so far: NumPy's, which computes every tile, is one. Finding them is slow."""
    return ThreadpoolController()


def resolve_threads(threads: int | None) -> int:
    """Return the number of threads to use: the one given, or one per available processor.

    Raises:
        ParameterError: If `threads` is below 1.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise ParameterError("threads", threads, "must be at least 1, or None for one per processor.")
    return threads


def even_size(n: int, most: int, fewest: int, threads: int | None) -> int:
    """Return the size of equal chunks of n items that keeps all threads busy to the end.

    Args:
        n: Items, at least 0.
        most: Largest chunk.
        fewest: Items below which a chunk is not worth a thread of its own.
        threads: Threads that will work, None for one per processor.
    """
    count, chunks = resolve_threads(threads), max(1, -(-n // most))
    if chunks % count:
        chunks = max(chunks, min(-(-chunks // count) * count, n // fewest))
    return max(1, -(-n // chunks))


def map_chunks(work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int | None) -> Iterator[_Result]:
    """Yield `work(item)` in the order of `items`, computed by several threads with one BLAS thread each."""
    count = resolve_threads(threads)
    with _controller().limit(limits=1, user_api="blas"):
        if count == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(count) as pool:
            yield from pool.map(work, items)
