"""PyTorch, or the error that says which extra brings it."""

from __future__ import annotations

from wordveil_lab.package import from_extra

torch = from_extra("torch", "A model behind the noise", "torch", "torch")
nn, functional = torch.nn, torch.nn.functional
