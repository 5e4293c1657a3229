"""What a release costs, in whole units: exact sums, rounded up, and never added across unlike promises.

The unit of account is the whole history of texts: a release of t tokens, or sentences, at epsilon and slack each costs
t * (epsilon + slack). The sum over an account bounds the loss between any two histories whose texts agree in length and
in all that is disclosed, whatever they share: basic composition, over tokens and over releases. For metric DP it is a
loss per unit of distance, where no token moves by more than that; for neighbour DP it covers adjacent words only.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from wordveil.errors import GuaranteeError, ParameterError
from wordveil.promises.composing import require_same_promise
from wordveil.promises.guarantees import SUMMED, Guarantee, Standing

NAT_UNITS = 10**9
"""Units of account of one nat (for metric DP: of one nat per unit of distance)."""

LARGEST = 2**63 - 1
"""What a database's whole number holds."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one release costs."""

    promise: str  # which budget pays, as JSON: costs of one promise add up, of two they do not
    units: int  # loss in units of 1 / NAT_UNITS, rounded up

    def __add__(self, other: Cost) -> Cost:
        return replace(self, units=self.units + other.units)

    @property
    def promise_id(self) -> str:
        """A short name of the promise."""
        return hashlib.sha256(self.promise.encode()).hexdigest()[:16]


@lru_cache(maxsize=64)
def promise_of(guarantee: Guarantee) -> str:
    """Return what tells a promise from those that its costs do not add up with, as JSON.

    Raises:
        GuaranteeError: If no sum over the tokens of texts is known for this promise, or it has a delta.
    """
    if guarantee.epsilon is None or guarantee.standing is Standing.REFUTED:
        raise GuaranteeError("Nothing is promised, so no budget can pay for it; choose another setting.")
    if guarantee.delta:
        raise GuaranteeError("A budget pays for no promise with a delta; choose a setting without one.")
    if guarantee.unit not in SUMMED:
        raise GuaranteeError(f"A promise per '{guarantee.unit}' does not add up over texts; draw for each token.")
    require_same_promise(guarantee, guarantee)  # that it says what its unit is
    facts = {name: getattr(guarantee, name) for name in ("promise", "metric", "graph", "scope")}
    rounding = "ideal real noise" if guarantee.slack is None else "bounded"
    return json.dumps(facts | {"unit": str(guarantee.unit), "rounding": rounding}, sort_keys=True)


@lru_cache(maxsize=4096)
def cost_of(guarantee: Guarantee, count: int) -> Cost:
    """Return what a release of so many tokens, or sentences, costs under a promise for each."""
    promise = promise_of(guarantee)
    epsilon, slack = Fraction(guarantee.epsilon or 0.0), Fraction(guarantee.slack or 0.0)
    spent = math.ceil(count * (epsilon + slack) * NAT_UNITS)
    if spent > LARGEST:
        raise ParameterError("epsilon", guarantee.epsilon, "costs more than a ledger can hold.")
    return Cost(promise=promise, units=spent)


def units(amount: str) -> int:
    """Return an amount that is granted in units, rounded down."""
    try:
        exact = Decimal(amount)
        whole = math.floor(Fraction(exact) * NAT_UNITS) if exact.adjusted() < 30 else -1
    except (InvalidOperation, ValueError, OverflowError):
        whole = -1
    if not 0 <= whole <= LARGEST:
        raise ParameterError("amount", amount, f"must be a number in [0, {LARGEST // NAT_UNITS}].")
    return whole


def nats(count: int) -> str:
    """Return units as a decimal number, with all its digits."""
    return f"{Decimal(count) / NAT_UNITS:f}"
