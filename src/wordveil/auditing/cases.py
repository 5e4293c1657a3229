"""What an audit runs on: a subject, its claim, the pairs to try, and an exact verification where one is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.adapters import Adapted, Foreign
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.score_channels import verify_scores
from wordveil.auditing.subjects import (
    OnGrid,
    Subject,
    TextSubject,
    VectorFunctionSubject,
    VectorSubject,
    WordSubject,
)
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer, WordMechanism
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.worst_pairs import vector_pairs, vector_relation, word_relation, worst_words
from wordveil.metrics.distances import Euclidean
from wordveil.promises.guarantees import Guarantee, LocalDP
from wordveil.promises.relations import Pair, relation_of
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


def _vector_case(mechanism: VectorMechanism | VectorRandomizer, inputs: Inputs, source: RandomSource) -> Case:
    embeddings, dimensions = inputs.embeddings, inputs.dimensions
    randomizer = (
        mechanism if isinstance(mechanism, VectorRandomizer) else _fit_vectors(mechanism, embeddings, dimensions)
    )
    claim = randomizer.published()
    raw = VectorSubject(randomizer, source)
    d = randomizer.input_dimensions
    pairs = randomizer.worst_pairs(inputs.pairs, inputs.seed, embeddings=embeddings)
    subject = OnGrid(raw, pairs[0].first)
    same_space = raw.sample(pairs[0].first, 2).shape[1] == d
    candidates = _candidates(embeddings, d, randomizer.clip_norm) if same_space else None
    if same_space and embeddings is not None and randomizer.inputs == "vocabulary vectors":
        candidates = embeddings.vectors[:CANDIDATES].astype(np.float64) if len(embeddings) >= 100 else None
    return Case(subject=subject, raw=raw, claim=claim, pairs=pairs, candidates=candidates)


def _fit_vectors(mechanism: VectorMechanism, embeddings: Embeddings | None, dimensions: int | None) -> VectorRandomizer:
    if embeddings is not None:
        return mechanism.fit(embeddings)
    if dimensions is None or mechanism.needs_vocabulary:
        raise ParameterError("embeddings", None, f"must be given for {mechanism.name}, or dimensions where it allows.")
    return mechanism.for_dimensions(dimensions)


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
    claim, exact = fitted.published(), None
    if isinstance(fitted, FittedExponential) and hasattr(claim, "epsilon") and len(fitted.embeddings) <= EXACT_WORDS:
        exact = verify_scores(fitted, local=isinstance(claim, LocalDP))
    pairs = fitted.worst_pairs(inputs.pairs, inputs.seed)
    subject = WordSubject(fitted, source)
    return Case(subject=subject, raw=subject, claim=claim, pairs=pairs, exact=exact)


def _function_case(thing: Foreign, inputs: Inputs) -> Case:
    embeddings, dimensions = inputs.embeddings, inputs.dimensions
    raw = VectorFunctionSubject(thing.call)
    relation = vector_relation(thing.claim, Euclidean())
    if embeddings is not None:
        pairs = worst_words(embeddings, relation, count=inputs.pairs, vectors=True, seed=inputs.seed)
        d = embeddings.dimensions
    elif dimensions is not None:
        d = dimensions
        pairs = vector_pairs(d, relation)
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
        epsilon, delta = relation_of(thing.claim).loss(0, 1) or (None, 0.0)
        pair = Pair(first=texts[0], second=texts[1], label="the two given texts", epsilon=epsilon, delta=delta)
        return Case(subject=subject, raw=subject, claim=thing.claim, pairs=[pair])
    if embeddings is None:
        raise ParameterError("texts", None, "must be given, or a vocabulary to take words from.")
    relation = word_relation(thing.claim, embeddings, Euclidean())
    pairs = [
        replace(pair, first=embeddings.words[int(pair.first)], second=embeddings.words[int(pair.second)])
        for pair in worst_words(embeddings, relation, count=inputs.pairs, seed=inputs.seed)
    ]
    return Case(subject=subject, raw=subject, claim=thing.claim, pairs=pairs)
