"""Local DP from what an exact profile says of one token, and what many small losses of a whole text really add up to.

Sums of epsilons assume that every token meets its worst case at once. Here each token's own dominating pair
(`promises.pair_loss`) is composed instead, with the package `dp-accounting`; tokens may be of different mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wordveil.errors import GuaranteeError, MissingExtraError, ParameterError
from wordveil.mechanisms.common import Randomizer, check_fitted
from wordveil.mechanisms.laplace_profile import laplace_epsilon
from wordveil.parameters import check_delta, check_positive, check_whole
from wordveil.promises.composing import to_local
from wordveil.promises.guarantees import LocalDP, PrivacyUnit, Standing, weakest
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.rounding import bracket, round_up

_UNIT = 2.0**-53
_TAIL = 1e-15  # probability, per mechanism, that may be counted as an unbounded loss
_MINIMAL_EPSILON = 1e-9
_STEPS = (1 << 10, 1 << 12)  # fewest and most grid points of the longest pair where unlike grids are composed


def compose_many(losses: Sequence[tuple[PairLoss, int]], delta: float) -> LocalDP:
    """Return the local DP between two texts of the same length that differ in at most so many tokens of each kind.

    Guarantee:
        (epsilon, delta) local DP per text, certified: each pair is discretized by connecting the dots of an upper bound
        on its profile, tails count as unbounded loss, and a bound on the error of the Fourier transforms is taken
        off delta. Holds only for the inputs and the mechanisms that `losses` speak of.

    Args:
        losses: (pair of one token, number of such tokens that may differ, at least 1), one for each mechanism; every
            token has its own fresh draw.
        delta: In (0, 1), for the whole text.

    Returns:
        Unit `PrivacyUnit.TEXT`, of the scope that all pairs share, or of none where one has none; epsilon is the upper
        end of a bracket whose delta was computed to be small enough.

    Raises:
        MissingExtraError: If dp-accounting is not installed.
        ParameterError: If a parameter is outside its domain, the pairs are of unlike scopes, or delta is below what the
            pairs or float64 can reach.

    Reference:
        Doroshenko et al. (2022), Connect the Dots, Algorithm 1; Zhu, Dong, Wang (2022), Optimal Accounting of
        Differential Privacy via Characteristic Function (dominating pairs compose).
    """
    if not losses:
        raise ParameterError("losses", "[]", "must name at least one pair.")
    for _, count in losses:
        check_whole("count", count)
    check_delta(delta)
    scopes = {loss.scope for loss, _ in losses}
    if len(scopes - {()}) > 1:
        problem = "must be of one scope: a token means something else in another vocabulary or reading of texts."
        raise ParameterError("losses", "pairs of unlike scopes", problem)
    # One interval for all pairs: the finest given, as far as the longest pair then has a fair number of steps. Losses
    # are rounded up to a multiple of it, so it must be small even where pairs of two points have large ones.
    alike, finest = list(losses), min(loss.interval for loss, _ in losses)
    if any(loss.interval != finest for loss, _ in losses):
        longest = max(loss.largest for loss, _ in losses)
        interval = max(min(finest, longest / _STEPS[0]), longest / _STEPS[1])
        alike = [(loss.in_steps_of(interval), count) for loss, count in losses]
    delta_at, error = _composed(alike)
    slacks = [None if loss.slack is None else count * loss.slack for loss, count in alike]
    slack = None if None in slacks else math.fsum(slack or 0.0 for slack in slacks)
    # Slack multiplies delta too where the channel's inequality is carried over to the sampler's.
    target = delta * math.exp(-(slack or 0.0)) - error
    high = math.fsum(count * loss.largest for loss, count in alike) * (1 + 4 * _UNIT)
    reached = delta_at(high)
    if reached > target:
        least = round_up(min(reached + error, 1.0))
        tokens = _tokens(sum(count for _, count in alike))
        problem = f"must be above {least} for {tokens}; fewer tokens or more noise lower that."
        raise ParameterError("delta", delta, problem)
    smallest = 0.0
    if delta_at(0.0) > target:  # the upper end of a narrow bracket around the smallest whose delta is small enough
        smallest = bracket(lambda epsilon: delta_at(epsilon) <= target, 0.0, high, 1e-10)[1]
    return LocalDP(
        epsilon=max(smallest, _MINIMAL_EPSILON),
        delta=delta,
        slack=slack,
        unit=PrivacyUnit.TEXT,
        standing=Standing.CERTIFIED,
        assumptions=_assumptions(alike),
        scope=losses[0][0].scope if len(scopes) == 1 else (),
    )


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _assumptions(losses: Sequence[tuple[PairLoss, int]]) -> tuple[str, ...]:
    own = [assumption for loss, _ in losses for assumption in loss.assumptions]
    steps = f"losses discretized pessimistically in steps of {round_up(losses[0][0].interval)}"
    if len(losses) == 1:
        loss, count = losses[0]
        own.append(f"each token: {loss.speaks_of}; {steps}")
        limit = f"differ in at most {_tokens(count)}"
    else:
        own += [f"each token of kind {i}: {loss.speaks_of}; {steps}" for i, (loss, _) in enumerate(losses, 1)]
        limits = [f"{_tokens(count)} of kind {i}" for i, (_, count) in enumerate(losses, 1)]
        limit = f"differ in at most {' and '.join(limits)}"
    return (*dict.fromkeys(own), f"the texts have the same length and exempt positions and {limit}")


def _composed(losses: Sequence[tuple[PairLoss, int]]) -> tuple[Callable[[float], float], float]:
    """Return delta(epsilon) of the composition and a bound on what float64 hides of it."""
    try:
        from dp_accounting.pld import pld_pmf as module
    except ImportError:
        raise MissingExtraError("Composition by privacy loss distributions", "dp-accounting", "accounting") from None
    total: Any = None
    error = 0.0
    for loss, count in losses:
        pmf, own = _self_composed(module, loss, count)
        error += own
        if total is None:
            total = pmf
            continue
        error += 2 * _transform_error(2 * (total.size + pmf.size), 2)
        total = module.compose_pmfs(total, pmf)
    return lambda epsilon: float(total.get_delta_for_epsilon(epsilon)), error


def _self_composed(module: Any, loss: PairLoss, count: int) -> tuple[Any, float]:
    """Return the distribution of `count` tokens of one pair, and what float64 hides of a delta taken from it."""
    top = len(loss.deltas) - 1
    pmf = module.create_pmf_pessimistic_connect_dots_fixed_gap(loss.interval, -top, top, loss.both_sides())
    # Clipping a rounded mass at 0 adds to the total; each mass is within a few units of 1 + h.
    excess = max(0.0, float(pmf.get_delta_for_epsilon(-math.inf)) - 1) + (2 * top + 1) * 8 * _UNIT * (1 + loss.interval)
    transform = 0.0
    if count > 1:
        pmf = pmf.self_compose(count, _TAIL)
        transform = _transform_error(2 * max(pmf.size, 2 * top + 1), count)
    return pmf, 2 * (transform + count * excess)


def _transform_error(length: int, count: int) -> float:
    """Return a bound on the l1 error of a convolution of `count` distributions by Fourier transforms of a length.

    l1 <= sqrt(N) l2; a transform errs by less than 8 units per level (Higham 2002, Theorem 24.2), and the product
    multiplies that by `count`.
    """
    return math.sqrt(length) * 8 * (count + 1) * (math.log2(length) + 1) * _UNIT


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
