"""model2vec folders: `model.safetensors` with the tensor `embeddings`, `tokenizer.json` with the words.

Token weights, where a folder has them, belong to sentence means and are left out on purpose. Pieces
that continue a word keep or get the prefix "##"; the mark of a word's beginning (U+2581 or U+0120) is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from wordveil.errors import EmbeddingFormatError
from wordveil.files.safetensors import SafetensorsFile
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.npz import blocks_of

_REMEDY = "Give a model2vec folder with model.safetensors (tensor `embeddings`) and tokenizer.json."


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    folder, weights = (path, path / "model.safetensors") if path.is_dir() else (path.parent, path)
    if not weights.is_file():
        raise EmbeddingFormatError(path, "has no model.safetensors.", remedy=_REMEDY)
    with SafetensorsFile(weights, error=EmbeddingFormatError) as file:
        name = next((name for name in ("embeddings", "embedding.weight") if name in file.tensors), None)
        if name is None or len(file.tensors[name].shape) != 2:
            raise EmbeddingFormatError(weights, "has no matrix named embeddings.", remedy=_REMEDY)
        vectors = file.read(name)
        mapping = file.read("mapping") if "mapping" in file.tensors else None
    words = _words_of(folder / "tokenizer.json")
    if mapping is not None:
        if mapping.dtype.kind != "i" or not ((mapping >= 0) & (mapping < len(vectors))).all():
            raise EmbeddingFormatError(weights, "the tensor mapping points outside the matrix.", remedy=_REMEDY)
        vectors = vectors[mapping]
    return blocks_of(path, words, vectors, limit)


def _words_of(path: Path) -> list[bytes]:
    """Return the tokens of a tokenizer.json in id order, as words."""
    if not path.is_file():
        raise EmbeddingFormatError(path, "is missing; it holds the words.", remedy=_REMEDY)
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise EmbeddingFormatError(path, f"the JSON in it cannot be read ({error}).", remedy=_REMEDY) from None
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


FORMAT = EmbeddingFormat(name="safetensors_model2vec", unit="row", read=_read)
