"""Noise as an exact real function of random bits, and its sum with a row rounded as if it were real.

A uniform U = (w + theta)/2^64 has a drawn word w and a tail theta in [0, 1) of bits that nobody has looked at. What
a law makes of such uniforms is a real number Z of exactly its distribution. float64 computes Z from the words, with a
bound on the error in which theta has its share. Where x + Z is farther than the bound from the middle between two
points of the grid, the nearest point is known. Elsewhere further words of those uniforms are taken, and integers decide
(`fixed_point`). What is released is therefore the rounding of the real sum: no float enters its law.

Every bound rests on IEEE arithmetic, and on NumPy's log being right to 2^-46 of its value (it is to about 2^-52). It is
derived in docs/design/2026-11-26-exact-vectors.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from wordveil.arrays import BoolArray, Float64Array
from wordveil.mechanisms import fixed_point
from wordveil.mechanisms.fixed_point import Bits, Interval, around, times
from wordveil.mechanisms.rows import multiply_rows
from wordveil.mechanisms.truncated_law import noise_deviation
from wordveil.randomness import BitArray

TAIL_WORDS = 2  # of each row: the key of all further words of its uniforms
BLOCK = 1 << 14  # coordinates worked on at a time: they stay in the cache
FLOOR = 2.0**-50  # steps that rounding of the sum itself can hide, for each step of the noise
SMALL = np.uint64(1 << 40)  # a word below it makes log steep, and so does one this near to 2^64 to a root of log
LARGE = np.uint64((1 << 64) - (1 << 38))
SLICES = 512  # of the circle
NORMAL_ERROR = 2.0**-38
LAPLACE_ERROR = 2.0**-39
LARGEST_NORMAL = 6.0  # of a word that is not small: sqrt(2 ln 2^24) = 5.77


class NoiseLaw(ABC):
    """A law of noise in d coordinates at scale 1.

    Attributes:
        deviation: Standard deviation of a coordinate.
        words: Words that a row takes.
    """

    @property
    @abstractmethod
    def deviation(self) -> float: ...

    @property
    @abstractmethod
    def words(self) -> int: ...

    @abstractmethod
    def floats(self, words: BitArray) -> tuple[Float64Array, float | Float64Array, BoolArray | None]:
        """Return noise, shape (n, d), a bound on its error (of all, or of each row), and which have none, if any."""

    @abstractmethod
    def exact(self, bits: Bits, columns: Sequence[int], level: int, p: int) -> list[Interval]:
        """Return some coordinates of a row."""


@dataclass(frozen=True)
class NormalLaw(NoiseLaw):
    """Independent standard normals by Box and Muller: sqrt(-2 ln U) times cos and sin of 2 pi V, pair by pair."""

    dimensions: int
    deviation = 1.0

    @property
    def pairs(self) -> int:
        return -(-self.dimensions // 2)

    @property
    def words(self) -> int:
        return 2 * self.pairs

    def floats(self, words: BitArray) -> tuple[Float64Array, float | Float64Array, BoolArray | None]:
        pairs, d = self.pairs, self.dimensions
        sizes, angles = words[:, :pairs], words[:, pairs : 2 * pairs]
        radii = _uniforms(sizes)
        np.log(radii, out=radii)
        radii *= -2.0
        np.sqrt(radii, out=radii)
        normals = np.empty((len(words), 2 * pairs))
        _circle(angles, normals[:, :pairs], normals[:, pairs:])
        normals[:, :pairs] *= radii
        normals[:, pairs:] *= radii
        steep = _outside(sizes, LARGE)
        return normals[:, :d], NORMAL_ERROR, None if steep is None else np.tile(steep, 2)[:, :d]

    def exact(self, bits: Bits, columns: Sequence[int], level: int, p: int) -> list[Interval]:
        found = []
        for column in columns:
            side, pair = divmod(column, self.pairs)
            low, high = bits.minus_log([pair], level, p)
            radius = fixed_point.root((2 * low, 2 * high), p)
            found.append(times(radius, bits.circle(self.pairs + pair, level, p)[side], p))
        return found


@dataclass(frozen=True)
class RadialLaw(NoiseLaw):
    """Density proportional to exp(-|z|): a normal vector times sqrt(2 G), G ~ Gamma((d + 1)/2).

    For the characteristic function is E exp(-G |t|^2) = (1 + |t|^2)^(-(d + 1)/2), that of this density. G is a sum of
    -ln U and, where d is even, of half a squared normal.
    """

    dimensions: int

    @property
    def deviation(self) -> float:
        return math.sqrt(self.dimensions + 1)

    @property
    def normals(self) -> NormalLaw:
        return NormalLaw(self.dimensions)

    @property
    def whole(self) -> int:
        return (self.dimensions + 1) // 2

    @property
    def words(self) -> int:
        return self.normals.words + self.whole + 2 * (self.dimensions % 2 == 0)

    def floats(self, words: BitArray) -> tuple[Float64Array, float | Float64Array, BoolArray | None]:
        noise, error, steep = self.normals.floats(words)
        first, m = self.normals.words, self.whole
        parts = _uniforms(words[:, first : first + m])
        for _ in range(3):  # products of at most 15: none underflows, and there are fewer logarithms to take
            if (columns := parts.shape[1]) < 2:
                break
            products = parts[:, : columns // 2] * parts[:, columns // 2 : columns // 2 * 2]
            if columns % 2:
                products[:, 0] *= parts[:, -1]
            parts = products
        gammas = -np.log(parts).sum(axis=1)
        if m < self.words - first:
            cosines, unused = np.empty((2, len(words), 1))
            _circle(words[:, -1:], cosines, unused)
            gammas -= np.log(_uniforms(words[:, -2:-1]))[:, 0] * cosines[:, 0] ** 2
        small = _outside(words[:, first : self.words - (m < self.words - first)])
        # Each -ln U is off by 2^-40 for what was not drawn, logs and sums by 2^-45 of the whole, the half by 2^-38.
        missing = (m + 4) * 2.0**-39 + gammas * 2.0**-44
        radii = np.sqrt(2 * gammas)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(missing < gammas / 2, 2 * missing / radii, np.inf)  # of a root over [G/2, 3G/2]
        if small is not None:
            slope[small.any(axis=1)] = np.inf
        noise *= radii[:, None]
        return noise, (radii * (error + 2.0**-46) + LARGEST_NORMAL * slope)[:, None], steep

    def exact(self, bits: Bits, columns: Sequence[int], level: int, p: int) -> list[Interval]:
        first, m = self.normals.words, self.whole
        low, high = bits.minus_log(range(first, first + m), level, p)
        if m < self.words - first:
            cosine = bits.circle(first + m + 1, level, p)[0]
            squared = times(cosine, cosine, p)
            half = times(bits.minus_log([first + m], level, p), (max(squared[0], 0), squared[1]), p)
            low, high = low + half[0], high + half[1]
        radius = fixed_point.root((2 * low, 2 * high), p)
        return [times(normal, radius, p) for normal in self.normals.exact(bits, columns, level, p)]


@dataclass(frozen=True)
class LaplaceLaw(NoiseLaw):
    """Independent coordinates of density proportional to exp(-|z|) on [-reach, reach].

    The lowest bit of a word is the sign, the others are a uniform t; the size is -ln(q + t (1 - q)), q = exp(-reach).
    """

    dimensions: int
    reach: float = math.inf

    @property
    def deviation(self) -> float:
        return math.sqrt(2) if math.isinf(self.reach) else noise_deviation(1.0, self.reach)

    @property
    def words(self) -> int:
        return self.dimensions

    def _cut(self, p: int) -> Interval:
        if math.isinf(self.reach):
            return 0, 0
        numerator, denominator = self.reach.as_integer_ratio()
        low, high = around(fixed_point.exp_of_minus(numerator, denominator.bit_length() - 1, p))
        return max(low, 0), high

    def floats(self, words: BitArray) -> tuple[Float64Array, float | Float64Array, BoolArray | None]:
        sizes = _uniforms(words)
        if not math.isinf(self.reach):
            q = self._cut(256)[1] / 2**256
            sizes *= 1 - q
            sizes += q
        np.log(sizes, out=sizes)  # at most 0, so that the sign bit is set
        signs = sizes.view(np.uint64)
        signs ^= words << np.uint64(63)
        return sizes, LAPLACE_ERROR, _outside(words)

    def exact(self, bits: Bits, columns: Sequence[int], level: int, p: int) -> list[Interval]:
        one, shift, found, cut = 1 << p, 64 * level - 1, [], self._cut(p)
        for column in columns:
            first, rest = divmod(bits.uniform(column, level), 1 << 64 * (level - 1))
            value = (first >> 1 << 64 * (level - 1)) + rest
            ends = [(t << p) >> shift for t in (value, value + 1)]
            ends = [q + (t * (one - q) >> p) for t, q in zip(ends, cut, strict=True)]
            # q + t (1 - q) grows with both; a unit or two of 2^-p for the rounding of each.
            low, high = (fixed_point.log(max(t, 1), p, p) for t in (ends[0] - 2, min(ends[1] + 3, one)))
            # Of a t that begins with zeros alone no more is known than that its logarithm is below.
            size = low - 2 if ends[0] > 2 else -(64 << (p + 20)), min(high + 2, 0)
            found.append((-size[1], -size[0]) if first & 1 else size)
        return found


@dataclass(frozen=True, kw_only=True)
class RealSums:
    """What noise is added to, and how."""

    rows: Float64Array  # shape (n, d), float64
    matrix: Float64Array | None = None  # what the rows are multiplied with first, shape (d, m); None for nothing
    scale: float | Float64Array  # of the noise: one, or that of each row, shape (n,); 0 for no noise
    mixing: Float64Array | None = None  # what the noise is multiplied with, shape (m, m); None for nothing

    def centres(self) -> tuple[Float64Array, float | Float64Array]:
        """Return the rows, or their products, with a bound on the error of each."""
        if self.matrix is None:
            return self.rows, 0.0
        lengths = [_lengths(self.rows, 1), _lengths(self.matrix, 0)]
        return multiply_rows(self.rows, self.matrix), _product_error(len(self.matrix)) * np.outer(*lengths)

    def exact_centre(self, row: int, column: int) -> Fraction:
        if self.matrix is None:
            return Fraction(float(self.rows[row, column]))
        pairs = zip(self.rows[row].tolist(), self.matrix[:, column].tolist(), strict=True)
        return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))

    def scale_of(self, row: int) -> float:
        return float(np.broadcast_to(self.scale, (len(self.rows),))[row])


def nearest_points(sums: RealSums, law: NoiseLaw, words: BitArray, tails: BitArray, grid: float) -> Float64Array:
    """Return the multiples of the grid, a power of two, that are nearest to the real sums, (n, m); zero has no sign.

    The law is that of the noise: it takes drawn words, shape (n, law.words), and keys of further ones, shape (n, 2).
    """
    centres, missing = sums.centres()
    missing = np.broadcast_to(np.asarray(missing) / grid, centres.shape)
    scales = np.broadcast_to(sums.scale, (len(centres),))[:, None] / grid
    out = np.empty(centres.shape)
    size = max(1, BLOCK // centres.shape[1])
    for low in range(0, len(out), size):
        here = slice(low, low + size)
        steps, unsure = _steps(sums.mixing, law, words[here], scales[here], centres[here] / grid, missing[here])
        out[here] = steps
        for row in np.flatnonzero(unsure.any(axis=1)).tolist():
            place, columns = low + row, np.flatnonzero(unsure[row])
            if sums.scale_of(place) > 0:
                bits = Bits(words[place], tails[place])
                out[place, columns] = _decide(sums, law, bits, place, columns.tolist(), grid)
    out *= grid
    out += 0.0  # takes the sign off -0.0: it would tell on which side of zero the finer sum lay
    return out


def _steps(
    mixing: Float64Array | None,
    law: NoiseLaw,
    words: BitArray,
    scales: Float64Array,
    centres: Float64Array,
    missing: Float64Array,
) -> tuple[Float64Array, BoolArray]:
    """Return float64's steps of the grid from 0, and for which coordinates they are not sure; all in steps."""
    noise, error, steep = law.floats(words)
    if mixing is not None:
        lengths = np.sqrt(np.square(noise).sum(axis=1))[:, None] * np.sqrt(np.square(mixing).sum(axis=0))
        error = np.abs(mixing).sum(axis=0) * np.asarray(error) + _product_error(len(mixing)) * lengths
        noise = multiply_rows(noise, mixing)
        steep = None if steep is None else np.broadcast_to(np.any(steep, axis=1)[:, None], noise.shape)
    noise *= scales
    # Wide noise takes the bound beyond half a step, so that integers decide: a refusal would tell what was drawn.
    bound = 1.001 * (error * scales + missing) + FLOOR * (2 + np.abs(noise))
    whole = np.rint(centres)  # the quotient is exact, the grid being a power of two, and so is what is left of it
    noise += centres - whole
    steps = np.rint(noise)
    noise -= steps
    np.abs(noise, out=noise)
    unsure = ~(noise < 0.5 - bound)  # a bound that is no number says nothing either
    steps += whole
    return steps, unsure if steep is None else unsure | steep


