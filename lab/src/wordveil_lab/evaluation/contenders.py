"""The rows of the league table: every mechanism with parameters that make it keep one promise.

Five groups, never ranked against each other:

    metric     epsilon metric DP for the Euclidean distance between words of the vocabulary
    rank       epsilon metric DP for the neighbour-rank distance, a coarser promise of the same form
    local      (epsilon, delta) local DP between any two words of the vocabulary
    neighbour  (epsilon, delta) neighbour DP: only between adjacent words of a public graph
    refuted    nothing: the published claim has a counter-example, which is printed in place of the claim

A mechanism enters a group of another promise only by a theorem, which its note names.
"""

from __future__ import annotations

import math

from wordveil.api import Embeddings, ParameterError
from wordveil_lab.evaluation.promises import Contender, Group, PromiseSettings, Target
from wordveil_lab.evaluation.recipes import RECIPES, RowPlan


def known_names() -> tuple[str, ...]:
    """Return the row names, each once, sorted."""
    return tuple(sorted({name for _, name in RECIPES}))


def contenders(
    names: tuple[str, ...] | None,
    epsilons: tuple[float, ...],
    local_epsilons: tuple[float, ...],
    rank_epsilons: tuple[float, ...] = (),
) -> tuple[Target, ...]:
    """Return the rows to be fitted.

    Args:
        names: Row names or their first parts ("tem" takes "tem-certified" too); None takes all.
        epsilons: Of metric DP, per unit of Euclidean distance; none leaves that group out, as below.
        local_epsilons: Of local, neighbour and refuted rows, nats.
        rank_epsilons: Of metric DP, per unit of neighbour-rank distance.

    Raises:
        ParameterError: If a name is not known, an epsilon is not finite and positive, or no row is left.
    """
    for epsilon in (*epsilons, *local_epsilons, *rank_epsilons):
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise ParameterError("epsilon", epsilon, "must be in (0, inf).")
    for wanted in names or ():
        if not any(_matches(name, wanted) for _, name in RECIPES):
            raise ParameterError("mechanisms", wanted, f"must be all or among {', '.join(known_names())}.")
    chosen = {Group.METRIC: epsilons, Group.RANK: rank_epsilons}
    found = tuple(
        Target(name=name, group=group, epsilon=epsilon)
        for group, name in RECIPES
        if names is None or any(_matches(name, wanted) for wanted in names)
        for epsilon in chosen.get(group, local_epsilons)
    )
    if not found:
        raise ParameterError("mechanisms", ",".join(names or ()), "have no row for the kinds of epsilon given.")
    return found


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith((f"{wanted}-", f"{wanted}+"))


def fit_contender(target: Target, embeddings: Embeddings, settings: PromiseSettings) -> Contender:
    """Fit a row to a vocabulary.

    Raises:
        ParameterError: If the mechanism has no parameters for this epsilon on this vocabulary.
    """
    return RECIPES[target.group, target.name](RowPlan(embeddings, target.epsilon, settings))
