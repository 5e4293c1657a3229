"""The dominating pair of one token: what its privacy loss distribution is taken from when many tokens are composed."""

from __future__ import annotations

from dataclasses import replace

from wordveil.errors import GuaranteeError, ParameterError
from wordveil.mechanisms.checks import check_fitted
from wordveil.mechanisms.common import Randomizer
from wordveil.parameters import check_positive
from wordveil.promises.pair_loss import PairLoss


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
