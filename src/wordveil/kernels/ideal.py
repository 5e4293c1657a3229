"""Deciding draws by ideal weights, b(y) exp(-rate min(dist(x, y), cap)) over the real numbers: floats, or exactly.

A draw is the place of a point, the share that a uniform number is of a ceiling or of all weights, among the running
sums of the weights. Weights computed with a bound on their error leave the place of few points open. Those are decided
by float64 weights whose bound is near 1e-12; what is still open, by decimal numbers of as many digits as it takes. The
uniform number is its 64 random bits and, where an edge lies between two such numbers, further ones from SHAKE-256 of
the token's random words. So the word drawn is that of the ideal law, whatever the engine.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, IdArray, Int64Array
from wordveil.kernels.ideal_distances import UNIT, IdealDistances, decimal
from wordveil.randomness import BitArray

OPEN = -2  # stands for the column of a draw that is not decided
WHOLE = 255  # number of a draw from the whole row
FARTHEST = 600.0  # nats beyond which weights leave float64
MOST_ERROR = 2.0**-10  # relative, of a whole row: more would leave many draws open


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One draw of one token."""

    words: BitArray  # all random words of the token
    first: int  # the 64 bits that the uniform number begins with, or -1 where it is made of further ones alone
    number: int  # which of the token's draws it is, so that further bits of two are not the same
    ceiling: Fraction | None  # what it is a share of; None for the sum of the weights

    def bits(self, count: int) -> int:
        """Return the first `count` bits of the uniform number, a multiple of 64."""
        further = hashlib.shake_256(bytes([self.number]) + self.words.tobytes()).digest(count // 8)
        return int.from_bytes(further if self.first < 0 else self.first.to_bytes(8, "big") + further[:-8], "big")


@dataclass(frozen=True, kw_only=True)
class IdealRows:
    """Weights of one vocabulary; a base measure over the outputs of None stands for 1."""

    distances: IdealDistances
    outputs: IdArray
    base: Float64Array | None
    rate: float
    cap: float

    def columns(self, word: int, low: int, high: int, draws: list[Draw]) -> Int64Array:
        """Return where draws of one word fall among outputs low .. high, from low on; -1 beyond their weights."""
        sums, error = self._sums(word, low, high)
        points = np.array([draw.bits(64) for draw in draws], dtype=np.uint64)
        tops = np.array([sums[-1] if draw.ceiling is None else float(draw.ceiling) for draw in draws])
        least, most = ends(points, tops, np.array([error * (draw.ceiling is None) for draw in draws]))
        columns = _place(sums, error, least, most)
        for i in np.flatnonzero(columns == OPEN).tolist():
            columns[i] = self._exactly(word, low, high, draws[i])
        columns[columns == high - low] = -1
        return columns

    def whole(self, word: int, words: BitArray) -> Int64Array:
        """Return where numbers that begin with the first of each token's random words fall among all outputs."""
        sums, error = self._sums(word, 0, len(self.outputs))
        least, most = ends(words[:, 0], sums[-1], error)
        columns = _place(sums, error, least, most)
        for i in np.flatnonzero(columns == OPEN).tolist():
            columns[i] = self.exact_column(word, words[i])
        return columns

    def exact_column(self, word: int, words: BitArray) -> int:
        """Return the column among all outputs by decimal numbers, of a number that begins with the first word."""
        draw = Draw(words=words, first=int(words[0]), number=WHOLE, ceiling=None)
        return self._exactly(word, 0, len(self.outputs), draw)

    def weights(self, words: IdArray, places: Any = slice(None)) -> Float64Array:
        """Return rows of the weights of outputs, those at some places, an array or a slice, in float64."""
        weights = self.distances.floats(words, self.outputs[places])
        np.minimum(weights, self.cap, out=weights)
        weights *= -self.rate
        np.exp(weights, out=weights)
        return weights if self.base is None else weights * self.base[places]

    def arithmetic_slack(self) -> float:
        """Return 0, what a draw by ideal weights adds to a loss; inf where float64 does not hold weights or errors.

        Then the ends of a sum say nothing, as under an angle at a rate of 10^13.
        """
        known = self.rate * self.cap <= FARTHEST and self.error(len(self.outputs)) < MOST_ERROR
        return 0.0 if known else math.inf

    def _sums(self, word: int, low: int, high: int) -> tuple[Float64Array, float]:
        """Return running sums of the weights and a bound on their relative errors."""
        return np.cumsum(self.weights(np.array([word]), slice(low, high))), self.error(high - low)

    def error(self, terms: int) -> float:
        """Return a bound on the relative error of a sum of so many weights.

        The exponent is off by what its distance is, and three roundings; the exponential by 4, the base measure by
        one, the sum by one for each term.
        """
        reach, (share, further) = min(self.rate * self.cap, 745.0), self.distances.errors
        return 2 * (reach * (share + 3 * UNIT) + self.rate * further + (8 + terms) * UNIT)

    def _exactly(self, word: int, low: int, high: int, draw: Draw) -> int:
        """Return the column by decimal numbers: high - low beyond the weights."""
        distances = self.distances.exactly(word, self.outputs[low:high])
        shares = [1.0] * (high - low) if self.base is None else self.base[low:high].tolist()
        for size in itertools.count(1):
            digits = 20 + 20 * size
            context = Context(prec=digits, Emin=-(10**9), Emax=10**9)
            weights = (self._weight(context, *pair) for pair in zip(distances(context), shares, strict=True))
            sums = list(itertools.accumulate(weights, context.add))
            # A weight takes six operations, one of them on an exponent of at most rate * cap; a sum takes one a term.
            units = len(sums) + 20 + math.ceil(min(self.rate * self.cap, 1e6)) * 4
            error = context.multiply(Decimal(units), context.power(Decimal(10), 1 - digits))
            down, up = context.subtract(Decimal(1), error), context.add(Decimal(1), error)
            number, whole = draw.bits(64 * size), 1 << 64 * size
            top = sums[-1] if draw.ceiling is None else decimal(context, draw.ceiling)
            least, most = (
                context.multiply(decimal(context, Fraction(share, whole)), context.multiply(top, off))
                for share, off in ((number, context.multiply(down, down)), (number + 1, context.multiply(up, up)))
            )
            passed = sum(context.multiply(edge, up) <= least for edge in sums)
            if passed == sum(context.multiply(edge, down) < most for edge in sums):
                return passed
        raise AssertionError("digits never end")

    def _weight(self, context: Context, distance: Decimal, share: float) -> Decimal:
        exponent = context.multiply(Decimal(-self.rate), min(distance, Decimal(self.cap)))
        return context.multiply(context.exp(exponent), Decimal(share))


def ends(
    points: BitArray, tops: Float64Array | float, error: Float64Array | float
) -> tuple[Float64Array, Float64Array]:
    """Return the least and the most that each share of a top with a relative error can be."""
    shares = np.asarray(points, dtype=np.float64) * 2.0**-64
    return shares * tops * (1 - error) * (1 - 2.0**-50), (shares + 2.0**-63) * tops * (1 + error) * (1 + 2.0**-50)


def _place(sums: Float64Array, error: float, least: Float64Array, most: Float64Array) -> Int64Array:
    """Return the column of each point by running sums with a relative error; OPEN where they do not tell."""
    passed = np.searchsorted(sums, least / (1 + error), side="right")
    return np.where(passed == np.searchsorted(sums, most / (1 - error), side="left"), passed, OPEN)
