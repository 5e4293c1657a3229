"""The worst pair with a word that may not be output, found exactly: there the normalizers alone only bound the loss.

Where x may be output, y = x loses most of all y: rate s(x, x') + ln Z(x') - ln Z(x). Where x may not, it is

    max over outputs y of rate (s(x', y) - s(x, y)) + ln Z(x') - ln Z(x),

which takes all distances of both words. So pairs are discarded by a bound first: s(x', y) - s(x, y) is at most
s(x, x'), and for every y farther from x than r at most the distance from x' to its farthest output, less r; the few
outputs nearer are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, Int64Array
from wordveil.certification.pair_spaces import DistinctVectors, WordPairs
from wordveil.kernels.pair_maximum import PairProblem
from wordveil.kernels.passes import Maximum, WorstPair
from wordveil.kernels.threads import filled, map_chunks

MOST_TRIPLES = 5e11
"""Barred words x words x outputs beyond which such pairs are bounded by normalizers alone: a minute's work a rate."""
GROUP = 64  # barred words at a time
CHUNK = 256  # partners at a time
NEAREST, OUTLIERS = 8, 64  # outputs looked at one by one: of each word, and of all
LEADS = 4  # likely pairs of a chunk, judged first
ROW_NUMBERS = 1 << 21  # distances of partners held at a time


PairSpace = DistinctVectors | WordPairs
"""All pairs of inputs of one vocabulary under one metric: a closed form, or any other."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How far words are from the outputs, but for a few outlying outputs that are looked at one by one."""

    outliers: Int64Array  # places of outputs far from everything
    farthest: Float64Array  # from every place to the farthest other output, as `block` has it; -inf without any

    @classmethod
    def of(cls, pairs: PairSpace, places: int, threads: int | None = None) -> Reach:
        """Look at all distances, shape (places, outputs); where no word is barred, which asks for none, at none."""
        outputs = pairs.outputs
        if len(outputs) == places:
            return cls(outliers=outputs[:0], farthest=np.full(places, np.inf))
        some = np.unique(np.linspace(0, places - 1, min(places, CHUNK)).astype(np.int64))
        order = np.argsort(-pairs.block(some, outputs).mean(axis=0), kind="stable")
        outliers, rest = outputs[np.sort(order[:OUTLIERS])], outputs[np.sort(order[OUTLIERS:])]
        if not len(rest):
            return cls(outliers=outliers, farthest=np.full(places, -np.inf))
        farthest = np.empty(places)
        filled(farthest, CHUNK, lambda s: pairs.block(np.arange(s.start, s.stop), rest).max(axis=1), threads)
        return cls(outliers=outliers, farthest=farthest)


