"""What besides the engine decides the last bits of a weight: BLAS, NumPy's instruction sets, C library, processor.

Two machines of one name round alike. Two of different names may not: a word drawn by weights that differ in the last
bit can be another word, under the same noise.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_CORE_NAMES = tuple(
    f"{prefix}openblas_get_corename{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")
)  # of NumPy's own wheels, then of a system's OpenBLAS


@cache
def arithmetic_name() -> str:
    """Return the name of this process's arithmetic, of public facts of the machine only."""
    core: Any = getattr(np, "_core", None) or np.core  # NumPy 1.26 calls it core
    internals = core._multiarray_umath
    sets = [*internals.__cpu_baseline__[-1:], *filter(internals.__cpu_features__.get, internals.__cpu_dispatch__)]
    numpy = " ".join(["NumPy", np.__version__, *sets])
    return "; ".join(filter(None, (_blas(internals), numpy, "".join(platform.libc_ver()), _maker())))


def _blas(internals: Any) -> str:
    """Return the kernels that OpenBLAS took for this processor; of another BLAS what it makes of public products."""
    library = ctypes.CDLL(internals.__file__)  # a symbol is looked for in what it is linked to, too
    for name in _CORE_NAMES:
        told = getattr(library, name, None)
        if told is not None:
            told.restype = ctypes.c_char_p
            return f"OpenBLAS {told().decode('ascii')}"
    bits = np.random.Generator(np.random.PCG64(0))
    left, right = bits.random((128, 52)), bits.random((52, 512))  # of the shape of a tile of weights
    return f"BLAS {hashlib.blake2b((left @ right).tobytes(), digest_size=4).hexdigest()}"


def _maker() -> str:
    """Return who made the processor: approximate instructions may differ between makers."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux
        return platform.processor().rpartition(", ")[2]
    lines = (line.partition(":") for line in facts.splitlines())
    makers = (value.strip() for name, _, value in lines if name.strip() in ("vendor_id", "CPU implementer"))
    return next(makers, platform.machine())
