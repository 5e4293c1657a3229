"""Local DP from the exact profile of Laplace noise at a public diameter, and the dominating pair of one token.

The privacy loss distribution of many tokens is composed from that pair.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.common import Randomizer, check_fitted
from wordveil.mechanisms.laplace_profile import laplace_epsilon
from wordveil.parameters import check_positive
from wordveil.promises.composing import to_local
from wordveil.promises.guarantees import LocalDP, Standing, weakest
from wordveil.promises.pair_loss import PairLoss

_MINIMAL_EPSILON = 1e-9


def laplace_to_local(fitted: Randomizer, *, diameter: float, delta: float) -> LocalDP:
    """Turn the metric DP of one draw of Laplace noise into local DP over a public diameter, by its exact profile.

    What is fitted, multivariate Laplace, Mahalanobis or projection, or one of them decoded to words, says how many
    dimensions its noise has; a promise alone does not, and a sum of promises is of several draws. The diameter is the
    largest distance between two inputs, in the metric of its guarantee.

    Guarantee:
        (epsilon', delta) local DP between any two inputs at distance at most the diameter, certified; its standing is
        no better than that of the metric DP it starts from. The profile is non-decreasing in the distance, as for
        every log-concave density g: on a line along the shift r, where g(t) > a g(t - r) is a half line, the delta is
        the largest G(t) - a G(t - r) over t, and G(t - r) falls in r; integrate over the lines.

    Raises:
        GuaranteeError: If it is nothing of that kind, or its promise has a delta of its own.
        ParameterError: If a parameter is outside its domain.
    """
    noise = check_fitted(fitted)
    dimensions = noise.laplace_dimensions
    if dimensions is None:
        raise GuaranteeError(
            f"The profile is that of one draw of Laplace noise, and {type(fitted).__name__} does not say whether it is "
            "one: pass the fitted mechanism, or use to_local() for its promise."
        )
    claim: Any = noise.guarantee()
    if claim.delta != 0:
        raise GuaranteeError("The promise has a delta of its own, which the profile does not cover; use to_local().")
    check_positive("diameter", diameter)
    loss = math.nextafter(claim.epsilon * diameter, math.inf)
    local: Any = to_local(claim, diameter=diameter)
    found: LocalDP = replace(
        local,
        epsilon=max(laplace_epsilon(delta, dimensions=dimensions, loss=loss), _MINIMAL_EPSILON),
        delta=delta,
        standing=weakest([claim.standing, Standing.CERTIFIED]),
    )
    return found


def dominating_pair(fitted: Randomizer, *, diameter: float | None = None) -> PairLoss:
    """Return the dominating pair of a fitted mechanism.

    Args:
        fitted: A fitted clipped Gaussian, multivariate Laplace or selection mechanism (small vocabulary).
        diameter: Largest distance between two inputs, public; for multivariate Laplace, and for it alone.

    Raises:
        GuaranteeError: If no dominating pair of this mechanism is known, or it has no guarantee.
        ParameterError: If the diameter is missing, superfluous or not positive.
    """
    chosen = check_fitted(fitted)
    claim = chosen.guarantee()
    if claim.epsilon is None:
        raise GuaranteeError(f"There is no promise to compose: {claim.reason}")
    if claim.metric and claim.largest_distance is None:
        check_positive("diameter", diameter)
    elif diameter is not None:
        raise ParameterError("diameter", diameter, "belongs to noise whose loss grows without end; leave it out.")
    pair = chosen.loss_profile(diameter)
    if pair is None:
        raise GuaranteeError(
            f"{type(fitted).__name__} cannot be composed by its own loss: no dominating pair of it is known here. Use "
            "generic_pair()."
        )
    # What a mechanism of a third party says of its loss is never less bound than its claim.
    assumed = tuple(dict.fromkeys((*claim.assumptions, *pair.assumptions)))
    return replace(pair, assumptions=assumed, scope=claim.scope)
