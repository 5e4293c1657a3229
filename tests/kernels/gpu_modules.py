"""The card's kernels in the ways they can be run for checks: PyTorch on CPU tensors, Triton's interpreter, a card.

Triton decides when it is imported whether it interprets, so those checks have a process of their own:
`test_gpu_triton` starts it, or TRITON_INTERPRET=1 does.
"""

import importlib
import os
from types import SimpleNamespace

import pytest

INTERPRETING = os.environ.get("TRITON_INTERPRET") == "1"
ENGINES = ["interpreter"] if INTERPRETING else ["torch", "card"]
MODULES = ["backend", "nearest", "packing", "screening", "selection"]


def modules(engine):
    """Return the modules and the name of the device of one engine; skip where the engine cannot run."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    if engine == "card" and not torch.cuda.is_available():
        pytest.skip("no graphics card here")
    loaded = {name: importlib.import_module(f"wordveil.kernels.gpu.{name}") for name in MODULES}
    if engine == "interpreter" and not loaded["backend"].HAS_TRITON:
        pytest.skip("Triton 3.4 or later is not installed")
    return SimpleNamespace(engine=engine, device="cuda" if engine == "card" else "cpu", **loaded)
