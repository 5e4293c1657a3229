"""What this machine can do at best, and generated input for benchmarks.

At best it computes its largest matrix products, whose rate every other rate is compared with. Rates are taken over
process CPU time, which other programs on a shared machine disturb far less than wall time. The product rate is that of
the installed BLAS, not a data-sheet figure; a kernel with narrower types can exceed it.

Input is a vocabulary, tokens by Zipf's law, noisy vectors and texts; nothing is read. Lengths of the vectors spread as
those of trained embeddings do. The figures are for speed only: nothing generated here resembles a language closely
enough to judge utility.
"""

from __future__ import annotations

import itertools
import platform
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from wordveil.api import Embeddings, Float32Array, Float64Array, IdArray, check_whole, engine_name, resolve_threads

SIDE = 1536
GIGA = 1e9


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Time that one piece of work took."""

    wall: float  # seconds on the clock
    cpu: float  # seconds of processor time over all threads

    def __add__(self, other: Timing) -> Timing:
        return Timing(wall=self.wall + other.wall, cpu=self.cpu + other.cpu)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine and the product rates measured on it."""

    processor: str  # its name, "unknown" where the system does not say
    cores: int  # processors this process may use
    blas: str  # name and version of the BLAS behind NumPy
    numpy: str
    python: str
    engine: str  # what wordveil's kernels run on: "numpy", or a compiled kernel's name
    float32_rate: float  # GFLOP per second of one core, float32 product
    float64_rate: float  # GFLOP per second of one core, float64 product
    float32_all: float  # GFLOP per second of wall time on all cores, float32 product
    float64_all: float  # GFLOP per second of wall time on all cores, float64 product

    def limit(self, dtype: str, flops_per_token: float) -> float:
        """Return tokens per second of one core if nothing but the product of that type took time."""
        rate = self.float32_rate if dtype == "float32" else self.float64_rate
        return rate * GIGA / flops_per_token


def best_timing(work: Callable[[], Any], repeats: int) -> Timing:
    """Return the least wall time and the least processor time of a few runs; each the least disturbed of its kind."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    return Timing(wall=max(min(walls), 1e-9), cpu=max(min(cpus), 1e-9))


def measure_machine(*, side: int = SIDE, repeats: int = 3) -> Machine:
    """Measure square products of the given side in both types, on one thread and on all."""
    cores, blas = resolve_threads(None), [one for one in threadpool_info() if one.get("user_api") == "blas"]
    one32, all32 = _product_rates(np.float32, side, cores, repeats)
    one64, all64 = _product_rates(np.float64, side, cores, repeats)
    return Machine(
        processor=_processor_name(),
        cores=cores,
        blas=", ".join(sorted({f"{e['internal_api']} {e.get('version') or ''}".strip() for e in blas})) or "unknown",
        numpy=np.__version__,
        python=platform.python_version(),
        engine=engine_name(),
        float32_rate=one32,
        float64_rate=one64,
        float32_all=all32,
        float64_all=all64,
    )


def _product_rates(dtype: Any, side: int, cores: int, repeats: int) -> tuple[float, float]:
    """Return GFLOP/s of one core by processor time, and of all cores by wall time."""
    generator = np.random.Generator(np.random.PCG64(0))
    left = generator.standard_normal((side, side)).astype(dtype)
    right, out = left.T.copy(), np.empty_like(left)
    flops = 2.0 * side**3 / GIGA

    def product() -> None:
        np.matmul(left, right, out=out)

    with threadpool_limits(limits=1, user_api="blas"):
        product()
        one = flops / best_timing(product, repeats).cpu
    with threadpool_limits(limits=cores, user_api="blas"):
        product()
        return one, flops / best_timing(product, repeats).wall


def peak_memory_bytes() -> int:
    """Return the largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _processor_name() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.exists() else ""
    named = re.search(r"^model name\s*: *(.*\S)", text, re.MULTILINE)
    return named[1] if named else platform.processor() or "unknown"


NOISE = 0.6  # length of the noise relative to the median vector
LINE = 60  # tokens in a generated text
BLOCK = 1 << 15  # queries made at a time


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Sizes of one benchmark."""

    vocabulary: int = 70_000
    dimensions: int = 300
    tokens: int = 4096  # tokens to decode, select or sanitize
    threads: int | None = 1
    repeats: int = 3  # runs of each measurement, of which the best counts
    seed: int = 0  # seed of the generated data (never of a release)
    device: str = "cpu"  # "cpu", or a graphics card for wordveil's own lines, "cuda" or "cuda:1"

    def __post_init__(self) -> None:
        for name, least in (("vocabulary", 16), ("dimensions", 1), ("tokens", 1), ("repeats", 1)):
            check_whole(name, getattr(self, name), least)

    @property
    def flops_per_token(self) -> float:
        """Operations of the product of one vector with the whole vocabulary."""
        return 2.0 * self.vocabulary * self.dimensions

    @cached_property
    def vectors(self) -> Float32Array:
        """Shape (v, d): random directions, median length 4.4, log-normal spread."""
        generator = np.random.Generator(np.random.PCG64(self.seed))
        rows = generator.standard_normal((self.vocabulary, self.dimensions), dtype=np.float32)
        lengths = 4.4 * np.exp(0.25 * generator.standard_normal(self.vocabulary))
        rows *= (lengths / np.linalg.norm(rows, axis=1)).astype(np.float32)[:, None]
        return rows

    @cached_property
    def ids(self) -> IdArray:
        """Shape (tokens,): ids by Zipf's law, rank 1 the most frequent."""
        generator = np.random.Generator(np.random.PCG64(self.seed + 1))
        weights = np.cumsum(1.0 / np.arange(1, self.vocabulary + 1))
        ids: IdArray = np.searchsorted(weights, generator.random(self.tokens) * weights[-1]).astype(np.int32)
        return ids

    @cached_property
    def queries(self) -> Float64Array:
        """Shape (tokens, d): the tokens' vectors plus noise."""
        return np.concatenate(list(self.query_blocks()))

    def query_blocks(self) -> Iterator[Float64Array]:
        """Yield `queries` in blocks, so that ten million of them need not be held at once."""
        for block, low in enumerate(range(0, self.tokens, BLOCK)):
            generator = np.random.Generator(np.random.PCG64([self.seed + 2, block]))
            ids = self.ids[low : low + BLOCK]
            noise = generator.standard_normal((len(ids), self.dimensions))
            noise *= 4.4 * NOISE / np.sqrt(self.dimensions)
            noise += self.vectors[ids]
            yield noise

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vocabulary with its words."""
        return Embeddings.from_arrays(generated_words(self.vocabulary), self.vectors, name="generated")

    @cached_property
    def texts(self) -> list[str]:
        """The tokens as texts of 60 words, with punctuation."""
        words = self.embeddings.words
        spelled = {int(i): words[int(i)] for i in np.unique(self.ids)}
        tokens = [spelled[i] for i in self.ids.tolist()]
        return [" ".join(tokens[low : low + LINE]) + "." for low in range(0, len(tokens), LINE)]


def generated_words(count: int) -> list[str]:
    """Return `count` distinct words of letters, short ones first."""
    lengths = itertools.count(1)
    words = (letters for length in lengths for letters in itertools.product(ascii_lowercase, repeat=length))
    return ["".join(letters) for letters in itertools.islice(words, count)]
