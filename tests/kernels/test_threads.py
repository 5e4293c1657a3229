"""Handing out chunks, and the cache of one batch job."""

import copy
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

import seeds
from wordveil.errors import ParameterError
from wordveil.kernels.selection import RowCache
from wordveil.kernels.threads import map_chunks, resolve_threads


def blas_threads() -> set[int]:
    """Threads of NumPy's BLAS; another package's, loaded after the first chunks, is not ours and not limited."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    numpys = [library for library in found if "numpy" in library["filepath"]]
    return {library["num_threads"] for library in numpys or found}


@given(st.lists(st.integers(), max_size=50), st.sampled_from([None, 1, 2, 7]))
def test_results_come_in_order(items, threads):
    assert list(map_chunks(lambda x: x * 3, items, threads)) == [x * 3 for x in items]


def test_several_threads_work_at_once():
    together = threading.Barrier(3, timeout=30)
    assert len(list(map_chunks(lambda _: together.wait(), range(3), 3))) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_blas_has_one_thread_inside_and_its_own_number_outside_whichever_thread_asks(threads):
    """A sanitizer is made in one thread, and used in another while that one lives."""

    def inside():
        return list(map_chunks(lambda _: blas_threads(), range(3), threads))

    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        with ThreadPoolExecutor(1) as pool:
            assert inside() == pool.submit(inside).result() == [{1}] * 3
        assert blas_threads() == outside


def test_numpys_blas_is_limited_whatever_is_imported_first_and_later():
    code = (
        "from wordveil.kernels.threads import map_chunks\n"
        "list(map_chunks(abs, [1], 1))\n"
        "import scipy.linalg\n"
        "from threadpoolctl import threadpool_info\n"
        "from threadpoolctl import threadpool_limits\n"
        "with threadpool_limits(2, user_api='blas'):\n"
        "    blas = lambda each: each['user_api'] == 'blas' and 'numpy' in each['filepath']\n"
        "    held = lambda _=0: {each['num_threads'] for each in filter(blas, threadpool_info())}\n"
        "    print(held(), *map_chunks(held, [1], 1))\n"
    )
    here = Path(__file__).parent
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here)
    assert run.stdout.split() == ["{2}", "{1}"]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_reaches_the_caller_and_limits_are_lifted(threads):
    def work(item):
        if item == 2:
            raise ParameterError("item", item, "is odd.")
        return item

    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        with pytest.raises(ParameterError, match="item=2"):
            list(map_chunks(work, range(5), threads))
        assert blas_threads() == outside


def test_numbers_of_threads():
    assert resolve_threads(3) == 3
    if hasattr(os, "sched_getaffinity"):
        assert resolve_threads(None) == len(os.sched_getaffinity(0))
    for wrong in (0, -2):
        with pytest.raises(ParameterError, match=f"threads={wrong} must be at least 1"):
            resolve_threads(wrong)


@given(st.lists(st.sets(st.integers(0, 19), max_size=6), max_size=8), st.integers(0, 30))
def test_the_cache_is_a_dictionary_up_to_its_limit(batches, rows):
    """Oracle: a dict that takes new inputs, in order, while there is room."""
    cache, model = RowCache(20, 3, limit_bytes=rows * 3 * 4), {}
    for batch in batches:
        new = np.array(sorted(batch - model.keys()), dtype=np.int32)
        masses = np.array([[i, i + 0.5, -i] for i in new.tolist()], dtype=np.float32).reshape(-1, 3)
        cache.keep(new, masses)
        model.update(dict(list(zip(new.tolist(), masses.tolist(), strict=True))[: max(0, min(20, rows) - len(model))]))
        everything = np.arange(20, dtype=np.int32)
        assert cache.holds(everything).tolist() == [i in model for i in range(20)]
        kept = np.array(sorted(model), dtype=np.int32)
        assert cache.rows(kept).tolist() == [model[i] for i in kept.tolist()]
        assert len(kept) == 20 or cache.rows(everything) is None


def test_a_copy_of_the_cache_holds_nothing_that_was_seen():
    cache = RowCache(4, 1, limit_bytes=16)
    cache.keep(np.array([2], dtype=np.int32), np.ones((1, 1), dtype=np.float32))
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert not other.holds(np.arange(4)).any()
        other.keep(np.arange(4, dtype=np.int32), np.zeros((4, 1), dtype=np.float32))
        assert other.holds(np.arange(4)).all()


@pytest.mark.parametrize("rows", [4000, 2500])
def test_threads_that_keep_at_once_never_mix_up_rows(rows, short_turns):
    """Eight threads keep the same 4000 inputs, in orders of their own, with the number of the input as its row."""
    cache, together = RowCache(4000, 3, limit_bytes=rows * 3 * 4), threading.Barrier(8)

    def work(seed):
        together.wait()
        order = seeds.rng(seed).permutation(4000).astype(np.int32)
        for part in np.split(order, 400):
            cache.keep(part, np.repeat(part[:, None], 3, axis=1).astype(np.float32))
            found = cache.rows(part)
            assert found is None or np.array_equal(found, np.repeat(part[:, None], 3, axis=1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    kept = np.flatnonzero(cache.holds(np.arange(4000))).astype(np.int32)
    assert len(kept) == rows
    assert np.array_equal(cache.rows(kept), np.repeat(kept[:, None], 3, axis=1))


def test_blas_stays_at_one_thread_until_the_last_of_several_callers_has_left():
    inside, left, seen = threading.Event(), threading.Event(), []

    def second():
        def work(_):
            inside.set()
            assert left.wait(30)
            seen.append(blas_threads())

        list(map_chunks(work, [0], 1))

    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        thread = threading.Thread(target=second)

        def first(_):
            thread.start()
            assert inside.wait(30)

        list(map_chunks(first, [0], 1))
        left.set()
        thread.join()
        assert seen == [{1}]
        assert blas_threads() == outside
