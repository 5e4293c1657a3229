"""Crowds: a public partition of the words into blocks of near words, for releases that may be repeated.

A mechanism that releases the same law for all words of a block hides, however often it is asked, which of them was
there. Blocks hold k or k + 1 outputs (the guarantee allows up to 2k - 1); words that are no outputs join the nearest
block. The partition maximizes the cosines between words of a block, common words counting more, since text holds
more of them: greedy blocks around common words, then exchanges of two words between blocks while any gains.

All arithmetic is on whole numbers that float32 holds exactly, so that every machine finds the same blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray, Progress
from wordveil.errors import ChecksumError
from wordveil.vocabulary.frequencies import word_frequencies
from wordveil.vocabulary.neighbour_lists import Keyed, ListsKey, checked_outputs, lists_key
from wordveil.vocabulary.table import Embeddings

CROWDS = "crowds-1 by cosine"
SCALE = 100.0  # length of a row of whole numbers: with weights up to 15 and blocks of 65, sums stay below 2**24
NEAR = 64  # neighbours a block is first chosen from
CANDIDATES = 16  # nearest words whose blocks an exchange is tried with
TRIED = 4  # of them, those that the word suits best
PASSES = 200
ROWS = 128  # words looked at together: their rows stay in the cache

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Crowds(Keyed):
    """A partition of the words of a vocabulary."""

    kind: ClassVar[str] = "crowds"
    key: ListsKey  # what the partition depends on
    outputs: IdArray = field(repr=False)  # ids that may be output, int32, ascending
    block: IdArray = field(repr=False)  # block of each word, shape (v,), int32, read-only, by its first output's order

    def __post_init__(self) -> None:
        for array in (self.outputs, self.block):
            array.flags.writeable = False

    @property
    def entries(self) -> IdArray:
        return self.block

    @cached_property
    def sizes(self) -> Ids:
        return np.bincount(self.block[self.outputs], minlength=int(self.block.max()) + 1)

    @cached_property
    def starts(self) -> Ids:
        """Where the outputs of each block begin in `members`, shape (blocks + 1,)."""
        return np.concatenate(([0], np.cumsum(self.sizes)))

    @cached_property
    def members(self) -> IdArray:
        """The outputs, block after block, ascending in each, shape (number of outputs,)."""
        return self.outputs[np.argsort(self.block[self.outputs], kind="stable")]

    def of(self, word: int) -> IdArray:
        block = self.block[word]
        return self.members[self.starts[block] : self.starts[block + 1]]

    def verify(self) -> None:
        """Check what a proof rests on, k to 2k - 1 outputs in every block; `ChecksumError` if one has others."""
        if self.block.min() < 0 or not (self.k <= self.sizes.min() and self.sizes.max() < 2 * self.k):
            raise ChecksumError("A block of the crowds has the wrong size. Build the crowds again.")


def build_crowds(
    embeddings: Embeddings, k: int, *, outputs: ArrayLike | None = None, progress: Progress | None = None
) -> Crowds:
    """Compute a partition into blocks of k or k + 1 outputs; some seconds for 32 000 words, minutes for 400 000.

    Only where there are fewer blocks than words left over from blocks of k are some larger, up to 2k - 1. Progress is
    the number of exchanges after each round of them. `ParameterError` if k, in [1, 64] and at most the number of
    outputs, or an output is outside its domain.
    """
    chosen = checked_outputs(embeddings, outputs)
    key = lists_key(embeddings, k, chosen, None, rule=CROWDS)
    rows = _whole_rows(embeddings.vectors, chosen)
    weights = _weights(embeddings, chosen)
    near = _nearest(rows, NEAR)
    block = _greedy(rows, weights, near, k)
    _Exchange(rows, weights, near, block).run(progress)
    whole = np.empty(len(embeddings), dtype=np.int64)
    whole[chosen] = block
    others = np.setdiff1d(np.arange(len(embeddings)), chosen)
    whole[others] = _joined(rows, block, _whole_rows(embeddings.vectors, others))
    crowds = Crowds(key=key, outputs=chosen, block=_renumbered(whole, chosen))
    crowds.verify()
    return crowds


def _whole_rows(vectors: Float32Array, ids: NDArray[np.integer]) -> Float32Array:
    """Return rows at length 100, rounded to whole numbers; zeros stay zeros."""
    rows = vectors[ids].astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    whole: Float32Array = np.rint(rows * (SCALE / np.where(norms > 0, norms, 1.0))).astype(np.float32)
    return whole


def _weights(embeddings: Embeddings, outputs: IdArray) -> Float32Array:
    """Return how much each output counts: the fourth root of its occurrences in a million tokens, 1 to 15."""
    shares = word_frequencies(embeddings)[outputs]
    roots = [math.isqrt(math.isqrt(int(share * 2**20))) for share in shares.tolist()]
    return np.asarray(np.clip(roots, 1, 15), dtype=np.float32)


def _nearest(rows: Float32Array, count: int) -> Ids:
    from wordveil.kernels.nearest import NearestWords  # crowds are made once, and read ever after

    search = NearestWords(rows, np.arange(len(rows), dtype=np.int32))
    return search.top(rows, min(count, len(rows)))[0].astype(np.int64)


def _greedy(rows: Float32Array, weights: Float32Array, near: Ids, k: int) -> Ids:
    """Return blocks of k: the weightiest word with the k - 1 nearest that are free, and so on; the rest join."""
    block = np.full(len(rows), -1, dtype=np.int64)
    left, made = np.arange(len(rows)), 0
    while len(left) >= k:
        near = near if made == 0 else left[_nearest(rows[left], NEAR)]
        for place in np.argsort(-weights[left], kind="stable").tolist():
            word, free = left[place], near[place]
            free = free[(block[free] < 0) & (free != word)][: k - 1]
            if block[word] < 0 and len(free) == k - 1:
                block[free] = block[word] = made
                made += 1
        left = np.flatnonzero(block < 0)
    sums = _sums(rows, block, made)
    scores = rows[left].astype(np.float64) @ sums.T
    sizes = np.full(made, k)
    for word, score in zip(left.tolist(), scores, strict=True):
        score[sizes > sizes.min()] = -np.inf
        block[word] = int(score.argmax())
        sizes[block[word]] += 1
    return block


def _sums(rows: Float32Array, block: Ids, count: int) -> Float64Array:
    """Return the sum of the rows of each block, shape (blocks, d); -1 is no block."""
    order = np.argsort(block, kind="stable")[np.count_nonzero(block < 0) :]
    starts = np.searchsorted(block[order], np.arange(count))
    return np.asarray(np.add.reduceat(rows[order].astype(np.float64), starts, axis=0))


def _joined(rows: Float32Array, block: Ids, others: Float32Array) -> Ids:
    """Return the block whose outputs are on average most similar to each other word."""
    count = int(block.max()) + 1
    means = _sums(rows, block, count) / np.bincount(block, minlength=count)[:, None]
    found = np.empty(len(others), dtype=np.int64)
    for low in range(0, len(others), ROWS):
        found[low : low + ROWS] = (others[low : low + ROWS].astype(np.float64) @ means.T).argmax(axis=1)
    return found


def _renumbered(block: Ids, outputs: IdArray) -> IdArray:
    """Return the same blocks, numbered in the order of their first outputs."""
    _, first = np.unique(block[outputs], return_index=True)
    number = np.empty(len(first), dtype=np.int32)
    number[np.argsort(first)] = np.arange(len(first))
    return number[block]


class _Exchange:
    """Exchanges of two words between blocks, while any raises the sum of w_x cos(x, y) over all pairs of a block.

    With S and T the sums of a block's rows, plain and weighted, a word z suits block B by U(z, B) = T.z + w_z S.z. For
    x in A and y in B the gain is U(x, B) + U(y, A) - U°(x) - U°(y) - 2 (w_x + w_y) x.y, where U° is what a word has
    where it is, its own part left out.
    """

    def __init__(self, rows: Float32Array, weights: Float32Array, near: Ids, block: Ids) -> None:
        self._rows, self._weights, self._block = rows, weights, block
        self._near = near[:, : CANDIDATES + 1]
        count = int(block.max()) + 1
        sizes = np.bincount(block, minlength=count)
        self._members = np.full((count, int(sizes.max())), -1, dtype=np.int64)
        order = np.argsort(block, kind="stable")
        slot = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._members[block[order], slot] = order
        self._sums = np.empty((count, 2, rows.shape[1]), dtype=np.float32)  # S and T
        self._changed = np.ones(count, dtype=np.bool_)

    def run(self, progress: Progress | None) -> None:
        """Exchange until nothing gains; `block` given to the constructor holds the result."""
        for _ in range(PASSES):
            blocks = np.flatnonzero(self._changed)
            for low in range(0, len(blocks), ROWS):
                members = self._members[blocks[low : low + ROWS]]
                rows = self._rows[members] * (members >= 0)[:, :, None]
                weighted = (rows * self._weights[members][:, :, None]).sum(axis=1)
                self._sums[blocks[low : low + ROWS]] = np.stack((rows.sum(axis=1), weighted), axis=1)
            done = self._pass()
            if progress is not None:
                progress(done)
            if not done:
                return

    def _pass(self) -> int:
        """Make the best exchange of each word, best first, at most one a block; return their number."""
        block = self._block
        held = np.einsum("nsd,nd->ns", self._sums[block], self._rows).astype(np.float64)
        held = held[:, 1] + self._weights * (held[:, 0] - 2 * np.einsum("nd,nd->n", self._rows, self._rows))
        tried = np.flatnonzero(self._changed[block] | self._changed[block[self._near]].any(axis=1))
        best, partner = np.full(len(block), -np.inf), np.full(len(block), -1)
        for low in range(0, len(tried), ROWS):
            some = tried[low : low + ROWS]
            best[some], partner[some] = self._best(some, held)
        self._changed[:] = False
        order = tried[np.argsort(-best[tried], kind="stable")]
        count = 0
        for x in order[: np.count_nonzero(best[tried] > 0)].tolist():
            y = partner[x]
            a, b = block[x], block[y]
            if not (self._changed[a] or self._changed[b]):
                self._changed[[a, b]] = True
                self._members[a][self._members[a] == x] = y
                self._members[b][self._members[b] == y] = x
                block[x], block[y] = b, a
                count += 1
        return count

    def _best(self, words: Ids, held: Float64Array) -> tuple[Float64Array, Ids]:
        """Return the largest gain of each word, and the word to exchange it with."""
        n, own, rows = len(words), self._block[words], self._rows[words]
        weights = self._weights[words].astype(np.float64)[:, None]
        blocks = self._block[self._near[words]]
        products = (self._sums[blocks].reshape(n, -1, rows.shape[1]) @ rows[:, :, None]).reshape(n, -1, 2)
        suits = products[:, :, 1] + weights * products[:, :, 0]
        suits[blocks == own[:, None]] = -np.inf
        chosen = np.argsort(-suits, axis=1, kind="stable")[:, :TRIED]
        members = self._members[np.take_along_axis(blocks, chosen, axis=1)].reshape(n, -1)
        suits = np.repeat(np.take_along_axis(suits, chosen, axis=1), self._members.shape[1], axis=1)
        # Products of every member with S and T of the word's own block, and with the word.
        others = np.concatenate((self._sums[own], rows[:, None, :]), axis=1).transpose(0, 2, 1)
        plain, weighted, product = np.moveaxis((self._rows[members] @ others).astype(np.float64), 2, 0)
        theirs = self._weights[members].astype(np.float64)
        gain = (
            suits + weighted + theirs * plain - held[words][:, None] - held[members] - 2 * (weights + theirs) * product
        )
        gain[members < 0] = -np.inf
        place = gain.argmax(axis=1)[:, None]
        best, partner = np.take_along_axis(gain, place, axis=1), np.take_along_axis(members, place, axis=1)
        return best[:, 0], partner[:, 0]
