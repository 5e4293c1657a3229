"""What several promises come to together, and the theorems from one kind of promise to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from wordveil.errors import GuaranteeError, ParameterError
from wordveil.parameters import check_distance
from wordveil.promises.guarantees import SUMMED, Guarantee, LocalDP, MetricDP, NoGuarantee, PrivacyUnit, weakest
from wordveil.promises.rounding import at_least, round_down, round_up, summed


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
    each: Sequence[Any] = guarantees
    delta = summed(g.delta for g in each)
    if delta >= 1:
        return NoGuarantee(reason=f"the deltas add up to {round_up(delta)}, which is 1 or more", unit=first.unit)
    caps, slacks = [g.largest_distance for g in each], [g.slack for g in each]
    # Losses stop growing at the largest of the caps only, and never where one of them does not stop.
    cap = {"largest_distance": None if None in caps else max(caps)} if isinstance(first, MetricDP) else {}
    total: Guarantee = replace(
        each[0],
        **cap,
        epsilon=summed(g.epsilon for g in each),
        delta=delta,
        slack=None if None in slacks else summed(slacks),
        standing=weakest([g.standing for g in each]),
        assumptions=tuple(dict.fromkeys(a for g in each for a in g.assumptions)),
    )
    return total


def require_same_promise(a: Guarantee, b: Guarantee) -> None:
    """Raise unless two guarantees make the same kind of promise in the same unit, so that their numbers compare.

    The `GuaranteeError` names what differs: the promise, the metric, the graph, the scope or the privacy unit; or says
    that neither tells what its unit is.
    """
    if problem := a.difference(b):
        raise GuaranteeError(problem)


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
        check_distance(distance)
    slack = None if guarantee.slack is None else at_least(Fraction(guarantee.slack) * len(distances))
    bare = replace(guarantee, slack=0.0)
    each = [bare.loss(t) if isinstance(bare, MetricDP) else bare.epsilon for t in distances]
    delta = at_least(Fraction(guarantee.delta) * len(distances))
    if delta >= 1:
        return NoGuarantee(reason=f"the deltas of {len(distances)} tokens add up to 1 or more", unit=PrivacyUnit.TEXT)
    if not any(each):
        raise GuaranteeError("All differing tokens are at distance 0: the inputs are indistinguishable up to slack.")
    return LocalDP(
        epsilon=summed(each),
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
        epsilon=at_least(Fraction(guarantee.epsilon) * Fraction(diameter)),
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
