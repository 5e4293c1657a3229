"""Guarantees as values: what a mechanism promises, for whom, on what grounds.

    Guarantee
    ├── MetricDP       P[A(x) in U] <= e^(epsilon * dist(x, x') + slack) P[A(x') in U] + delta, for every pair
    ├── LocalDP        the same with dist = 1: every pair of inputs equally
    ├── NeighbourDP    the LocalDP inequality, only for pairs adjacent in a stated graph
    └── NoGuarantee    nothing, for a stated reason: a legal value, not an exception

Three promises, never mixed up: composing, converting or comparing across them works only through a theorem named
here and raises `GuaranteeError` otherwise. `slack` (nats) covers what arithmetic or a finite solve adds; it is zero
only where that is proved, and None where the proof speaks of ideal real numbers and no bound on rounding is known.
Numbers that are promised are rounded *up* whenever they are printed, numbers that are assumed *down*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from wordveil.errors import GuaranteeError, ParameterError

__all__ = [
    "SUMMED",
    "Guarantee",
    "LocalDP",
    "MetricDP",
    "NeighbourDP",
    "NoGuarantee",
    "PrivacyUnit",
    "Standing",
    "compose_releases",
    "compose_tokens",
    "round_down",
    "round_up",
    "to_local",
    "weakest",
    "within_scope",
]


_TOLERATED = Decimal("1e-12")


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


def _add_slacks(slacks: Sequence[float | None]) -> float | None:
    known = [slack for slack in slacks if slack is not None]
    return math.fsum(known) if len(known) == len(slacks) else None


@dataclass(frozen=True, kw_only=True)
class _Bounded(Guarantee):
    """What every bound on the loss states.

    Attributes:
        epsilon: Loss, in (0, inf); the subclass says in which unit and between which inputs.
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
class MetricDP(_Bounded):
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
        _check_distance(distance)
        counted = distance if self.largest_distance is None else min(distance, self.largest_distance)
        return self.epsilon * counted + (self.slack or 0.0)

    def sentence(self) -> str:
        largest = self.largest_distance
        cap = "" if largest is None else f", at most exp({round_up(self.epsilon * largest)})"
        return self._sentence(f"two inputs at {self.metric} distance t", f"exp({round_up(self.epsilon)} * t){cap}")


def _check_distance(distance: float) -> None:
    if not (math.isfinite(distance) and distance >= 0):
        raise ParameterError("distance", distance, "must be in [0, inf).")


@dataclass(frozen=True, kw_only=True)
class LocalDP(_Bounded):
    """Loss at most epsilon + slack between any two inputs, outside probability delta; epsilon is in nats."""

    @property
    def promise(self) -> str:
        return "local DP"

    def sentence(self) -> str:
        return self._sentence("any two inputs", f"at most exp({round_up(self.epsilon)})")


@dataclass(frozen=True, kw_only=True)
class NeighbourDP(_Bounded):
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


