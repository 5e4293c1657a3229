r"""Numbers that keep their magnitude: a public grid, an exact law over it, and what it promises.

A number moves to the nearest point i of a public grid of n points, then by a step count z of an integer law that does
not depend on it, and stays inside the grid:

    released point = min(max(i + z, 0), n - 1),      P(z) = N(|z|) / 2**64

This is the discrete Laplace (two-sided geometric) mechanism, clamped at both ends, with integers in place of reals:

    N(z + 1) = ceil(a N(z)) for z + 1 < n - 1,       a = e**-epsilon rounded up to a multiple of 2**-64,
    N(n - 1) >= ceil(a N(n - 2) / (1 - a)),          N(0) + 2 (N(1) + ... + N(n - 1)) = 2**64

*Proof that one step of input costs at most epsilon.* Between the ends P(j | i) = N(|j - i|), and N(z) <= N(z + 1) / a.
At an end P is a tail T(i) = N(i) + ... + N(n - 1). From the last line N(n - 2) + N(n - 1) <= N(n - 1) / a, that is
T(n - 2) <= T(n - 1) / a, and T(i) = N(i) + T(i + 1) <= (N(i + 1) + T(i + 2)) / a = T(i + 1) / a follows downwards. The
other direction of each quotient is at most 1. All of it holds for the integers that are drawn from: slack 0.

Reference: Ghosh, Roughgarden and Sundararajan (2012), Universally Utility-maximizing Privacy Mechanisms, section 2; the
integers and the remedy for their last tail are ours.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from functools import cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ParameterError
from wordveil.parameters import check_choice
from wordveil.promises.guarantees import MetricDP, Standing

WORD = 1 << 64
MOST_POINTS = 1 << 16
LEAST_EPSILON = 1e-9
_FORM = re.compile(r"(\w+)=([^:@]+):([^:@]+):([^:@]+)(?::(\w+))?@([^:@]+)")
_KINDS = ("number", "year", "money", "date")


@dataclass(frozen=True, kw_only=True)
class NumberGrid:
    """The grid that numbers of one kind are released on, with its law and its claim.

    Range and step are public: choose them without looking at the private texts. What lies outside is moved to the
    nearer end.

    Attributes:
        kind: Which tokens: "number", "year", "money", or "date" (a range of ISO dates, a step of whole days).
        low: First point, at least 0: a sign stands in the text's punctuation. Above 0 on a logarithmic scale.
        high: No point lies beyond it.
        step: Distance of two points; on a logarithmic scale their quotient, above 1.
        epsilon: Loss in nats for each step between two numbers, in [1e-9, inf).
        scale: "linear" or "log".

    Raises:
        ParameterError: If the grid has fewer than two points or more than 65 536, or a value is outside its domain.

    Example:
        >>> ages = NumberGrid.parse("number=0:120:5@0.5")
        >>> ages.points, ages.text(ages.nearest(17.0)), ages.guarantee().loss(4)
        (25, '15', 2.0)
    """

    kind: Literal["number", "year", "money", "date"]
    low: float | str
    high: float | str
    step: float
    epsilon: float
    scale: Literal["linear", "log"] = "linear"

    def __post_init__(self) -> None:
        dates = self.kind == "date"
        check_choice("kind", self.kind, _KINDS)
        if self.scale not in ("linear", "log") or (dates and self.scale == "log"):
            raise ParameterError("scale", self.scale, "must be linear or log, for dates linear.")
        if not (math.isfinite(self.epsilon) and self.epsilon >= LEAST_EPSILON):
            raise ParameterError("epsilon", self.epsilon, f"must be in [{LEAST_EPSILON}, inf).")
        least = 1 if self.scale == "log" else 0
        if not (math.isfinite(self.step) and self.step > least and (not dates or self.step % 1 == 0)):
            raise ParameterError("step", self.step, f"must be above {least}, for dates whole days.")
        low, high = self._place("low"), self._place("high")
        if not low >= 0 or (self.scale == "log" and low == 0):
            raise ParameterError("low", self.low, "must be 0 or more, on a logarithmic scale above 0.")
        if not (math.isfinite(high) and low < high and 2 <= self.points <= MOST_POINTS):
            raise ParameterError("high", self.high, f"must leave 2 to {MOST_POINTS} points between low and itself.")

    @classmethod
    def parse(cls, text: str) -> NumberGrid:
        """Read KIND=LOW:HIGH:STEP@EPSILON or KIND=LOW:HIGH:FACTOR:log@EPSILON, such as "money=1:10000:1.25:log@0.5".

        Raises:
            ParameterError: If the text has another form or a value is outside its domain.
        """
        form = "must read KIND=LOW:HIGH:STEP@EPSILON or KIND=LOW:HIGH:FACTOR:log@EPSILON."
        if not (found := _FORM.fullmatch(text)):
            raise ParameterError("grid", text, form)
        kind, low, high, step, scale, epsilon = found.groups()
        try:
            ends: list[Any] = [low, high] if kind == "date" else [float(low), float(high)]
            values: Any = {"kind": kind, "scale": scale or "linear", "step": float(step), "epsilon": float(epsilon)}
        except ValueError:
            raise ParameterError("grid", text, form) from None
        return cls(low=ends[0], high=ends[1], **values)

    def _place(self, end: Literal["low", "high"]) -> float:
        """Return an end as a number: dates in days."""
        given = getattr(self, end)
        try:
            return float(date.fromisoformat(given).toordinal() if self.kind == "date" else given)
        except (TypeError, ValueError):
            raise ParameterError(end, given, "must be a number, for dates a date such as 2024-12-31.") from None

    @property
    def points(self) -> int:
        """Number of points."""
        return self._steps(self._place("high"), math.floor) + 1

    def _steps(self, value: float, rounded: Any) -> int:
        """Return how many steps a value lies above the first point; 1e-9 of a step are forgiven."""
        low = self._place("low")
        steps = math.log(value / low) / math.log(self.step) if self.scale == "log" else (value - low) / self.step
        return int(rounded(steps + 1e-9))

    def nearest(self, value: float) -> int:
        """Return the point nearest to a number, which may lie outside; dates in days, as `date.toordinal` counts."""
        low, high = self._place("low"), self._place("high")
        return min(self._steps(min(max(value, low), high), round), self.points - 1)

    def text(self, point: int) -> str:
        """Return how a point is written: one token of the same kind."""
        if self.kind == "date":
            return date.fromordinal(int(self._place("low") + point * self.step)).isoformat()
        low, step = Decimal(str(self.low)), Decimal(str(self.step))
        value = Context(prec=3).create_decimal(low * step**point) if self.scale == "log" else low + point * step
        # Neither an exponent nor zeros behind the point.
        written = f"{value.normalize() if value else Decimal(0):f}"
        return f"${written}" if self.kind == "money" else written

    def draw(self, points: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the released points, given uniform 64-bit words, one each.

        The step count is found from the word alone, so the time taken says nothing of the point.
        """
        last = self.points - 1
        counts = np.searchsorted(_bounds(last + 1, self.epsilon), words, side="right") - last
        return np.asarray(np.clip(points + counts, 0, last))

    def guarantee(self) -> MetricDP:
        """What one released number promises, between two numbers of this kind."""
        return MetricDP(
            epsilon=self.epsilon,
            metric=f"{self.kind} grid-step",
            largest_distance=float(self.points - 1),
            standing=Standing.PROVED,
            scope=(f"{self.kind} {self._place('low')!r} to {self._place('high')!r}, step {self.step!r} {self.scale}",),
        )


