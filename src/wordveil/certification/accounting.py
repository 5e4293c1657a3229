"""Local DP of a whole text from the privacy loss distributions of its tokens: what many small losses really add up to.

Sums of epsilons assume that every token meets its worst case at once. Here each token's own dominating pair
(`promises.pair_loss`) is composed instead, with the package `dp-accounting`; tokens may be of different mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.parameters import check_delta, check_whole
from wordveil.promises.guarantees import LocalDP, PrivacyUnit, Standing
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
    alike = _on_one_grid(losses)
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


def _on_one_grid(losses: Sequence[tuple[PairLoss, int]]) -> list[tuple[PairLoss, int]]:
    """Return the pairs with one interval: the finest given, as far as the longest pair then has a fair number of steps.

    Losses are rounded up to a multiple of it, so it must be small even where pairs of two points have large ones.
    """
    finest = min(loss.interval for loss, _ in losses)
    if all(loss.interval == finest for loss, _ in losses):
        return list(losses)
    longest = max(loss.largest for loss, _ in losses)
    interval = max(min(finest, longest / _STEPS[0]), longest / _STEPS[1])
    return [(loss.in_steps_of(interval), count) for loss, count in losses]


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