def compose_releases(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return the promise of several releases of the same input: epsilons, deltas and slacks add.

    The releases must draw independently: under keys, or document ids, of their own. Releases under one key and id are
    equal where the text is, and so tell whether it changed, which no sum covers.

    Args:
        guarantees: At least one; all of one promise, metric or graph, scope and privacy unit.

    Returns:
        A guarantee of the same kind, or the first `NoGuarantee` among them.

    Raises:
        GuaranteeError: If the promises are of different kinds or scopes, one has no scope and needs it, or nothing was
            given.

    Reference:
        Basic composition; Chatzikokolakis et al. (2013), Broadening the Scope of Differential Privacy, Fact 1.
    """
    if not guarantees:
        raise GuaranteeError("There is nothing to compose: pass at least one guarantee.")
    for guarantee in guarantees:
        if isinstance(guarantee, NoGuarantee):
            return guarantee
    first = guarantees[0]
    for other in guarantees[1:]:
        require_same_promise(first, other)
    return _sum(first, guarantees)


def _sum(first: Any, guarantees: Sequence[Any]) -> Guarantee:
    delta = math.fsum(g.delta for g in guarantees)
    if delta >= 1:
        return NoGuarantee(reason=f"the deltas add up to {round_up(delta)}, which is 1 or more", unit=first.unit)
    caps: list[Any] = [getattr(g, "largest_distance", None) for g in guarantees]
    # Losses stop growing at the largest of the caps only, and never where one of them does not stop.
    cap = {"largest_distance": None if None in caps else max(caps)} if isinstance(first, MetricDP) else {}
    total: Guarantee = replace(
        first,
        **cap,
        epsilon=math.fsum(g.epsilon for g in guarantees),
        delta=delta,
        slack=_add_slacks([g.slack for g in guarantees]),
        standing=weakest([g.standing for g in guarantees]),
        assumptions=tuple(dict.fromkeys(a for g in guarantees for a in g.assumptions)),
    )
    return total


def require_same_promise(a: Guarantee, b: Guarantee) -> None:
    """Raise unless two guarantees make the same kind of promise in the same unit, so that their numbers compare.

    Raises:
        GuaranteeError: Naming what differs: the promise, the metric, the graph, the scope or the privacy unit; or if
            neither says what its unit is.
    """
    for name in ("promise", "metric", "graph", "scope", "unit"):
        left, right = getattr(a, name, None), getattr(b, name, None)
        if left != right:
            if left and right and name == "scope":  # only the first part that differs
                left, right = next((one, two) for one, two in zip_longest(left, right) if one != two)
            raise GuaranteeError(
                f"These guarantees differ in their {name} ({left} against {right}); their epsilons have different "
                "meanings and cannot be added or compared. Convert both with a theorem first, such as to_local()."
            )
    as_they_come = a.unit is PrivacyUnit.VECTOR and not isinstance(a, NeighbourDP)
    if isinstance(a, _Bounded) and not (a.scope or as_they_come):
        raise GuaranteeError(
            f"Nothing says what '{a.unit}' is to these guarantees: of which vocabulary, read in which way. Take them "
            "from a Sanitizer, a layer or a release, or give both one scope."
        )


def within_scope(claim: Guarantee, *parts: str, assuming: Sequence[str] = ()) -> Guarantee:
    """Return the claim with these parts of its scope, and with what they take for granted; twice is once."""
    if not isinstance(claim, _Bounded):
        return claim
    scope, assumptions = dict.fromkeys((*claim.scope, *parts)), dict.fromkeys((*claim.assumptions, *assuming))
    return replace(claim, scope=tuple(scope), assumptions=tuple(assumptions))


def compose_tokens(guarantee: Guarantee, distances: Sequence[float]) -> LocalDP | NoGuarantee:
    """Return the promise between two texts of equal length that differ in the given tokens.

    Args:
        guarantee: A per-token guarantee.
        distances: The metric distance of each differing token pair; for local DP only their number counts.

    Returns:
        A bound for this pair of texts: the sum of epsilon * distance + slack, and of delta, over differing tokens.

    Raises:
        GuaranteeError: For neighbour DP (its pairs must be adjacent, which distances do not show), when the unit is
            not a token, or when no token differs.
        ParameterError: If a distance is negative or not finite.
    """
    if isinstance(guarantee, NoGuarantee):
        return guarantee
    if not isinstance(guarantee, MetricDP | LocalDP) or guarantee.unit not in SUMMED:
        raise GuaranteeError(f"{guarantee.promise} per '{guarantee.unit}' does not sum over tokens of arbitrary texts.")
    if not distances:
        raise GuaranteeError("The texts do not differ: there is no pair to bound.")
    for distance in distances:
        _check_distance(distance)
    slack = None if guarantee.slack is None else guarantee.slack * len(distances)
    bare = replace(guarantee, slack=0.0)
    each = [bare.loss(t) if isinstance(bare, MetricDP) else bare.epsilon for t in distances]
    delta = guarantee.delta * len(distances)
    if delta >= 1:
        return NoGuarantee(reason=f"the deltas of {len(distances)} tokens add up to 1 or more", unit=PrivacyUnit.TEXT)
    if math.fsum(each) == 0:
        raise GuaranteeError("All differing tokens are at distance 0: the inputs are indistinguishable up to slack.")
    return LocalDP(
        epsilon=math.fsum(each),
        delta=delta,
        slack=slack,
        unit=PrivacyUnit.TEXT,
        standing=guarantee.standing,
        assumptions=(*guarantee.assumptions, "both texts have the same length and the same exempt positions"),
        scope=guarantee.scope,
    )


def to_local(guarantee: Guarantee, *, diameter: float = math.inf) -> LocalDP:
    """Turn metric DP into local DP over a set of public diameter D: epsilon becomes epsilon * D.

    Args:
        guarantee: Metric DP (local DP is returned as it is).
        diameter: Largest distance between two possible inputs, in the metric's unit, public and positive; needed
            unless the guarantee has a largest distance of its own.

    Raises:
        GuaranteeError: If no theorem converts this promise.
        ParameterError: If no finite positive diameter is known.
    """
    if isinstance(guarantee, LocalDP):
        return guarantee
    if not isinstance(guarantee, MetricDP):
        raise GuaranteeError(f"No theorem turns '{guarantee.promise}' into local DP: it says nothing about most pairs.")
    if guarantee.largest_distance is not None:
        diameter = min(diameter, guarantee.largest_distance)
    if not (math.isfinite(diameter) and diameter > 0):
        raise ParameterError("diameter", diameter, "must be in (0, inf).")
    return LocalDP(
        epsilon=guarantee.epsilon * diameter,
        delta=guarantee.delta,
        slack=guarantee.slack,
        unit=guarantee.unit,
        standing=guarantee.standing,
        assumptions=(
            *guarantee.assumptions,
            f"all inputs lie within a public {guarantee.metric} diameter of {round_down(diameter)}",
        ),
        scope=guarantee.scope,
    )
