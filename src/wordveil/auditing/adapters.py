"""From what a user names to what can be audited: mechanism names, Python paths, callables, duck-typed objects.

A user's own mechanism is one of: a wordveil mechanism (or its class); a `Sanitizer` (kind "text"); an object with a
method `vectors(rows)` or `text(text)`; a plain callable, with `kind` "vectors" or "text". Its claim is read from
`guarantee` (a value or a method), or from the attributes `epsilon`, `delta` and `metric` ("euclidean" for a loss per
unit of distance, else local DP).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wordveil.errors import ParameterError, WordveilError
from wordveil.mechanisms.common import Mechanism, Randomizer
from wordveil.plugins import build_mechanism
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee, Standing
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """Someone else's mechanism: what it claims, and what to call, from rows to rows or from one text to one text."""

    call: Any
    kind: str
    claim: Guarantee


Adapted = Randomizer | Foreign
"""What the audit can run."""


def load_mechanism(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return the mechanism of a name ("laplace") or a Python path ("my_module:MyMechanism"), with the parameters given.

    A class at a path is called with those it takes. `ParameterError` if the name or path leads nowhere, or a parameter
    is not one the mechanism takes.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    module, separated, attribute = name.partition(":")
    if not separated:
        return build_mechanism(name, given)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as problem:
        raise ParameterError("mechanism", name, f"cannot be loaded ({type(problem).__name__}).") from problem
    if not inspect.isclass(found):
        return found
    taken = inspect.signature(found).parameters
    free = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    return found(**{key: value for key, value in given.items() if free or key in taken})


def adapt(
    thing: Any,
    *,
    embeddings: Embeddings | None = None,
    dimensions: int | None = None,
    kind: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    local: bool = False,
) -> Adapted:
    """Return something the audit can run: see the module docstring. A mechanism that is not fitted is fitted here.

    Where the thing states no claim, epsilon and delta are it: per unit of Euclidean distance for vectors, unless
    `local`. A plain callable needs its kind, "vectors" or "text". `ParameterError` if it is not clear what to call, or
    a mechanism lacks what it is fitted to.
    """
    if isinstance(thing, Mechanism):
        return _fitted(thing, embeddings, dimensions)
    if isinstance(thing, Randomizer):
        return thing
    for method in ("vectors", "text"):
        if callable(getattr(thing, method, None)):
            claim = _claim(thing, method, epsilon, delta, local)
            return Foreign(call=getattr(thing, method), kind=method, claim=claim)
    if callable(thing):
        if kind not in ("vectors", "text"):
            raise ParameterError("kind", kind, "must be 'vectors' or 'text' for a plain callable.")
        return Foreign(call=thing, kind=kind, claim=_claim(thing, kind, epsilon, delta, local))
    raise ParameterError("mechanism", type(thing).__name__, "must be callable, or have a method vectors() or text().")


def _fitted(mechanism: Any, embeddings: Embeddings | None, dimensions: int | None) -> Randomizer:
    if embeddings is not None:
        found: Randomizer = mechanism.fit(embeddings)
        return found
    if mechanism.releases == "words":
        why = f"must be given: {mechanism.name} works on words, not on vectors of any dimensions."
        raise ParameterError("embeddings", None, why)
    if dimensions is None or mechanism.needs_vocabulary:
        raise ParameterError("embeddings", None, f"must be given for {mechanism.name}, or dimensions where it allows.")
    found = mechanism.for_dimensions(dimensions)
    return found


def _claim(thing: Any, kind: str, epsilon: float | None, delta: float | None, local: bool) -> Guarantee:
    facts = {fact: getattr(thing, fact) for fact in ("guarantee", "epsilon", "delta", "metric") if hasattr(thing, fact)}
    stated = facts.get("guarantee")
    if epsilon is None and stated is not None:
        claim = stated() if callable(stated) else stated
        if not isinstance(claim, Guarantee):
            raise WordveilError("guarantee() must return a wordveil guarantee; or state epsilon, delta and metric.")
        return claim
    epsilon = facts.get("epsilon") if epsilon is None else epsilon
    delta = float(facts.get("delta") or 0.0) if delta is None else delta
    if epsilon is None:
        return NoGuarantee(reason="nothing is claimed; the audit reports lower bounds only")
    metric = facts.get("metric", "local" if local or kind == "text" else "euclidean")
    if metric == "euclidean" and not local:
        return MetricDP(epsilon=epsilon, metric="euclidean", delta=delta, slack=None, standing=Standing.PUBLISHED)
    return LocalDP(epsilon=epsilon, delta=delta, slack=None, standing=Standing.PUBLISHED)
