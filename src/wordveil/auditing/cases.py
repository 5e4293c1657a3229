"""What an audit runs on: a subject, its claim, the pairs to try, and an exact verification where one is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.adapters import Adapted, Foreign
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.laws import verify_law
from wordveil.auditing.subjects import OnGrid, Subject, TextSubject, VectorFunctionSubject, VectorSubject, WordSubject
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorRandomizer, WordRandomizer
from wordveil.mechanisms.worst_pairs import vector_relation, word_relation, worst_vectors, worst_words
from wordveil.metrics.distances import Angular, Euclidean, Metric
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import NoPairs, Pair, Relation, relation_of
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

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
