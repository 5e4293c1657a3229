r"""A public grid for numbers that keep their magnitude, and what a release on it promises.

A number moves to the nearest point of the grid and from there by `mechanisms.grids`, whose law does not depend on it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Any, Literal

from wordveil.errors import ParameterError
from wordveil.parameters import check_choice, natural_logarithm
from wordveil.promises.guarantees import MetricDP, Standing

MOST_POINTS = 1 << 16
LEAST_EPSILON = 1e-9
_FORM = re.compile(r"(\w+)=([^:@]+):([^:@]+):([^:@]+)(?::(\w+))?@([^:@]+)")
_KINDS = ("number", "year", "money", "date")


@dataclass(frozen=True, kw_only=True)
class NumberGrid:
    """The grid that numbers of one kind are released on, with its claim.

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

        `ParameterError` if the text has another form or a value is outside its domain.
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
        if self.scale == "log":
            return int(rounded(natural_logarithm(value / low) / natural_logarithm(self.step) + 1e-9))
        return int(rounded((value - low) / self.step + 1e-9))

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

    def guarantee(self) -> MetricDP:
        """What one released number promises, between two numbers of this kind."""
        return MetricDP(
            epsilon=self.epsilon,
            metric=f"{self.kind} grid-step",
            largest_distance=float(self.points - 1),
            standing=Standing.PROVED,
            scope=(f"{self.kind} {self._place('low')!r} to {self._place('high')!r}, step {self.step!r} {self.scale}",),
        )
