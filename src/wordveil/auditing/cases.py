"""What an audit runs on: a subject, its claim, the pairs to try, and an exact verification where one is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.adapters import Adapted, Foreign
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.pairs import claimed_loss, edge_pairs, noise_class_pair, vector_pairs, vocabulary_pairs
from wordveil.auditing.score_channels import verify_scores
from wordveil.auditing.subjects import (
    OnGrid,
    Pair,
    Subject,
    TextSubject,
    VectorFunctionSubject,
    VectorSubject,
    WordSubject,
)
from wordveil.decoding.decoded import FittedDecoded
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer, WordMechanism
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.metrics.distances import Metric
from wordveil.promises.guarantees import Guarantee, LocalDP, NeighbourDP, NoGuarantee, Standing
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

__all__ = ["Case", "Inputs", "make_case"]

EXACT_WORDS = 20_000  # largest vocabulary verified exactly inside an audit
CANDIDATES = 1000


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Where the inputs of an audit come from.

    Attributes:
        embeddings: The public vocabulary.
        dimensions: For vector mechanisms without one.
        texts: For text mechanisms without one.
        pairs: Pairs wanted.
        seed: For their choice.
    """

    embeddings: Embeddings | None
    dimensions: int | None
    texts: tuple[str, str] | None
    pairs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Case:
    """A subject with what is to be tried on it.

    Attributes:
        subject: What pairs are sampled from: the law above the low bits of floats.
        raw: What is called, for the checks of freshness.
        claim: The claim.
        pairs: Inputs to compare.
        exact: The exact verification, where there was one.
        candidates: Public vectors for the float attack; None where it does not apply.
    """

    subject: Subject
    raw: Subject
    claim: Guarantee
    pairs: Sequence[Pair]
    exact: ChannelVerdict | None = None
    candidates: Float64Array | None = field(default=None, repr=False)


def make_case(thing: Adapted, inputs: Inputs, source: RandomSource) -> Case:
    """Return what there is to audit of a mechanism.

    Args:
        thing: The mechanism.
        inputs: Where its inputs come from.
        source: Randomness for wordveil's own mechanisms.

    Raises:
        ParameterError: If something that this kind of mechanism needs is missing.
    """
    if isinstance(thing, Foreign):
        return _text_case(thing, inputs) if thing.kind == "text" else _function_case(thing, inputs)
    if isinstance(thing, VectorMechanism | VectorRandomizer):
        return _vector_case(thing, inputs, source)
    return _word_case(thing, inputs, source)


def _published(randomizer: Any) -> Guarantee:
    """Return the guarantee, or, where it is refuted, the claim that was published with the same parameters."""
    stated: Guarantee = randomizer.guarantee()
    mechanism = getattr(randomizer, "mechanism", None)
    epsilon = getattr(mechanism, "epsilon", None)
    if not (isinstance(stated, NoGuarantee) and stated.standing is Standing.REFUTED and epsilon is not None):
        return stated
    return LocalDP(
        epsilon=epsilon,
        delta=float(getattr(mechanism, "delta", 0.0) or 0.0),
        slack=None,
        unit=stated.unit,
        standing=Standing.REFUTED,
    )


def _vector_case(mechanism: VectorMechanism | VectorRandomizer, inputs: Inputs, source: RandomSource) -> Case:
    embeddings, dimensions = inputs.embeddings, inputs.dimensions
    randomizer = (
        mechanism if isinstance(mechanism, VectorRandomizer) else _fit_vectors(mechanism, embeddings, dimensions)
    )
    claim = _published(randomizer)
    raw = VectorSubject(randomizer, source)
    d = embeddings.dimensions if embeddings is not None else dimensions
    d = getattr(randomizer, "dimensions", None) if d is None else d
    if d is None:
        raise ParameterError("dimensions", None, "must be given where there is no vocabulary.")
    pairs = _pairs_of_vectors(randomizer, claim, d, inputs)
    subject = OnGrid(raw, pairs[0].first)
    same_space = raw.sample(pairs[0].first, 2).shape[1] == d
    clip = getattr(getattr(randomizer, "mechanism", None), "clip_norm", None)
    candidates = _candidates(embeddings, d, clip) if same_space else None
    if embeddings is not None and hasattr(randomizer, "sigmas"):  # such noise is defined for the table's rows only
        candidates = embeddings.vectors[:CANDIDATES].astype(np.float64) if len(embeddings) >= 100 else None
    return Case(subject=subject, raw=raw, claim=claim, pairs=pairs, candidates=candidates)


def _fit_vectors(mechanism: Any, embeddings: Embeddings | None, dimensions: int | None) -> VectorRandomizer:
    if embeddings is not None:
        fitted: VectorRandomizer = mechanism.fit(embeddings)
        return fitted
    if dimensions is None or not hasattr(mechanism, "for_dimensions"):
        raise ParameterError("embeddings", None, f"must be given for {mechanism.name}, or dimensions where it allows.")
    bound: VectorRandomizer = mechanism.for_dimensions(dimensions)
    return bound


