"""The posterior of every word of a release, and the likeliest sentence, by forward-backward and Viterbi's algorithm.

    P(x | y) proportional to P_prior(x) prod_i P(y_i | x_i)

Each place has a few candidates, and two passes read them: pairs of neighbours among all candidates, then triples among
the likeliest of these. Within its candidates each pass is exact. Whoever attacks and whoever wants a readable text ask
for the same numbers. Sums are taken along axes, never as matrix products: a row's bits must not depend on its batch.
The evidence of a released word is a few words that may stand behind it, and how likely each releases it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, IdArray, Int64Array
from wordveil.denoising.prior import Prior
from wordveil.mechanisms.base import WordRandomizer

COUNT = 64  # candidates for each released word


@dataclass(frozen=True, eq=False)
class ChannelEvidence:
    """The channel of a release, exactly as its mechanism states it.

    A word that the owner declared public stands for itself; where the mechanism too may release it, for words that it
    is released for as well, but for no other public word.
    """

    randomizer: WordRandomizer = field(repr=False)  # the mechanism
    prior: Prior = field(repr=False)  # public frequencies, for the choice of candidates
    public: IdArray = field(repr=False)  # ids of public words, which passed as they are

    @cached_property
    def _table(self) -> tuple[IdArray, Float32Array]:
        """Candidates and P(output | candidate): once for all, as a law without a table passes over all words."""
        outputs = self.randomizer.outputs
        weights = self.prior.frequency[: len(self.randomizer.embeddings)].astype(np.float64)
        found = self.randomizer.likely_inputs(outputs, weights, COUNT)
        assert found is not None  # the denoiser takes no mechanism without a law
        states = np.concatenate((outputs[:, None], found[0]), axis=1)
        likelihoods = np.zeros(states.shape)
        likelihoods[:, 1:] = np.where(np.isin(found[0], self.public), 0.0, found[1])
        likelihoods[:, 0] = np.isin(outputs, self.public)
        return states, (likelihoods / likelihoods.max(axis=1, keepdims=True)).astype(np.float32)

    def __call__(self, seen: IdArray) -> tuple[IdArray, Float32Array]:
        """Return candidates and P(seen | candidate) up to a factor for each, both of shape (n, c)."""
        outputs, (states, likelihoods) = self.randomizer.outputs, self._table
        places = np.minimum(np.searchsorted(outputs, seen), len(outputs) - 1)
        states, likelihoods = states[places], likelihoods[places]
        itself = outputs[places] != seen  # stops, pauses and what is no word that the mechanism draws
        states[itself], likelihoods[itself] = seen[itself, None], np.eye(1, states.shape[1], dtype=np.float32)
        return states, likelihoods


KEPT = 16  # candidates that triples are read of
CELLS = 1 << 20  # pairs of candidates held at a time: arrays of a few megabytes

Candidates = Callable[[IdArray], tuple[IdArray, Float32Array]]
"""Of some places: states that may stand there and P(what is seen | state), each of shape (n, c); 0 fills up."""


@dataclass(frozen=True)
class Posterior:
    """What stands in each of m places."""

    states: IdArray = field(repr=False)  # candidates, shape (m, c), the likeliest first
    chances: Float32Array = field(repr=False)  # P(state | all that is seen), shape (m, c); each row sums to 1
    likelihoods: Float32Array = field(repr=False)  # P(what is seen there | state) as it was given, shape (m, c)
    sequence: IdArray = field(repr=False)  # the states of the likeliest sequence, shape (m,)


def posteriors(
    segments: Sequence[IdArray],
    candidates: Candidates,
    prior: Prior,
    *,
    fidelity: float | None = None,
    width: int = KEPT,
) -> Posterior:
    """Return the posterior of all places of some segments, end to end; none depends on another segment.

    A segment is what is seen from stop to stop: anything that `candidates` understands, of shape (m,), m > 2. Fidelity
    is None for the likeliest sequence; else one that maximizes the sum of fidelity * ln P(x_i | all that is seen) + ln
    P_prior: the larger, the fewer words are wrong, and the less well it reads. Triples are read of `width` candidates.
    """
    lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    seen = np.concatenate(segments) if segments else np.empty(0, np.int32)
    states, likelihoods = candidates(seen)
    chances, kept = np.empty((2, *states.shape), np.float32)
    found = Posterior(np.empty_like(states), chances, kept, np.empty(total, np.int32))
    for rows in _batches(lengths, states.shape[1]):
        places = starts[rows, None] + np.arange(lengths[rows[0]])
        part = _read(states[places], likelihoods[places], prior, fidelity, width)
        for name in ("states", "chances", "likelihoods", "sequence"):
            getattr(found, name)[places] = getattr(part, name)
    return found


def _batches(lengths: Int64Array, c: int) -> Iterator[Int64Array]:
    """Yield segments of one length together: what would fill shorter ones up would show in their last bits."""
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        size = max(1, CELLS // (length * c * c))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def _read(states: IdArray, likelihoods: Float32Array, prior: Prior, fidelity: float | None, width: int) -> Posterior:
    """Read segments of one length, shape (s, m, c); what fills a place up has likelihood 0."""
    after, _ = prior.pairs(states[:, :-1, :, None], states[:, 1:, None, :])
    first = _by_pairs(after, likelihoods)
    ranked = np.argsort(-first, axis=2, kind="stable")
    states, first = np.take_along_axis(states, ranked, 2), np.take_along_axis(first, ranked, 2)
    likelihoods = np.take_along_axis(likelihoods, ranked, 2)
    few, likely = states[:, :, :width], likelihoods[:, :, :width]
    after, pairs = prior.pairs(few[:, :-1, :, None], few[:, 1:, None, :])
    thrice = prior.triples(pairs[:, :-1, :, :, None], few[:, 2:, None, None, :], after[:, 1:, None, :, :])
    second = _by_triples(after[:, 0], thrice, likely)
    chances = first.copy()
    chances[:, :, :width] = second * first[:, :, :width].sum(axis=2, keepdims=True)
    emitted = likely if fidelity is None else (second / second.max(axis=2, keepdims=True)) ** np.float32(fidelity)
    chosen = _likeliest(after[:, 0], thrice, emitted)
    sequence = np.take_along_axis(few, chosen[:, :, None], 2)[:, :, 0]
    ranked = np.argsort(-chances, axis=2, kind="stable")
    chances, likelihoods = np.take_along_axis(chances, ranked, 2), np.take_along_axis(likelihoods, ranked, 2)
    return Posterior(np.take_along_axis(states, ranked, 2), chances, likelihoods, sequence)


def _by_pairs(after: Float32Array, likelihoods: Float32Array) -> Float32Array:
    """Return P(state | all that is seen) of a chain of states, shape (s, m, c), given P(what is seen | state).

    `after` is P(right | left) of neighbouring places, shape (s, m - 1, c, c).
    """
    found = np.empty_like(likelihoods)
    found[:, 0] = likelihoods[:, 0]
    for i in range(1, found.shape[1]):  # given what is seen up to here
        found[:, i] = _scaled((found[:, i - 1, :, None] * after[:, i - 1]).sum(axis=1) * likelihoods[:, i])
    later = np.ones_like(found[:, 0])
    for i in range(found.shape[1] - 2, -1, -1):  # times what is seen later
        later = _scaled((after[:, i] * (likelihoods[:, i + 1] * later)[:, None]).sum(axis=2))
        found[:, i] = found[:, i] * later
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def _by_triples(start: Float32Array, thrice: Float32Array, likelihoods: Float32Array) -> Float32Array:
    """Return the same of a chain of neighbouring pairs of states, shape (s, m, k).

    `start` is P(second | first) of the first two places, shape (s, k, k); `thrice` is P(third | first two) of
    neighbouring places, shape (s, m - 2, k, k, k).
    """
    forward = [_scaled(likelihoods[:, 0, :, None] * start * likelihoods[:, 1, None, :])]
    for i in range(thrice.shape[1]):
        reached = (forward[-1][:, :, :, None] * thrice[:, i]).sum(axis=1)
        forward.append(_scaled(reached * likelihoods[:, i + 2, None, :]))
    found = np.empty_like(likelihoods)
    later = np.ones_like(start)
    for i in range(len(forward) - 1, -1, -1):
        both = forward[i] * later
        found[:, i + 1] = both.sum(axis=1)
        if i == 0:
            found[:, 0] = both.sum(axis=2)
        else:
            ahead = likelihoods[:, i + 1, None, :] * later
            later = _scaled((thrice[:, i - 1] * ahead[:, None]).sum(axis=3))
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def _likeliest(start: Float32Array, thrice: Float32Array, emitted: Float32Array) -> NDArray[np.intp]:
    """Return which candidates make the likeliest sequence, shape (s, m); arguments as for `_by_triples`."""
    s, m, k = emitted.shape
    reached = _scaled(emitted[:, 0, :, None] * start * emitted[:, 1, None, :])
    before = np.empty((m - 2, s, k, k), np.intp)
    for i in range(m - 2):
        ways = reached[:, :, :, None] * thrice[:, i]
        before[i] = ways.argmax(axis=1)
        reached = _scaled(ways.max(axis=1) * emitted[:, i + 2, None, :])
    chosen = np.empty((s, m), np.intp)
    every = np.arange(s)
    chosen[:, -2], chosen[:, -1] = np.divmod(reached.reshape(s, -1).argmax(axis=1), k)
    for i in range(m - 3, -1, -1):
        chosen[:, i] = before[i, every, chosen[:, i + 1], chosen[:, i + 2]]
    return chosen


def _scaled(chances: Float32Array) -> Float32Array:
    """Return each segment's chances over their largest: they shrink with every place."""
    largest = chances.reshape(len(chances), -1).max(axis=1)
    return np.asarray(chances / largest.reshape(-1, *[1] * (chances.ndim - 1)))
