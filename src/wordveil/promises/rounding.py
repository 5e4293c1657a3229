"""Numbers as they are printed and claimed: what is promised is rounded up, what is assumed down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from wordveil.errors import ParameterError

_TOLERATED = Decimal("1e-12")
_SHORT, _NEAR = 6, 1e-9  # digits of a short number, and how far below one an epsilon may lie to be claimed as it


def round_up(value: float, digits: int = 4) -> str:
    """Return `value` printed with `digits` significant digits, never below it (beyond 1e-12 of it)."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = 4) -> str:
    """Return `value` printed with `digits` significant digits, never above it (beyond 1e-12 of it)."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, towards: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value)
    tolerated = abs(exact) * _TOLERATED * (-1 if towards == ROUND_CEILING else 1)
    return f"{float(Context(prec=digits, rounding=towards).plus(exact + tolerated)):.{digits}g}"


def bracket(holds: Callable[[float], bool], low: float, high: float, width: float) -> tuple[float, float]:
    """Return the ends of a bracket, halved until it is no wider than `width` times its upper end.

    What `holds` says is taken to be true at the upper end and false at the lower one, and stays so: of the end that is
    wanted it was computed, whatever rounding does between them.
    """
    while high - low > width * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def claimed(epsilon: float) -> float:
    """Return an epsilon, or the short number it all but reaches: 8 for 7.999999999999999. Never less than given."""
    short = float(round_up(epsilon, _SHORT))
    return short if epsilon <= short <= epsilon * (1 + _NEAR) else epsilon


def at_least(exact: Fraction) -> float:
    """Return the smallest float64 that is at least a rational number; inf beyond all of them."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def summed(values: Iterable[float]) -> float:
    """Return the sum of finite numbers, rounded up."""
    return at_least(sum(map(Fraction, values), Fraction(0)))


def scale_at_least(guess: float, squared: Fraction) -> float:
    """Return the smallest float64 from a guess on whose square is at least a rational number.

    `ParameterError` if there is none: the noise would have to be wider than float64 can say.
    """
    if not math.isfinite(guess):
        raise ParameterError("scale", guess, "must be finite; the noise is too wide, so give a larger epsilon.")
    while Fraction(guess) ** 2 < squared:
        guess = math.nextafter(guess, math.inf)
    return guess
