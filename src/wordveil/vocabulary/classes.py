"""Word classes: a public partition of the words into K cells of like words, each shown by one word of it, its face.

A mechanism that releases faces releases all words of a cell by one law, so that nothing tells them apart. Cells are
those of spherical k-means over the public vectors, in which a word weighs the square root of its public count. A cell's
face is the word most like its centre, common words preferred a little, since they read better.

All arithmetic but the choice of the face is on whole numbers that floats hold exactly, so that every machine finds the
same cells.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from wordveil.arrays import Float32Array, Float64Array, IdArray, Int64Array
from wordveil.errors import ChecksumError, ParameterError
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.neighbour_lists import Keyed, ListsKey
from wordveil.vocabulary.table import Embeddings

CLASSES = "classes-1 by cosine"
MOST = 4096
ROW, CENTRE = 200.0, 1000.0  # lengths of whole-number rows: their products stay below 2**24, which float32 holds
TOKENS = 2**30  # weights are roots of counts in so many tokens
COMMON = 0.05  # what the logarithm of a count is worth beside a cosine, when a face is chosen
READ = 5e6  # tokens that such a count is of
ROUNDS = 100
BLOCK = 1 << 12  # words looked at together


@dataclass(frozen=True, kw_only=True, eq=False)
class WordClasses(Keyed):
    """A partition of the words of a vocabulary into cells, each with a face."""

    kind: ClassVar[str] = "classes"
    key: ListsKey  # what the partition depends on; its k is the number of cells asked for
    # the faces, ids, int32, ascending: one for each cell that holds a word that may be output
    outputs: IdArray = field(repr=False)
    face: IdArray = field(repr=False)  # the face of each word, shape (v,), int32, read-only

    def __post_init__(self) -> None:
        for array in (self.outputs, self.face):
            array.flags.writeable = False

    @property
    def entries(self) -> IdArray:
        return self.face

    def of(self, word: int) -> IdArray:
        """Return the words of a word's cell, ascending."""
        return np.flatnonzero(self.face == self.face[word]).astype(np.int32)

    def verify(self) -> None:
        """Check what a proof rests on: every word has a face, and every face is its own; `ChecksumError` if not."""
        whole = self.face.min() >= 0 and self.face.max() < len(self.face)
        if not whole or not np.array_equal(self.face[self.outputs], self.outputs):
            raise ChecksumError("The classes of words are damaged. Build them again.")


