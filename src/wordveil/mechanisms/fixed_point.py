"""Elementary functions of exact numbers in integers: what decides a release where float64 cannot.

A number is an integer over 2^p. Every function works with 64 guard bits more and returns a value less than two units of
2^-p from the true one: `around` makes an interval of it. Nothing here is fast, and nothing is drawn but what `Bits`
takes from a key that was.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from wordveil.randomness import BitArray

Interval = tuple[int, int]
"""Lower and upper end, in units of 2^-p."""

GUARD = 64  # each series has fewer than 2^16 terms, each off by a few units of 2^-(p + GUARD)


def log(numerator: int, shift: int, p: int) -> int:
    """Return ln(numerator/2^shift) in units of 2^-p, off by less than two; numerator >= 1."""
    size = numerator.bit_length()  # ln m = 2 artanh((m - 1)/(m + 1)) of the mantissa m in [1/2, 1)
    q = p + GUARD
    mantissa = -2 * _artanh((1 << size) - numerator, (1 << size) + numerator, q)
    return (mantissa + (size - shift) * _ln2(q)) >> GUARD


def exp_of_minus(numerator: int, shift: int, p: int) -> int:
    """Return exp(-numerator/2^shift) in units of 2^-p, off by less than two; numerator >= 0."""
    q = p + GUARD
    x = (numerator << q) >> shift
    halvings, rest = divmod(x, _ln2(q))
    return _series(-rest, q)[0] >> (GUARD + min(halvings, q))


def circle(numerator: int, shift: int, p: int) -> tuple[int, int]:
    """Return cos and sin of 2 pi numerator/2^shift in units of 2^-p, each off by less than two; shift >= 2."""
    q = p + GUARD
    quarter = ((numerator << 3 >> shift) + 1) >> 1  # to the nearest quarter of the circle, so that |x| <= pi/4
    x = (2 * _pi(q) * ((numerator << 2) - (quarter << shift))) >> (shift + 2)
    even, odd = _series(x, q, alternating=True)
    cosine, sine = even >> GUARD, odd >> GUARD
    return ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[quarter % 4]


def around(value: int, more: int = 0) -> Interval:
    """Return the interval that holds what one of these functions stands for, or what lies `more` units from it."""
    return value - more - 2, value + more + 2


def root(x: Interval, p: int) -> Interval:
    """Return the square root of an interval; of what lies below zero, that of zero."""
    return math.isqrt(max(x[0], 0) << p), math.isqrt(max(x[1], 0) << p) + 1


def times(x: Interval, y: Interval, p: int) -> Interval:
    """Return the product of two intervals."""
    products = [a * b for a in x for b in y]
    return min(products) >> p, -(-max(products) >> p)


class Bits:
    """The uniforms of one row, to as many words as are asked for."""

    def __init__(self, words: BitArray, tail: BitArray) -> None:
        self._words, self._key = words, tail.astype("<u8").tobytes()

    def uniform(self, index: int, level: int) -> int:
        """Return the first `level` words of a uniform: it lies in [value, value + 1]/2^(64 level)."""
        value = int(self._words[index])
        for part in range(1, level):
            place = index.to_bytes(8, "little") + part.to_bytes(8, "little")
            more = hashlib.blake2b(place, key=self._key, digest_size=8).digest()
            value = value << 64 | int.from_bytes(more, "little")
        return value

    def minus_log(self, indices: Sequence[int], level: int, p: int) -> Interval:
        """Return -sum ln U of some uniforms."""
        values = [self.uniform(index, level) for index in indices]
        shift = 64 * level * len(values)
        if not all(values):
            return 0, 64 * len(values) << (p + 20)  # all that is known of a uniform that begins with so many zeros
        low = log(math.prod(values), shift, p)
        return -log(math.prod(value + 1 for value in values), shift, p) - 2, -low + 2

    def circle(self, index: int, level: int, p: int) -> tuple[Interval, Interval]:
        """Return cos and sin of 2 pi U."""
        shift = 64 * level
        cosine, sine = circle(self.uniform(index, level), shift, p)
        width = (7 << p) >> shift  # 2 pi/2^shift at most
        return around(cosine, width + 1), around(sine, width + 1)


def _series(x: int, q: int, *, alternating: bool = False) -> tuple[int, int]:
    """Return the sums of x^k/k!: of all k, or of even and of odd k with alternating signs (cosine and sine)."""
    sums, term, k = [0, 0], 1 << q, 0
    while abs(term) > 1:
        sign = -1 if alternating and k % 4 > 1 else 1
        sums[k % 2 if alternating else 0] += sign * term
        k += 1
        term = (term * x >> q) // k
    return sums[0], sums[1]


def _artanh(numerator: int, denominator: int, q: int, sign: int = 1) -> int:
    """Return artanh of a quotient in [0, 1/3], or, by powers of alternating sign, the arc tangent."""
    power = (numerator << q) // denominator
    square, total, k = power * power >> q, 0, 1
    while power > 0:
        total += (power if k % 4 == 1 else sign * power) // k
        power, k = power * square >> q, k + 2
    return total


@lru_cache(maxsize=8)
def _ln2(q: int) -> int:
    return 2 * _artanh(1, 3, q)


@lru_cache(maxsize=8)
def _pi(q: int) -> int:
    return 16 * _artanh(1, 5, q, -1) - 4 * _artanh(1, 239, q, -1)  # Machin


def weighted(weights: list[float], noise: list[Interval]) -> tuple[Fraction, ...]:
    """Return the ends of a sum of intervals by weights, exactly: integers over the finest of the weights' units."""
    ratios = [weight.as_integer_ratio() for weight in weights]
    finest = max(unit for _, unit in ratios)
    factors = [numerator * (finest // unit) for numerator, unit in ratios]
    products = [sorted((factor * low, factor * high)) for factor, (low, high) in zip(factors, noise, strict=True)]
    return tuple(Fraction(sum(ends), finest) for ends in zip(*products, strict=True))
