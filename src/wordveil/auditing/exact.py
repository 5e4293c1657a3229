"""Exact check of a finite channel: every pair of inputs, every output.

The claim: P(y | x) <= e^(epsilon * dist(x, x') + slack) P(y | x') + delta-excess, for all ordered pairs. The loss of
a pair is max_y ln P(y|x) - ln P(y|x'), computed in float64 without screening, tile by tile: v^2 * outputs
operations, 1.25e11 for 5 000 words. With delta > 0 the hockey-stick sum over outputs is formed as well.
This module does not build channels; score-based ones have a closed form in `score_channels`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.arrays import BoolArray, Float64Array, FloatArray, IdArray, Progress
from wordveil.errors import ParameterError
from wordveil.files.journal import Journal
from wordveil.kernels.threads import map_chunks

DistanceFunction = Callable[[IdArray, IdArray], Float64Array]
Distances = float | Float64Array | DistanceFunction
"""One number for every pair (1.0 for local DP), the (v, v) matrix, or a function of n inputs and m others to (n, m).

The distance of two inputs of which nothing is claimed is inf.
"""

TILE = 80_000  # doubles of one tile of differences: 640 kB, inside a core's L2 cache
BLOCK = 32  # input rows of a unit of work and of the journal
IMPOSSIBLE = -1e300  # stands for ln 0: differences of two such are 0, and of one such are beyond any loss
SUM_TOLERANCE = 1e-9
ROUNDING = 1e-6  # by which the two orders of a pair may differ in distance, as a share of the largest


@dataclass(frozen=True, kw_only=True)
class ChannelVerdict:
    """What a channel really promises, with the pair that decides it."""

    epsilon: float  # claimed, unit 1/distance
    delta: float = 0.0  # claimed
    slack: float  # claimed, nats
    tight_epsilon: float  # least with loss <= epsilon * dist + slack for every pair (delta = 0); inf without one
    tight_slack: float  # smallest slack for the claimed epsilon (delta = 0), nats
    tight_delta: float | None = None  # least for epsilon and slack; None where losses alone answer delta = 0
    worst_pair: tuple[int, int]  # (x, x') of the largest loss per distance, or hockey-stick sum where delta > 0
    worst_output: int | None = None  # the output with the largest log-ratio for that pair, where looked for
    worst_loss: float  # its log-ratio, nats; inf where the output is impossible under x'
    worst_distance: float  # dist(x, x')
    tolerance: float  # nats allowed for float64 logarithms
    triples: int  # (x, x', y) of which something is claimed, all examined; 0 where no pair is spoken of

    @property
    def holds(self) -> bool:
        if self.delta > 0 and self.tight_delta is not None:
            return self.tight_delta <= self.delta * (1 + 1e-12) + SUM_TOLERANCE * self.delta
        return self.tight_slack <= self.slack + self.tolerance

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}


def verify_channel(
    channel: Float64Array,
    distances: Distances,
    epsilon: float,
    *,
    delta: float = 0.0,
    slack: float = 0.0,
    threads: int | None = None,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ChannelVerdict:
    """Check every (x, x', y) of a channel against an (epsilon * dist + slack, delta) claim.

    Args:
        channel: P(y | x), shape (v, outputs); rows sum to 1 within 1e-9. Zeros are allowed.
        distances: See `Distances`; symmetric, non-negative.
        epsilon: Claimed loss per unit of distance, in (0, inf).
        delta: Claimed delta, in [0, 1).
        slack: Claimed slack in nats, in [0, inf).
        threads: Threads; the answer does not depend on it.
        journal: File of finished blocks: a stopped run goes on from it.
        progress: Called with the number of input rows done since the last call.

    Raises:
        ParameterError: If the channel is no channel, shapes disagree, a number is out of range, or distances are NaN,
            negative or not symmetric.
        ResumeError: If the journal belongs to other inputs.

    Edge cases:
        v = 1 has no pair: every number is 0. Pairs at distance 0 need equal rows up to slack.

    Example:
        >>> import numpy as np
        >>> half = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response with epsilon = ln 3
        >>> round(verify_channel(half, 1.0, 1.2).tight_epsilon, 6)
        1.098612
    """
    if channel.ndim != 2 or not channel.size:
        raise ParameterError("channel", channel.shape, "must be a non-empty matrix of shape (v, outputs).")
    for name, value, top in (("epsilon", epsilon, math.inf), ("delta", delta, 1.0), ("slack", slack, math.inf)):
        if not (0 <= value < top) or (name == "epsilon" and value == 0):
            raise ParameterError(name, value, f"must be in {'(' if name == 'epsilon' else '['}0, {top:g}).")
    job = _Job(channel, _distance_function(distances, len(channel)), epsilon, delta, slack)
    log = None if journal is None else Journal(Path(journal), job.identity(), remedy="give a new journal file")
    if log is not None:
        log.load()
    done = {} if log is None else {int(index): result for index, result in log.tally.items()}
    blocks = [i for i in range(-(-len(channel) // BLOCK)) if i not in done]
    for index, result in zip(blocks, map_chunks(job.block, blocks, threads), strict=True):
        done[index] = result
        if log is not None:
            log.tally = {str(i): found for i, found in done.items()}
            log.save()
        if progress is not None:
            progress(min(BLOCK, len(channel) - index * BLOCK))
    return job.verdict(list(done.values()))


def checked_law(rows: FloatArray, start: int = 0) -> Float64Array:
    """Return rows of a channel in float64, the first of them number `start`; a row that is no law is named."""
    part = np.asarray(rows, dtype=np.float64)
    good = (part >= 0).all(axis=1) & (np.abs(part.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not good.all():
        row = start + int(good.argmin())
        raise ParameterError("channel", f"row {row}", "must be non-negative and sum to 1 within 1e-9.")
    return part


def checked_distances(between: DistanceFunction, first: IdArray, second: IdArray) -> Float64Array:
    """Return the distances from n inputs to m others, shape (n, m): of the two orders, the smaller.

    `ParameterError` if one is NaN or negative, or the two orders differ by more than rounding.
    """
    there, back = np.asarray(between(first, second)), np.asarray(between(second, first)).T
    if there.shape != (len(first), len(second)) or there.shape != back.shape:
        raise ParameterError("distances", there.shape, f"must have shape ({len(first)}, {len(second)}) here.")
    least = np.minimum(there, back, dtype=np.float64)
    if not (least >= 0).all():
        raise ParameterError("distances", "NaN or less than 0", "must be at least 0, from an input to itself too.")
    apart = there != back
    gap, largest = np.abs(there[apart] - back[apart]), there.max(where=np.isfinite(there), initial=0.0)
    if not (gap <= ROUNDING * largest).all():
        raise ParameterError("distances", "not symmetric", "must be the same in both orders of a pair.")
    return np.asarray(least)


def _distance_function(distances: Distances, v: int) -> DistanceFunction:
    if callable(distances):
        return distances
    if isinstance(distances, int | float):
        if not distances > 0:
            raise ParameterError("distances", distances, "must be positive where one number stands for every pair.")
        constant = float(distances)
        return lambda first, second: np.full((len(first), len(second)), constant)
    if distances.shape != (v, v):
        raise ParameterError("distances", distances.shape, f"must have shape ({v}, {v}), one entry for each pair.")
    table = distances
    return lambda first, second: np.asarray(table[np.ix_(first, second)], dtype=np.float64)


class _Job:
    """The work of one verification, cut into blocks of input rows."""

    def __init__(
        self, channel: Float64Array, between: DistanceFunction, epsilon: float, delta: float, slack: float
    ) -> None:
        self.channel, self.between = channel, between
        self.epsilon, self.delta, self.slack = epsilon, delta, slack
        self.v, self.outputs = channel.shape
        self.everyone = np.arange(self.v, dtype=np.int32)
        self.logs = np.empty(channel.shape)
        smallest = 0.0
        for start in range(0, self.v, 1024):
            part = self.logs[start : start + 1024]
            with np.errstate(divide="ignore"):
                np.log(checked_law(channel[start : start + 1024], start), out=part)
            smallest = min(smallest, float(part.min(where=np.isfinite(part), initial=0.0)))
            np.maximum(part, IMPOSSIBLE, out=part)
        self.tolerance = 8 * 2.0**-53 * (1 - smallest)

    def identity(self) -> dict[str, Any]:
        digest = hashlib.sha256()
        for start in range(0, self.v, 1024):
            distance = self.between(self.everyone[start : start + 1024], self.everyone)
            for part in (self.channel[start : start + 1024], distance):
                digest.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        facts = {"checksum": digest.hexdigest(), "shape": list(self.channel.shape), "rows": BLOCK}
        return {**facts, "claim": [self.epsilon, self.delta, self.slack], "blocks": "with pairs"}

    def _tiles(self, first: int) -> Iterator[tuple[slice, slice]]:
        width = min(self.outputs, TILE // 8)
        height = max(1, TILE // width)
        for low in range(first, self.v, height):
            for left in range(0, self.outputs, width):
                yield slice(low, min(low + height, self.v)), slice(left, min(left + width, self.outputs))

    def block(self, index: int) -> dict[str, Any]:
        """Return the worst pairs with one input in this block and the other in it or after it."""
        start, stop = index * BLOCK, min((index + 1) * BLOCK, self.v)
        there = np.full((stop - start, self.v), -np.inf)
        back = np.full((stop - start, self.v), -np.inf)
        buffer = np.empty(TILE)
        for tile, columns in self._tiles(start):
            part = self.logs[tile, columns]
            difference = buffer[: part.size].reshape(part.shape)
            for i in range(start, stop):
                np.subtract(part, self.logs[i, columns], out=difference)
                np.maximum(back[i - start, tile], difference.max(axis=1), out=back[i - start, tile])
                np.maximum(there[i - start, tile], -difference.min(axis=1), out=there[i - start, tile])
        distance = np.full(there.shape, np.inf)
        distance[:, start:] = checked_distances(self.between, self.everyone[start:stop], self.everyone[start:])
        result = self._summary(start, np.stack([there, back]), distance)
        if self.delta > 0:
            result["delta"] = self._hockey(start, stop, distance)
        return result

    def _claimed(self, start: int, distance: Float64Array) -> BoolArray:
        later = np.arange(self.v)[None, :] > np.arange(start, start + len(distance))[:, None]
        return np.asarray(later & np.isfinite(distance))

    def _summary(self, start: int, losses: Float64Array, distance: Float64Array) -> dict[str, Any]:
        claimed = self._claimed(start, distance)
        losses = np.where(claimed, losses, -np.inf)
        losses[losses > -IMPOSSIBLE / 2] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = losses - self.slack
            ratio = np.where(excess <= self.tolerance, np.maximum(excess, 0.0), excess) / distance[None]
        ratio = np.where(np.isnan(ratio) | ~claimed, 0.0, ratio)  # 0/0: equal rows at distance 0
        beyond = losses - self.epsilon * distance[None]
        order, i, j = (int(a) for a in np.unravel_index(int(ratio.argmax()), ratio.shape))
        pair = (start + i, j) if order == 0 else (j, start + i)
        return {
            "epsilon": float(ratio.max()),
            "pair": pair,
            "distance": float(distance[i, j]),
            "slack": float(beyond.max(initial=0.0)),
            "pairs": 2 * int(claimed.sum()),
        }

    def _hockey(self, start: int, stop: int, distance: Float64Array) -> list[float]:
        """Return (delta, x, x') with the largest sum_y (P(y|x) - e^(claimed loss) P(y|x'))_+ of the block."""
        factor = np.exp(np.minimum(self.epsilon * distance + self.slack, 700.0))
        claimed = self._claimed(start, distance)
        best = [0.0, float(start), float(min(start + 1, self.v - 1))]
        height = max(1, TILE // self.outputs)
        for low in range(start, self.v, height):
            others = self.channel[low : low + height]
            for i in range(start, stop):
                f = factor[i - start, low : low + height, None]
                row = self.channel[i][None, :]
                for excess, swapped in ((row - f * others, False), (others - f * row, True)):
                    sums = np.maximum(excess, 0.0).sum(axis=1)
                    sums = np.where(claimed[i - start, low : low + height], sums, 0.0)
                    j = int(sums.argmax())
                    if sums[j] > best[0]:
                        pair = (low + j, i) if swapped else (i, low + j)
                        best = [float(sums[j]), float(pair[0]), float(pair[1])]
        return best

    def verdict(self, results: list[dict[str, Any]]) -> ChannelVerdict:
        worst = max(results, key=lambda r: r["epsilon"])
        pair, distance = (int(worst["pair"][0]), int(worst["pair"][1])), worst["distance"]
        tight_delta = None
        if self.delta > 0:
            tight_delta, first, second = max((r["delta"] for r in results), key=lambda d: d[0])
            if tight_delta > self.delta:
                pair = (int(first), int(second))
                distance = float(self.between(*np.array(pair, dtype=np.int32)[:, None])[0, 0])
        ratios = self.logs[pair[0]] - self.logs[pair[1]]
        loss = float(ratios.max())
        return ChannelVerdict(
            epsilon=self.epsilon,
            delta=self.delta,
            slack=self.slack,
            tight_epsilon=worst["epsilon"],
            tight_slack=max(r["slack"] for r in results),
            tight_delta=tight_delta,
            worst_pair=pair,
            worst_output=int(ratios.argmax()),
            worst_loss=math.inf if loss > -IMPOSSIBLE / 2 else loss,
            worst_distance=float(distance),
            tolerance=self.tolerance,
            triples=sum(r["pairs"] for r in results) * self.outputs,
        )
