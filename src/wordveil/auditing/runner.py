"""One audit from beginning to end: load, check freshness, verify exactly, sample, look for leaks, report.

    alpha/4  freshness of discrete noise      alpha/4  leaks of text and time, or draws held against a stated law
    alpha/2  the pairs, in equal shares; within a pair epsilon, delta and the trade-off band share

so an honest mechanism is called refuted with probability at most alpha, whatever the seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.auditing.black_box import PairAudit, audit_pair
from wordveil.auditing.cases import Case, Foreign, Inputs, adapt, load_mechanism, make_case
from wordveil.auditing.draws import check_drawn_law
from wordveil.auditing.findings import Finding
from wordveil.auditing.float_attack import check_float_bits
from wordveil.auditing.intervals import check_alpha
from wordveil.auditing.repeated import RELEASES, attack_repeats
from wordveil.auditing.report import AuditReport
from wordveil.auditing.reuse import WITHIN_PROCESS, check_reuse
from wordveil.auditing.side_doors import check_side_doors
from wordveil.auditing.subjects import OnGrid, Subject, VectorSubject, WordSubject
from wordveil.auditing.text_leaks import TextChecks, check_text
from wordveil.auditing.timing import check_timing
from wordveil.mechanisms.base import WordRandomizer
from wordveil.parameters import check_whole
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

CARRIERS = 50

Steps = Callable[[str], None]
"""Called with what is done next, for whoever waits."""


def _untold(_: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """How hard an audit tries, and how often it may be wrong."""

    samples: int = 20_000  # samples of each input of each pair, at least 200
    pairs: int = 6  # pairs tried where a vocabulary is given
    alpha: float = 1e-6  # chance, at most, that an honest mechanism is called refuted, in (0, 1)
    classifier: bool = False  # whether to train a classifier as well (scikit-learn)
    curve_points: int = 24  # points of the trade-off band of the first pair; 0 makes none
    leaks: bool = True  # whether texts are checked for leaks: unknown words, digits, casing, length, order, side doors
    declared: tuple[str, ...] = ("length", "order")  # disclosures that a text mechanism declares
    timing: bool = False  # whether words are timed; only useful on a quiet machine
    repeats: int = 200  # words of which 64 releases are attacked, and as many held against a stated law; 0 for none
    seed: int | None = None  # None draws afresh; an integer makes the audit repeatable

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        for name, low in (("samples", 200), ("pairs", 1), ("curve_points", 0), ("repeats", 0)):
            check_whole(name, getattr(self, name), low)


def audit(
    mechanism: str,
    *,
    embeddings: Embeddings | None = None,
    dimensions: int | None = None,
    parameters: dict[str, Any] | None = None,
    kind: str | None = None,
    texts: tuple[str, str] | None = None,
    options: AuditOptions | None = None,
    progress: Steps = _untold,
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
        progress: Called with what is done next.

    Returns:
        The report; `exit_code` is 1 where refuted, 2 where no pair of the claim could be tried.

    Raises:
        ParameterError: If a parameter is out of range or something needed is missing.
        RefutedClaimError: If a refuted calibration is asked for without `allow_refuted`.
    """
    parameters = dict(parameters or {})
    loaded = load_mechanism(mechanism, parameters)
    shown = ", ".join(f"{k}={v!r}" for k, v in parameters.items() if v is not None)
    over = "" if embeddings is None else f", over {len(embeddings):,} words"
    return audit_mechanism(
        loaded,
        embeddings=embeddings,
        dimensions=dimensions,
        kind=kind,
        texts=texts,
        claim={k: parameters[k] for k in ("epsilon", "delta") if parameters.get(k) is not None},
        name=f"{mechanism}({shown})" + (f", {dimensions} dimensions" if dimensions else over),
        options=options,
        progress=progress,
    )