def build_classes(embeddings: Embeddings, k: int, *, roots: int = 1) -> WordClasses:
    """Compute the classes; seconds for 32 000 words.

    There are k cells, from 2 to 4 096 and at most as many as words that may be output. Words whose count is not known
    weigh least. A cell without a word that may be output joins the nearest that has one. The square root of a count is
    taken `roots` times: once for classes that are stored; from 30 times on all words weigh 1.
    """
    key = classes_key(embeddings, k)
    if roots != 1:
        key = replace(key, metric=f"{CLASSES}, root {roots}")
    shares = word_frequencies(embeddings)
    counts = shares * TOKENS
    for _ in range(roots):
        counts = np.sqrt(counts)
    weights = np.maximum(1, counts.astype(np.int64))
    rows = _whole(embeddings.vectors.astype(np.float64), ROW).astype(np.float32)
    centres = _first_centres(rows, weights, k)
    cell = np.full(len(rows), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        near = nearest_centres(rows, centres)[0]
        if np.array_equal(near, cell):
            break
        cell = near
        centres = _centres(rows, weights, cell, centres)
    face = _faces(embeddings, rows, shares, centres, cell)
    return WordClasses(key=key, outputs=np.unique(face), face=face)


def classes_key(embeddings: Embeddings, k: int) -> ListsKey:
    """Return what the classes depend on."""
    most = min(MOST, len(embeddings.candidates))
    if not 2 <= k <= most:
        raise ParameterError("outputs", f"classes:{k}", f"must ask for 2 to {most} classes of this vocabulary.")
    return replace(ListsKey.of(embeddings, 1, embeddings.candidates, None, rule=CLASSES), k=k)


def _whole(rows: Float64Array, length: float) -> Float64Array:
    """Return rows at a length, rounded to whole numbers; zeros stay zeros."""
    norms = np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
    return np.asarray(np.rint(rows * (length / np.where(norms > 0, norms, 1.0))))


def _first_centres(rows: Float32Array, weights: Int64Array, k: int) -> Float32Array:
    """Return rows chosen one after the other, each with a chance of its weight times its distance to those before.

    The draws are public: digests of numbers. The distance is of cosines, in whole numbers, so that the choice is exact.
    """
    centres = np.zeros((k, rows.shape[1]), dtype=np.float32)
    best = np.full(len(rows), -ROW * CENTRE, dtype=np.float32)
    for i in range(k):
        drawn = int.from_bytes(hashlib.blake2b(f"word classes {i}".encode(), digest_size=8).digest(), "little")
        far = np.maximum(0, ROW * CENTRE - best).astype(np.int64) >> 4  # sums stay below 2**63
        chances = np.cumsum(far * weights)
        chosen = int(np.searchsorted(chances, (drawn * int(chances[-1])) >> 64, side="right"))
        centres[i] = _whole(rows[[min(chosen, len(rows) - 1)]].astype(np.float64), CENTRE)[0]
        np.maximum(best, rows @ centres[i], out=best)
    return centres


def nearest_centres(rows: Float32Array, centres: Float32Array) -> tuple[Int64Array, Float32Array]:
    """Return the place of the centre of largest product with each row, and that product."""
    near, products = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.float32)
    for low in range(0, len(rows), BLOCK):
        found = rows[low : low + BLOCK] @ centres.T
        near[low : low + BLOCK] = found.argmax(axis=1)
        products[low : low + BLOCK] = found.max(axis=1)
    return near, products


def _centres(rows: Float32Array, weights: Int64Array, cell: Int64Array, before: Float32Array) -> Float32Array:
    sums = np.zeros(before.shape, dtype=np.int64)
    np.add.at(sums, cell, rows.astype(np.int64) * weights[:, None])
    # Integers up to their square: the same length on every machine, whatever order it adds in.
    norms = np.sqrt((sums * sums).sum(axis=1).astype(np.float64))[:, None]
    centres = np.rint(sums * (CENTRE / np.where(norms > 0, norms, 1.0))).astype(np.float32)
    empty = np.flatnonzero(np.bincount(cell, minlength=len(before)) == 0)
    if len(empty):
        worst = np.argsort(np.einsum("nd,nd->n", rows, centres[cell]), kind="stable")[: len(empty)]
        centres[empty] = _whole(rows[worst].astype(np.float64), CENTRE)
    return centres


def _faces(
    embeddings: Embeddings, rows: Float32Array, shares: Float64Array, centres: Float32Array, cell: Int64Array
) -> IdArray:
    allowed = np.zeros(len(rows), dtype=np.bool_)
    allowed[embeddings.candidates] = True
    shown = np.unique(cell[allowed])  # cells that hold a word that may be output
    homeless = ~np.isin(cell, shown)
    if homeless.any():
        cell = cell.copy()
        cell[homeless] = shown[nearest_centres(rows[homeless], centres[shown])[0]]
    cosines = np.einsum("nd,nd->n", rows, centres[cell]).astype(np.float64) / (ROW * CENTRE)
    scores = np.where(allowed, cosines + COMMON * np.log1p(shares * READ), -math.inf)
    order = np.lexsort((-scores, cell))  # stable: of equal ones the first
    cells, first = np.unique(cell[order], return_index=True)
    faces = np.zeros(len(centres), dtype=np.int32)
    faces[cells] = order[first]
    return faces[cell]
