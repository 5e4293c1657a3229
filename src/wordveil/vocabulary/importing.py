"""Imports an embedding file into wordveil's own form, in memory bounded by the words.

Rows are checked, digested and written block by block; the matrix is then mapped, compared with the digest, and
the derived parts are built from it. The destination appears in one step at the end, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from wordveil.errors import ChecksumError, ParameterError
from wordveil.parameters import check_choice
from wordveil.vocabulary.candidates import build_table, detect_casing, is_plain_word
from wordveil.vocabulary.checksums import candidates_checksum, combine_digests, matrix_digest, words_digest
from wordveil.vocabulary.header import CANDIDATE_RULES, CASINGS, VocabularyHeader
from wordveil.vocabulary.readers.base import Block, Progress, distinct_words, read_blocks, table_name
from wordveil.vocabulary.readers.registry import format_of
from wordveil.vocabulary.storage import VocabularyWriter
from wordveil.vocabulary.table import Embeddings, open_embeddings
from wordveil.vocabulary.wordlist import WordList

ONLY_WORDS = "only-words"


def import_embeddings(
    source: str | PathLike[str],
    destination: str | PathLike[str],
    *,
    format: str | None = None,
    name: str | None = None,
    casing: str | None = None,
    candidate_rule: str = "words",
    limit: int | None = None,
    progress: Progress | None = None,
) -> Embeddings:
    """Convert an embedding file to a vocabulary directory and return it mapped.

    Args:
        source: File or folder in any format of `readers.FORMATS`; an archive member is named like a file in it.
        destination: Directory to create; must not exist, or be empty.
        format: Format name, None to find out from name and content.
        name: Short name for the header, None for the file name.
        casing: "lower" or "cased", None to find out from the words.
        candidate_rule: Which entries may be output: "words" or "all"; or "only-words", to leave all others out. They
            are unknown words then, and a certified rate gains by it (see `Embeddings.only_candidates`).
        limit: Largest number of rows to take from the start, None for all.
        progress: Called with the rows kept so far and the share of the file read.

    Raises:
        EmbeddingFormatError: If the source is malformed; the destination is not created then.
        ParameterError: If a parameter is outside its domain or the destination is taken.
        ChecksumError: If the bytes on disk differ from the bytes read from the source.
    """
    # Told before a long read, not after it.
    rules = (*CANDIDATE_RULES, ONLY_WORDS)
    check_choice("candidate_rule", candidate_rule, rules)
    if casing not in (None, *CASINGS):
        raise ParameterError("casing", casing, f"must be one of {', '.join(CASINGS)}, or None to find out.")
    path = Path(source)
    form = format_of(path, format)
    blocks = read_blocks(path, form, limit)
    only = candidate_rule == ONLY_WORDS
    if only:
        blocks = map(_plain_words, blocks)
    with VocabularyWriter(Path(destination)) as writer:
        words, positions = _write_rows(writer, blocks, progress)
        if only and not len(words):
            raise ParameterError("candidate_rule", candidate_rule, 'leaves no entry at all; use "all" for this table.')
        index = distinct_words(path, form, words, positions)
        vectors, digest = writer.finish_matrix()
        if matrix_digest(vectors) != digest:
            raise ChecksumError(f"{destination}: the matrix on disk differs from the one read. Check the disk.")
        header = VocabularyHeader(
            name=name if name is not None else table_name(path),
            source=f"{path.name} ({form.name})" + (", words that may be output" if only else ""),
            rows=len(words),
            dimensions=vectors.shape[1],
            checksum=combine_digests(len(words), vectors.shape[1], words_digest(words), digest),
            casing=casing if casing is not None else detect_casing(words),
            candidate_rule="words" if only else candidate_rule,
        )
        table = build_table(header, words, vectors, index)
        header = replace(header, candidates_checksum=candidates_checksum(table.candidates))
        writer.finish_rest(replace(table, header=header))
        writer.commit()
    return open_embeddings(Path(destination))


def _plain_words(block: Block) -> Block:
    kept = np.array([_is_plain(word) for word in block.words], dtype=np.bool_)
    words = [word for word, keep in zip(block.words, kept, strict=True) if keep]
    return replace(block, words=words, vectors=block.vectors[kept], positions=block.positions[kept])


def _is_plain(word: bytes) -> bool:
    try:
        return is_plain_word(word.decode("utf-8"))
    except UnicodeDecodeError:
        return True  # kept, so that the check of all words names its place


def _write_rows(
    writer: VocabularyWriter, blocks: Iterator[Block], progress: Progress | None
) -> tuple[WordList, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    words: list[bytes] = []
    positions = []
    for block in blocks:
        writer.append(block.vectors)
        words.extend(block.words)
        positions.append(block.positions)
        if progress is not None:
            progress(len(words), block.share)
    return WordList.from_encoded(words), np.concatenate(positions)
