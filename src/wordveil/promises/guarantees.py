"""Guarantees as values: what a mechanism promises, for whom, on what grounds.

    Guarantee
    ├── MetricDP       P[A(x) in U] <= e^(epsilon * dist(x, x') + slack) P[A(x') in U] + delta, for every pair
    ├── LocalDP        the same with dist = 1: every pair of inputs equally
    ├── NeighbourDP    the LocalDP inequality, only for pairs adjacent in a stated graph
    └── NoGuarantee    nothing, for a stated reason: a legal value, not an exception

Three promises, never mixed up: composing, converting or comparing across them works only through a theorem named
in `promises.composing` and raises `GuaranteeError` otherwise. `slack` (nats) covers what arithmetic or a finite solve
adds; it is zero only where that is proved, and None where the proof speaks of ideal real numbers and no bound on
rounding is known. Numbers that are promised are rounded *up* whenever they are printed, numbers that are assumed
*down*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from typing import Any

from wordveil.errors import ParameterError

__all__ = [
    "SUMMED",
    "Bounded",
    "Guarantee",
    "LocalDP",
    "MetricDP",
    "NeighbourDP",
    "NoGuarantee",
    "PrivacyUnit",
    "Standing",
    "check_distance",
    "claimed",
    "round_down",
    "round_up",
    "weakest",
    "within_scope",
]


_TOLERATED = Decimal("1e-12")
_SHORT, _NEAR = 6, 1e-9  # digits of a short number, and how far below one an epsilon may lie to be claimed as it


class Standing(StrEnum):
    """On what grounds a guarantee is claimed."""

    PROVED = "proved"
    CERTIFIED = "certified"
    PUBLISHED = "published, unverified"
    REFUTED = "refuted"


class PrivacyUnit(StrEnum):
    """What two neighbouring inputs differ in."""

    TOKEN = "one token of a text of fixed length"
    DOCUMENT_WORD = "every occurrence of one word in a document (a record), replaced by a word not otherwise present"
    SENTENCE = "one sentence of a text with a fixed number of sentences"
    VECTOR = "one vector (row)"
    TEXT = "one text of fixed length"


SUMMED = (PrivacyUnit.TOKEN, PrivacyUnit.SENTENCE)
"""Units whose losses add up over a text."""


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


def claimed(epsilon: float) -> float:
    """Return an epsilon, or the short number it all but reaches: 8 for 7.999999999999999. Never less than given."""
    short = float(round_up(epsilon, _SHORT))
    return short if epsilon <= short <= epsilon * (1 + _NEAR) else epsilon


class Guarantee(ABC):
    """A promise with its privacy unit, standing and assumptions; see the module docstring for the four kinds."""

    unit: PrivacyUnit
    standing: Standing

    @property
    @abstractmethod
    def promise(self) -> str:
        """The promise's name: "metric DP", "local DP", "neighbour DP" or "none"."""

    @abstractmethod
    def sentence(self) -> str:
        """The promise in one sentence, numbers rounded up."""

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {"promise": self.promise, **asdict(self), "sentence": self.sentence()}  # type: ignore[call-overload]


def _tail(delta: float, slack: float | None) -> str:
    text = f", delta {round_up(delta)}" if delta else ""
    if slack is None:
        return text + " (for ideal real noise: float64 rounding is outside the proof)"
    return text + (f", arithmetic slack {round_up(slack, 2)} nats" if slack else "")


@dataclass(frozen=True, kw_only=True)
class Bounded(Guarantee):
    """What every bound on the loss states.

    Attributes:
        epsilon: Loss, in (0, inf); the subclass says in which unit and between which inputs. One that lies less than a
            billionth below a number of six digits is claimed as that number: 8 for 7.999999999999999.
        delta: Hockey-stick delta, not graded by distance, in [0, 1).
        slack: Nats added by arithmetic, whatever the inputs; None where no bound is known.
        unit: The privacy unit.
        standing: The grounds.
        assumptions: Conditions the promise rests on, each a sentence.
        scope: What a unit, an input and a distance are, beyond what the sentence says: the vocabulary and how texts are
            read, by digests. Only promises of one scope add up; empty where vectors are taken as they come.
    """

    epsilon: float
    delta: float = 0.0
    slack: float | None = 0.0
    unit: PrivacyUnit = PrivacyUnit.TOKEN
    standing: Standing
    assumptions: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError("epsilon", self.epsilon, "must be in (0, inf).")
        object.__setattr__(self, "epsilon", claimed(self.epsilon))
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", self.delta, "must be in [0, 1).")
        slack = self.slack
        if slack is not None and not (math.isfinite(slack) and slack >= 0):
            raise ParameterError("slack", slack, "must be in [0, inf), or None where no bound on rounding is known.")

    def _sentence(self, inputs: str, factor: str, limits: str = "") -> str:
        """Return the sentence between which inputs the probability of any output changes by which factor."""
        return (
            f"{self.promise} ({self.standing}): between {inputs}, the probability of any output changes by a factor of "
            f"{factor}{_tail(self.delta, self.slack)}; {limits}unit: {self.unit}"
        )


