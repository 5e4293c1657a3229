"""The vocabulary as mechanisms see it: words, a float32 matrix, ids, and which ids may be output.

`Embeddings` is immutable and looks the same whether its arrays are mapped from a vocabulary directory or held
in memory. Opening a directory reads neither words nor vectors and builds no dict. This module does not parse
foreign formats (`readers`), does not tokenize, and computes no distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import Float32Array, IdArray
from wordveil.errors import ChecksumError, ParameterError
from wordveil.kernels.compiled.text import PackedWords
from wordveil.randomness import RandomSource
from wordveil.text.characters import letters_by_script
from wordveil.vocabulary.candidates import build_table, checked_rows, detect_casing, packed_words
from wordveil.vocabulary.checksums import candidates_checksum, table_checksum, verify_table
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import never_output, read_packaged
from wordveil.vocabulary.storage import StoredTable, VocabularyWriter, is_vocabulary, open_table, replace_header
from wordveil.vocabulary.wordlist import WordIndex, WordList, build_index, encode_queries, first_duplicate

SAMPLE = 1000  # words of a public sample
SCRIPT_WORDS = 300  # words that are looked at for their scripts
COMMON = 0.01  # of their letters


@final
class Embeddings:
    """A public vocabulary: v words and a (v, d) float32 matrix.

    Build one with `load_embeddings`, `import_embeddings` or `Embeddings.from_arrays`.
    """

    def __init__(
        self, table: StoredTable, *, directory: Path | None = None, narrowed: bool = False, checked: bool = False
    ) -> None:
        for array in (table.vectors, table.candidates, table.canonical, table.index.hashes, table.index.ids):
            array.flags.writeable = False
        self._table = table
        self._directory = directory
        self._narrowed = narrowed
        self._checked = checked or directory is None  # what is in memory was derived here

    @classmethod
    def from_arrays(
        cls,
        words: Sequence[str],
        vectors: ArrayLike,
        *,
        name: str = "unnamed",
        source: str = "arrays in memory",
        licence: str = "",
        casing: str | None = None,
        candidate_rule: str = "words",
    ) -> Embeddings:
        """Build a vocabulary in memory from words and rows.

        Args:
            words: v distinct words.
            vectors: Shape (v, d), finite; copied to float32.
            name: Short name shown to users.
            source: Where the vectors come from.
            licence: Licence of the vectors, "" if not known.
            casing: "lower" or "cased"; None finds out from the words.
            candidate_rule: Which entries may be output: "words" or "all".

        Raises:
            ParameterError: If shapes do not agree, a value is not finite in float32, a word repeats or is not
                Unicode text, nothing is given, or no entry may be output.

        Example:
            >>> table = Embeddings.from_arrays(["good", "bad"], [[1.0, 0.0], [0.0, 1.0]])
            >>> table.ids(["bad", "ugly"]).tolist()
            [1, -1]
        """
        rows = checked_rows(vectors)
        if len(words) != len(rows):
            raise ParameterError("words", f"{len(words)} words", f"must be as many as vectors has rows, {len(rows)}.")
        packed = packed_words(words)
        index = build_index(packed)
        duplicate = first_duplicate(packed, index)
        if duplicate is not None:
            raise ParameterError("words", packed[duplicate[1]], f"is given twice, at rows {duplicate}; keep one.")
        facts = {"name": name, "source": source, "licence": licence, "candidate_rule": candidate_rule}
        return _in_memory(packed, rows, index, casing=casing, **facts)

    @property
    def header(self) -> VocabularyHeader:
        """The recorded facts; names, casing, checksum."""
        return self._table.header

    @property
    def words(self) -> WordList:
        """The v words, decoded when asked for."""
        return self._table.words

    @property
    def packed_words(self) -> PackedWords:
        """The words and their index as compiled kernels take them."""
        return self._table.index.packed(self.words)

    @property
    def vectors(self) -> Float32Array:
        """The matrix, shape (v, d), float32, C-contiguous, read-only."""
        return self._table.vectors

    @property
    def candidates(self) -> IdArray:
        """Ids that a mechanism may output, int32, ascending, never empty."""
        return self._table.candidates

    @property
    def canonical(self) -> IdArray:
        """For each id the lowest id with an equal row, shape (v,), int32."""
        return self._table.canonical

    @property
    def candidates_checksum(self) -> str:
        """SHA-256 of the candidate ids; with `checksum_in_use` it identifies what may be output."""
        return candidates_checksum(self.candidates)

    @property
    def dimensions(self) -> int:
        """Number of columns d."""
        return int(self.vectors.shape[1])

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The scripts of its outputs, such as LATIN or CJK: those of 1 % of the letters in a fixed choice of words."""
        ids = self.candidates[:: max(1, len(self.candidates) // SCRIPT_WORDS)].tolist()
        letters = letters_by_script(self.words[i] for i in ids)
        return frozenset(script for script, times in letters.items() if times >= COMMON * letters.total())

    @property
    def directory(self) -> Path | None:
        """The mapped directory, or None for a vocabulary in memory."""
        return self._directory

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.id(word) is not None

    def __repr__(self) -> str:
        return f"<Embeddings {self.header.name!r}: {len(self)} words x {self.dimensions} dimensions>"

    def identity(self) -> str:
        """Return a public name that no other vocabulary, and none of other outputs, has."""
        header = replace(self.header, checksum=self.checksum_in_use)
        return f"Embeddings({header!r}, outputs {self.candidates_checksum})"

    @cached_property
    def checksum_in_use(self) -> str:
        """The checksum of words and matrix as they are: the header's, but where nobody has checked that."""
        return self.header.checksum if self.is_checked else table_checksum(self.words, self.vectors)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapped vocabulary travels to worker processes as its path, so that they share its pages.
        if self._directory is not None:
            candidates = self.candidates if self._narrowed else None
            return _opened_elsewhere, (self._directory, self.header, candidates, self._checked)
        return Embeddings, (self._table,)

    def ids(self, words: Sequence[str]) -> IdArray:
        """Return the id of each word exactly as given, shape (n,), int32; -1 where it is no entry."""
        if not len(words):
            return np.empty(0, dtype=np.int32)
        return self._table.index.find(self.words, encode_queries(words))

    def id(self, word: str) -> int | None:
        """Return the id of one word, or None if it is no entry."""
        found = int(self.ids([word])[0])
        return None if found < 0 else found

    def without_outputs(self, words: Iterable[str]) -> Embeddings:
        """Return the same vocabulary with words barred from output, compared without case; unknown ones change nothing.

        `ParameterError` if no candidate is left.
        """
        listed = {word.lower() for word in words}
        if self.header.casing == "cased":
            listed = {entry for entry in self.words if entry.lower() in listed}
        barred = self.ids(sorted(listed))
        allowed = np.ones(len(self) + 1, np.bool_)
        allowed[barred] = False  # the last place stands for words that are not listed
        candidates = self.candidates[allowed[self.candidates]]
        if not candidates.size:
            raise ParameterError("words", f"{barred.size} words", "bar every entry from output; leave at least one.")
        header = replace(self.header, candidates_checksum=candidates_checksum(candidates))
        return self._with(replace(self._table, header=header, candidates=candidates), narrowed=True)

    def only_candidates(self) -> Embeddings:
        """Return, in memory, the vocabulary of the words that may be output and of no others.

        What could only be input (numbers, punctuation, words barred by `without_outputs`) becomes an unknown word: it
        is replaced by a uniform public word first, like any other. Inputs and outputs are then the same words, which
        is what a certified rate needs: an entry far from every output costs it most of its gain.

        Default epsilons are not taken over: they belong to the vocabulary they were found on.
        """
        words, ids, header = self.words, self.candidates, self.header
        source = f"{header.source}, words that may be output"
        other = self.of_rows([words[i] for i in ids.tolist()], self.vectors[ids], source=source)
        return other.with_header(normalisation=header.normalisation, tokenizer=header.tokenizer)

    def first(self, count: int | None) -> Embeddings:
        """Return the first `count` words that may be output as a vocabulary of their own: inputs and outputs the same.

        Entries that may be input but not output (numbers, markup) would cost a certified rate most of its gain, and no
        public text of an evaluation is any the poorer without them. `ParameterError` if count is less than 2.
        """
        if count is not None and count < 2:
            raise ParameterError("words", count, "must be at least 2; None (--words 0) takes all.")
        ids = self.candidates[:count]
        if len(ids) == len(self):
            return self
        words, name = [self.words[i] for i in ids.tolist()], f"{self.header.name} (first {len(ids)} words)"
        return self.of_rows(words, self.vectors[ids], name=name)

    def of_rows(self, words: Sequence[str], vectors: ArrayLike, **facts: str) -> Embeddings:
        """Return, in memory, words that may all be output with other rows, under the facts given or else its own."""
        own = {name: getattr(self.header, name) for name in ("name", "source", "licence", "casing")}
        return Embeddings.from_arrays(words, vectors, candidate_rule="all", **{**own, **facts})

    def with_header(self, **changes: Any) -> Embeddings:
        """Return the same vocabulary with another name, source, licence, normalisation, casing, tokenizer or order.

        `ParameterError` if a fact is unknown, or fixed by words, matrix and candidates.
        """
        return self._with(replace(self._table, header=_changed_header(self.header, changes)), narrowed=self._narrowed)

    def record(self, **changes: Any) -> Embeddings:
        """Change facts, as `with_header` does, in the mapped directory itself; return the vocabulary that carries them.

        `ParameterError` as there, or if this vocabulary is not what a directory holds.
        """
        if self._directory is None or self._narrowed:
            raise ParameterError("directory", None, "must be a saved vocabulary; save this one first.")
        header = _changed_header(self.header, changes)
        replace_header(self._directory, header)
        return self._with(replace(self._table, header=header), narrowed=False)

    def _with(self, table: StoredTable, *, narrowed: bool) -> Embeddings:
        other = Embeddings(table, directory=self._directory, narrowed=narrowed, checked=self._checked)
        if "checksum_in_use" in vars(self):  # reading it all once is enough
            vars(other)["checksum_in_use"] = self.checksum_in_use
        return other

    def save(self, directory: str | PathLike[str]) -> Embeddings:
        """Write the vocabulary as a directory, all or nothing, and return it mapped from there.

        The directory is new or empty: a `ParameterError` if it is taken.
        """
        destination = Path(directory)
        header = replace(self.header, candidates_checksum=self.candidates_checksum)
        with VocabularyWriter(destination) as writer:
            writer.append(self.vectors)
            writer.finish_matrix()
            writer.finish_rest(replace(self._table, header=header))
            writer.commit()
        return open_embeddings(destination)

    def verify(self) -> None:
        """Recompute the checksum of words and matrix, and all parts derived from them.

        Of lists beside it that are used from then on, a fixed sample is built again; of classes the form is checked.
        `ChecksumError` if anything differs from what was recorded.
        """
        verify_table(self._table, self._directory)
        self._checked = True

    @property
    def is_checked(self) -> bool:
        """Whether what a directory says of itself was held against its words and matrix since it was opened."""
        return self._checked


def load_embeddings(path: str | PathLike[str] | None = None, *, every_output: bool = False) -> Embeddings:
    """Return a vocabulary: the packaged one, a mapped directory, or a file read into memory.

    Args:
        path: None for the vocabulary that comes with wordveil; a directory written by `Embeddings.save` or
            `import_embeddings`; or a file in any format `readers` knows, found out from name and content.
        every_output: Of the packaged vocabulary, let also the slurs and obscene words of its public list
            (`never_output.txt`) be output; by default they may be input only. The shipped certificates are then void.

    Raises:
        EmbeddingFormatError: If the file is malformed or of no known format.
        FileNotFoundError: If there is nothing at the path.
    """
    if path is None:
        header, words, vectors = read_packaged()
        header = replace(header, candidates_checksum="") if every_output else header
        whole = Embeddings(build_table(header, words, vectors))
        return whole if every_output else whole.without_outputs(never_output())
    location = Path(path)
    if is_vocabulary(location):
        return open_embeddings(location)
    from wordveil.vocabulary.readers.registry import read_table  # most programs only open a vocabulary

    read = read_table(location)
    return _in_memory(read.words, read.vectors, read.index, name=read.name, source=location.name)


def public_sample(embeddings: Embeddings, size: int = SAMPLE) -> IdArray:
    """Return `size` candidate ids drawn uniformly without replacement by a fixed public rule (all, where fewer).

    What private texts hold has no part in the choice.
    """
    candidates = embeddings.candidates
    if len(candidates) <= size:
        return candidates
    uniforms = RandomSource.public("public sample").lane(0).random(len(candidates))
    return np.sort(candidates[np.argsort(uniforms, kind="stable")[:size]])


def _in_memory(
    words: WordList, rows: Float32Array, index: WordIndex, *, casing: str | None = None, **facts: Any
) -> Embeddings:
    header = VocabularyHeader(
        rows=len(rows),
        dimensions=rows.shape[1],
        checksum=table_checksum(words, rows),
        casing=detect_casing(words) if casing is None else casing,
        **facts,
    )
    return Embeddings(build_table(header, words, rows, index))


def open_embeddings(directory: Path) -> Embeddings:
    """Map a vocabulary directory."""
    return Embeddings(open_table(directory), directory=directory.absolute())


_CHECKED_HERE: set[tuple[object, ...]] = set()
"""Directories, as they lay there, that were verified in this process for a process that had verified them."""


def _opened_elsewhere(
    directory: Path, header: VocabularyHeader, candidates: IdArray | None, checked: bool
) -> Embeddings:
    """Map the directory of a vocabulary that was pickled, with the facts and candidates it had there.

    A `ChecksumError` if another vocabulary lies there, or files are damaged that the sender had checked.
    """
    here = open_embeddings(directory)
    fixed = attrgetter("checksum", "rows", "dimensions")
    if fixed(here.header) != fixed(header):
        raise ChecksumError(
            f"{directory} holds another vocabulary here, checksum {here.header.checksum[:12]}, than where it was sent "
            f"from, checksum {header.checksum[:12]}. Put the same one under this path on every machine."
        )
    if checked:
        files = sorted((each.name, each.stat()) for each in directory.iterdir())
        mark = (directory, *((name, told.st_ino, told.st_size, told.st_mtime_ns) for name, told in files))
        if mark not in _CHECKED_HERE:
            here.verify()
            _CHECKED_HERE.add(mark)
    table = replace(here._table, header=header)
    table = table if candidates is None else replace(table, candidates=candidates)
    return Embeddings(table, directory=here.directory, narrowed=candidates is not None, checked=checked)


def _changed_header(header: VocabularyHeader, changes: Mapping[str, Any]) -> VocabularyHeader:
    allowed = {"name", "source", "licence", "normalisation", "casing", "tokenizer", "order"}
    for name in changes.keys() - allowed:
        raise ParameterError("changes", name, f"must be one of {', '.join(sorted(allowed))}.")
    return replace(header, **changes)