def _pairs_of_vectors(randomizer: Any, claim: Guarantee, d: int, inputs: Inputs) -> list[Pair]:
    embeddings, seed = inputs.embeddings, inputs.seed
    mechanism = getattr(randomizer, "mechanism", None)
    clip = getattr(mechanism, "clip_norm", None)
    metric: Metric | None = getattr(randomizer, "metric", None)
    if isinstance(claim, LocalDP) and clip is not None:
        return vector_pairs(d, partial(claimed_loss, claim), clip_norm=float(clip))
    if embeddings is not None:
        graph, sigmas = getattr(randomizer, "graph", None), getattr(randomizer, "sigmas", None)
        if isinstance(claim, NeighbourDP) and graph is not None:
            return edge_pairs(embeddings, claim, graph.edges, count=inputs.pairs, seed=seed)
        pairs = vocabulary_pairs(embeddings, claim, metric=metric, count=inputs.pairs, vectors=True, seed=seed)
        return pairs if sigmas is None else [noise_class_pair(embeddings, claim, sigmas), *pairs[1:]]
    return vector_pairs(d, partial(claimed_loss, claim), epsilon=float(getattr(claim, "epsilon", 1.0)))


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


def _word_case(mechanism: Any, inputs: Inputs, source: RandomSource) -> Case:
    embeddings = inputs.embeddings
    fitted = mechanism
    if isinstance(mechanism, WordMechanism):
        if embeddings is None:
            raise ParameterError(
                "embeddings", None, f"must be given: {mechanism.name} works on words, not on vectors of any dimensions."
            )
        fitted = mechanism.fit(embeddings)
    claim = _published(fitted)
    metric, graph = getattr(getattr(fitted, "rows", None), "metric", None), None
    if isinstance(fitted, FittedDecoded):
        inner = fitted.randomizer
        claim, metric, graph = _published(inner), getattr(inner, "metric", None), getattr(inner, "graph", None)
    exact = None
    if isinstance(fitted, FittedExponential) and hasattr(claim, "epsilon") and len(fitted.embeddings) <= EXACT_WORDS:
        exact = verify_scores(fitted, local=isinstance(claim, LocalDP))
    if isinstance(claim, NeighbourDP) and graph is not None:
        pairs = edge_pairs(fitted.embeddings, claim, graph.edges, count=inputs.pairs, vectors=False, seed=inputs.seed)
    else:
        pairs = vocabulary_pairs(fitted.embeddings, claim, metric=metric, count=inputs.pairs, seed=inputs.seed)
    subject = WordSubject(fitted, source)
    return Case(subject=subject, raw=subject, claim=claim, pairs=pairs, exact=exact)


def _function_case(thing: Foreign, inputs: Inputs) -> Case:
    embeddings, dimensions = inputs.embeddings, inputs.dimensions
    raw = VectorFunctionSubject(thing.call)
    if embeddings is not None:
        pairs = vocabulary_pairs(embeddings, thing.claim, count=inputs.pairs, vectors=True, seed=inputs.seed)
        d = embeddings.dimensions
    elif dimensions is not None:
        d = dimensions
        pairs = vector_pairs(d, partial(claimed_loss, thing.claim), epsilon=float(getattr(thing.claim, "epsilon", 1.0)))
    else:
        raise ParameterError("dimensions", None, "must be given where there is no vocabulary.")
    same_space = raw.sample(pairs[0].first, 2).shape[1] == d
    return Case(
        subject=OnGrid(raw, pairs[0].first),
        raw=raw,
        claim=thing.claim,
        pairs=pairs,
        candidates=_candidates(embeddings, d, None) if same_space else None,
    )


def _text_case(thing: Foreign, inputs: Inputs) -> Case:
    embeddings, texts = inputs.embeddings, inputs.texts
    subject = TextSubject(thing.call)
    if texts is not None:
        if thing.claim.promise not in ("local DP", "none"):
            raise ParameterError("texts", "two texts", "need a local-DP claim: their distance is not known.")
        epsilon, delta = claimed_loss(thing.claim, 0.0)
        pair = Pair(first=texts[0], second=texts[1], label="the two given texts", epsilon=epsilon, delta=delta)
        return Case(subject=subject, raw=subject, claim=thing.claim, pairs=[pair])
    if embeddings is None:
        raise ParameterError("texts", None, "must be given, or a vocabulary to take words from.")
    pairs = [
        replace(pair, first=embeddings.words[int(pair.first)], second=embeddings.words[int(pair.second)])
        for pair in vocabulary_pairs(embeddings, thing.claim, count=inputs.pairs, seed=inputs.seed)
    ]
    return Case(subject=subject, raw=subject, claim=thing.claim, pairs=pairs)
