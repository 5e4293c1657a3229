"""Exact check of score-based channels by their closed form, without the v x v x outputs loop.

For P(y | x) = b(y) e^(-rate s(x, y)) / Z(x) with s = min(dist, cap), a metric, the largest log-ratio of a pair is
rate * s(x, x') + ln Z(x') - ln Z(x), attained at the output y = x; where x is not among the outputs it is an upper
bound. So v^2/2 distances and v normalizers decide: 20 000 words in about a minute. The distances are the sampler's
own metric in float64; nearly equal vectors are recomputed from direct differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Progress
from wordveil.auditing.exact import ChannelVerdict, DistanceFunction, checked_distances
from wordveil.errors import ParameterError
from wordveil.kernels.threads import map_chunks
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.worst_pairs import word_distances

__all__ = ["verify_scores"]

BLOCK = 256


def verify_scores(
    randomizer: WordRandomizer,
    epsilon: float | None = None,
    *,
    slack: float | None = None,
    local: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ChannelVerdict:
    """Check every pair of a selection mechanism against its claim.

    Args:
        randomizer: The fitted mechanism.
        epsilon: Claimed loss per unit of min(dist, cap), or in nats where `local`; None takes the mechanism's claim.
        slack: Claimed slack in nats; None takes the mechanism's claim.
        local: Whether the claim is local DP.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of input rows done since the last call.

    Returns:
        A verdict whose `exact` is True where every input is also an output; otherwise its numbers are upper bounds.

    Raises:
        ParameterError: If no epsilon is given and the mechanism claims none.
    """
    claim = randomizer.guarantee()
    epsilon = getattr(claim, "epsilon", None) if epsilon is None else epsilon
    if epsilon is None:
        raise ParameterError("epsilon", None, "must be given: this mechanism claims none.")
    slack = (getattr(claim, "slack", 0.0) or 0.0) if slack is None else slack
    rows, v = randomizer.selection, len(randomizer.embeddings)
    assert rows is not None
    everyone, between = np.arange(v, dtype=np.int32), word_distances(randomizer.embeddings, rows.metric)
    logs = rows.log_normalizers(everyone, threads=threads)
    scan = _Scan(
        between=between,
        everyone=everyone,
        logs=logs,
        rate=rows.rate,
        cap=rows.cap,
        epsilon=epsilon,
        slack=slack,
        local=local,
    )
    spans = [(start, min(start + BLOCK, v)) for start in range(0, v, BLOCK)]
    results = []
    for (start, stop), result in zip(spans, map_chunks(scan.block, spans, threads), strict=True):
        results.append(result)
        if progress is not None:
            progress(stop - start)
    worst = max(results, key=lambda r: r[0])
    tolerance = 64 * 2.0**-53 * (1 + float(np.abs(logs).max()))
    return ChannelVerdict(
        epsilon=epsilon,
        delta=0.0,
        slack=slack,
        tight_epsilon=worst[0],
        tight_slack=max(r[4] for r in results),
        tight_delta=None,
        worst_pair=worst[1],
        worst_output=None,
        worst_loss=worst[2],
        worst_distance=worst[3],
        tolerance=tolerance,
        triples=v * (v - 1) * len(rows.outputs),
        exact=len(rows.outputs) == v,
    )


@dataclass(frozen=True, kw_only=True)
class _Scan:
    """The largest loss per distance over blocks of pairs."""

    between: DistanceFunction
    everyone: IdArray
    logs: Float64Array
    rate: float
    cap: float
    epsilon: float
    slack: float
    local: bool

    def block(self, span: tuple[int, int]) -> tuple[float, tuple[int, int], float, float, float]:
        """Return (epsilon, worst pair, its loss, its distance, largest excess) of a span's rows and later ones."""
        start, stop = span
        found = checked_distances(self.between, self.everyone[start:stop], self.everyone[start:])
        score = np.minimum(found, self.cap)
        gap = self.logs[None, start:] - self.logs[start:stop, None]
        # |ln Z - ln Z'| <= rate * s is a theorem; the clamp keeps rounding of nearly equal words from breaking it.
        loss = self.rate * score + np.minimum(np.abs(gap), self.rate * score)
        counted = np.ones_like(score) if self.local else score
        excess = np.maximum(loss - self.slack, 0.0)
        ratio = np.divide(excess, counted, out=np.zeros_like(loss), where=counted > 0)
        i, j = (int(a) for a in np.unravel_index(int(ratio.argmax()), ratio.shape))
        x, other = start + i, start + j
        pair = (x, other) if gap[i, j] >= 0 else (other, x)
        beyond = float((loss - self.epsilon * counted).max(initial=0.0))
        return float(ratio[i, j]), pair, float(loss[i, j]), float(score[i, j]), beyond
