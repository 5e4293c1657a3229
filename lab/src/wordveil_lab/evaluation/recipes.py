"""The rows of the league table: every mechanism with parameters that make it keep one promise, one release a row.

Five groups, never ranked against each other:

    metric     epsilon metric DP for the Euclidean distance between words of the vocabulary
    rank       epsilon metric DP for the neighbour-rank distance, a coarser promise of the same form
    local      (epsilon, delta) local DP between any two words of the vocabulary
    neighbour  (epsilon, delta) neighbour DP: only between adjacent words of a public graph
    refuted    nothing: the published claim has a counter-example, which is printed in place of the claim

A mechanism enters a group of another promise only by a theorem, which its note names. The recipes choose nothing by
looking at results; clip norm, covariance, stretch and diameter are facts of the public vocabulary.
"""

from __future__ import annotations

import hashlib
import math
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import numpy as np

import wordveil.api as wv
from wordveil_lab.evaluation.cells import Baseline, Contender, Group, OfferedTarget, PromiseSettings, Target
from wordveil_lab.package import told


@dataclass(frozen=True)
class RowPlan:
    """What a recipe is given."""

    embeddings: wv.Embeddings
    epsilon: float
    settings: PromiseSettings

    @property
    def clip_norm(self) -> float:
        norms = np.linalg.norm(np.asarray(self.embeddings.vectors, dtype=np.float64), axis=1)
        return float(np.quantile(norms, self.settings.clip_quantile))

    @property
    def projected(self) -> int:
        d = self.embeddings.dimensions
        return min(d, self.settings.projected or max(2, d // 5))


_Recipe = Callable[[RowPlan], Contender]
BALL = "delta", "clip_norm"
PRINCIPAL: dict[str, Any] = {"directions": "principal", "sensitivity": "spectral"}
NOTES: dict[str, str] = told("evaluation/report.toml")["notes"]


def _decoded(
    plan: RowPlan, mechanism: wv.VectorMechanism, decoder: wv.Decoder | None = None, note: str = ""
) -> Contender:
    return _selected(wv.Decoded(mechanism=mechanism, decoder=decoder or wv.Nearest()).fit(plan.embeddings), note)


def _undecoded(recipe: _Recipe, plan: RowPlan) -> Contender:
    return replace(recipe(plan), decoded=False)


def _mahalanobis(plan: RowPlan) -> Contender:
    unit = wv.Mahalanobis(epsilon=1.0).fit(plan.embeddings)
    # A hair less, so that the rounded-up Euclidean epsilon does not exceed the target.
    own = plan.epsilon / unit.euclidean_epsilon * (1 - 1e-12)
    words = wv.Decoded(mechanism=wv.Mahalanobis(epsilon=own)).fit(plan.embeddings)
    noise: Any = words.randomizer
    note = f"Mahalanobis epsilon {own:.4g}, a loss of epsilon/sqrt(lambda_min) per unit of Euclidean distance"
    return Contender(words=words, guarantee=noise.euclidean_guarantee(), note=note)


def _selected(words: wv.WordRandomizer, note: str = "") -> Contender:
    return Contender(words=words, guarantee=words.guarantee(), note=note)


def _textbook(kind: Callable[..., wv.SelectionMechanism], **settings: Any) -> _Recipe:
    """Return the recipe of a selection at the rate that its paper gives."""
    return lambda plan: _selected(kind(epsilon=plan.epsilon, **settings).fit(plan.embeddings))


def _certified(kind: Callable[..., wv.SelectionMechanism], calibration: str = "certified", **settings: Any) -> _Recipe:
    """Return the recipe of a selection at a certified rate."""

    def recipe(plan: RowPlan) -> Contender:
        mechanism = kind(epsilon=plan.epsilon, calibration=calibration, **settings)
        words: Any = mechanism.fit(plan.embeddings, wv.certify(mechanism, plan.embeddings, threads=1))
        reach = diameter(plan.embeddings) if calibration == "certified-local" else 1.0
        textbook = plan.epsilon / reach / 2
        return _selected(words, f"certified rate {words.rows.rate:.4g} where the textbook has {textbook:.4g}")

    return recipe


@lru_cache(maxsize=4)  # rows over one vocabulary share it
def diameter(embeddings: wv.Embeddings) -> float:
    """Return the largest distance between two words, rounded up."""
    largest = float(np.linalg.norm(np.asarray(embeddings.vectors, dtype=np.float64), axis=1).max())
    return wv.clipped_diameter(embeddings.vectors, largest * (1 + 1e-9))  # nothing is clipped


def noise_diameter(noise: wv.VectorRandomizer, embeddings: wv.Embeddings) -> float:
    """Return by how many units of its promise two words differ at most for additive noise, rounded up.

    A projection adds its noise to projected vectors, at rate epsilon over its stretch: what two words lose is this rate
    times the distance of *these* vectors, as nothing else of them is read.
    """
    space = noise.decoding_space(embeddings)
    largest = float(np.abs(space.vectors).sum(axis=1, dtype=np.float64).max())
    found = diameter(space) + 2.0**-23 * largest  # noise is added before they are rounded to float32
    return math.nextafter(found / noise.largest_stretch, math.inf)


def _local_by_profile(plan: RowPlan, mechanism: Callable[..., wv.VectorMechanism]) -> Contender:
    unit, delta = mechanism(epsilon=1.0).fit(plan.embeddings), plan.settings.delta
    reach, d = noise_diameter(unit, plan.embeddings), unit.dimensions
    low = high = plan.epsilon  # loss at the diameter: delta is 0 there, and grows with the loss
    while wv.laplace_delta(plan.epsilon, dimensions=d, loss=high) <= delta:
        low, high = high, 2 * high
    low, _ = wv.bracket(lambda x: wv.laplace_delta(plan.epsilon, dimensions=d, loss=x) > delta, low, high, 1e-4)
    words = wv.Decoded(mechanism=mechanism(epsilon=low / reach)).fit(plan.embeddings)
    own = words.randomizer.guarantee()
    assert own.epsilon is not None
    local = wv.laplace_to_local(words.randomizer, diameter=reach, delta=delta)
    within = f"what noise is added to, the public image of an input, lies within a diameter of {wv.round_down(reach)}"
    said = (within if each.startswith("all inputs lie within") else each for each in local.assumptions)
    local = replace(local, assumptions=tuple(said))
    note = f"exact privacy profile at the diameter {reach:.4g} of what noise is added to; {own.epsilon:.4g} metric DP"
    return Contender(words=words, guarantee=local, note=note)


def _santext_local(plan: RowPlan) -> Contender:
    reach = diameter(plan.embeddings)
    words = wv.SanText(epsilon=plan.epsilon / reach).fit(plan.embeddings)
    note = f"epsilon times the vocabulary's diameter {reach:.4g}"
    return Contender(words=words, guarantee=wv.to_local(words.guarantee(), diameter=reach), note=note)


def _neighbours(k: int, outputs: int | str | None = None) -> _Recipe:
    unfitted = wv.NeighbourResponse(k=k, outputs=outputs)
    return lambda plan: _selected(listed(unfitted, plan.embeddings)(plan.epsilon))


@lru_cache(maxsize=8)  # epsilon is the last of what rows differ in, and the lists do not depend on it
def listed(mechanism: wv.NeighbourResponse, embeddings: wv.Embeddings) -> Callable[[float], wv.WordRandomizer]:
    """Return what fits neighbour response at an epsilon; the lists are made once."""
    return mechanism.fitter(embeddings)


def _noise(kind: Callable[..., wv.VectorMechanism], *from_plan: str, note: str = "", **settings: Any) -> _Recipe:
    """Return the recipe of a vector mechanism; what it has of the plan besides epsilon is named, as is its note."""

    def recipe(plan: RowPlan) -> Contender:
        known = {"delta": plan.settings.delta, "clip_norm": plan.clip_norm, "dimensions": plan.projected}
        mechanism = kind(epsilon=plan.epsilon, **settings, **{name: known[name] for name in from_plan})
        return _decoded(plan, mechanism, note=NOTES[note] if note else "")

    return recipe


def _nadp_verbatim(plan: RowPlan) -> Contender:
    found = _decoded(plan, wv.NADP(epsilon=plan.epsilon, delta=plan.settings.delta, isolated="verbatim"))
    return replace(found, note="as published: " + "; ".join(found.guarantee.assumptions[1:]))


def _refuted_truncated(plan: RowPlan) -> Contender:
    # The published formula has a value only below sqrt(D)/2 at its own delta = 4^-D; more is done with padding.
    padded = max(plan.embeddings.dimensions, math.ceil(4.25 * plan.epsilon**2))
    mechanism = wv.TruncatedLaplace(
        epsilon=plan.epsilon,
        delta=max(4.0**-padded, 1e-300),
        clip_norm=plan.clip_norm,
        calibration="published",
        padded_dimensions=padded,
        allow_refuted=True,
    )
    return _decoded(plan, mechanism, note=f"as published, with {padded} padded dimensions")


def _refuted_gaussian(plan: RowPlan) -> Contender:
    found = _noise(wv.ClippedGaussian, *BALL, calibration="classical", allow_refuted=True)(plan)
    note = "as published" if found.guarantee.epsilon is None else "as published: holds at this epsilon"
    return replace(found, note=note)


_VECTORS: dict[tuple[Group, str], _Recipe] = {
    (Group.METRIC, "laplace"): _noise(wv.MultivariateLaplace),
    (Group.METRIC, "mahalanobis"): _mahalanobis,
    (Group.METRIC, "projection"): _noise(wv.Projection, "dimensions", note="stretch"),
    (Group.METRIC, "projection-principal"): _noise(wv.Projection, "dimensions", note="principal", **PRINCIPAL),
    (Group.LOCAL, "laplace-profile"): lambda plan: _local_by_profile(plan, wv.MultivariateLaplace),
    (Group.LOCAL, "projection-principal-profile"): lambda plan: _local_by_profile(
        plan, partial(wv.Projection, dimensions=plan.projected, **PRINCIPAL)
    ),
    (Group.LOCAL, "clipped-gaussian"): _noise(wv.ClippedGaussian, *BALL),
    (Group.LOCAL, "clipped-l2"): _noise(wv.ClippedL2, *BALL, diameter="vocabulary"),
    (Group.LOCAL, "clipped-laplace"): _noise(wv.ClippedLaplace, "clip_norm"),
    (Group.LOCAL, "truncated-laplace"): _noise(wv.TruncatedLaplace, *BALL, calibration="certified"),
    (Group.NEIGHBOUR, "nadp"): _noise(wv.NADP, "delta"),
    (Group.NEIGHBOUR, "nadp-verbatim"): _nadp_verbatim,
    (Group.NEIGHBOUR, "clipped-gaussian"): _noise(wv.ClippedGaussian, *BALL, note="implied"),
    (Group.REFUTED, "truncated-laplace-published"): _refuted_truncated,
    (Group.REFUTED, "clipped-gaussian-classical"): _refuted_gaussian,
    (Group.REFUTED, "jaccard"): _noise(wv.Jaccard, "delta", note="published", allow_refuted=True),
}

_WORDS: dict[tuple[Group, str], _Recipe] = {
    (Group.METRIC, "laplace+rank-softmax"): lambda plan: _decoded(
        plan, wv.MultivariateLaplace(epsilon=plan.epsilon), wv.RankSoftmax(epsilon=plan.epsilon, c=plan.settings.rank_c)
    ),
    (Group.METRIC, "laplace+vickrey"): lambda plan: _decoded(
        plan, wv.MultivariateLaplace(epsilon=plan.epsilon), wv.Vickrey()
    ),
    (Group.METRIC, "santext"): _textbook(wv.SanText),
    (Group.METRIC, "santext-certified"): _certified(wv.SanText),
    (Group.METRIC, "tem"): _textbook(wv.TEM),
    (Group.METRIC, "tem-certified"): _certified(wv.TEM),
    (Group.RANK, "santext"): _textbook(wv.SanText, metric=wv.NeighbourRank()),
    (Group.RANK, "santext-certified"): _certified(wv.SanText, metric=wv.NeighbourRank()),
    (Group.RANK, "tem"): _textbook(wv.TEM, metric=wv.NeighbourRank()),
    (Group.RANK, "tem-certified"): _certified(wv.TEM, metric=wv.NeighbourRank()),
    (Group.LOCAL, "santext"): _santext_local,
    (Group.LOCAL, "santext-certified"): _certified(wv.SanText, "certified-local"),
    (Group.LOCAL, "tem-certified"): _certified(wv.TEM, "certified-local"),
    **{(Group.LOCAL, f"neighbours-{k}"): _neighbours(k) for k in (1, 4, 16, 64)},
    **{(Group.LOCAL, f"neighbours-{k}-of-4000"): _neighbours(k, outputs=4000) for k in (1, 8, 16)},
    (Group.LOCAL, "neighbours-256-classes"): _neighbours(1, "classes:256"),
}

RECIPES: dict[tuple[Group, str], _Recipe] = {
    **{(group, f"{name}-vectors"): partial(_undecoded, recipe) for (group, name), recipe in _VECTORS.items()},
    **{(group, f"{name}+nearest"): recipe for (group, name), recipe in _VECTORS.items()},
    **_WORDS,
}
"""(group, row name) -> how it is built.

A row is one release: the vectors of a mechanism, or the words that a decoder (+) turned them into, or selected words.
"""


def known_names() -> tuple[str, ...]:
    """Return the row names, each once, sorted."""
    return tuple(sorted({name for _, name in RECIPES}))


def contenders(
    names: tuple[str, ...] | None,
    epsilons: tuple[float, ...],
    local_epsilons: tuple[float, ...],
    rank_epsilons: tuple[float, ...] = (),
    *,
    places: tuple[str, ...] = (),
) -> tuple[Target, ...]:
    """Return the rows to be fitted.

    Args:
        names: Row names or their first parts ("tem" takes "tem-certified" too), rows as tables name them ("tem @ 8",
            that one alone, or "no noise", which every table has), and mechanisms of other packages, which are given
            epsilon alone; None takes all of wordveil's.
        epsilons: Of metric DP, per unit of Euclidean distance; none leaves that group out, as below.
        local_epsilons: Of local, neighbour and refuted rows, nats.
        rank_epsilons: Of metric DP, per unit of neighbour-rank distance.
        places: Python paths of classes of mechanisms, which are given epsilon alone and called by their names.
    """
    for epsilon in (*epsilons, *local_epsilons, *rank_epsilons):
        wv.check_positive("epsilon", epsilon)
    named = [name for name in names or () if name not in tuple(Baseline)]
    plain = {name.partition(" @ ")[0] for name in named}
    offered = {name: "" for name in sorted(plain.intersection(wv.foreign_names("mechanisms", known_names())))}
    offered |= {_own_class(place).name: place for place in places}
    for wanted in sorted(plain):
        if wanted not in offered and not any(_matches(name, wanted) for _, name in RECIPES):
            raise wv.ParameterError("mechanisms", wanted, f"must be all or among {', '.join(known_names())}.")
    chosen = {Group.METRIC: epsilons, Group.RANK: rank_epsilons}
    found = tuple(
        Target(name=name, group=group, epsilon=epsilon)
        for group, name in RECIPES
        for epsilon in chosen.get(group, local_epsilons)
        if names is None or any(_matches(name, wanted, epsilon) for wanted in named)
    )
    found += tuple(
        OfferedTarget(name=name, group=group, epsilon=epsilon, code=_code(name, place), place=place)
        for name, place in offered.items()
        for group in (Group.METRIC, Group.LOCAL, Group.NEIGHBOUR)
        for epsilon in chosen.get(group, local_epsilons)
        if place or any(_matches(name, wanted, epsilon) for wanted in named)
    )
    if not found:
        raise wv.ParameterError("mechanisms", ",".join(names or ()), "have no row for the kinds of epsilon given.")
    return found


def _own_class(place: str) -> Any:
    """Return the class of a mechanism at a Python path.

    Raises:
        ParameterError: If the path leads to none, or to one whose name is a row's or a package's.
    """
    found = wv.object_at(place)
    if not (isinstance(found, type) and issubclass(found, wv.Mechanism)):
        problem = "must name a class that derives from wordveil.api.WordMechanism or VectorMechanism."
        raise wv.ParameterError("python", place, problem)
    if "epsilon" not in [field.name for field in fields(cast(Any, found))]:
        raise wv.ParameterError("python", place, "takes no epsilon, by which rows are compared: give it such a field.")
    if found.name in known_names() or wv.foreign_names("mechanisms", ()).count(found.name):
        raise wv.ParameterError("python", place, f"is called {found.name!r}, as another is: give it a name of its own.")
    return found


def _code(name: str, place: str) -> str:
    """Return what tells one build of somebody's mechanism from others: of a file, it and what it imports."""
    own = _own_class(place) if place else wv.mechanism_class(name)
    if not place.rpartition(":")[0].endswith(".py"):
        return wv.code_name(own)
    return f"{own.__module__}.{own.__qualname__}, {_beside()}"


INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
"""Names of folders of installed modules, as `sysconfig` has them."""


def _beside() -> str:
    """Return a digest of the loaded files that lie in no installed package: what a file of a user's may import."""
    places = {name: getattr(module, "__file__", None) for name, module in sys.modules.copy().items()}
    ours, installed = ("wordveil", "wordveil_lab"), {Path(sysconfig.get_path(name)) for name in INSTALLED}
    files = {Path(place) for name, place in places.items() if place and name.partition(".")[0] not in ours}
    own = [path for path in sorted(files) if not installed & {*path.parents}]
    return hashlib.sha256(b"".join(path.read_bytes() for path in own if path.is_file())).hexdigest()


def _matches(name: str, wanted: str, epsilon: float | None = None) -> bool:
    """Whether a row is meant by its name, by the first part of its name, or by name and epsilon."""
    label = name if epsilon is None else f"{name} @ {epsilon:g}"
    return wanted in (name, label) or name.startswith((f"{wanted}-", f"{wanted}+"))


def fit_contender(target: Target, embeddings: wv.Embeddings, settings: PromiseSettings) -> Contender:
    """Fit a row to a vocabulary."""
    plan = RowPlan(embeddings, target.epsilon, settings)
    if not isinstance(target, OfferedTarget):
        return RECIPES[target.group, target.name](plan)
    given = {"epsilon": target.epsilon}
    mechanism = _own_class(target.place)(**given) if target.place else wv.build_mechanism(target.name, given)
    fitted = mechanism.fit(embeddings)
    found = _decoded(plan, mechanism) if fitted.releases == "vectors" else _selected(fitted)
    if found.guarantee.promise != f"{target.group} DP":
        option = "--epsilon" if found.guarantee.promise == f"{Group.METRIC} DP" else "--local-epsilon"
        problem = f"promises {found.guarantee.promise}, whose epsilons are given by {option}."
        raise wv.ParameterError("mechanisms", target.name, problem)
    return found
