"""Checksums that tie a header to the words, the matrix and the candidates.

The table checksum is SHA-256 over a version string, the shape, a digest of the words (offsets, then bytes, so
that the border between words counts) and a digest of the matrix as little-endian float32 rows. It identifies a
vocabulary in reports; it is no signature and does not say who made it.

Verification recomputes everything a guarantee rests on: the checksum of words and matrix, the candidates, the equal
rows, and the word index. It reads the whole matrix, so it runs on request and not when a vocabulary is opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordveil.arrays import Float32Array, IdArray
from wordveil.errors import ChecksumError
from wordveil.vocabulary.candidates import candidate_ids, canonical_ids
from wordveil.vocabulary.storage import StoredTable
from wordveil.vocabulary.wordlist import WordList, build_index


def table_checksum(words: Sequence[str], vectors: Float32Array) -> str:
    """Return the checksum recorded in a header, as 64 hexadecimal digits."""
    packed = words if isinstance(words, WordList) else WordList.from_encoded([w.encode("utf-8") for w in words])
    return combine_digests(len(packed), vectors.shape[1], words_digest(packed), matrix_digest(vectors))


def words_digest(words: WordList) -> bytes:
    """Return the SHA-256 digest of the offsets and bytes of all words."""
    digest = hashlib.sha256(np.ascontiguousarray(words.offsets, dtype="<i8").data)
    digest.update(np.ascontiguousarray(words.blob).data)
    return digest.digest()


def matrix_digest(vectors: Float32Array) -> bytes:
    """Return the SHA-256 digest of the rows as little-endian float32, shape (v, d)."""
    return hashlib.sha256(np.ascontiguousarray(vectors, dtype="<f4").data).digest()


def combine_digests(rows: int, dimensions: int, words: bytes, matrix: bytes) -> str:
    """Return the table checksum from the shape and the two digests."""
    shape = np.array([rows, dimensions], dtype="<i8").tobytes()
    return hashlib.sha256(b"wordveil-table-1\n" + shape + words + matrix).hexdigest()


def candidates_checksum(candidates: IdArray) -> str:
    """Return the SHA-256 of the candidate ids, as 64 hexadecimal digits."""
    return hashlib.sha256(np.ascontiguousarray(candidates, dtype="<i4").data).hexdigest()


def verify_table(table: StoredTable, directory: Path | None) -> None:
    """Raise `ChecksumError` if a part differs from the header; the directory, None for one in memory, is named."""
    place = f"vocabulary {table.header.name!r}" if directory is None else str(directory)
    if np.any(np.diff(table.words.offsets) < 1):
        _fail(place, "the offsets of the words are not ascending")
    actual = table_checksum(table.words, table.vectors)
    if actual != table.header.checksum:
        _fail(place, f"words and matrix have checksum {actual}, the header says {table.header.checksum}")
    recorded = table.header.candidates_checksum
    if recorded and candidates_checksum(table.candidates) != recorded:
        _fail(place, "the candidate ids differ from their recorded checksum")
    if not np.isin(table.candidates, candidate_ids(table.words, table.header.candidate_rule)).all():
        _fail(place, f"a candidate breaks the candidate rule {table.header.candidate_rule!r}")
    if not np.array_equal(table.canonical, canonical_ids(table.vectors)):
        _fail(place, "the list of equal rows differs from the matrix")
    index = build_index(table.words)
    if not (np.array_equal(index.hashes, table.index.hashes) and np.array_equal(index.ids, table.index.ids)):
        _fail(place, "the word index differs from the words")


def _fail(place: str, problem: str) -> None:
    raise ChecksumError(f"{place}: {problem}. Import the source again, or fetch an unchanged copy.")
