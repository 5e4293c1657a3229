"""The privacy loss of one token as a value: what is composed when many tokens are released.

`channel_pair` and `generic_pair` make it from exact rows and from any (epsilon, delta) promise, `discretized` from any
profile; a mechanism's own is its `loss_profile()`. Each holds for both orders of a pair at once, because a token may
stand in either text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.errors import ParameterError
from wordveil.parameters import check_within
from wordveil.promises.guarantees import LocalDP, Standing
from wordveil.promises.rounding import bracket, round_up

_UNIT = 2.0**-53
_POINTS = 512  # grid points above zero
_BEYOND = 1e-14  # probability, per token, that may be counted as an unbounded loss
_LARGEST_LOSS = 700.0  # exp() of it is still a float64
_LARGEST_CHANNEL = 1 << 22
_MINIMAL_EPSILON = 1e-9


@dataclass(frozen=True, kw_only=True)
class PairLoss:
    """An upper bound on the privacy profile of one token, the same in both orders of the pair.

    Attributes:
        deltas: delta(0), delta(h), ..., delta(K h), non-increasing, each at least the exact value; K >= 1.
        interval: h, nats, in (0, inf).
        slack: Nats that arithmetic adds per token; None where no bound is known.
        speaks_of: The pair that was taken, and for which inputs it stands.
        assumptions: Further conditions.
        scope: What its token is; see `Guarantee`.
    """

    deltas: tuple[float, ...]
    interval: float
    slack: float | None
    speaks_of: str
    assumptions: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()

    @property
    def largest(self) -> float:
        """The largest finite loss of the discretized pair, nats."""
        return (len(self.deltas) - 1) * self.interval

    def both_sides(self) -> Float64Array:
        """Return delta(-K h), ..., delta(K h): delta(-e) = 1 - exp(-e) (1 - delta(e)) holds for a symmetric pair."""
        above = np.asarray(self.deltas)
        losses = np.arange(len(above)) * self.interval
        below = np.minimum(-np.expm1(-losses) + np.exp(-losses) * above, 1.0)
        return np.concatenate([below[:0:-1], above])

    def in_steps_of(self, interval: float) -> PairLoss:
        """Return an upper bound on the same profile at other grid points, h in (0, inf), so that unlike pairs compose.

        The pair that connects the dots has a profile linear in e^epsilon between them; that is taken at the new grid.
        """
        if interval == self.interval:
            return self
        top = max(1, math.ceil(self.largest / interval * (1 - 8 * _UNIT)))
        losses = np.minimum(np.arange(top + 1) * interval, self.largest)
        below = np.minimum((losses / self.interval).astype(np.int64), len(self.deltas) - 2)
        share = np.expm1(np.maximum(losses - below * self.interval, 0.0)) / math.expm1(self.interval)
        given = np.asarray(self.deltas)
        # Terms are at most 1 and round a few times each; a bound stays one where a little is added.
        found = given[below] + (given[below + 1] - given[below]) * np.minimum(share, 1.0)
        found = np.minimum(found * (1 + 8 * _UNIT) + 8 * _UNIT * given[below], 1.0)
        deltas = tuple(float(value) for value in np.minimum.accumulate(found))
        return replace(self, deltas=deltas, interval=interval)


def channel_pair(channel: Float64Array, *, slack: float = 0.0) -> PairLoss:
    """Return the pair of an exact channel's worst rows: the largest delta at every epsilon, over all pairs of rows.

    The pointwise maximum of profiles is the profile of a pair, and dominates each of them, in either order. Of P(output
    | input), shape (n inputs, outputs), each row sums to 1, and n * n * outputs is at most 2^22: else a
    `ParameterError`. The slack, in [0, inf), is by how many nats the sampler's loss may exceed the channel's.
    """
    rows = np.asarray(channel, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not (np.all(rows >= 0) and np.allclose(rows.sum(axis=1), 1, atol=1e-9)):
        raise ParameterError("channel", f"of shape {rows.shape}", "must be two or more rows, each summing to 1.")
    if len(rows) ** 2 * rows.shape[1] > _LARGEST_CHANNEL:
        raise ParameterError("channel", f"of shape {rows.shape}", f"must have n * n * m <= {_LARGEST_CHANNEL}.")
    check_within("slack", slack)
    rows = rows / rows.sum(axis=1, keepdims=True)
    return discretized(lambda e: _hockey_stick(rows, e), slack=slack, speaks_of="any two inputs of the channel")


def _hockey_stick(rows: Float64Array, epsilon: float) -> float:
    """Return the largest sum of (P - e^epsilon Q)_+ over ordered pairs of rows, rounded up."""
    scaled = rows * math.exp(epsilon)
    worst = max(float(np.maximum(row - scaled, 0.0).sum(axis=1).max()) for row in rows)
    # Each row was divided by a rounded sum; terms and their sum round as well.
    return float(worst * (1 + 2 * rows.shape[1] * _UNIT) + (8 + rows.shape[1]) * _UNIT)


def generic_pair(epsilon: float, delta: float = 0.0, *, slack: float | None = 0.0) -> PairLoss:
    """Return the pair that dominates every (epsilon, delta) local DP mechanism: randomized response that may fail.

    Args:
        epsilon: Nats, in (0, 700].
        delta: In [0, 1).
        slack: Nats of arithmetic per token, or None where no bound is known.

    Raises:
        ParameterError: If a parameter is outside its domain.

    Reference:
        Kairouz, Oh, Viswanath (2015), The Composition Theorem for Differential Privacy.
    """
    checked = LocalDP(epsilon=epsilon, delta=delta, slack=slack, standing=Standing.PROVED)
    if checked.epsilon > _LARGEST_LOSS:
        raise ParameterError("epsilon", epsilon, f"must be at most {_LARGEST_LOSS:g} nats for this computation.")
    at_zero = min(1.0, (delta + (1 - delta) * math.tanh(epsilon / 2)) * (1 + 8 * _UNIT))
    speaks_of = f"any ({round_up(epsilon)}, {round_up(delta)}) mechanism"
    return PairLoss(deltas=(at_zero, delta), interval=epsilon, slack=slack, speaks_of=speaks_of)


def discretized(profile: Callable[[float], float], *, slack: float | None, speaks_of: str) -> PairLoss:
    """Return a non-increasing profile on a grid that ends where delta is next to nothing."""
    enough = profile(_LARGEST_LOSS) + _BEYOND  # the first is above 0 where some outputs have unbounded loss
    low = high = _MINIMAL_EPSILON
    while high < _LARGEST_LOSS and profile(high) > enough:
        low, high = high, min(2 * high, _LARGEST_LOSS)
    interval = bracket(lambda loss: profile(loss) <= enough, low, high, 1e-9)[1] / _POINTS
    found = np.minimum([profile(k * interval) for k in range(_POINTS + 1)], 1.0)
    # Every value bounds a non-increasing function, so the smallest so far does.
    deltas = tuple(float(value) for value in np.minimum.accumulate(found))
    return PairLoss(deltas=deltas, interval=interval, slack=slack, speaks_of=speaks_of)
