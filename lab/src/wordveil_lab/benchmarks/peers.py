"""What one would write or install instead: plain NumPy one token at a time and in batches, faiss, gensim.

Each peer decodes the same queries, or draws the same tokens, as wordveil does. They are here to be timed: none of
them bounds memory, and only the answers of the distance searches are compared.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.api import Float32Array, Float64Array, IdArray, resolve_threads
from wordveil_lab.benchmarks.machine import Timing, best_timing
from wordveil_lab.package import from_extra

BATCH = 1024
SELECT_BATCH = 64

Decode = Callable[[Float64Array], IdArray]
"""Queries to ids of the nearest words."""

Select = Callable[[Float32Array, IdArray, float], IdArray]
"""Vectors, input ids and rate to drawn ids."""


def _decoder(find: Callable[[Float32Array], Any], batch: int = 1) -> Decode:
    """Return what asks `find` for the nearest words of so many queries at a time."""

    def decode(queries: Float64Array) -> IdArray:
        rows = queries.astype(np.float32)
        found = [find(rows[i : i + batch]) for i in range(0, len(rows), batch)]
        return np.concatenate(found).astype(np.int32)

    return decode


def numpy_per_token(vectors: Float32Array) -> Decode:
    """Decode one query after another by differences, as most published code does."""
    return _decoder(lambda rows: [np.linalg.norm(vectors - rows, axis=1).argmin()])


def numpy_batched(vectors: Float32Array) -> Decode:
    """Decode 1024 queries at a time through one product and a (1024, v) array."""
    half = 0.5 * np.einsum("ij,ij->i", vectors, vectors)
    return _decoder(lambda rows: (rows @ vectors.T - half).argmax(axis=1), BATCH)


def faiss_decoder(vectors: Float32Array, batch: int) -> Decode:
    """Decode with `faiss.IndexFlatL2`."""
    index = _module("faiss").IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    return _decoder(lambda rows: index.search(rows, 1)[1][:, 0], batch)


def gensim_per_token(vectors: Float32Array) -> Decode:
    """Decode one query at a time with gensim's `similar_by_vector`: by cosine, so its answers can be other words."""
    keyed = _module("gensim.models").KeyedVectors(vectors.shape[1])
    keyed.add_vectors([str(i) for i in range(len(vectors))], vectors)
    keyed.fill_norms()
    return _decoder(lambda rows: [int(keyed.similar_by_vector(rows[0], topn=1)[0][0])])


def numpy_select_per_token(vectors: Float32Array, ids: IdArray, rate: float) -> IdArray:
    """Draw from exp(-rate * distance) one token after another, by differences and `Generator.choice`."""
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = []
    for row in vectors[ids]:
        weights = np.exp(-rate * np.linalg.norm(vectors - row, axis=1).astype(np.float64))
        drawn.append(generator.choice(len(vectors), p=weights / weights.sum()))
    return np.array(drawn, dtype=np.int32)


def numpy_select_batched(vectors: Float32Array, ids: IdArray, rate: float) -> IdArray:
    """Draw for 64 tokens at a time through a (64, v) float64 array and a cumulative sum."""
    generator = np.random.Generator(np.random.PCG64(0))
    wide = vectors.astype(np.float64)
    norms = np.einsum("ij,ij->i", wide, wide)
    drawn: list[int] = []
    for low in range(0, len(ids), SELECT_BATCH):
        rows = wide[ids[low : low + SELECT_BATCH]]
        squared = norms + np.einsum("ij,ij->i", rows, rows)[:, None] - 2 * rows @ wide.T
        bounds = np.cumsum(np.exp(-rate * np.sqrt(np.maximum(squared, 0))), axis=1)
        targets = generator.random(len(rows)) * bounds[:, -1]
        drawn.extend(int(np.searchsorted(row, target)) for row, target in zip(bounds, targets, strict=True))
    return np.array(drawn, dtype=np.int32)


DECODERS: dict[str, tuple[Callable[[Float32Array], Decode], str, int]] = {
    "NumPy per token": (numpy_per_token, "numpy", 24),
    "NumPy batched by 1024": (numpy_batched, "numpy", 2 * BATCH),
    "faiss IndexFlatL2, batch 1": (partial(faiss_decoder, batch=1), "faiss", 64),
    "faiss IndexFlatL2, batch 1024": (partial(faiss_decoder, batch=BATCH), "faiss", 2 * BATCH),
    "gensim (cosine), per token": (gensim_per_token, "gensim", 64),
}
"""Name -> what prepares a decoder, the module it needs, and the most tokens worth timing."""

SELECTORS: dict[str, tuple[Select, str, int]] = {
    "NumPy per token": (numpy_select_per_token, "numpy", 24),
    "NumPy batched by 64": (numpy_select_batched, "numpy", 256),
}
"""Name -> selector, module it needs, and the most tokens worth timing."""


def available(module: str) -> bool:
    """Return whether a module is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def timed(module: str, threads: int | None, work: Callable[[], IdArray]) -> tuple[IdArray, Timing]:
    """Return answers and time of a peer, with BLAS, and faiss where it is the peer, held to a number of threads."""
    answers, count = list[IdArray](), resolve_threads(threads)
    with threadpool_limits(limits=count):
        if module == "faiss":
            _module("faiss").omp_set_num_threads(count)
        timing = best_timing(lambda: answers.append(work()), 2)
    return answers[0], timing


def _module(name: str) -> Any:
    return from_extra(name, "This comparison", "bench", name)