@cache
def noise_counts(points: int, epsilon: float) -> list[int]:
    """Return N(0), ..., N(points - 1) of the law above, of 2**64 in all with both signs.

    Args:
        points: Points of the grid, at least 2.
        epsilon: In nats for a step, at least 1e-9.
    """
    # exp is correctly rounded to 60 digits, so the next multiple of 2**-64 above it is an upper bound.
    a = int(Context(prec=60).exp(-Decimal(epsilon)) * WORD) + 1
    top = (WORD * (WORD - a) // (WORD + a)) & ~1
    while True:
        counts = [top]
        for _ in range(points - 2):
            counts.append(-(-counts[-1] * a // WORD))
        counts.append(-(-counts[-1] * a // (WORD - a)))
        excess = top + 2 * sum(counts[1:]) - WORD
        if excess <= 0:
            # Even, as the first count is. At the ends it raises the smaller of two tails, so no quotient grows.
            counts[-1] -= excess // 2
            return counts
        top -= 2 * (excess * (WORD - a) // (WORD + a) // 2 + 1)


@cache
def _bounds(points: int, epsilon: float) -> NDArray[np.uint64]:
    """Return the running sums of the law but the last, from the lowest step count up."""
    counts = noise_counts(points, epsilon)
    return np.array(list(accumulate(counts[:0:-1] + counts))[:-1], dtype=np.uint64)
