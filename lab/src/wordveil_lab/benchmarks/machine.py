"""What this machine can do at best: the rate of its largest matrix products, which every other rate is compared with.

Rates are taken over process CPU time, which other programs on a shared machine disturb far less than wall time. The
product rate is that of the installed BLAS, not a data-sheet figure; a kernel with narrower types can exceed it.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from wordveil.api import engine_name, resolve_threads

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
    cores = resolve_threads(None)
    one32, all32 = _product_rates(np.float32, side, cores, repeats)
    one64, all64 = _product_rates(np.float64, side, cores, repeats)
    return Machine(
        processor=_processor_name(),
        cores=cores,
        blas=_blas_name(),
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
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _blas_name() -> str:
    found = [entry for entry in threadpool_info() if entry.get("user_api") == "blas"]
    return ", ".join(sorted({f"{e['internal_api']} {e.get('version') or ''}".strip() for e in found})) or "unknown"
