"""Checksums that tie a header to the words, the matrix and the candidates.

The table checksum is SHA-256 over a version string, the shape, a digest of the words (offsets, then bytes, so
that the border between words counts) and a digest of the matrix as little-endian float32 rows. It identifies a
vocabulary in reports; it is no signature and does not say who made it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from wordveil.arrays import Float32Array, IdArray
from wordveil.vocabulary.wordlist import WordList

_BLOCK_ROWS = 16384


def table_checksum(words: Sequence[str], vectors: Float32Array) -> str:
    """Return the checksum recorded in a header, as 64 hexadecimal digits.

    Args:
        words: The v words in row order.
        vectors: Shape (v, d), float32.
    """
    packed = words if isinstance(words, WordList) else WordList.from_encoded([w.encode("utf-8") for w in words])
    return combine_digests(len(packed), vectors.shape[1], words_digest(packed), matrix_digest(vectors))


def words_digest(words: WordList) -> bytes:
    """Return the SHA-256 digest of the offsets and bytes of all words."""
    digest = hashlib.sha256(np.ascontiguousarray(words.offsets, dtype="<i8").data)
    digest.update(np.ascontiguousarray(words.blob).data)
    return digest.digest()


def matrix_digest(vectors: Float32Array) -> bytes:
    """Return the SHA-256 digest of the rows as little-endian float32, shape (v, d)."""
    digest = hashlib.sha256()
    for first in range(0, len(vectors), _BLOCK_ROWS):
        digest.update(np.ascontiguousarray(vectors[first : first + _BLOCK_ROWS], dtype="<f4").data)
    return digest.digest()


def combine_digests(rows: int, dimensions: int, words: bytes, matrix: bytes) -> str:
    """Return the table checksum from the shape and the two digests."""
    shape = np.array([rows, dimensions], dtype="<i8").tobytes()
    return hashlib.sha256(b"wordveil-table-1\n" + shape + words + matrix).hexdigest()


def candidates_checksum(candidates: IdArray) -> str:
    """Return the SHA-256 of the candidate ids, as 64 hexadecimal digits."""
    return hashlib.sha256(np.ascontiguousarray(candidates, dtype="<i4").data).hexdigest()
