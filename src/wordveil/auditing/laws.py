"""Exact check of a word mechanism by the law that it states, over every pair of words that its claim speaks of.

A selection mechanism takes v^2 distances and v normalizers (`score_channels`); local DP without delta takes the largest
and the smallest probability of every output; anything else takes every triple (`exact`).
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.arrays import IdArray
from wordveil.auditing.exact import ChannelVerdict, checked_law, verify_channel
from wordveil.auditing.score_channels import verify_scores
from wordveil.mechanisms.base import WordRandomizer
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import AtDistance, EveryPair

EXACT_WORDS = 20_000  # largest vocabulary whose distances are all computed
TRIPLES = 2e10  # most triples examined: some twenty seconds of one core
ROWS = 256  # rows of a law held at a time


def verify_law(
    randomizer: WordRandomizer, claim: Guarantee | None = None, *, threads: int | None = None
) -> ChannelVerdict | None:
    """Check every pair of words, and an unknown token where the mechanism answers for it, against a claim about it.

    Of several kinds of tokens each is checked, and the first that fails is the verdict. None stands for the claim that
    an audit tries to refute. There is no verdict where no law is stated, no epsilon is claimed, or the vocabulary is
    too large. `ParameterError` if what is stated is no law, or the claim's distances are none.
    """
    relation = randomizer.related(claim)
    if len(randomizer.kinds) > 1:
        words, *others = randomizer.kinds
        verdicts = [verify_law(words, relation.claim, threads=threads)]
        verdicts += [verify_law(kind, threads=threads) for kind in others]
        found = [verdict for verdict in verdicts if verdict is not None]
        return min(found, key=lambda each: each.holds) if len(found) == len(verdicts) else None
    epsilon, slack = relation.claim.epsilon, relation.claim.slack or 0.0
    v, local = len(randomizer.embeddings), isinstance(relation, EveryPair)
    everyone = np.arange(v, dtype=np.int32)
    if epsilon is None or randomizer.law(everyone[:0]) is None:
        return None
    if randomizer.selection is not None and relation.delta == 0 and isinstance(relation, AtDistance | EveryPair):
        if v > EXACT_WORDS:
            return None
        return verify_scores(randomizer, epsilon, slack=slack, local=local, threads=threads)
    if local and randomizer.answers_unknown:
        everyone = np.append(everyone, np.int32(-1))
    if local and relation.delta == 0:
        return _verify_outputs(randomizer, everyone, epsilon, slack)
    if float(v) * v * len(randomizer.outputs) > TRIPLES:
        return None
    channel = randomizer.law(everyone)
    assert channel is not None
    return verify_channel(
        channel,
        lambda first, second: relation.units(everyone[first], everyone[second]),
        epsilon,
        delta=relation.delta,
        slack=slack,
        threads=threads,
    )


def _verify_outputs(randomizer: WordRandomizer, inputs: IdArray, epsilon: float, slack: float) -> ChannelVerdict:
    """Return the verdict on epsilon local DP: the largest loss is max_y ln(max_x P(y | x) / min_x P(y | x))."""
    m = len(randomizer.outputs)
    high, low = np.full(m, -1.0), np.full(m, 2.0)
    likeliest, unlikeliest = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    for start in range(0, len(inputs), ROWS):
        found = randomizer.law(inputs[start : start + ROWS])
        assert found is not None
        rows = checked_law(found, start)
        for best, place, extreme, better in (
            (high, likeliest, rows.argmax(axis=0), np.greater),
            (low, unlikeliest, rows.argmin(axis=0), np.less),
        ):
            values = rows[extreme, np.arange(m)]
            place[:] = np.where(better(values, best), extreme + start, place)
            best[:] = np.where(better(values, best), values, best)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(high > 0, np.log(high) - np.log(low), 0.0)
    y = int(losses.argmax())
    loss, smallest = float(losses[y]), float(low[low > 0].min(initial=1.0))
    return ChannelVerdict(
        epsilon=epsilon,
        slack=slack,
        tight_epsilon=max(0.0, loss - slack),
        tight_slack=max(0.0, loss - epsilon),
        worst_pair=(int(inputs[likeliest[y]]), int(inputs[unlikeliest[y]])),
        worst_output=y,
        worst_loss=loss,
        worst_distance=1.0,
        tolerance=8 * 2.0**-53 * (1 - math.log(smallest)),
        triples=len(inputs) * (len(inputs) - 1) * m,
    )
