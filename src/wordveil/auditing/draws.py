"""Whether a word mechanism draws by the law that it states: an exact verification believes that law.

Order the outputs of a word by their stated probability, and put a drawn output at the mass of all likelier ones plus
a uniform share of its own. If it follows the law, its place is uniform in [0, 1], exactly. So the places of n draws
have a distribution function within t of the diagonal but with chance 2 exp(-2 n t^2), whatever the law (Dvoretzky,
Kiefer and Wolfowitz 1956; the constant is Massart's, 1990). Each word is held to that, and all words together, which
finds a small fault that is everywhere. A fault in a word that is not tried is not found, nor in one of many that are
tried with few draws: with 64 each of 200 words, as audits have, one must be off by two fifths of all probability.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.auditing.findings import Finding, result
from wordveil.mechanisms.base import WordRandomizer
from wordveil.randomness import RandomSource, Stream

CHECK = "draws held against the stated law"


def check_drawn_law(
    randomizer: WordRandomizer, words: IdArray, draws: int, *, alpha: float, source: RandomSource
) -> Finding | None:
    """Compare draws of each of n words, ids that may repeat, with the law; None where no law is stated."""
    words, stream = np.unique(words), source.stream("draws and law")
    if randomizer.law(words[:0]) is None:
        return None
    job, rest = randomizer.for_batch_job(), source.stream("shares of draws")
    places = np.empty((len(words), draws))
    for i, word in enumerate(words):
        drawn = job.trial(np.full(draws, word, dtype=np.int32), stream)
        law = randomizer.law(words[i : i + 1])
        assert law is not None
        places[i] = _places(randomizer.outputs, law[0], drawn, rest)
    # What the law gives no probability has no place: one such draw refutes it without a chance of error.
    impossible = np.isnan(places).any(axis=1)
    apart = np.where(impossible, 1.0, [_farthest(row) for row in places])
    together = 1.0 if impossible.any() else _farthest(places.ravel())
    allowed = math.sqrt(math.log(4 * len(words) / alpha) / (2 * draws))
    allowed_together = math.sqrt(math.log(4 / alpha) / (2 * places.size))
    worst = int(apart.argmax())
    return result(
        check=CHECK,
        bad=bool(apart[worst] > allowed or together > allowed_together),
        observed=f"of {len(words)} words, {draws:,} draws each: outputs are off by up to {apart[worst]:.4f} of all "
        f"probability (word {words[worst]}), and by {together:.4f} over all words",
        expected=f"at most {allowed:.4f} and {allowed_together:.4f}",
        alpha=alpha,
    )


def _places(outputs: IdArray, law: Float64Array, drawn: IdArray, stream: Stream) -> Float64Array:
    """Return where each drawn id lies among the outputs, the likeliest first; NaN for what cannot be drawn."""
    order = np.argsort(-law, kind="stable")
    likelier = np.empty_like(law)
    likelier[order] = np.cumsum(law[order]) - law[order]
    column = np.minimum(np.searchsorted(outputs, drawn), len(outputs) - 1)
    own = np.where(outputs[column] == drawn, law[column], 0.0)
    places = likelier[column] + own * stream.lane(0).random(len(drawn))
    return np.where(own > 0, places, np.nan)


def _farthest(places: Float64Array) -> float:
    """Return how far the distribution function of places is from the diagonal, at most (0 for none)."""
    n, ordered = len(places), np.sort(places)
    steps = np.arange(n + 1) / n
    return float(max(np.max(steps[1:] - ordered), np.max(ordered - steps[:-1])))
