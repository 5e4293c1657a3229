"""A prior from public text: counts, Kneser-Ney discounts, pruning.

A triple's probability comes from its count, a pair's from the number of states it follows on (the count where it opens
a sentence, before which nothing is), a word's likewise. Of pairs and triples that were seen twice or more those are
kept that raise the likelihood of the text most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import BoolArray, Float64Array, IdArray, Int64Array, Progress, ReleasedText
from wordveil.denoising.prior import STEP, Prior, probabilities
from wordveil.denoising.reading import STATES, STOP, ReleaseReader
from wordveil.errors import ParameterError
from wordveil.vocabulary.table import Embeddings

BLOCK = 20_000  # texts read at a time
EVERY = 200  # of so many texts one is held out
SMOOTHING = 0.5
LEAST = 2  # times seen; what was seen once is the larger part of a text's triples, and noise


def build_prior(
    texts: Iterable[str],
    embeddings: Embeddings,
    *,
    pairs: int = 400_000,
    triples: int = 600_000,
    source: str = "",
    progress: Progress | None = None,
) -> Prior:
    """Return the model of some public texts.

    Args:
        texts: Public texts; one in 200 is held out, to try things on.
        embeddings: The vocabulary.
        pairs: Most pairs kept.
        triples: Most triples kept.
        source: What the texts are, for the file.
        progress: Called with the number of texts read since the last call.

    Raises:
        ParameterError: If there are fewer than two texts.
    """
    reader, rest, held_out, parts = ReleaseReader(embeddings), iter(texts), list[str](), list[IdArray]()
    done = 0
    while block := list(islice(rest, BLOCK)):
        kept = [text for i, text in enumerate(block, done) if i % EVERY != EVERY // 2]
        held_out += [text for i, text in enumerate(block, done) if i % EVERY == EVERY // 2]
        parts += [layout.states for layout in reader.read([ReleasedText(text) for text in kept])]
        done += len(block)
        if progress is not None:
            progress(len(block))
    states = np.concatenate(parts) if parts else np.empty(0, np.int32)
    return prior_of(states, embeddings, pairs=pairs, triples=triples, source=source, held_out=held_out)


def prior_of(
    states: IdArray,
    embeddings: Embeddings,
    *,
    pairs: int | None,
    triples: int | None,
    base: Float64Array | None = None,
    source: str = "",
    held_out: Sequence[str] = (),
) -> Prior:
    """Return the model of public texts that `ReleaseReader` read already, from stop to stop, end to end, shape (m,).

    At most so many pairs and triples are kept of those seen twice or more, or with None all that were seen; `base`
    holds frequencies of words that the texts lack, None for uniform. `ParameterError` if there are no states.
    """
    if not len(states):
        raise ParameterError("texts", f"<{len(held_out)} texts>", "must be at least two.")
    n = len(embeddings) + STATES
    rest = np.full(n, 1 / n)
    if base is not None:
        rest[:-STATES] = base * rest[:-STATES].sum()
    facts = {
        "vocabulary": embeddings.checksum_in_use,
        "name": embeddings.header.name,
        "words": len(embeddings),
        "source": source,
        "held_out": list(held_out),
    }
    return Prior(facts=facts, **_counted(states.astype(np.int64), rest, pairs, triples))


def _counted(states: Int64Array, base: Float64Array, pairs: int | None, triples: int | None) -> dict[str, Any]:
    n = len(base)
    stop = n - STATES + STOP
    inside = (states[:-1] != stop) | (states[1:] != stop)
    raw_pairs, pair_times = np.unique((states[:-1] * n + states[1:])[inside], return_counts=True)
    whole = states[1:-1] != stop  # nothing reaches from one sentence into the next
    keys, times = np.unique(((states[:-2] * n + states[1:-1]) * n + states[2:])[whole], return_counts=True)

    ends, befores = np.unique(keys % n**2, return_counts=True)  # pairs that follow on something, and on how much
    opening = raw_pairs // n == stop
    ends = np.concatenate((ends[ends // n != stop], raw_pairs[opening]))
    order = np.argsort(ends)
    ends, befores = ends[order], np.concatenate((befores, pair_times[opening]))[order]

    known, follows = np.unique(raw_pairs % n, return_counts=True)
    alone = _discounted(follows, np.zeros_like(known))
    unigram = base * (1 - alone.sum())
    unigram[known] += alone
    seen = _discounted(befores, ends // n)
    left = _left(seen, ends // n, n)
    after = seen + left[ends // n] * unigram[ends % n]

    third_seen = _discounted(times, keys // n)
    contexts, context = np.unique(keys // n, return_inverse=True)
    third_left = _left(third_seen, context, len(contexts))[context]
    shorter = after[np.searchsorted(ends, keys % n**2)]
    kept = _best(times, third_seen, third_left * shorter, triples, np.zeros(len(keys), np.bool_))
    times_of = pair_times[np.searchsorted(raw_pairs, ends)]
    needed = np.isin(ends, keys[kept] // n)
    stored = _best(times_of, seen, after - seen, pairs, needed)
    ends, keys, third_seen = ends[stored], keys[kept], third_seen[kept]
    whose = np.searchsorted(ends, keys // n)
    counted = np.bincount(states, minlength=n) + SMOOTHING * n * base
    small = np.uint16 if n < 1 << 16 else np.uint32
    return {
        "frequency": (counted / counted.sum()).astype(np.float32),
        "unigram": unigram.astype(np.float32),
        "followers": np.bincount(ends // n, minlength=n).astype(np.uint32),
        "right": (ends % n).astype(small),
        "seen": _codes(seen[stored]),
        "thirds": np.bincount(whose, minlength=len(ends)).astype(small),
        "third": (keys % n).astype(small),
        "third_seen": _codes(third_seen),
    }


def _discounted(times: Int64Array, context: Int64Array) -> Float64Array:
    """Return (times - discount) / all times of the context, with the discounts of Chen and Goodman's equation 26."""
    counts = np.maximum([np.count_nonzero(times == k) for k in (1, 2, 3, 4)], 1)
    share = counts[0] / (counts[0] + 2 * counts[1])
    cut = np.clip([k - (k + 1) * share * counts[k] / counts[k - 1] for k in (1, 2, 3)], 0.1, (0.9, 1.8, 2.7))
    _, place = np.unique(context, return_inverse=True)
    return np.asarray((times - cut[np.minimum(times, 3) - 1]) / np.bincount(place, weights=times)[place])


def _left(seen: Float64Array, context: Int64Array, contexts: int) -> Float64Array:
    return np.asarray(1 - np.bincount(context, weights=seen, minlength=contexts), dtype=np.float64)


def _best(times: Int64Array, seen: Float64Array, rest: Float64Array, most: int | None, needed: BoolArray) -> Int64Array:
    """Return which n-grams to keep, ascending: the needed ones, then those worth most, times * ln of what they add."""
    if most is None:
        return np.arange(len(times))
    worth = times * np.log1p(seen / rest)
    worth[(times < LEAST) | needed] = -1
    best = np.argsort(-worth, kind="stable")[: max(0, most - int(needed.sum()))]
    return np.sort(np.concatenate((best[worth[best] > 0], np.flatnonzero(needed))))


def _codes(seen: Float64Array) -> NDArray[np.uint8]:
    """Return the bytes of probabilities, rounded down so that what is left in each context stays positive."""
    codes = np.minimum(np.ceil(-np.log(seen) / STEP), 255).astype(np.uint8)
    return np.where(probabilities(codes) > seen, np.minimum(codes, 254) + 1, codes).astype(np.uint8)
