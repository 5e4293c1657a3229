"""Exact lists of the k outputs nearest to each word: what a mechanism that releases neighbours is made of.

Every word is an input and has a list; only some words may be in one. Lists depend on the vocabulary, the outputs and
the metric alone, all of which are public. They are part of a mechanism's proof, so nothing in them is approximate.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import MALFORMED, Float32Array, Float64Array, IdArray
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.metrics.distances import AnyMetric, Metric, coordinate_rows
from wordveil.parameters import check_whole
from wordveil.promises.certificates import identity
from wordveil.vocabulary.checksums import candidates_checksum
from wordveil.vocabulary.table import Embeddings

if TYPE_CHECKING:
    from wordveil.kernels.nearest_outputs import OutputSearch

COSINE = "cosine"
LONGEST = 64
BLOCK = 1 << 13  # words whose lists are made at a time
SAMPLE = 256  # words whose lists are made again to check them


@dataclass(frozen=True, kw_only=True)
class ListsKey:
    """What lists of k depend on: SHA-256 of vocabulary and outputs, and the metric's name with all its parameters."""

    vocabulary: str
    outputs: str
    metric: str
    k: int

    @classmethod
    def of(
        cls, embeddings: Embeddings, k: int, outputs: IdArray, metric: AnyMetric | None, *, rule: str = COSINE
    ) -> ListsKey:
        """Return what the lists of these arguments depend on; `rule` names what takes the place of a metric.

        `ParameterError` if k is outside its domain; `CertificateError` if the metric is a user's and no name can hold
        all of it.
        """
        _check_k(k, min(LONGEST, len(outputs)))
        named = rule if metric is None else identity(metric)
        return cls(vocabulary=embeddings.checksum_in_use, outputs=candidates_checksum(outputs), metric=named, k=k)

    @property
    def checksum(self) -> str:
        parts = ("wordveil-lists-1", self.vocabulary, self.outputs, self.metric, str(self.k))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Keyed(ABC):
    """An array over the words of a vocabulary that is known by what it depends on; equal where key and entries are.

    `kind` is what it is called; outputs are the ids that may be output, int32, ascending.
    """

    key: ListsKey
    outputs: IdArray
    kind: ClassVar[str]

    @property
    @abstractmethod
    def entries(self) -> IdArray:
        """The array, int32, one row or number a word."""

    @property
    def k(self) -> int:
        """Length of a list, or the least number of outputs of a block."""
        return self.key.k

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def checksum(self) -> str:
        digest = hashlib.sha256(self.key.checksum.encode())
        digest.update(np.ascontiguousarray(self.entries, dtype="<i4").data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourLists(Keyed):
    """For each word the k outputs nearest to it: itself first where it may be output, ties by id."""

    kind: ClassVar[str] = "lists"
    key: ListsKey  # what the lists depend on
    outputs: IdArray = field(repr=False)  # ids that may be in a list, int32, ascending
    ids: IdArray = field(repr=False)  # the lists, shape (v, k), int32, read-only
    path: Path | None = field(default=None, repr=False)  # the file that they are mapped from: workers map it too

    def __post_init__(self) -> None:
        if self.ids.ndim != 2 or self.ids.shape[1] != self.key.k or self.ids.dtype != np.int32:
            problem = f"{self.ids.dtype} {self.ids.shape}"
            raise ParameterError("ids", problem, f"must be int32 of shape (v, {self.key.k}).")
        for array in (self.outputs, self.ids):
            array.flags.writeable = False

    @classmethod
    def mapped(cls, path: Path, key: ListsKey, outputs: IdArray) -> NeighbourLists:
        """Map lists, unchecked, from a .npy file of shape (v, k or more); an `EmbeddingFormatError` if it is none."""
        try:
            ids = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))[:, : key.k]
            return cls(key=key, outputs=outputs, ids=ids, path=path)
        except (OSError, IndexError, ParameterError, *MALFORMED) as error:
            remedy = "Remove it and build the lists again."
            raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=remedy) from None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None:
            return NeighbourLists.mapped, (self.path, self.key, self.outputs)
        return partial(NeighbourLists, key=self.key, outputs=self.outputs, ids=self.ids), ()

    @property
    def entries(self) -> IdArray:
        return self.ids

    def first(self, k: int) -> NeighbourLists:
        """Return the lists for a smaller k, the first k columns; `ParameterError` if k is not in [1, k of these]."""
        _check_k(k, self.k)
        return replace(self, key=replace(self.key, k=k), ids=self.ids[:, :k])

    def verify(self) -> None:
        """Check what a proof rests on, k different outputs in a list, its own word first; `ChecksumError` if not."""
        is_output = np.zeros(len(self), dtype=np.bool_)
        is_output[self.outputs] = True
        for low in range(0, len(self), BLOCK):
            part = self.ids[low : low + BLOCK]
            words = np.arange(low, low + len(part))
            inside = part.min() >= 0 and part.max() < len(self) and bool(is_output[part].all())
            ordered = np.sort(part, axis=1)
            first = part[:, 0] == words
            if not inside or (ordered[:, 1:] == ordered[:, :-1]).any() or (is_output[words] & ~first).any():
                last = low + len(part) - 1
                raise ChecksumError(f"A list of words {low} to {last} is damaged. Build the lists again.")

    def check_sample(self, embeddings: Embeddings, metric: AnyMetric | None) -> None:
        """Build the lists of a fixed public sample again; a `ChecksumError` if one differs."""
        words = np.unique(np.linspace(0, len(self) - 1, SAMPLE).astype(np.int32))
        again = _lists_of(_search(embeddings, self.outputs, metric), words, self.k, self.outputs, None)
        if not np.array_equal(again, self.ids[words]):
            problem = "not the nearest outputs. Remove it and build the lists again."
            raise ChecksumError(f"{self.path or 'Lists'}: {problem}")


