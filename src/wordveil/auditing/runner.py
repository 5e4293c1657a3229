"""One audit from beginning to end: load, check freshness, verify exactly, sample, report.

    alpha/2  checks that test hypotheses (freshness of discrete noise)
    alpha/2  the pairs, in equal shares; within a pair epsilon, delta and the trade-off band share

so an honest mechanism is called refuted with probability at most alpha, whatever the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.adapters import Foreign, adapt, load_mechanism
from wordveil.auditing.black_box import PairAudit, audit_pair
from wordveil.auditing.exact import ChannelVerdict
from wordveil.auditing.findings import Finding
from wordveil.auditing.float_attack import check_float_bits
from wordveil.auditing.intervals import check_alpha
from wordveil.auditing.pairs import claimed_loss, edge_pairs, noise_class_pair, vector_pairs, vocabulary_pairs
from wordveil.auditing.report import AuditReport
from wordveil.auditing.reuse import WITHIN_PROCESS, check_reuse
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
from wordveil.embeddings.table import Embeddings
from wordveil.errors import ParameterError
from wordveil.guarantees import Guarantee, LocalDP, NeighbourDP, NoGuarantee, Standing
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer, WordMechanism
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.metrics import Metric
from wordveil.randomness import RandomSource

__all__ = ["AuditOptions", "audit", "audit_mechanism"]

EXACT_WORDS = 20_000  # above this the exact verification is left to `verify_scores`
CANDIDATES = 1000


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """How hard an audit tries, and how often it may be wrong.

    Attributes:
        samples: Samples of each input of each pair, at least 200.
        pairs: Pairs tried where a vocabulary is given.
        alpha: Chance, at most, that an honest mechanism is called refuted, in (0, 1).
        classifier: Whether to train a classifier as well (scikit-learn).
        curve_points: Points of the trade-off band of the first pair; 0 makes none.
        seed: None draws afresh; an integer makes the audit repeatable.
    """

    samples: int = 20_000
    pairs: int = 6
    alpha: float = 1e-6
    classifier: bool = False
    curve_points: int = 24
    seed: int | None = None

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        for name, low in (("samples", 200), ("pairs", 1), ("curve_points", 0)):
            if getattr(self, name) < low:
                raise ParameterError(name, getattr(self, name), f"must be at least {low}.")


@dataclass(frozen=True, kw_only=True)
class _Case:
    """A subject with what is to be tried on it."""

    subject: Subject
    raw: Subject
    claim: Guarantee
    pairs: Sequence[Pair]
    exact: ChannelVerdict | None = None
    candidates: Float64Array | None = field(default=None, repr=False)


def audit(
    mechanism: str,
    *,
    embeddings: Embeddings | None = None,
    dimensions: int | None = None,
    parameters: dict[str, Any] | None = None,
    kind: str | None = None,
    texts: tuple[str, str] | None = None,
    options: AuditOptions | None = None,
) -> AuditReport:
    """Audit a mechanism given by name or by Python path.

    Args:
        mechanism: A mechanism's name, or "my_module:MyMechanism" (see `adapters`).
        embeddings: The public vocabulary; needed by word mechanisms.
        dimensions: For vector mechanisms without a vocabulary.
        parameters: Public parameters: epsilon, delta, calibration, allow_refuted, clip_norm, ...
        kind: "vectors" or "text", for a plain callable.
        texts: For text mechanisms without a vocabulary: the two texts to tell apart.
        options: Samples, pairs, alpha, seed.

    Returns:
        The report; `exit_code` is 1 where refuted.

    Raises:
        ParameterError: If a parameter is out of range or something needed is missing.
        RefutedClaimError: If a refuted calibration is asked for without `allow_refuted`.
    """
    parameters = dict(parameters or {})
    loaded = load_mechanism(mechanism, parameters)
    shown = ", ".join(f"{k}={v!r}" for k, v in parameters.items() if v is not None)
    return audit_mechanism(
        loaded,
        embeddings=embeddings,
        dimensions=dimensions,
        kind=kind,
        texts=texts,
        claim={k: parameters[k] for k in ("epsilon", "delta") if parameters.get(k) is not None},
        name=f"{mechanism}({shown})" + (f", {dimensions} dimensions" if dimensions else ""),
        options=options,
    )


def audit_mechanism(
    mechanism: Any,
    *,
    embeddings: Embeddings | None = None,
    dimensions: int | None = None,
    kind: str | None = None,
    texts: tuple[str, str] | None = None,
    claim: dict[str, Any] | None = None,
    name: str = "",
    options: AuditOptions | None = None,
) -> AuditReport:
    """Audit a mechanism object, a randomizer, or any callable; arguments as for `audit`.

    Args:
        mechanism: A wordveil mechanism, or what `adapters.adapt` takes.
        embeddings: The public vocabulary.
        dimensions: For vector mechanisms without a vocabulary.
        kind: "vectors" or "text", for a plain callable.
        texts: For text mechanisms without a vocabulary.
        claim: epsilon and delta of things that state none, or in place of what they state.
        name: Shown in the report.
        options: Samples, pairs, alpha, seed.
    """
    options = options or AuditOptions()
    source = RandomSource() if options.seed is None else RandomSource.seeded_for_tests(options.seed)
    thing = adapt(mechanism, kind=kind, **(claim or {}))
    name = name or repr(mechanism)
    if isinstance(thing, Foreign):
        case = _foreign_case(thing, embeddings, dimensions, texts, options)
    elif isinstance(thing, VectorMechanism | VectorRandomizer):
        case = _vector_case(thing, embeddings, dimensions, source, options)
    else:
        case = _word_case(thing, embeddings, source, options)
    findings = _freshness(case, options.alpha / 2)
    fresh = not _dependent(findings)
    audits = _pair_audits(case, options) if fresh else ()
    return AuditReport(
        subject=name,
        claim=case.claim.sentence(),
        alpha=options.alpha,
        exact=case.exact,
        pairs=audits,
        findings=tuple(findings),
        settings={**vars(options), "pairs_tried": len(case.pairs) if fresh else 0},
    )


def _freshness(case: _Case, alpha: float) -> list[Finding]:
    findings = check_reuse(case.raw, case.pairs[0].first, alpha=alpha)
    if case.candidates is not None and not _dependent(findings):
        # wordveil rounds vectors when they are released, after the mechanism: audit what is released.
        ours = isinstance(case.raw, VectorSubject) and isinstance(case.subject, OnGrid)
        subject, grid = (case.subject, getattr(case.subject, "step", 0.0)) if ours else (case.raw, 0.0)
        findings.append(check_float_bits(partial(_each, subject), case.candidates, range(5), grid=grid))
    return findings


def _dependent(findings: Sequence[Finding]) -> bool:
    """Return whether samples of one process depend on each other, so that counting them would prove nothing."""
    return any(finding.refuted and finding.check in WITHIN_PROCESS for finding in findings)


def _each(subject: Subject, rows: Float64Array) -> Float64Array:
    return np.concatenate([subject.sample(row, 1) for row in rows])


def _pair_audits(case: _Case, options: AuditOptions) -> tuple[PairAudit, ...]:
    share = options.alpha / (2 * len(case.pairs))
    return tuple(
        audit_pair(
            case.subject,
            pair,
            samples=options.samples,
            alpha=share,
            classifier=options.classifier and not case.subject.discrete,
            curve_points=options.curve_points if i == 0 else 0,
            seed=options.seed or 0,
        )
        for i, pair in enumerate(case.pairs)
    )


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


def _vector_case(
    mechanism: VectorMechanism | VectorRandomizer,
    embeddings: Embeddings | None,
    dimensions: int | None,
    source: RandomSource,
    options: AuditOptions,
) -> _Case:
    randomizer = (
        mechanism if isinstance(mechanism, VectorRandomizer) else _fit_vectors(mechanism, embeddings, dimensions)
    )
    claim = _published(randomizer)
    raw = VectorSubject(randomizer, source)
    d = embeddings.dimensions if embeddings is not None else dimensions
    d = getattr(randomizer, "dimensions", None) if d is None else d
    if d is None:
        raise ParameterError("dimensions", None, "must be given where there is no vocabulary.")
    pairs = _pairs_of_vectors(randomizer, claim, embeddings, d, options)
    subject = OnGrid(raw, pairs[0].first)
    same_space = raw.sample(pairs[0].first, 2).shape[1] == d
    clip = getattr(getattr(randomizer, "mechanism", None), "clip_norm", None)
    candidates = _candidates(embeddings, d, clip) if same_space else None
    if embeddings is not None and hasattr(randomizer, "sigmas"):  # such noise is defined for the table's rows only
        candidates = embeddings.vectors[:CANDIDATES].astype(np.float64) if len(embeddings) >= 100 else None
    return _Case(subject=subject, raw=raw, claim=claim, pairs=pairs, candidates=candidates)


def _fit_vectors(mechanism: Any, embeddings: Embeddings | None, dimensions: int | None) -> VectorRandomizer:
    if embeddings is not None:
        fitted: VectorRandomizer = mechanism.fit(embeddings)
        return fitted
    if dimensions is None or not hasattr(mechanism, "for_dimensions"):
        raise ParameterError("embeddings", None, f"must be given for {mechanism.name}, or dimensions where it allows.")
    bound: VectorRandomizer = mechanism.for_dimensions(dimensions)
    return bound


def _pairs_of_vectors(
    randomizer: Any, claim: Guarantee, embeddings: Embeddings | None, d: int, options: AuditOptions
) -> list[Pair]:
    mechanism = getattr(randomizer, "mechanism", None)
    clip = getattr(mechanism, "clip_norm", None)
    metric: Metric | None = getattr(randomizer, "metric", None)
    if isinstance(claim, LocalDP) and clip is not None:
        return vector_pairs(d, partial(claimed_loss, claim), clip_norm=float(clip))
    if embeddings is not None:
        seed, graph, sigmas = options.seed or 0, getattr(randomizer, "graph", None), getattr(randomizer, "sigmas", None)
        if isinstance(claim, NeighbourDP) and graph is not None:
            return edge_pairs(embeddings, claim, graph.edges, count=options.pairs, seed=seed)
        pairs = vocabulary_pairs(embeddings, claim, metric=metric, count=options.pairs, vectors=True, seed=seed)
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


def _word_case(mechanism: Any, embeddings: Embeddings | None, source: RandomSource, options: AuditOptions) -> _Case:
    fitted = mechanism
    if isinstance(mechanism, WordMechanism):
        if embeddings is None:
            raise ParameterError("embeddings", None, "must be given for a word mechanism.")
        fitted = mechanism.fit(embeddings)
    claim = _published(fitted)
    rows = getattr(fitted, "rows", None)
    metric = getattr(rows, "metric", None)
    if isinstance(fitted, FittedDecoded):
        claim, metric = _published(fitted.randomizer), getattr(fitted.randomizer, "metric", None)
    exact = None
    if isinstance(fitted, FittedExponential) and hasattr(claim, "epsilon") and len(fitted.embeddings) <= EXACT_WORDS:
        exact = verify_scores(fitted, local=isinstance(claim, LocalDP))
    pairs = vocabulary_pairs(fitted.embeddings, claim, metric=metric, count=options.pairs, seed=options.seed or 0)
    subject = WordSubject(fitted, source)
    return _Case(subject=subject, raw=subject, claim=claim, pairs=pairs, exact=exact)


def _foreign_case(
    thing: Foreign,
    embeddings: Embeddings | None,
    dimensions: int | None,
    texts: tuple[str, str] | None,
    options: AuditOptions,
) -> _Case:
    if thing.kind == "text":
        return _text_case(thing, embeddings, texts, options)
    raw = VectorFunctionSubject(thing.call, name=thing.name)
    if embeddings is not None:
        pairs = vocabulary_pairs(embeddings, thing.claim, count=options.pairs, vectors=True, seed=options.seed or 0)
        d = embeddings.dimensions
    elif dimensions is not None:
        d = dimensions
        pairs = vector_pairs(d, partial(claimed_loss, thing.claim), epsilon=float(getattr(thing.claim, "epsilon", 1.0)))
    else:
        raise ParameterError("dimensions", None, "must be given where there is no vocabulary.")
    same_space = raw.sample(pairs[0].first, 2).shape[1] == d
    return _Case(
        subject=OnGrid(raw, pairs[0].first),
        raw=raw,
        claim=thing.claim,
        pairs=pairs,
        candidates=_candidates(embeddings, d, None) if same_space else None,
    )


def _text_case(
    thing: Foreign, embeddings: Embeddings | None, texts: tuple[str, str] | None, options: AuditOptions
) -> _Case:
    subject = TextSubject(thing.call, name=thing.name)
    if texts is not None:
        if thing.claim.promise not in ("local DP", "none"):
            raise ParameterError("texts", "two texts", "need a local-DP claim: their distance is not known.")
        epsilon, delta = claimed_loss(thing.claim, 0.0)
        pair = Pair(first=texts[0], second=texts[1], label="the two given texts", epsilon=epsilon, delta=delta)
        return _Case(subject=subject, raw=subject, claim=thing.claim, pairs=[pair])
    if embeddings is None:
        raise ParameterError("texts", None, "must be given, or a vocabulary to take words from.")
    pairs = [
        Pair(
            first=embeddings.words[int(pair.first)],
            second=embeddings.words[int(pair.second)],
            label=pair.label,
            epsilon=pair.epsilon,
            delta=pair.delta,
            distance=pair.distance,
        )
        for pair in vocabulary_pairs(embeddings, thing.claim, count=options.pairs, seed=options.seed or 0)
    ]
    return _Case(subject=subject, raw=subject, claim=thing.claim, pairs=pairs)