def _decide(sums: RealSums, law: NoiseLaw, bits: Bits, row: int, columns: list[int], grid: float) -> list[int]:
    """Return the steps from 0 of some coordinates of a row by as many words of each uniform as it takes."""
    scale = Fraction(sums.scale_of(row)) / Fraction(grid)
    left = {column: sums.exact_centre(row, column) / Fraction(grid) for column in columns}
    found, level = dict[int, int](), 1
    while left:
        level += 1
        p = 64 * level + 64
        for column, ends in zip(left, _noise_within(sums, law, bits, list(left), level, p), strict=True):
            first, last = (math.floor(left[column] + scale * end / (1 << p) + Fraction(1, 2)) for end in ends)
            if first == last:
                found[column] = first
        left = {column: centre for column, centre in left.items() if column not in found}
    return [found[column] for column in columns]


def _noise_within(
    sums: RealSums, law: NoiseLaw, bits: Bits, columns: list[int], level: int, p: int
) -> Iterable[tuple[Fraction | int, ...]]:
    """Return between which ends, in units of 2^-p, the noise of some coordinates lies by so many words."""
    if sums.mixing is None:
        return law.exact(bits, columns, level, p)
    noise = law.exact(bits, range(len(sums.mixing)), level, p)  # once for all columns: each is a sum of all of it
    return [fixed_point.weighted(sums.mixing[:, column].tolist(), noise) for column in columns]


