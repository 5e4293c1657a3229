"""The vocabulary that comes inside the package: int8 codes with one scale per dimension.

    default/header.json   VocabularyHeader; its checksum covers the words and the float32 matrix below
    default/words.txt     UTF-8, newline-joined
    default/vectors.npy   (v, d) int8
    default/scales.npy    (d,) float32
    default/counts.npy    how often the words occur; see `frequencies`
    default/neighbours-*  lists of every word's nearest; see `stored_lists`
    default/never_output.txt   slurs and obscene words, which may be input and not output

The matrix used everywhere is codes * scales in float32. Nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordveil.arrays import Float32Array
from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.storage import load_array
from wordveil.vocabulary.wordlist import WordList

PACKAGED_FOLDER = Path(__file__).parent / "default"
NEVER_OUTPUT = "never_output.txt"
REMEDY = "Reinstall wordveil."


def read_packaged(folder: Path = PACKAGED_FOLDER) -> tuple[VocabularyHeader, WordList, Float32Array]:
    """Return header, words and float32 matrix of the packaged vocabulary, or of another folder of the same layout."""
    header = packaged_header(folder)
    words = WordList.from_lines(_read(folder / "words.txt"))
    codes = load_array(folder / "vectors.npy", np.int8, (header.rows, header.dimensions), remedy=REMEDY)
    scales = load_array(folder / "scales.npy", np.float32, (header.dimensions,), remedy=REMEDY)
    if len(words) != header.rows:
        problem = f"has {len(words)} words, the header says {header.rows}."
        raise EmbeddingFormatError(folder / "words.txt", problem, remedy=REMEDY)
    return header, words, np.multiply(codes, scales, dtype=np.float32)


def packaged_header(folder: Path = PACKAGED_FOLDER) -> VocabularyHeader:
    """Return the header of the packaged vocabulary, or of another folder of the same layout."""
    path = folder / "header.json"
    return VocabularyHeader.from_json(_read(path).decode(), path=path)


def never_output(folder: Path = PACKAGED_FOLDER) -> list[str]:
    """Return the public list of slurs and obscene words that the packaged vocabulary does not put into a release."""
    lines = _read(folder / NEVER_OUTPUT).decode().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=REMEDY) from None
