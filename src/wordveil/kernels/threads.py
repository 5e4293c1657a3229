"""Our own threads over row chunks, with BLAS held to one thread each.

BLAS may split one product differently for different thread counts, and the bits of the answer follow. So every
product here is a fixed tile computed by one BLAS thread, and parallelism comes from handing out tiles. The limit is the
process's, so that callers in several threads share it: the first sets it, and the last to leave lifts it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np  # loads the BLAS that `_libraries` must find
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from wordveil.arrays import Progress
from wordveil.errors import ParameterError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Scalar = TypeVar("_Scalar", bound=np.generic)


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries loaded so far: NumPy's, which computes every tile, is one. Finding them is slow."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set(library: Any, threads: int) -> None:
    # threadpoolctl 3.8 heeds one thread of a process, whichever was first, and ignores what all others ask for.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


def _hold() -> None:
    """Hold BLAS to one thread: in the whole process, or in this thread where a library counts by thread (OpenMP)."""
    for library in _libraries():
        _set(library, 1)


class _OneBlasThread:
    """Holds BLAS to one thread while anybody is inside; a context manager that threads share."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = [(library, library.num_threads) for library in _libraries()]
            self._inside += 1
            _hold()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._before:
                    _set(library, threads)

    def renew(self) -> None:
        """Make the lock anew in a forked process: a thread that was left behind may have held it."""
        self._lock = Lock()


_ONE_BLAS_THREAD = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ONE_BLAS_THREAD.renew)


def resolve_threads(threads: int | None) -> int:
    """Return the threads to use: those given (`ParameterError` below 1), or one per available processor."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise ParameterError("threads", threads, "must be at least 1, or None for one per processor.")
    return threads


def even_size(n: int, most: int, fewest: int, threads: int | None) -> int:
    """Return the size of equal chunks of n items that keeps threads busy: at most `most`, not cut below `fewest`."""
    count, chunks = resolve_threads(threads), max(1, -(-n // most))
    if chunks % count:
        chunks = max(chunks, min(-(-chunks // count) * count, n // fewest))
    return max(1, -(-n // chunks))


def map_chunks(work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int | None) -> Iterator[_Result]:
    """Yield `work(item)` in the order of `items`, computed by several threads with one BLAS thread each."""
    items = list(items)
    count = min(resolve_threads(threads), len(items))
    with _ONE_BLAS_THREAD:
        if count <= 1:  # starting a pool takes as long as a sentence
            yield from map(work, items)
            return
        with ThreadPoolExecutor(count, initializer=_hold) as pool:
            yield from pool.map(work, items)


def filled(
    out: NDArray[_Scalar],
    size: int,
    work: Callable[[slice], Any],
    threads: int | None,
    progress: Progress | None = None,
) -> NDArray[_Scalar]:
    """Return an array with what `work` gives of its rows written into them, `size` at a time, by several threads."""
    for span, part in by_spans(len(out), size, work, threads, progress):
        out[span] = part
    return out


def by_spans(
    n: int, size: int, work: Callable[[slice], _Result], threads: int | None, progress: Progress | None = None
) -> Iterator[tuple[slice, _Result]]:
    """Yield spans of n rows, `size` at a time, in order, each with what `work` gives of it, by several threads."""
    spans = [slice(low, min(low + size, n)) for low in range(0, n, size)]
    for span, found in zip(spans, map_chunks(work, spans, threads), strict=True):
        yield span, found
        if progress is not None:
            progress(span.stop - span.start)