def _lengths(vectors: Float64Array, axis: int) -> Float64Array:
    largest = np.maximum(np.abs(vectors).max(axis=axis, keepdims=True, initial=0.0), np.finfo(np.float64).tiny)
    return np.asarray(np.sqrt(np.square(vectors / largest).sum(axis=axis)) * largest.squeeze(axis))


def _product_error(terms: int) -> float:
    """Return what rounding can make of a product of so many terms, in whatever order, over both lengths."""
    return (terms + 8) * 2.0**-52


def _uniforms(words: BitArray) -> Float64Array:
    """Return (w + 1/2)/2^63 of the upper 63 bits of words: within 2^-52 of it, and half a step."""
    floats = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    floats += 0.5
    floats *= 2.0**-63
    return floats


def _outside(words: BitArray, largest: np.uint64 | None = None) -> BoolArray | None:
    """Return which words make a logarithm too steep; None where there are none."""
    top = words.max(initial=0) if largest is not None else 0
    if not words.size or (words.min() >= SMALL and (largest is None or top < largest)):
        return None
    outside = words < SMALL
    return np.asarray(outside if largest is None else outside | (words >= largest))


@lru_cache(maxsize=1)
def _middles() -> tuple[Float64Array, Float64Array]:
    """Return cos and sin of the middles of the slices of the circle, each right to a unit in the last place of 1."""
    ends = [fixed_point.circle(2 * place + 1, 10, 128) for place in range(SLICES)]
    cosines, sines = (np.array([value / 2**128 for value in side]) for side in zip(*ends, strict=True))
    return cosines, sines


def _circle(words: BitArray, cosines: Float64Array, sines: Float64Array) -> None:
    """Write cos and sin of 2 pi w/2^64: that of the middle of a slice, turned by the rest x, |x| <= pi/512.

    cos x = 1 - x^2/2 + x^4/24 and sin x = x - x^3/6 + x^5/120 are off by less than x^6/720 < 2^-53.
    """
    places = (words >> np.uint64(55)).view(np.int64)
    x = (words & np.uint64((1 << 55) - 1)).view(np.int64).astype(np.float64)
    x -= 2.0**54
    x *= 2 * math.pi / 2.0**64
    square = x * x
    turn = square * (1 / 120)
    turn -= 1 / 6
    turn *= square
    turn *= x
    turn += x
    less = square * (1 / 24)  # 1 - cos x
    less -= 0.5
    less *= square
    tables = _middles()
    c, s = (table[places] for table in tables)
    np.multiply(c, less, out=cosines)
    cosines -= s * turn
    cosines += c
    np.multiply(s, less, out=sines)
    sines += c * turn
    sines += s
