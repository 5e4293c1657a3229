"""What a denoiser's own confidence is worth: public texts, released as the private ones were, and read back.

A model of public text is surer than it should be, all the more of a text that is unlike its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wordveil.arrays import BoolArray, Float32Array, Float64Array, IdArray
from wordveil.denoising.posterior import Posterior
from wordveil.denoising.prior import Prior
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import WordRandomizer
from wordveil.randomness import RandomSource

WORDS = 2000  # public words read: the share that is named is known to about .01
FEWEST = 50
BINS, IN_EACH = 20, 100  # bins of the curve at most; shares of fewer words would rise by chance
COMMON = 2e-4
"""Share of public text below which a word counts as one that carries content."""


@dataclass(frozen=True)
class Trial:
    """Public segments and what stands for them."""

    true: IdArray = field(repr=False)  # their states, end to end, shape (m,)
    released: list[IdArray] = field(repr=False)  # as released, segment by segment
    counted: BoolArray = field(repr=False)  # which places hold words that the mechanism drew for, shape (m,)


def trial_releases(segments: Sequence[IdArray], randomizer: WordRandomizer, exempt: IdArray) -> tuple[Trial, Trial]:
    """Return public segments, some words long, released by the mechanism, and as random words; equal every time.

    Exempt words pass as they are. Too few words are a `ParameterError`.
    """
    v, stream = len(randomizer.embeddings), RandomSource.public("denoising")
    count = sum(int(np.count_nonzero(segment < v)) for segment in segments)
    if count < FEWEST:
        raise ParameterError("public", f"<{count} words>", f"must hold at least {FEWEST} words of the vocabulary.")
    taken = segments[:: max(1, count // WORDS)]  # from all over: sources stand one after the other
    true = np.concatenate(taken)
    counted = (true < v) & ~np.isin(true, exempt)
    ids = true[counted]
    outputs = randomizer.outputs
    drawn = {
        "released": randomizer.trial(ids, stream),
        "random": outputs[(stream.lane(7).random(len(ids)) * len(outputs)).astype(np.int64)],
    }
    cuts = np.cumsum([len(segment) for segment in taken])[:-1]
    trials = []
    for own in drawn.values():
        seen = true.copy()
        seen[counted] = own
        trials.append(Trial(true, np.split(seen, cuts), counted))
    return trials[0], trials[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceCurve:
    """From a posterior's own confidence to the share of words that it names rightly."""

    named: float  # share of the words of public text that the attacker names, who names the likeliest for each
    content: float  # the same of words rarer than 2e-4; they must be named among all words
    random: float  # the share named from random outputs, which say nothing of the text
    words: int  # how many words were tried
    confidences: Float64Array = field(repr=False)  # own confidence, ascending, of each bin
    shares: Float64Array = field(repr=False)  # share that was right in it, not descending

    @classmethod
    def of(cls, trials: Sequence[Trial], found: Sequence[Posterior], prior: Prior) -> ConfidenceCurve:
        """Compare what was read with what was there, for trials of released and of random words."""
        hits = [(own.states[:, 0] == trial.true)[trial.counted] for trial, own in zip(trials, found, strict=True)]
        right, counted = hits[0], trials[0].counted
        content = prior.frequency[trials[0].true[counted]] < COMMON
        order = np.argsort(found[0].chances[counted, 0], kind="stable")
        bins = [part for part in np.array_split(order, min(BINS, len(order) // IN_EACH) or 1) if len(part)]
        shares = np.array([right[part].mean() for part in bins])
        return cls(
            named=float(right.mean()) if len(right) else 0.0,
            content=float(right[content].mean()) if content.any() else 0.0,
            random=float(hits[1].mean()) if len(right) else 0.0,
            words=len(right),
            confidences=np.array([found[0].chances[counted, 0][part].mean() for part in bins], dtype=np.float64),
            shares=np.maximum.accumulate(shares) if len(shares) else shares,
        )

    def __call__(self, confidences: Float32Array) -> Float32Array:
        """Return the share of words that are right where the posterior is so sure, of the same shape."""
        if not len(self.shares):
            return np.zeros_like(confidences)
        below = np.append(0.0, self.confidences), np.append(0.0, self.shares)
        return np.asarray(np.interp(confidences, *below), dtype=np.float32)
