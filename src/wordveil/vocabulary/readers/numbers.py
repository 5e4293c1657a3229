"""Decimal text to float32, many numbers at once, equal to float32(float(text)) for every number.

Numbers of the usual shape (a sign, one digit, a point, up to 15 digits) are converted with array operations on
eight bytes at a time; all others go through Python's float. Both give the same bits: digits * 10^-k is one
correctly rounded division as long as the digits fit in 53 bits and 10^k is exact, which is checked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import BoolArray, Float32Array, Float64Array, Int64Array

PADDING = 16
"""Bytes that must precede the first number in the buffer, because digits are loaded from their end."""

# Measured: the temporary arrays of 8192 numbers stay in the second-level cache.
_CHUNK = 1 << 13
_MAX_FRACTION = 15
_EXACT = 2.0**53
_POWERS = np.array([float(10**k) for k in range(_MAX_FRACTION + 1)])
_SIGNED_POWERS = np.concatenate((_POWERS, -_POWERS))
# Bits in front of the last k digits of eight, k = 0 .. 15; from 8 on, all eight bytes are digits.
_SHIFTS = np.array([max(64 - 8 * k, 0) for k in range(_MAX_FRACTION + 1)], dtype=np.uint64)
_ZEROS = np.uint64(0x3030303030303030)
_CARRIES = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
WordArray = NDArray[np.uint64]


def parse_numbers(data: bytes, starts: Int64Array, ends: Int64Array) -> tuple[Float32Array, int | None]:
    """Parse the numbers data[starts[i]:ends[i]], at least `PADDING` bytes from the start of the data.

    Returns float32 values, shape (n,), and the position of the first text that is no decimal number, or None.
    Magnitudes outside float32 become infinities, "nan" becomes NaN; the caller refuses both.
    """
    values = np.empty(len(starts), dtype=np.float32)
    text = np.frombuffer(data, dtype=np.uint8)
    # A view of all overlapping groups of eight bytes, so that one gather loads a number's last digits.
    groups = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
    for first in range(0, len(starts), _CHUNK):
        some = slice(first, first + _CHUNK)
        parsed, regular = _parse_regular(text, groups, starts[some], ends[some])
        for i in np.flatnonzero(~regular).tolist():
            number = _parse_any(data[starts[first + i] : ends[first + i]])
            if number is None:
                return values, first + i
            parsed[i] = number
        with np.errstate(over="ignore"):
            values[some] = parsed
    return values, None


def _parse_regular(
    text: NDArray[np.uint8], groups: WordArray, starts: Int64Array, ends: Int64Array
) -> tuple[Float64Array, BoolArray]:
    """Return the values and which of them had the usual shape; the others are undefined."""
    negative = text.take(starts) == ord("-")
    units_at = starts + negative
    length = ends - units_at - 2
    regular = (length >= 1) & (length <= _MAX_FRACTION)
    if not regular.all():
        # Texts shorter than "0.1" would be read beyond their end; the caller parses them anyway.
        length = np.where(regular, length, 1)
        units_at = np.where(regular, units_at, 0)
    power = _POWERS.take(length)
    units = text.take(units_at) - np.uint8(ord("0"))
    regular &= units <= 9
    regular &= text.take(units_at + 1) == ord(".")
    digits, valid = _digits_before(groups, ends, length)
    regular &= valid
    total: Float64Array = units * power
    total += digits
    long = np.flatnonzero(regular & (length > 8))
    if long.size:
        high, valid = _digits_before(groups, ends[long] - 8, length[long] - 8)
        total[long] += high.astype(np.float64) * 1e8
        regular[long] &= valid & (total[long] < _EXACT)
    # Rounding is symmetric, so the sign may come in with the divisor.
    total /= _SIGNED_POWERS.take(length + len(_POWERS) * negative)
    return total, regular


def _digits_before(groups: WordArray, ends: Int64Array, counts: Int64Array) -> tuple[WordArray, BoolArray]:
    """Return the integer written in the last `counts` (at most 8) bytes before `ends`, and whether all are digits."""
    digits = groups[ends - 8]
    digits ^= _ZEROS
    # Shifting to and fro clears the bytes before the first digit.
    shift = _SHIFTS.take(counts)
    digits >>= shift
    digits <<= shift
    valid = ((digits | (digits + _CARRIES)) & _HIGH_BITS) == 0
    # Pairs, then fours, then all eight digits, the first one in the lowest byte.
    digits *= np.uint64(2561)
    digits >>= np.uint64(8)
    digits &= np.uint64(0x00FF00FF00FF00FF)
    digits *= np.uint64(6553601)
    digits >>= np.uint64(16)
    digits &= np.uint64(0x0000FFFF0000FFFF)
    digits *= np.uint64(42949672960001)
    digits >>= np.uint64(32)
    return digits, valid


def _parse_any(text: bytes) -> float | None:
    """Return the number a text stands for, or None; underscores and blanks are not part of numbers here."""
    if b"_" in text or text != text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return None