@dataclass(frozen=True, kw_only=True)
class MetricDP(Bounded):
    """Loss at most epsilon * dist(x, x') + slack, for every pair of inputs (d_X-privacy, Lipschitz privacy).

    Besides what every bound states (epsilon, here loss per unit of distance, unit 1/distance; delta; slack; unit;
    standing; assumptions; scope):

    Attributes:
        metric: Exact name of the metric.
        largest_distance: The loss stops growing here, because the mechanism works on min(metric, largest_distance).
    """

    metric: str
    largest_distance: float | None = None

    @property
    def promise(self) -> str:
        return "metric DP"

    def loss(self, distance: float) -> float:
        """Return the largest privacy loss, in nats, between two inputs at this distance.

        Raises:
            ParameterError: If the distance is negative or not finite.
        """
        check_distance(distance)
        counted = distance if self.largest_distance is None else min(distance, self.largest_distance)
        return self.epsilon * counted + (self.slack or 0.0)

    def sentence(self) -> str:
        largest = self.largest_distance
        cap = "" if largest is None else f", at most exp({round_up(self.epsilon * largest)})"
        return self._sentence(f"two inputs at {self.metric} distance t", f"exp({round_up(self.epsilon)} * t){cap}")


def check_distance(distance: float) -> None:
    """Refuse what is no finite distance.

    Raises:
        ParameterError: If it is negative or not finite.
    """
    if not (math.isfinite(distance) and distance >= 0):
        raise ParameterError("distance", distance, "must be in [0, inf).")


@dataclass(frozen=True, kw_only=True)
class LocalDP(Bounded):
    """Loss at most epsilon + slack between any two inputs, outside probability delta; epsilon is in nats."""

    @property
    def promise(self) -> str:
        return "local DP"

    def sentence(self) -> str:
        return self._sentence("any two inputs", f"at most exp({round_up(self.epsilon)})")


@dataclass(frozen=True, kw_only=True)
class NeighbourDP(Bounded):
    """The local-DP inequality for pairs adjacent in a stated public graph; nothing across components.

    Besides what every bound states (epsilon, in nats between adjacent inputs; delta; slack; unit; standing;
    assumptions; scope):

    Attributes:
        graph: What makes two inputs adjacent.
    """

    graph: str

    @property
    def promise(self) -> str:
        return "neighbour DP"

    def sentence(self) -> str:
        return self._sentence(
            f"two inputs adjacent in {self.graph}",
            f"at most exp({round_up(self.epsilon)})",
            "nothing is promised for other pairs; ",
        )


@dataclass(frozen=True, kw_only=True)
class NoGuarantee(Guarantee):
    """No promise holds.

    Attributes:
        reason: Why, as a sentence a user can act on.
        unit: The unit for which a promise was asked.
        standing: Refuted where a counter-example is known, else published or unverified.
    """

    reason: str
    unit: PrivacyUnit = PrivacyUnit.TOKEN
    standing: Standing = Standing.PUBLISHED

    @property
    def promise(self) -> str:
        return "none"

    def sentence(self) -> str:
        return f"no guarantee ({self.standing}): {self.reason}"


_ORDER = [Standing.PROVED, Standing.CERTIFIED, Standing.PUBLISHED, Standing.REFUTED]


def weakest(standings: Sequence[Standing]) -> Standing:
    """Return the weakest of several standings: a chain stands no better than its weakest link."""
    return max(standings, key=_ORDER.index)


def within_scope(claim: Guarantee, *parts: str, assuming: Sequence[str] = ()) -> Guarantee:
    """Return the claim with these parts of its scope, and with what they take for granted; twice is once."""
    if not isinstance(claim, Bounded):
        return claim
    scope, assumptions = dict.fromkeys((*claim.scope, *parts)), dict.fromkeys((*claim.assumptions, *assuming))
    return replace(claim, scope=tuple(scope), assumptions=tuple(assumptions))
