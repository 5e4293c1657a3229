"""What can be shown about a row's promise by audit: a lower bound on its epsilon, beside what is claimed or certified.

Three kinds of evidence, each with its confidence:

    exact      the law that a word mechanism states: its smallest true epsilon on this vocabulary, no chance of error;
               draws of words drawn at random are held against that law, with a share of alpha
    counted    events counted on samples, whatever the mechanism is; blind beyond ln(samples) nats
    density    the mechanism's own density, averaged over samples of it: also sees events rarer than one in n samples

An audit refutes; a bound below the claim proves nothing. Vector mechanisms are audited before decoding, on a grid.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

import wordveil.api as wv
from wordveil_lab.evaluation.cells import Contender

STEPS = 40  # epsilons tried on the first half of the samples
EXACT_TOLERANCE = 1e-9
LAW_WORDS, LAW_DRAWS = 200, 64  # words whose draws are held against a stated law, and draws of each


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """How hard the promises are audited."""

    samples: int = 20_000  # samples of each input of each pair, at least 200; 0 audits nothing
    pairs: int = 4  # pairs of words tried, at least 3
    alpha: float = 1e-6  # chance, at most, that any bound of a row is wrong

    def __post_init__(self) -> None:
        wv.check_alpha(self.alpha)
        if self.samples != 0 and self.samples < 200:
            raise wv.ParameterError("audit_samples", self.samples, "must be at least 200, or 0 for no audit.")
        wv.check_whole("audit_pairs", self.pairs, 3)


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What the audit of one row showed; epsilons are in the unit of the row's promise."""

    method: str  # "exact", "density" or "counted": the strongest evidence there is; "draws" where they break their law
    claimed_epsilon: float  # promised; for a refuted row what its paper claims
    claimed_delta: float
    epsilon_at_least: float  # no smaller epsilon is true at the claimed delta; inf where none is true at all
    delta_at_least: float  # no smaller delta is true at the claimed epsilon
    counted_epsilon: float | None  # the same bound by counted events alone; None for an exact audit
    counted_delta: float | None
    pair: str  # the pair that shows `epsilon_at_least`, in public terms
    alpha: float  # chance, at most, that a bound is wrong, or an honest law called broken
    refuted: bool  # whether the claim cannot be true

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary, infinities as strings."""
        return {key: "inf" if value == np.inf else value for key, value in asdict(self).items()}


def audit_promise(contender: Contender, embeddings: wv.Embeddings, settings: AuditSettings, seed: int) -> Audited:
    """Audit a fitted row: before decoding, where it decodes vectors."""
    stated = contender.guarantee
    claim = None if stated.epsilon is None else stated
    inputs = wv.AuditInputs(embeddings=embeddings, pairs=settings.pairs, seed=0, claim=claim, threads=1)
    randomizer, source = contender.words.vectors or contender.words, wv.RandomSource.seeded_for_tests(seed)
    case = wv.make_case(randomizer, inputs, source)
    if case.exact is not None:
        a, b = case.exact.worst_pair
        words = np.random.default_rng(seed).integers(0, len(embeddings), LAW_WORDS, dtype=np.int32)
        drawn = wv.check_drawn_law(contender.words, words, LAW_DRAWS, alpha=settings.alpha, source=source)
        otherwise = drawn.observed if drawn is not None and drawn.refuted else ""
        return Audited(
            method="draws" if otherwise else "exact",
            claimed_epsilon=case.exact.epsilon,
            claimed_delta=case.exact.delta,
            epsilon_at_least=case.exact.tight_epsilon,
            delta_at_least=case.exact.tight_delta or 0.0,
            counted_epsilon=None,
            counted_delta=None,
            pair=otherwise or f"word {a} and word {b}",
            alpha=settings.alpha,
            refuted=not case.exact.holds or bool(otherwise),
        )
    share = settings.alpha / (2 * len(case.pairs))
    found = [_pair(case.subject, pair, case.claim, settings.samples, share) for pair in case.pairs]
    best = max(found, key=lambda one: one.epsilon_at_least)
    largest = {
        name: max(getattr(one, name) for one in found)
        for name in ("delta_at_least", "counted_epsilon", "counted_delta", "refuted")
    }
    return replace(best, alpha=settings.alpha, **largest)


def _pair(subject: wv.Subject, pair: wv.Pair, claim: wv.Guarantee, samples: int, alpha: float) -> Audited:
    """Audit one pair by counting, and by the density where that is known; alpha is shared between the two."""
    counted = wv.audit_pair(subject, pair, samples=samples, alpha=alpha)
    epsilon, delta, method = counted.epsilon_at_least, counted.delta_at_least, "counted"
    assert pair.epsilon is not None
    ratio = subject.log_ratio(pair)
    if ratio is not None:
        by_density = density_bounds(subject, pair, ratio, samples=samples, alpha=alpha)
        method = "density" if by_density[0] > epsilon or by_density[1] > delta else method
        epsilon, delta = max(epsilon, by_density[0]), max(delta, by_density[1])
    unit = pair.distance if claim.metric and pair.distance else 1.0
    return Audited(
        method=method,
        claimed_epsilon=float(claim.epsilon or pair.epsilon),
        claimed_delta=pair.delta,
        epsilon_at_least=epsilon / unit,
        delta_at_least=delta,
        counted_epsilon=counted.epsilon_at_least / unit,
        counted_delta=counted.delta_at_least,
        pair=pair.label,
        alpha=alpha,
        refuted=epsilon > pair.epsilon * (1 + EXACT_TOLERANCE) or delta > pair.delta,
    )


def density_bounds(
    subject: wv.Subject, pair: wv.Pair, ratio: wv.LogRatio, *, samples: int, alpha: float
) -> tuple[float, float]:
    """Return lower bounds on epsilon at the claimed delta and on delta at the claimed epsilon, trusting the density.

    With L = ln p/q at outputs of p, delta(e) = E[(1 - exp(e - L))_+]: a mean of a variable in [0, 1], each value
    rounded to 0 or 1 at random, so that the Clopper-Pearson bound is exact. Half of the samples choose the epsilon,
    the other half certify it.
    """
    assert pair.epsilon is not None
    generator = np.random.default_rng(0)  # rounds values; any choice leaves the bounds valid
    epsilon = delta = 0.0
    for private, sign in ((pair.first, 1.0), (pair.second, -1.0)):
        losses = sign * np.asarray(ratio(subject.sample(private, samples)), dtype=np.float64)
        chosen, fresh = losses[: samples // 2], losses[samples // 2 :]
        delta = max(delta, _delta(fresh, pair.epsilon, alpha / 4, generator))
        wanted = _promising(chosen, len(fresh), pair.delta, alpha / 4)
        if wanted > epsilon and _delta(fresh, wanted, alpha / 4, generator) > pair.delta:
            epsilon = wanted
    return epsilon, delta


def _excess(losses: wv.Float64Array, epsilon: float) -> wv.Float64Array:
    """Return (1 - exp(epsilon - loss))_+ of each loss; 1 where the other input cannot give the output."""
    if epsilon == np.inf:
        return np.asarray(losses == np.inf, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(np.minimum(epsilon - losses, 0.0)))


def _delta(losses: wv.Float64Array, epsilon: float, alpha: float, generator: np.random.Generator) -> float:
    hits = np.count_nonzero(generator.random(len(losses)) < _excess(losses, epsilon))
    return float(wv.lower_bound(hits, len(losses), alpha))


def _promising(losses: wv.Float64Array, n: int, delta: float, alpha: float) -> float:
    """Return the largest epsilon whose bound on n fresh samples may be expected, with room, to lie above delta."""
    sure = losses[np.isfinite(losses)]
    tried = [np.inf, *np.quantile(sure, np.linspace(1, 0, STEPS))] if len(sure) else [np.inf]
    for epsilon in tried:
        expected = float(_excess(losses, epsilon).mean()) * n
        # Two standard deviations below what is expected, and at least ten hits.
        hits = expected - 2 * expected**0.5
        if epsilon > 0 and hits >= 10 and float(wv.lower_bound(int(hits), n, alpha)) > delta:
            return float(epsilon)
    return 0.0
