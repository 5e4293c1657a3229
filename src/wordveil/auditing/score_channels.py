"""Exact check of score-based channels by their closed form, without the v x v x outputs loop.

For P(y | x) = b(y) e^(-rate s(x, y)) / Z(x) with s = min(dist, cap), a metric, the largest log-ratio of a pair is
rate * s(x, x') + ln Z(x') - ln Z(x), attained at the output y = x. So v^2/2 distances and v normalizers decide:
20 000 words in about a minute. Where x may not be output that is a bound; pairs it leaves in doubt are taken over all
outputs. The distances are the sampler's own metric in float64; nearly equal vectors are recomputed from direct
differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.auditing.exact import ChannelVerdict, DistanceFunction, checked_distances
from wordveil.errors import ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.threads import filled, map_chunks
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.worst_pairs import distances_error, word_distances
from wordveil.metrics.distances import is_known

BLOCK = 256
OUTPUTS = 1 << 12


def verify_scores(
    randomizer: WordRandomizer,
    epsilon: float | None = None,
    *,
    slack: float | None = None,
    local: bool = False,
    threads: int | None = None,
) -> ChannelVerdict:
    """Check every pair of a selection mechanism against its claim, or another epsilon and slack.

    Epsilon is the loss per unit of min(dist, cap), or in nats where the claim is local DP. `ParameterError` if no
    epsilon is given and the mechanism claims none, or a user's metric is not symmetric.
    """
    claim = randomizer.guarantee()
    epsilon = claim.epsilon if epsilon is None else epsilon
    if epsilon is None:
        raise ParameterError("epsilon", None, "must be given: this mechanism claims none.")
    slack = (claim.slack or 0.0) if slack is None else slack
    rows, v = randomizer.selection, len(randomizer.embeddings)
    assert rows is not None
    everyone, between = np.arange(v, dtype=np.int32), word_distances(randomizer.embeddings, rows.metric)
    logs = filled(np.empty(v), BLOCK, lambda s: _log_normalizers(rows, between, everyone[s]), threads)
    scan = _Scan(
        distances=between if is_known(rows.metric) else partial(checked_distances, between),
        logs=logs,
        outputs=rows.outputs if rows.base is None else rows.outputs[rows.base > 0],
        rate=rows.rate,
        cap=rows.cap,
        epsilon=epsilon,
        slack=slack,
        local=local,
    )
    worst = _Worst()
    shown = np.isin(everyone, scan.outputs)
    for words, visit in ((everyone[shown], scan.outputs_over_all), (everyone[~shown], scan.barred_over_all)):
        # Every block is held against what was known before, so that the answer does not depend on threads.
        blocks = [words[start : start + BLOCK] for start in range(0, len(words), BLOCK)]
        for found in map_chunks(partial(visit, known=worst), blocks, threads):
            worst = worst.or_worse(found)
    return ChannelVerdict(
        epsilon=epsilon,
        slack=slack,
        tight_epsilon=worst.ratio,
        tight_slack=worst.excess,
        worst_pair=worst.pair,
        worst_loss=worst.loss,
        worst_distance=worst.distance,
        # Of two distances and two normalizers.
        tolerance=64 * 2.0**-53 * (1 + float(np.abs(logs).max()))
        + 4 * rows.rate * distances_error(randomizer.embeddings, rows.metric),
        triples=v * (v - 1) * len(rows.outputs),
    )


def _log_normalizers(rows: ChannelRows, between: DistanceFunction, words: IdArray) -> Float64Array:
    """Return ln Z of some words, shape (n,), by the same float64 distances as everything else here."""
    sums = np.zeros(len(words))
    for low in range(0, len(rows.outputs), OUTPUTS):
        weights = np.minimum(between(words, rows.outputs[low : low + OUTPUTS]), rows.cap)
        np.exp(-rows.rate * weights, out=weights)
        sums += weights.sum(axis=1) if rows.base is None else weights @ rows.base[low : low + OUTPUTS]
    return np.asarray(np.log(sums))


@dataclass(frozen=True, kw_only=True)
class _Worst:
    """The pair that loses most per distance, beyond the slack, and the largest excess over the claim of any pair."""

    ratio: float = 0.0
    pair: tuple[int, int] = (0, 0)
    loss: float = 0.0
    distance: float = 0.0
    excess: float = 0.0

    def or_worse(self, other: _Worst) -> _Worst:
        worst = other if other.ratio > self.ratio else self
        return _Worst(**{**vars(worst), "excess": max(self.excess, other.excess)})


@dataclass(frozen=True, kw_only=True)
class _Scan:
    distances: DistanceFunction
    logs: Float64Array
    outputs: IdArray
    rate: float
    cap: float
    epsilon: float
    slack: float
    local: bool

    def outputs_over_all(self, words: IdArray, known: _Worst) -> _Worst:
        """Return the worst pair with a word that may be output: it loses most where it is drawn itself."""
        others = np.arange(len(self.logs), dtype=np.int32)
        score = self._scores(words, others)
        return known.or_worse(self._worst(words, others, score, score))

    def barred_over_all(self, words: IdArray, known: _Worst) -> _Worst:
        """Return the worst pair with a word that may not, over all outputs wherever the bound beats what is known."""
        others = np.arange(len(self.logs), dtype=np.int32)
        score, own = self._scores(words, others), self._scores(words, self.outputs)
        ratio, excess, _ = self._graded(words, others, score, score)
        order = np.argsort(-ratio.max(axis=0), kind="stable")
        for low in range(0, len(order), BLOCK):
            some = order[low : low + BLOCK]
            doubtful = (ratio[:, some] > known.ratio) | (excess[:, some] > known.excess)
            some, doubtful = some[doubtful.any(axis=0)], doubtful[:, doubtful.any(axis=0)]
            if not len(some):
                continue
            theirs, reach = self._scores(others[some], self.outputs), np.full(doubtful.shape, -np.inf)
            for i, j in np.argwhere(doubtful):
                reach[i, j] = min((theirs[j] - own[i]).max(), score[i, some[j]])
            known = known.or_worse(self._worst(words, others[some], score[:, some], reach))
        return known

    def _scores(self, first: IdArray, second: IdArray) -> Float64Array:
        return np.minimum(self.distances(first, second), self.cap)

    def _graded(
        self, words: IdArray, others: IdArray, score: Float64Array, reach: Float64Array
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return loss per distance, excess over the claim and loss, given the largest s(x', y) - s(x, y) of pairs."""
        gap = self.logs[others] - self.logs[words, None]
        # ln Z' - ln Z <= rate * s is a theorem; the clamp keeps rounding of nearly equal words from breaking it.
        loss = self.rate * reach + np.minimum(gap, self.rate * score)
        counted = np.ones_like(score) if self.local else score
        beyond = np.maximum(loss - self.slack, 0.0)
        ratio = np.divide(beyond, counted, out=np.zeros_like(loss), where=counted > 0)
        return ratio, loss - self.epsilon * counted, loss

    def _worst(self, words: IdArray, others: IdArray, score: Float64Array, reach: Float64Array) -> _Worst:
        ratio, excess, loss = self._graded(words, others, score, reach)
        i, j = (int(a) for a in np.unravel_index(int(ratio.argmax()), ratio.shape))
        return _Worst(
            ratio=float(ratio[i, j]),
            pair=(int(words[i]), int(others[j])),
            loss=float(loss[i, j]),
            distance=float(score[i, j]),
            excess=float(excess.max(initial=0.0)),
        )
