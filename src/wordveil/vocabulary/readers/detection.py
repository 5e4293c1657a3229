"""Finds out the format of an embedding file from its name and its first bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.sources import DAMAGE, is_zip, open_source
from wordveil.vocabulary.readers.text_lines import text_header

_HEAD = 1 << 16


def guess_format(path: Path) -> str:
    """Return the name of the format that a path most likely holds.

    Raises:
        EmbeddingFormatError: If the file is empty, or a folder holds no known model.
        FileNotFoundError: If there is nothing at the path.
    """
    if path.is_dir():
        if (path / "model.safetensors").is_file():
            return "safetensors_model2vec"
        remedy = "Give a vocabulary written by wordveil, a model2vec folder, or an embedding file."
        raise EmbeddingFormatError(path, "is a folder without a known model.", remedy=remedy)
    if is_zip(path) and _is_npz(path):
        return "npz"
    with open_source(path) as source:
        head = source.read(_HEAD)
    if not head:
        raise EmbeddingFormatError(path, "is empty.", remedy="Check that the download is complete.")
    if head.startswith(b"\x93NUMPY"):
        remedy = "Save it with its words as an .npz file."
        raise EmbeddingFormatError(path, "is an array without words.", remedy=remedy)
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        remedy = "Load it with the program that wrote it and save plain vectors: save_word2vec_format in gensim."
        raise EmbeddingFormatError(path, "is a pickle, which can run any code and is not loaded.", remedy=remedy)
    if path.suffix == ".safetensors" or head[8:10] == b'{"':
        return "safetensors_model2vec"
    return _guess_text(path, head)


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, *DAMAGE):
        return path.suffix == ".npz"
    return bool(names) and all(name.endswith(".npy") for name in names)


def _guess_text(path: Path, head: bytes) -> str:
    """Tell the text formats and the binary one apart by the header and the first row."""
    counts = text_header(head)
    body = head[head.index(b"\n") + 1 :] if counts else head
    line = body.split(b"\n", 1)[0].rstrip(b"\r")
    if counts and not _looks_like_text(line):
        return "word2vec_binary"
    if b"\0" in head:
        remedy = "Give a text file of words and numbers, or name what it is with --format."
        raise EmbeddingFormatError(path, "is in no format that can be recognized.", remedy=remedy)
    if line.endswith(b" ") or ".vec" in path.suffixes:
        return "fasttext_vec"
    return "word2vec_text" if counts else "glove_text"


def _looks_like_text(line: bytes) -> bool:
    """Return whether the row after a header is text: it ends in a number, or at least holds no odd bytes."""
    try:
        float(line.rstrip(b" ").rpartition(b" ")[2])
    except ValueError:
        return _is_printable(line)
    return True


def _is_printable(line: bytes) -> bool:
    try:
        return line.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False
