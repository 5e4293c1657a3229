"""Distances over the real numbers from a word to others: in float64 with a bound, and as decimal numbers.

A norm is taken of float64 coordinates, an angle of vectors as they are, a matrix at its word: all are rational numbers,
or functions of some. `docs/design/2026-11-26-draws.md` has the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, IdArray

WORDS = 1 << 12  # outputs whose differences are held at once
UNIT = 2.0**-53
GUARD = 10  # digits more that an angle is computed in
HALVINGS = 8  # of an angle before its tangent is a series of few terms


Digits = Callable[[Context], Iterator[Decimal]]


@dataclass(frozen=True)
class Lengths:
    """The Euclidean distance of coordinates, which are given by ids, as words and outputs are."""

    coordinates: Callable[[Any], Float64Array]

    @property
    def errors(self) -> tuple[float, float]:
        """By how much `floats` may be off: a share of the distance, and further units of it."""
        # A squared distance is off by d + 2 roundings, its root by half as many and one.
        return (self.coordinates(slice(1)).shape[1] / 2 + 2) * UNIT, 0.0

    def floats(self, words: IdArray, outputs: IdArray) -> Float64Array:
        """Return a new array of distances from words to some outputs, shape (n, k)."""
        return np.asarray(_sides(self.coordinates, words, outputs, -1)[0])

    def exactly(self, word: int, outputs: IdArray) -> Digits:
        """Return what gives the distances from one word within two roundings of a context."""
        (own, *rows), unit = _integers(self.coordinates(np.append(word, outputs)))
        squares = [Fraction(sum((y - x) ** 2 for x, y in zip(own, row, strict=True)), unit**2) for row in rows]
        return lambda context: (context.sqrt(decimal(context, square)) for square in squares)


@dataclass(frozen=True)
class Angles:
    """The angle of vectors, given by ids, whose float64 unit vectors are the coordinates."""

    coordinates: Callable[[Any], Float64Array]
    vectors: Callable[[Any], Any]
    off: float = 0.0
    """By how much lengths of coordinates that somebody else took may make an angle differ."""

    @property
    def errors(self) -> tuple[float, float]:
        # Roundings of two lengths, d + 4 in all; what two unit vectors lack, 1.6 times as many; 27 of the rest.
        return 0.0, (3 * self.coordinates(slice(1)).shape[1] + 40) * UNIT + self.off

    def floats(self, words: IdArray, outputs: IdArray) -> Float64Array:
        return np.asarray(2 * np.arctan2(*_sides(self.coordinates, words, outputs, -1, 1)))

    def exactly(self, word: int, outputs: IdArray) -> Digits:
        vectors = np.asarray(self.vectors(np.append(word, outputs)), dtype=np.float64)
        (own, *rows), _ = _integers(vectors)
        length = sum(x * x for x in own)
        pairs = [(sum(x * y for x, y in zip(own, row, strict=True)), length * sum(y * y for y in row)) for row in rows]
        return lambda context: (_angle(context, *pair) for pair in pairs)


@dataclass(frozen=True)
class Entries:
    """The entries of a matrix."""

    matrix: Float64Array
    errors: tuple[float, float] = (0.0, 0.0)

    def floats(self, words: IdArray, outputs: IdArray) -> Float64Array:
        return np.asarray(self.matrix[words[:, None], outputs])

    def exactly(self, word: int, outputs: IdArray) -> Digits:
        entries = [*map(Decimal, self.matrix[word, outputs].tolist())]
        return lambda context: iter(entries)


IdealDistances = Lengths | Angles | Entries


def decimal(context: Context, number: Fraction) -> Decimal:
    """Return a rational number to the digits of the context."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _sides(coordinates: Callable[[Any], Float64Array], words: IdArray, outputs: IdArray, *signs: int) -> Float64Array:
    """Return lengths of outputs less (-1) or plus (1) words, shape (signs, n, k)."""
    own, squares = coordinates(words), np.empty((len(signs), len(words), len(outputs)))
    for start in range(0, len(outputs), WORDS):
        rows = coordinates(outputs[start : start + WORDS])
        for place in np.ndindex(*squares.shape[:2]):
            side = rows + signs[place[0]] * own[place[1]]
            squares[place][start : start + WORDS] = np.einsum("ij,ij->i", side, side)
    return np.asarray(np.sqrt(squares, out=squares))


def _integers(rows: Float64Array) -> tuple[list[list[int]], int]:
    """Return rows as integers of one unit, and how many of the unit make 1."""
    ratios = [[x.as_integer_ratio() for x in row] for row in rows.tolist()]
    unit = max(below for row in ratios for _, below in row)
    return [[above * (unit // below) for above, below in row] for row in ratios], unit


def _angle(context: Context, product: int, squares: int) -> Decimal:
    """Return the angle of two vectors from their product, and the product of their squared lengths.

    The tangent of half of it, or of half of what it lacks to pi, is sqrt(squares - product^2) over sqrt(squares) +
    |product|: no digits are lost near 0 or pi.
    """
    wide = Context(prec=context.prec + GUARD, Emin=context.Emin, Emax=context.Emax)
    across, along = wide.sqrt(Decimal(squares - product**2)), wide.add(wide.sqrt(Decimal(squares)), abs(product))
    angle = wide.multiply(2, _arctan(wide, wide.divide(across, along)))
    return context.plus(angle if product >= 0 else wide.subtract(wide.multiply(4, _arctan(wide, Decimal(1))), angle))


def _arctan(context: Context, tangent: Decimal) -> Decimal:
    """Return the arc tangent of a number in [0, 1], off by fewer than 100 roundings."""
    for _ in range(HALVINGS):
        root = context.sqrt(context.fma(tangent, tangent, 1))
        tangent = context.divide(tangent, context.add(1, root))
    factor, power, total, odd = context.minus(context.multiply(tangent, tangent)), tangent, tangent, 1
    while (power := context.multiply(power, factor)) and power.adjusted() >= tangent.adjusted() - context.prec:
        odd += 2
        total = context.add(total, context.divide(power, odd))
    return context.multiply(total, 1 << HALVINGS)
