"""Deciding draws by ideal weights, b(y) exp(-rate min(|x - y|, cap)) over the real numbers: floats, or exactly.

A draw is the place of a point, the share that a uniform number is of a ceiling, among the running sums of the weights.
Weights computed with a bound on their error leave the place of few points open. Those are decided by float64
differences of coordinates, whose bound is near 1e-12; what is still open, by decimal numbers of as many digits as it
takes. The uniform number is its 64 random bits and, where an edge lies between two such numbers, further ones from
SHAKE-256 of the token's random words. So the word drawn is that of the ideal law, whatever the engine.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.randomness import BitArray

WORDS = 1 << 12  # outputs whose differences are held at once
UNIT = 2.0**-53
OPEN = -2  # stands for the column of a draw that is not decided


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
    """Weights of one vocabulary, in a norm; a base measure over the outputs of None stands for 1."""

    coordinates: Callable[[Any], Float64Array]
    outputs: IdArray
    base: Float64Array | None
    rate: float
    cap: float

    def columns(self, word: int, low: int, high: int, draws: list[Draw]) -> list[int]:
        """Return where draws of one word fall among outputs low .. high, from low on; -1 beyond their weights."""
        sums, error = self._sums(word, low, high)
        below, above = sums * (1 - error), sums * (1 + error)
        found = []
        for draw in draws:
            point = draw.bits(64) * 2.0**-64
            first, last = (sums[-1],) * 2 if draw.ceiling is None else (float(draw.ceiling),) * 2
            error_of = error if draw.ceiling is None else 0.0
            least, most = point * first * (1 - error_of) * (1 - 2.0**-50), (point + 2.0**-63) * last * (1 + error_of)
            passed = int(np.searchsorted(above, least, side="right"))
            decided = passed == int(np.searchsorted(below, most * (1 + 2.0**-50), side="left"))
            column = passed if decided else self._exactly(word, low, high, draw)
            found.append(-1 if column == high - low else column)
        return found

    def weights(self, word: int, low: int, high: int) -> Float64Array:
        """Return the weights of outputs low .. high, by differences in float64."""
        own, weights = self.coordinates(np.array([word]))[0], np.empty(high - low)
        for start in range(low, high, WORDS):
            stop = min(start + WORDS, high)
            difference = self.coordinates(self.outputs[start:stop]) - own
            weights[start - low : stop - low] = np.einsum("ij,ij->i", difference, difference)
        np.sqrt(weights, out=weights)
        np.minimum(weights, self.cap, out=weights)
        weights *= -self.rate
        np.exp(weights, out=weights)
        return weights if self.base is None else weights * self.base[low:high]

    def _sums(self, word: int, low: int, high: int) -> tuple[Float64Array, float]:
        """Return running sums of the weights and a bound on their relative errors.

        A squared distance is off by d + 2 roundings, and the distance by half as many; the exponent by three more, the
        exponential by 4, the base measure by one, the sum by one for each term.
        """
        d, reach = self.coordinates(np.array([word])).shape[1], min(self.rate * self.cap, 745.0)
        return np.cumsum(self.weights(word, low, high)), (reach * (d / 2 + 5) + 8 + high - low) * 2 * UNIT

    def _exactly(self, word: int, low: int, high: int, draw: Draw) -> int:
        """Return the column by decimal numbers: high - low beyond the weights."""
        own = [Fraction(x) for x in self.coordinates(np.array([word]))[0].tolist()]
        rows = self.coordinates(self.outputs[low:high]).tolist()
        squares = [sum(((Fraction(y) - x) ** 2 for x, y in zip(own, row, strict=True)), Fraction()) for row in rows]
        shares = [1.0] * len(rows) if self.base is None else self.base[low:high].tolist()
        for size in itertools.count(1):
            digits = 20 + 20 * size
            context = Context(prec=digits, Emin=-(10**9), Emax=10**9)
            weights = (self._weight(context, *pair) for pair in zip(squares, shares, strict=True))
            sums = list(itertools.accumulate(weights, context.add))
            # A weight takes six operations, one of them on an exponent of at most rate * cap; a sum takes one a term.
            units = len(rows) + 20 + math.ceil(min(self.rate * self.cap, 1e6)) * 4
            error = context.multiply(Decimal(units), context.power(Decimal(10), 1 - digits))
            down, up = context.subtract(Decimal(1), error), context.add(Decimal(1), error)
            number, whole = draw.bits(64 * size), 1 << 64 * size
            top = sums[-1] if draw.ceiling is None else _decimal(context, draw.ceiling)
            least, most = (
                context.multiply(_decimal(context, Fraction(share, whole)), context.multiply(top, off))
                for share, off in ((number, context.multiply(down, down)), (number + 1, context.multiply(up, up)))
            )
            passed = sum(context.multiply(edge, up) <= least for edge in sums)
            if passed == sum(context.multiply(edge, down) < most for edge in sums):
                return passed
        raise AssertionError("digits never end")

    def _weight(self, context: Context, square: Fraction, share: float) -> Decimal:
        far = math.isfinite(self.cap) and square >= Fraction(self.cap) ** 2
        distance = Decimal(self.cap) if far else context.sqrt(_decimal(context, square))
        weight = context.exp(context.multiply(Decimal(-self.rate), distance))
        return context.multiply(weight, Decimal(share))


def _decimal(context: Context, number: Fraction) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
