"""Checks a vocabulary against what its header recorded, part by part.

Everything a guarantee rests on is recomputed: the checksum of words and matrix, the candidates, the equal rows,
and the word index. It reads the whole matrix, so it runs on request and not when a vocabulary is opened.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordveil.errors import ChecksumError
from wordveil.vocabulary.candidates import candidate_ids, canonical_ids
from wordveil.vocabulary.checksums import candidates_checksum, table_checksum
from wordveil.vocabulary.storage import StoredTable
from wordveil.vocabulary.word_index import build_index


def verify_table(table: StoredTable, directory: Path | None) -> None:
    """Compare a table with its header.

    Args:
        table: The vocabulary.
        directory: Named in messages, None for a vocabulary in memory.

    Raises:
        ChecksumError: If any part differs.
    """
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