def build_lists(
    embeddings: Embeddings, k: int, *, outputs: ArrayLike | None = None, metric: AnyMetric | None = None
) -> NeighbourLists:
    """Compute the lists in memory, of the k outputs nearest by a metric; None for cosine.

    The order is that of the float64 distance, lowest id first on ties; of a metric that is made of coordinates, that of
    the squared differences of its coordinates. Cosine is the Euclidean distance of the rows at length 1; a row of zeros
    is orthogonal to every other row, and equal to other rows of zeros. `ParameterError` if k, in [1, 64] and at most
    the number of outputs, or an output is outside its domain.
    """
    chosen = checked_outputs(embeddings, outputs)
    key = ListsKey.of(embeddings, k, chosen, metric)
    return NeighbourLists(key=key, outputs=chosen, ids=np.concatenate([*list_blocks(embeddings, k, chosen, metric)]))


def list_blocks(
    embeddings: Embeddings,
    k: int,
    outputs: IdArray,
    metric: AnyMetric | None,
    *,
    start: int = 0,
    threads: int | None = None,
) -> Iterator[IdArray]:
    """Yield the lists of the words from `start` on, in order, some thousands at a time."""
    search = _search(embeddings, outputs, metric)
    for low in range(start, len(embeddings), BLOCK):
        words = np.arange(low, min(low + BLOCK, len(embeddings)), dtype=np.int32)
        yield _lists_of(search, words, k, outputs, threads)


def _lists_of(search: OutputSearch, words: IdArray, k: int, outputs: IdArray, threads: int | None) -> IdArray:
    from wordveil.kernels.nearest_outputs import own_first  # lists are made once, and read ever after

    inputs, which = np.unique(search.canonical[words], return_inverse=True)
    found = outputs[search.nearest(inputs.astype(np.int32), k, threads=threads)][which.ravel()]
    return np.where(np.isin(words, outputs)[:, None], own_first(words, found), found)


def checked_outputs(embeddings: Embeddings, outputs: ArrayLike | None) -> IdArray:
    """Return the outputs, ascending; refuse ids that may not be output, and none at all."""
    if outputs is None:
        return embeddings.candidates
    given = np.asarray(outputs)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not given.size:
        raise ParameterError("outputs", f"{given.dtype} {given.shape}", "must be a list of ids, at least one.")
    barred, chosen = np.ones(len(embeddings), np.bool_), np.zeros(len(embeddings), np.bool_)
    barred[embeddings.candidates] = False
    if given.min() < 0 or given.max() >= len(embeddings) or barred[given].any():
        raise ParameterError("outputs", f"{given.size} ids", "must be ids of words that may be output.")
    chosen[given] = True
    return np.flatnonzero(chosen).astype(np.int32)


def _check_k(k: int, most: int) -> None:
    check_whole("k", k)
    if k > most:
        raise ParameterError("k", k, f"must be in [1, {most}].")


def _search(embeddings: Embeddings, outputs: IdArray, metric: AnyMetric | None) -> OutputSearch:
    from wordveil.kernels.distance_sources import TableSource
    from wordveil.kernels.nearest_outputs import BlockSearch, CoordinateSearch

    if metric is None:
        return CoordinateSearch(_unit_rows(embeddings.vectors), outputs, embeddings.canonical)
    if isinstance(metric, Metric):
        return CoordinateSearch(coordinate_rows(metric, embeddings.vectors), outputs, embeddings.canonical)
    return BlockSearch(TableSource(metric.bind(embeddings.vectors, embeddings.checksum_in_use)), outputs)


def _unit_rows(vectors: Float32Array) -> Callable[[IdArray], Float64Array]:
    """Return a function that gives words' rows at length 1; rows of zeros become 1 in a column of their own."""
    zero = np.asarray(~vectors.any(axis=1))

    def rows(ids: IdArray) -> Float64Array:
        given = vectors[ids].astype(np.float64)
        given /= np.where(zero[ids], 1.0, np.linalg.norm(given, axis=1))[:, None]
        return np.column_stack((given, zero[ids])) if zero.any() else given

    return rows
