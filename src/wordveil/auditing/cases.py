"""From what a user names to what an audit runs on: a subject, its claim, the pairs to try, an exact verification.

A user's own mechanism is one of: a wordveil mechanism (or its class); a `Sanitizer` (kind "text"); an object with a
method `vectors(rows)` or `text(text)`; a plain callable, with `kind` "vectors" or "text". Its claim is read from
`guarantee` (a value or a method), or from the attributes `epsilon`, `delta` and `metric` ("euclidean" for a loss per
unit of distance, else local DP).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.laws import verify_law
from wordveil.auditing.subjects import OnGrid, Subject, TextSubject, VectorFunctionSubject, VectorSubject, WordSubject
from wordveil.errors import ParameterError, WordveilError
from wordveil.mechanisms.base import VectorRandomizer, WordRandomizer
from wordveil.mechanisms.common import Mechanism, Randomizer
from wordveil.mechanisms.worst_pairs import vector_relation, word_relation, worst_vectors, worst_words
from wordveil.metrics.distances import Angular, Euclidean, Metric
from wordveil.plugins import build_mechanism, object_at
from wordveil.promises.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee, Standing
from wordveil.promises.relations import NoPairs, Pair, Relation, relation_of
from wordveil.randomness import RandomSource
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
    """Return the mechanism of a name ("laplace") or a Python path ("my_module:MyMechanism", "file.py:MyMechanism").

    A class at a path is called with the parameters it takes. `ParameterError` if the name or path leads nowhere, or a
    parameter is not one the mechanism takes.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    if ":" not in name:
        return build_mechanism(name, given)
    found = object_at(name)
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
        mechanism: Any = thing
        if embeddings is not None:
            fitted: Randomizer = mechanism.fit(embeddings)
            return fitted
        if mechanism.releases == "words":
            why = f"must be given: {mechanism.name} works on words, not on vectors of any dimensions."
            raise ParameterError("embeddings", None, why)
        if dimensions is None or mechanism.needs_vocabulary:
            why = f"must be given for {mechanism.name}, or dimensions where it allows."
            raise ParameterError("embeddings", None, why)
        fitted = mechanism.for_dimensions(dimensions)
        return fitted
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


CANDIDATES = 1000
METRICS: dict[str, Metric] = {metric.name: metric for metric in (Euclidean(), Angular())}
"""Metrics that a stranger's claim may name."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Where the inputs of an audit come from."""

    embeddings: Embeddings | None  # the public vocabulary
    dimensions: int | None = None  # for vector mechanisms without one
    texts: tuple[str, str] | None = None  # for text mechanisms without one
    pairs: int  # pairs wanted
    seed: int  # for their choice
    # another claim about a mechanism of wordveil, such as what follows from its own; None for its own
    claim: Guarantee | None = None
    threads: int | None = None  # threads of the exact verification


@dataclass(frozen=True, kw_only=True)
class Case:
    """A subject with what is to be tried on it."""

    subject: Subject  # what pairs are sampled from: the law above the low bits of floats
    raw: Subject  # what is called, for the checks of freshness
    claim: Guarantee
    pairs: Sequence[Pair]  # inputs to compare
    exact: ChannelVerdict | None = None  # the exact verification, where there was one
    # public vectors for the float attack; None where it does not apply
    candidates: Float64Array | None = field(default=None, repr=False)


def make_case(thing: Adapted, inputs: Inputs, source: RandomSource) -> Case:
    """Return what there is to audit of a mechanism or a stranger; `ParameterError` if something needed is missing."""
    if isinstance(thing, Foreign):
        return _text_case(thing, inputs) if thing.kind == "text" else _function_case(thing, inputs)
    kinds: dict[str, Callable[[Any, Inputs, RandomSource], Case]] = {"vectors": _vector_case, "words": _word_case}
    return kinds[thing.releases](thing, inputs, source)


