"""model2vec folders: `model.safetensors` with the tensor `embeddings`, `tokenizer.json` with the words.

The safetensors layout (a length, a JSON header, raw little-endian numbers) is read directly, so no extra package
is needed. Token weights, where a folder has them, belong to sentence means and are left out on purpose. Pieces
that continue a word keep or get the prefix "##"; the mark of a word's beginning (U+2581 or U+0120) is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.npz import blocks_of

__all__ = ["FORMAT", "read_tensor"]

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I8": "<i1", "I32": "<i4", "I64": "<i8", "BF16": "<u2"}
_MAX_HEADER = 100_000_000
_REMEDY = "Give a model2vec folder with model.safetensors (tensor `embeddings`) and tokenizer.json."


def read_tensor(path: Path, name: str) -> NDArray[Any] | None:
    """Return one tensor of a safetensors file, None if the file has no tensor of that name.

    Args:
        path: A .safetensors file.
        name: Tensor name.

    Raises:
        EmbeddingFormatError: If the file is cut off, or its header does not fit its size.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, _MAX_HEADER):
            raise EmbeddingFormatError(path, "the header does not fit the file.", offset=0, remedy=_REMEDY)
        header = _parse_json(path, stream.read(length))
        entry = header.get(name) if isinstance(header, dict) else None
        if entry is None:
            return None
        dtype, shape, first, last = _layout(path, entry, size - 8 - length)
        stream.seek(8 + length + first)
        flat = np.frombuffer(stream.read(last - first), dtype=dtype)
    if entry["dtype"] == "BF16":
        # bfloat16 is the upper half of a float32.
        flat = (flat.astype("<u4") << np.uint32(16)).view("<f4")
    return flat.reshape(shape)


def _layout(path: Path, entry: Any, room: int) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Check a tensor's entry in the header: type, shape, and bytes that lie inside the file."""
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(int(axis) for axis in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise EmbeddingFormatError(path, f"a tensor cannot be read ({error}).", remedy=_REMEDY) from None
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if min(shape, default=1) < 0 or not 0 <= first <= last <= room or last - first != count * dtype.itemsize:
        problem = f"the tensor of shape {shape} does not fit the file."
        raise EmbeddingFormatError(path, problem, offset=first, remedy="Fetch the file again; it may be cut off.")
    return dtype, shape, first, last


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    folder, weights = (path, path / "model.safetensors") if path.is_dir() else (path.parent, path)
    if not weights.is_file():
        raise EmbeddingFormatError(path, "has no model.safetensors.", remedy=_REMEDY)
    vectors = read_tensor(weights, "embeddings")
    if vectors is None:
        vectors = read_tensor(weights, "embedding.weight")
    if vectors is None or vectors.ndim != 2:
        raise EmbeddingFormatError(weights, "has no matrix named embeddings.", remedy=_REMEDY)
    words = _words_of(folder / "tokenizer.json")
    mapping = read_tensor(weights, "mapping")
    if mapping is not None:
        if mapping.dtype.kind != "i" or not ((mapping >= 0) & (mapping < len(vectors))).all():
            raise EmbeddingFormatError(weights, "the tensor mapping points outside the matrix.", remedy=_REMEDY)
        vectors = vectors[mapping]
    return blocks_of(path, words, vectors, limit)


def _words_of(path: Path) -> list[bytes]:
    """Return the tokens of a tokenizer.json in id order, as words."""
    if not path.is_file():
        raise EmbeddingFormatError(path, "is missing; it holds the words.", remedy=_REMEDY)
    content = _parse_json(path, path.read_bytes())
    model = content.get("model") if isinstance(content, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):
        words = {position: token for token, position in vocab.items() if isinstance(position, int)}
        if any(position not in words for position in range(len(vocab))):
            raise EmbeddingFormatError(path, "the token ids are not 0, 1, 2, ...", remedy=_REMEDY)
        tokens = [words[position] for position in range(len(vocab))]
    elif isinstance(vocab, list) and all(isinstance(entry, list) and len(entry) == 2 for entry in vocab):
        tokens = [str(token) for token, _ in vocab]
    else:
        raise EmbeddingFormatError(path, "has no vocabulary.", remedy=_REMEDY)
    return [word.encode("utf-8", "surrogatepass") for word in _plain_words(tokens)]


def _plain_words(tokens: list[str]) -> list[str]:
    """Write tokens the WordPiece way: whole words bare, continuations with "##"."""
    for mark in ("\u2581", "\u0120"):
        if sum(token.startswith(mark) for token in tokens) * 4 > len(tokens):
            return [token[1:] if token.startswith(mark) else f"##{token}" for token in tokens]
    return tokens


def _parse_json(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise EmbeddingFormatError(path, f"the JSON in it cannot be read ({error}).", remedy=_REMEDY) from None


FORMAT = EmbeddingFormat(name="safetensors_model2vec", unit="row", read=_read)