def audit_mechanism(  # noqa: PLR0913 (most of them say what is audited)
    mechanism: Any,
    *,
    embeddings: Embeddings | None = None,
    dimensions: int | None = None,
    kind: str | None = None,
    texts: tuple[str, str] | None = None,
    claim: dict[str, Any] | None = None,
    name: str = "",
    options: AuditOptions | None = None,
    progress: Steps = _untold,
) -> AuditReport:
    """Audit a mechanism object, a randomizer, any callable, or what else `adapters.adapt` takes; the rest as `audit`.

    `claim` holds epsilon and delta of things that state none, or in place of what they state; `name` is shown in the
    report; `progress` is called with what is done next.
    """
    options = options or AuditOptions()
    source = RandomSource() if options.seed is None else RandomSource.seeded_for_tests(options.seed)
    progress("fitting, and checking the law exactly where that is possible")
    thing = adapt(mechanism, embeddings=embeddings, dimensions=dimensions, kind=kind, **(claim or {}))
    name = name or re.sub(r"^<(?:function )?([\w.]+)(?: object)? at 0x\w+>$", r"\1", repr(mechanism))  # no address
    inputs = Inputs(
        embeddings=embeddings, dimensions=dimensions, texts=texts, pairs=options.pairs, seed=options.seed or 0
    )
    case = make_case(thing, inputs, source)
    progress("looking whether noise is fresh and text leaks")
    findings = _freshness(case, options.alpha / 4) + _leaks(thing, case, inputs, options)
    fresh = not _dependent(findings)
    if fresh and isinstance(case.raw, WordSubject):
        progress("holding draws against the stated law")
        findings += _draws(case.raw.randomizer, case, options, source)
    audits = _pair_audits(case, options, progress) if fresh else ()
    repeated = None
    if options.repeats and isinstance(case.raw, WordSubject):
        of = f"of {options.repeats} words attacked by repeated releases"
        repeated = attack_repeats(case.raw.randomizer, options.repeats, source, lambda done: progress(f"{done} {of}"))
    return AuditReport(
        subject=name,
        claim=case.claim.sentence(),
        alpha=options.alpha,
        exact=case.exact,
        pairs=audits,
        findings=tuple(findings),
        repeated=repeated,
        settings={**vars(options), "pairs_tried": len(case.pairs) if fresh else 0},
    )


def _freshness(case: Case, alpha: float) -> list[Finding]:
    findings = check_reuse(case.raw, case.pairs[0].first, alpha=alpha)
    if case.candidates is not None and not _dependent(findings):
        subject, grid = case.raw, 0.0
        if isinstance(case.raw, VectorSubject) and isinstance(case.subject, OnGrid):
            # What is released: points of the mechanism's grid, or float sums that the release of vectors rounds.
            own = case.raw.randomizer.grid
            subject, grid = (case.subject, case.subject.step) if own is None else (case.raw, own)
        findings.append(check_float_bits(partial(_each, subject), case.candidates, range(8), grid=grid))
    return findings


def _leaks(thing: Any, case: Case, inputs: Inputs, options: AuditOptions) -> list[Finding]:
    findings = []
    if options.timing:
        timed = [x for pair in case.pairs for x in (pair.first, pair.second)]
        findings.append(check_timing(lambda x: case.raw.sample(x, 1), timed, alpha=options.alpha / 8))
    if not (options.leaks and isinstance(thing, Foreign) and thing.kind == "text"):
        return findings
    seed = options.seed or 0
    listed = () if inputs.embeddings is None else inputs.embeddings.words[: 20 * CARRIERS]
    carriers = [word for word in listed if word.isalpha() and word.islower()][:CARRIERS]
    if len(carriers) > 1:
        # Four of the checks count; each has an equal share.
        checks = TextChecks(words=carriers, declared=options.declared, alpha=options.alpha / 32, seed=seed)
        findings += check_text(thing.call, checks)
    return findings + check_side_doors(thing.call, seed=seed)


def _draws(randomizer: WordRandomizer, case: Case, options: AuditOptions, source: RandomSource) -> list[Finding]:
    compared = [word for pair in case.pairs for word in (pair.first, pair.second)]
    ids = np.array([word for word in compared if word >= (-1 if randomizer.answers_unknown else 0)], dtype=np.int32)
    shares = source.stream("words whose draws are checked").lane(0).random(options.repeats)
    some = (shares * len(randomizer.embeddings)).astype(np.int32)
    groups = [(words, draws) for words, draws in ((ids, options.samples), (some, RELEASES[-1])) if len(words)]
    found = [check_drawn_law(randomizer, *group, alpha=options.alpha / 16, source=source) for group in groups]
    return [finding for finding in found if finding is not None]


def _dependent(findings: Sequence[Finding]) -> bool:
    return any(finding.refuted and finding.check in WITHIN_PROCESS for finding in findings)


def _each(subject: Subject, rows: Float64Array) -> Float64Array:
    return np.concatenate([subject.sample(row, 1) for row in rows])


def _pair_audits(case: Case, options: AuditOptions, progress: Steps) -> tuple[PairAudit, ...]:
    audits = []
    for i, pair in enumerate(case.pairs):
        progress(f"pair {i + 1} of {len(case.pairs)}: {options.samples:,} samples of each input")
        found = audit_pair(
            case.subject,
            pair,
            samples=options.samples,
            alpha=options.alpha / (2 * len(case.pairs)),
            classifier=options.classifier and not case.subject.discrete,
            curve_points=options.curve_points if i == 0 else 0,
            seed=options.seed or 0,
        )
        audits.append(found)
    return tuple(audits)