def _vector_case(randomizer: VectorRandomizer, inputs: Inputs, source: RandomSource) -> Case:
    embeddings, d = inputs.embeddings, randomizer.input_dimensions
    raw = VectorSubject(randomizer, source)
    pairs = randomizer.worst_pairs(inputs.pairs, inputs.seed, claim=inputs.claim, embeddings=embeddings)
    candidates: Float64Array | None = _candidates(embeddings, d, randomizer.clip_norm)
    if embeddings is not None and randomizer.inputs == "vocabulary vectors":
        candidates = embeddings.vectors[:CANDIDATES].astype(np.float64) if len(embeddings) >= 100 else None
    return _of_vectors(raw, inputs.claim or randomizer.published(), pairs, candidates, d)


def _of_vectors(raw: Subject, claim: Guarantee, pairs: Sequence[Pair], candidates: Float64Array | None, d: int) -> Case:
    """Return a case of vectors; the float attack does not apply where others are released than were given."""
    attacked = candidates if raw.sample(pairs[0].first, 2).shape[1] == d else None
    return Case(subject=OnGrid(raw, pairs[0].first), raw=raw, claim=claim, pairs=pairs, candidates=attacked)


def _candidates(embeddings: Embeddings | None, d: int, clip_norm: float | None) -> Float64Array:
    """Return public vectors for the float attack, strictly inside the clipping ball, so that clipping is no part."""
    if embeddings is not None and len(embeddings) >= CANDIDATES:
        rows = np.asarray(embeddings.vectors[:CANDIDATES], dtype=np.float32)
    else:
        rows = (np.random.default_rng(0).standard_normal((CANDIDATES, d)) / np.sqrt(d)).astype(np.float32)
    if clip_norm is not None:
        largest = float(np.linalg.norm(rows, axis=1).max())
        rows = (rows * (0.5 * clip_norm / largest)).astype(np.float32)
    return rows.astype(np.float64)


def _word_case(randomizer: WordRandomizer, inputs: Inputs, source: RandomSource) -> Case:
    subject = WordSubject(randomizer, source)
    return Case(
        subject=subject,
        raw=subject,
        claim=inputs.claim or randomizer.published(),
        pairs=randomizer.worst_pairs(inputs.pairs, inputs.seed, claim=inputs.claim),
        exact=verify_law(randomizer, inputs.claim, threads=inputs.threads),
    )


def _function_case(thing: Foreign, inputs: Inputs) -> Case:
    embeddings = inputs.embeddings
    d = inputs.dimensions if embeddings is None else embeddings.dimensions
    if d is None:
        raise ParameterError("dimensions", None, "must be given where there is no vocabulary.")
    raw = VectorFunctionSubject(thing.call)
    pairs = worst_vectors(_relation(thing.claim), d, embeddings, count=inputs.pairs, seed=inputs.seed)
    return _of_vectors(raw, thing.claim, pairs, _candidates(embeddings, d, None), d)


def _relation(claim: Guarantee, embeddings: Embeddings | None = None) -> Relation:
    """Return which vectors, or words of a vocabulary, a stranger's claim speaks of; none in a metric not known here."""
    metric = METRICS.get(claim.metric or Euclidean.name)
    if metric is None:
        return NoPairs(claim=claim)
    return vector_relation(claim, metric) if embeddings is None else word_relation(claim, embeddings, metric)


def _text_case(thing: Foreign, inputs: Inputs) -> Case:
    embeddings, texts = inputs.embeddings, inputs.texts
    subject = TextSubject(thing.call)
    if texts is not None:
        if thing.claim.promise not in ("local DP", "none"):
            raise ParameterError("texts", "two texts", "need a local-DP claim: their distance is not known.")
        epsilon, delta = relation_of(thing.claim).loss(0, 1) or (None, 0.0)
        pair = Pair(first=texts[0], second=texts[1], label="the two given texts", epsilon=epsilon, delta=delta)
        return Case(subject=subject, raw=subject, claim=thing.claim, pairs=[pair])
    if embeddings is None:
        raise ParameterError("texts", None, "must be given, or a vocabulary to take words from.")
    relation = _relation(thing.claim, embeddings)
    pairs = [
        replace(pair, first=embeddings.words[int(pair.first)], second=embeddings.words[int(pair.second)])
        for pair in worst_words(embeddings, relation, count=inputs.pairs, seed=inputs.seed)
    ]
    return Case(subject=subject, raw=subject, claim=thing.claim, pairs=pairs)