class BarredMaximum(Maximum):
    """Search for the worst pair with a barred word, a group of them at a time.

    The values of the problem are of all places. It begins with the worst pair of words that may both be output.
    """

    def __init__(self, pairs: PairSpace, problem: PairProblem, best: WorstPair, reach: Reach) -> None:
        self._pairs, self._problem, self.best, self._reach = pairs, problem, best, reach
        self._places = np.arange(len(problem.values))
        self._barred = np.setdiff1d(self._places, pairs.outputs)
        self.blocks = -(-len(self._barred) // GROUP)

    def pairs(self, block: int) -> int:
        return len(self._barred[block * GROUP :][:GROUP]) * (len(self._places) + len(self._pairs.outputs))

    def steps(self, threads: int | None = None) -> Iterator[int]:
        self._threads = threads  # inside a group: each is held against the worst pair of those before it
        return super().steps(1)

    def visit(self, block: int) -> WorstPair:
        group = _Group(self._pairs, self._problem, self._reach, self._barred[block * GROUP :][:GROUP])
        chunks = [self._places[low : low + CHUNK] for low in range(0, len(self._places), CHUNK)]
        best = self.best
        for look in (group.leads, group.rest):
            # Every chunk is held against the pair known before, so that the answer depends on the inputs alone.
            for found in map_chunks(partial(look, known=best), chunks, self._threads):
                best = found if found.beats(best) else best
        return best


class _Group:
    """Some barred words and any partners; the first axis is 0 for the loss of a partner over one, 1 the reverse."""

    def __init__(self, pairs: PairSpace, problem: PairProblem, reach: Reach, words: Int64Array) -> None:
        self.words = words
        self._pairs, self._problem = pairs, problem
        self._far = np.minimum(reach.farthest, problem.cap)
        self._rows = np.minimum(pairs.block(words, pairs.outputs), problem.cap)
        k = min(NEAREST, len(pairs.outputs))
        near = np.argsort(self._rows, axis=1, kind="stable")[:, : k + 1]
        sorted_rows = np.take_along_axis(self._rows, near, axis=1)
        self._near, self._near_rows = pairs.outputs[near[:, :k]], sorted_rows[:, :k]
        self._outliers = reach.outliers
        self._outlier_rows = self._rows[:, np.searchsorted(pairs.outputs, reach.outliers)]
        # Outputs that are not looked at one by one are at least as far as the next.
        self._next = sorted_rows[:, k:].min(axis=1, initial=np.inf)[:, None]

    def leads(self, chunk: Int64Array, known: WorstPair) -> WorstPair:
        """Return the worst of a few likely pairs, judged by what is attained at the nearest outputs."""
        s, gap, reach = self._seen(chunk)
        values = np.stack([self._graded(self._loss(s, s, -gap), s), self._graded(self._loss(s, reach, gap), s)])
        order = np.argpartition(-values, min(LEADS, values.size - 1), axis=None)[:LEADS]
        chosen = np.zeros(values.shape, dtype=bool)
        chosen.flat[order] = True
        return self._worst(chunk, s, chosen, known, reach)

    def rest(self, chunk: Int64Array, known: WorstPair) -> WorstPair:
        """Return the worst pair with partners of a chunk, if it is worse than the one known."""
        s, gap, reach = self._seen(chunk)
        reach = np.minimum(np.maximum(reach, self._far[chunk] - self._next), s)
        error = self._pairs.block_error
        longer, shorter = s + error, np.maximum(s - error, 0.0)
        losses = (self._loss(longer, longer, -gap), self._loss(longer, reach + 2 * error, gap))
        values = np.stack([self._graded(loss, shorter) for loss in losses])
        values[:, (shorter == 0) & (self.words[:, None] != chunk)] = np.inf  # the error hides how far they are
        return self._worst(chunk, s, values >= known.value * (1 - 1e-12), known)

    def _seen(self, chunk: Int64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return s to partners, ln Z of partners less one's own, and s(x', y) - s(x, y) at the nearest outputs y."""
        cap, z = self._problem.cap, self._problem.values
        s = np.minimum(self._pairs.block(self.words, chunk), cap)
        theirs = np.minimum(self._pairs.block(chunk, self._near.ravel()), cap).reshape(len(chunk), *self._near.shape)
        reach = (theirs - self._near_rows).max(axis=2).T
        outlying = np.minimum(self._pairs.block(chunk, self._outliers), cap)
        for word, own in enumerate(self._outlier_rows):
            np.maximum(reach[word], (outlying - own).max(axis=1, initial=-np.inf), out=reach[word])
        return s, z[chunk] - z[self.words, None], reach

    def _loss(self, s: Float64Array, reach: Float64Array, gap: Float64Array) -> Float64Array:
        problem = self._problem
        return np.asarray(problem.rate * reach + np.minimum(gap - problem.tolerance, problem.rate * s))

    def _graded(self, loss: Float64Array, s: Float64Array) -> Float64Array:
        """Return what a problem maximizes; pairs at distance 0 are twins, or one word, and lose nothing."""
        if not self._problem.per_distance:
            return np.where(s > 0, loss, 0.0)
        return np.divide(loss, s, out=np.full_like(s, self._problem.rate), where=s > 0) - self._problem.rate

    def _worst(
        self,
        chunk: Int64Array,
        rough: Float64Array,
        chosen: BoolArray,
        known: WorstPair,
        reach: Float64Array | None = None,
    ) -> WorstPair:
        """Return the worst of chosen pairs and the one known, by the reach given or else over all outputs."""
        chosen[0] &= np.isin(chunk, self._pairs.outputs)  # a word that is no output cannot be drawn in its own place
        turned, row, place = np.nonzero(chosen)
        word, other = self.words[row], chunk[place]
        s = np.minimum(self._pairs.judged(word, other, rough[row, place]), self._problem.cap)
        reached = s.copy()
        back = np.flatnonzero(turned)
        found = self._exact_reach(row[back], other[back]) if reach is None else reach[row[back], place[back]]
        reached[back] = np.minimum(found, s[back])
        z = self._problem.values
        values = self._graded(self._loss(s, reached, np.where(turned, 1.0, -1.0) * (z[other] - z[word])), s)
        for k in np.flatnonzero(values >= known.value):
            pair = WorstPair(value=float(values[k]), first=int(word[k]), second=int(other[k]))
            known = pair if pair.beats(known) else known
        return known

    def _exact_reach(self, row: Int64Array, other: Int64Array) -> Float64Array:
        """Return the largest s(x', y) - s(x, y) over all outputs y, of pairs (x of the group, x'), rounded up."""
        reach = np.empty(len(row))
        partners = np.unique(other)
        size = max(1, ROW_NUMBERS // len(self._pairs.outputs))
        difference = np.empty(len(self._pairs.outputs))
        for low in range(0, len(partners), size):
            some = partners[low : low + size]
            theirs = np.minimum(self._pairs.block(some, self._pairs.outputs), self._problem.cap)
            for k in np.flatnonzero(np.isin(other, some)):
                np.subtract(theirs[np.searchsorted(some, other[k])], self._rows[row[k]], out=difference)
                reach[k] = difference.max()
        return reach + 2 * self._pairs.block_error
