"""PyTorch, or the error that says which extra brings it."""

from __future__ import annotations

from wordveil_lab.package import missing_extra

__all__ = ["functional", "nn", "torch"]

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    raise missing_extra("A model behind the noise", "torch", "torch") from error
