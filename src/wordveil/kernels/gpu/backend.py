"""PyTorch and Triton where they are installed, the device a name stands for, and how much memory it has free.

Triton's interpreter (environment variable TRITON_INTERPRET=1, set before the first import) runs the same kernels on
CPU tensors: slow, for checks. Without Triton plain PyTorch does the work.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NoReturn

from wordveil.errors import MissingExtraError, ParameterError

CPU_BYTES = 1 << 28  # memory that work on CPU tensors may take: checks only


class _Missing:
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # asked by Python's own machinery, not by a user
            raise AttributeError(name)
        raise MissingExtraError(*_MISSING)


_MISSING = ("Work on a graphics card", "torch", "gpu")


torch: Any
try:
    import torch as _torch
except ImportError:
    torch = _Missing()
else:
    torch = _torch

tl: Any
TensorDescriptor: Any
jit: Any
try:
    tl = import_module("triton.language")
    TensorDescriptor = import_module("triton.tools.tensor_descriptor").TensorDescriptor
    jit = import_module("triton").jit
except ImportError:  # not installed, or older than 3.4
    tl, TensorDescriptor, jit, HAS_TRITON = _Missing(), _Missing(), lambda function: function, False
else:
    HAS_TRITON = True


def open_device(name: str) -> Any:
    """Return the PyTorch device of a name: "cuda", "cuda:1", or "cpu" for CPU tensors.

    `MissingExtraError` if PyTorch is not installed; `ParameterError` if the name is none of these, or no such card can
    be used here.
    """
    if isinstance(torch, _Missing):
        raise MissingExtraError(*_MISSING)
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda") or (index and not (kind == "cuda" and index.isdecimal())):
        raise ParameterError("device", name, "must be cpu, cuda or cuda:N.")
    if kind == "cpu":
        return torch.device("cpu")
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(index or 0) >= cards:
        raise ParameterError(
            "device",
            name,
            f"needs an NVIDIA card; PyTorch {torch.__version__} sees {cards} here. Use device='cpu', or install a "
            "driver and a build of PyTorch with CUDA.",
        )
    return torch.device("cuda", int(index or 0))


def card_name(name: str) -> str:
    """Return what computes on a device: the card's model, and what its kernels were made by."""
    device = open_device(name)
    model = "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device)
    return f"{model}; PyTorch {torch.__version__}{'; Triton' if uses_triton(device) else ''}"


def uses_triton(device: Any) -> bool:
    """Return whether kernels run through Triton on this device: on a card with bfloat16, or in Triton's interpreter."""
    if not HAS_TRITON:
        return False
    if device.type == "cpu":
        return os.environ.get("TRITON_INTERPRET") == "1"
    return bool(torch.cuda.get_device_capability(device) >= (8, 0))


def launch(device: Any, kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Start a Triton kernel on a device: Triton itself takes the current one."""
    with nullcontext() if device.type == "cpu" else torch.cuda.device(device):
        kernel[grid](*arguments, **constants)


def free_bytes(device: Any) -> int:
    """Return the memory that is free on the device, in bytes, PyTorch's own reserve included."""
    if device.type == "cpu":
        return CPU_BYTES
    reserve = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(reserve)


def processors(device: Any) -> int:
    """Return how many programs the device runs side by side."""
    return 1 if device.type == "cpu" else int(torch.cuda.get_device_properties(device).multi_processor_count)
