"""PyTorch where it is installed, and otherwise names that say what is missing when they are first used.

The package must import without its extras, and a class needs its base when it is defined: hence a stand-in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from wordveil.api import MissingExtraError
from wordveil_lab.extras import missing_extra

__all__ = ["Module", "functional", "nn", "not_compiled", "require_torch", "torch"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Missing:
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # asked by Python's own machinery, not by a user
            raise AttributeError(name)
        raise _error()


class _MissingModule:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise _error()


def _error() -> MissingExtraError:
    return missing_extra("Neural rewriting and private training", "torch", "torch")


torch: Any
nn: Any
functional: Any
Module: Any
try:
    import torch as _torch
except ImportError:
    torch = nn = functional = _Missing()
    Module = _MissingModule
else:
    torch, nn, functional, Module = _torch, _torch.nn, _torch.nn.functional, _torch.nn.Module


def not_compiled(function: _Function) -> _Function:
    """Keep a function from `torch.compile`, which would draw and round with other arithmetic than ours."""
    return function if isinstance(torch, _Missing) else torch.compiler.disable(function)


def require_torch() -> None:
    """Raise unless PyTorch is installed.

    Raises:
        MissingExtraError: If it is not.
    """
    if isinstance(torch, _Missing):
        raise _error()
