"""Every engine of a kernel, as parameters of tests: what is not built beside the package is skipped aloud.

A library in the user's own cache directory does not count, so that what is tested does not depend on it. A card's
kernels are run as they can be for checks: PyTorch on CPU tensors, Triton's interpreter, a card. Triton decides when it
is imported whether it interprets, so those checks have a process of their own: `test_gpu_triton` starts it, or
TRITON_INTERPRET=1 does.
"""

import importlib
import os
from types import SimpleNamespace

import pytest

from wordveil.kernels.compiled import building, library
from wordveil.kernels.compiled.library import available_engines

BESIDE = building.built_directories()[0]


def is_here(name):
    built = name == library.NUMPY or (BESIDE / building.library_name(name)).is_file()
    return built and name in available_engines()


def _parameter(name, here, reason):
    return pytest.param(name, marks=pytest.mark.skipif(not here, reason=reason))


def _parameters(source):
    """NumPy, and the engines that the kernel of a C file is built for."""
    names = [library.NUMPY, *(name for name, (file, _) in building.LEVELS.items() if file == source)]
    reason = "{} is not built here or cannot run: python -m wordveil.kernels.compiled"
    return [_parameter(name, is_here(name), reason.format(name)) for name in names]


SELECTING, DECODING = _parameters("ceilings.c"), _parameters("nearest.c")
every_selecting = pytest.mark.parametrize("engine", SELECTING, indirect=True)
every_decoding = pytest.mark.parametrize("engine", DECODING, indirect=True)
every_screen = pytest.mark.parametrize("engine", DECODING[1:], indirect=True)


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
