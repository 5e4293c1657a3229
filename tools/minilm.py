"""The MiniLM sentence model for the vocabulary builder: the evaluation's forward pass, and where a package lies."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from wordveil.arrays import Float32Array as Floats
from wordveil.text.minilm import PACKAGE, WIDTH, encode, load_model, sentence_pieces, word_pieces
from wordveil.text.minilm import MiniLM as Model

__all__ = [
    "PACKAGE",
    "WIDTH",
    "Floats",
    "Model",
    "encode",
    "load_model",
    "package_folder",
    "sentence_pieces",
    "word_pieces",
]


def package_folder(module: str, package: str) -> Path:
    """Returns the folder of an installed package without importing it (it may import PyTorch)."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise SystemExit(f"The package {package} is not installed. Install it with: pip install --no-deps {package}")
    return Path(found.origin).parent
