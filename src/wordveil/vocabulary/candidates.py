"""Which entries a mechanism may output, which share a vector, and what else a vocabulary keeps beside its rows.

The candidate rule is public and part of every guarantee, so it depends on the words alone. Equal vectors are made
visible because a mechanism cannot tell such words apart and a decoder must break the tie by id. Everything here is
computed from public words and vectors alone; nothing is read from or written to disk.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from operator import ne

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import Float32Array, IdArray
from wordveil.errors import ParameterError
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.storage import StoredTable
from wordveil.vocabulary.wordlist import WordIndex, WordList, build_index

# Apostrophes: straight, curly. Hyphens: hyphen-minus, U+2010 hyphen, U+2011 non-breaking hyphen.
_JOINER = re.compile("['\u2019\\-\u2010\u2011]")
# Enough to tell nearly all different rows apart; the exact comparison decides about the rest.
_COMPARED = 16


def is_plain_word(word: str) -> bool:
    """Return whether an entry consists of letters with single inner apostrophes or hyphens.

    Letters are the Unicode categories L*; combining marks (M*) may follow a letter, since many scripts need
    them. Digits, underscores, brackets, addresses and punctuation are refused, and so are entries that start or
    end with a joiner.
    """
    return word.isalpha() or all(map(_is_letters, _JOINER.split(word)))


def candidate_ids(words: WordList, rule: str) -> IdArray:
    """Return the ids that may be output, ascending: by "words" entries that pass `is_plain_word`, by "all" every one.

    A rule that is unknown, or that no entry passes, is a `ParameterError`.
    """
    if rule == "all":
        return np.arange(len(words), dtype=np.int32)
    if rule != "words":
        raise ParameterError("candidate_rule", rule, "must be one of words, all.")
    listed = list(words)
    allowed = np.fromiter(map(str.isalpha, listed), dtype=np.bool_, count=len(listed))
    for position in np.flatnonzero(~allowed).tolist():
        word = listed[position]
        # Most of the rest are numbers: what does not begin with a letter is refused at once.
        allowed[position] = word[:1].isalpha() and is_plain_word(word)
    ids = np.flatnonzero(allowed).astype(np.int32)
    if not ids.size:
        raise ParameterError("candidate_rule", rule, 'leaves no entry that may be output; use "all" for this table.')
    return ids


def canonical_ids(vectors: Float32Array) -> IdArray:
    """Return for each row of finite float32 vectors the lowest id with an equal row, shape (v,).

    Rows are equal if all their components are; -0.0 equals 0.0, because their distance is zero.
    """
    canonical = np.arange(len(vectors), dtype=np.int32)
    # Adding +0.0 turns -0.0 into 0.0, so that equal rows have equal bytes.
    beginnings = np.ascontiguousarray(vectors[:, :_COMPARED] + np.float32(0.0))
    keys = beginnings.view(f"V{beginnings.shape[1] * 4}")[:, 0]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    # Only rows whose beginning repeats can have a twin; they are few, and exact comparison decides among them.
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[which] > 1).tolist():
        canonical[row] = seen.setdefault((vectors[row] + np.float32(0.0)).tobytes(), row)
    return canonical


def _is_letters(part: str) -> bool:
    """Return whether a part between joiners is a letter followed by letters and combining marks."""
    return part[:1].isalpha() and all(c.isalpha() or unicodedata.category(c).startswith("M") for c in part)


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
