"""Epsilon from meaning: the epsilon at which a typical word stays itself with a given probability.

The keep probability is a fact about the *vocabulary* and the mechanism, computed from public words alone. Choosing
epsilon by looking at private outputs ("until it looks right") would void the guarantee; choosing it here does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.decoding.decoded import as_words
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, WordMechanism, WordRandomizer
from wordveil.parameters import check_delta, check_whole
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import SAMPLE, Embeddings, public_sample

LOG_TOLERANCE = math.log(1.002)  # epsilon is found to within 0.2 %
SEARCH_RANGE = (1e-4, 1e6)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The epsilon found, and the curve around it."""

    epsilon: float  # at which a typical word stays with probability `keep`, unit 1/distance
    keep: float  # the probability asked for
    words: int  # how many public words the mean was taken over
    curve: tuple[tuple[float, float], ...]  # (epsilon, keep probability) pairs evaluated on the way, ascending


def keep_probability(randomizer: WordRandomizer, ids: IdArray, weights: Float64Array | None = None) -> float:
    """Return the mean probability that a public word, one that may be output, is released unchanged.

    Exact for selection mechanisms; a mean of one seeded public draw a word for mechanisms that decode noise. Weights
    are the relative frequencies of the words, shape (n,); None weighs them equally.
    """
    kept = randomizer.keep_probabilities(ids)
    if kept is None:
        kept = (randomizer.trial(ids, RandomSource.public("calibration")) == ids).astype(np.float64)
    return float(np.average(kept, weights=weights))


def calibrate(
    embeddings: Embeddings,
    mechanism: WordMechanism | VectorMechanism,
    *,
    keep: float = 0.5,
    frequencies: Mapping[str, float] | None = None,
    sample: int = SAMPLE,
    progress: Callable[[float, float], None] | None = None,
) -> Calibration:
    """Return the epsilon at which a typical public word stays with probability `keep`.

    Args:
        embeddings: The public vocabulary.
        mechanism: The mechanism at any epsilon; its other parameters are kept.
        keep: Target probability, in (0, 1).
        frequencies: Public word frequencies that say what is typical; None takes every candidate alike.
        sample: Words in the public sample, at least 1 (the most frequent ones where frequencies are given).
        progress: Called with (epsilon, keep probability) after every evaluation.

    Raises:
        ParameterError: If a parameter is outside its domain, the calibration is a certified one, no listed word is a
            candidate, or no epsilon reaches the target.
    """
    check_delta(keep, name="keep")
    check_whole("sample", sample)
    if mechanism.needs_certificate:
        problem = "needs a certificate for every epsilon tried. Calibrate without it, then certify the epsilon found: "
        problem += "the certified rate is higher, so that more words stay than asked for."
        raise ParameterError("calibration", mechanism.calibration, problem)
    ids, weights = _typical_words(embeddings, frequencies, sample)
    fit_at = as_words(mechanism).fitter(embeddings)
    curve: dict[float, float] = {}

    def evaluate(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        curve[epsilon] = keep_probability(fit_at(epsilon), ids, weights)
        if progress is not None:
            progress(epsilon, curve[epsilon])
        return curve[epsilon]

    low, high = _bracket(evaluate, keep)
    while high - low > LOG_TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if evaluate(middle) < keep else (low, middle)
    return Calibration(epsilon=math.exp(high), keep=keep, words=len(ids), curve=tuple(sorted(curve.items())))


def _typical_words(
    embeddings: Embeddings, frequencies: Mapping[str, float] | None, sample: int
) -> tuple[IdArray, Float64Array | None]:
    if frequencies is None:
        return public_sample(embeddings, sample), None
    listed = sorted(frequencies, key=lambda word: -frequencies[word])
    found = embeddings.ids(listed)
    usable = np.isin(found, embeddings.candidates)
    if not usable.any():
        raise ParameterError("frequencies", f"{len(listed)} words", "hold no word of this vocabulary's candidates.")
    weights = np.array([frequencies[word] for word in listed], dtype=np.float64)[usable][:sample]
    if not (np.all(np.isfinite(weights)) and np.all(weights > 0)):
        raise ParameterError("frequencies", "<listed>", "must be finite and positive numbers.")
    return found[usable][:sample], weights


def _bracket(evaluate: Callable[[float], float], keep: float) -> tuple[float, float]:
    """Return logs of two epsilons, at most a factor 2 apart, with the target between them."""
    position, step = math.log(8.0), math.log(2.0)
    lowest, highest = (math.log(end) for end in SEARCH_RANGE)
    above = evaluate(position) >= keep
    while lowest <= position <= highest:
        previous = position
        position += -step if above else step
        if (evaluate(position) >= keep) != above:
            return min(previous, position), max(previous, position)
    limit = f"is not reached for any epsilon from {SEARCH_RANGE[0]:g} to {SEARCH_RANGE[1]:g} on this vocabulary."
    raise ParameterError("keep", keep, limit)
