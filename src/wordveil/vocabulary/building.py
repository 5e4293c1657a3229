"""Checks raw words and rows, and derives what a vocabulary keeps beside them.

Everything here is computed from public words and vectors alone; nothing is read from or written to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import ne

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import Float32Array
from wordveil.errors import ParameterError
from wordveil.vocabulary.candidates import candidate_ids, canonical_ids
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.storage import StoredTable
from wordveil.vocabulary.word_index import WordIndex, build_index
from wordveil.vocabulary.wordlist import WordList

# Even lower-cased tables hold a few cased entries (markup, brands); more than this share means case matters.
_CASED_SHARE = 0.001


def build_table(
    header: VocabularyHeader, words: WordList, vectors: Float32Array, index: WordIndex | None = None
) -> StoredTable:
    """Derive index, candidates and canonical ids from distinct words and finite rows."""
    return StoredTable(
        header=header,
        words=words,
        vectors=vectors,
        index=index if index is not None else build_index(words),
        candidates=candidate_ids(words, header.candidate_rule),
        canonical=canonical_ids(vectors),
    )


def detect_casing(words: Iterable[str]) -> str:
    """Return "cased" if more than one entry in a thousand changes when lower-cased, else "lower"."""
    listed = list(words)
    changed = sum(map(ne, listed, map(str.lower, listed)))
    return "cased" if changed > _CASED_SHARE * len(listed) else "lower"


def checked_rows(vectors: ArrayLike) -> Float32Array:
    """Copy rows to float32 and check their shape and that they are finite."""
    given = np.asarray(vectors)
    if given.ndim != 2 or 0 in given.shape or given.dtype.kind not in "fiu":
        raise ParameterError("vectors", f"{given.dtype} {given.shape}", "must be numbers of shape (v, d), v, d >= 1.")
    # Values beyond the float32 range turn into infinities, which the next check reports.
    with np.errstate(over="ignore"):
        rows = np.array(given, dtype=np.float32, order="C")
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ParameterError("vectors", f"row {row}", "holds NaN or a value outside float32; remove or mend the row.")
    return rows


def packed_words(words: Sequence[str]) -> WordList:
    """Encode words as UTF-8; refuse what is no string, is empty, or holds a lone surrogate."""
    encoded: list[bytes] = []
    for position, word in enumerate(words):
        try:
            encoded.append(word.encode("utf-8"))
        except (AttributeError, UnicodeEncodeError):
            raise ParameterError("words", f"row {position}", "must be a string of valid Unicode.") from None
        if not word:
            raise ParameterError("words", f"row {position}", "must not be empty; remove the row.")
    return WordList.from_encoded(encoded)
