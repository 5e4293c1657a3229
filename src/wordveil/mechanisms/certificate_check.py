"""What a certificate says of some words, computed again where it is used: a forged one must not pass for a computation.

In a vocabulary of up to 1 024 different words that is every pair. In a larger one it is every pair of some 128 words:
evenly spaced ones, those farthest from the middle, and words that may not be output. That refuses what is grossly
wrong and proves nothing; `verify` repeats the whole computation.
"""

from __future__ import annotations

import numpy as np

from wordveil.arrays import Float64Array, IdArray
from wordveil.errors import CertificateError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.distance_sources import CoordinateSource
from wordveil.mechanisms.metric_rows import distance_source
from wordveil.metrics.distances import AnyMetric, Metric
from wordveil.promises.certificates import Certificate
from wordveil.promises.rounding import round_up
from wordveil.vocabulary.table import Embeddings

NOT_REPEATED = "not repeated when fitted"
"""What is said of a certificate that was held against some pairs only."""

WHOLE = 1024
SHARE = 48  # words of each of the three kinds
OUTPUTS = 1 << 12
UNIT = 2.0**-53


def check_certificate(
    certificate: Certificate, rows: ChannelRows, embeddings: Embeddings, base: Float64Array | None, *, local: bool
) -> str:
    """Hold a certificate against pairs of words; return what was held against what, for a list of assumptions.

    The certificate was made for this vocabulary, and its rate and cap are those of the rows. A base measure over the
    candidates is given where there is one; `local` says that epsilon bounds the loss of any pair, not the loss per
    distance. `CertificateError` if a pair of words loses more than the certificate says.
    """
    # The lowest id at distance 0 of each word: in a matrix or in ranks it need not share the vector.
    known = isinstance(rows.metric, Metric)
    canonical = embeddings.canonical if known else distance_source(rows.metric, embeddings).canonical
    ids, whole = _chosen(embeddings, canonical)
    table, error = _distances(rows.metric, embeddings, ids, ids)
    logs, nearest = _log_normalizers(rows, embeddings, ids, base)
    s, reach = np.minimum(table, rows.cap), np.minimum(table, rows.cap)
    outputs = canonical[rows.outputs if base is None else rows.outputs[base > 0]]
    barred = np.flatnonzero(~np.isin(ids, outputs))
    if len(barred):  # they lose most where another is drawn, a word that may be output where it is drawn itself
        some = np.union1d(nearest[barred], np.intersect1d(ids, outputs))
        seen = np.minimum(_distances(rows.metric, embeddings, ids, some)[0], rows.cap)
        for place in barred:
            reach[place] = (seen - seen[place]).max(axis=1)
    loss = rows.rate * reach + logs[None] - logs[:, None]
    # Two normalizers, and a distance on either side; exponents, exponentials and sums round besides.
    rounding = (4 + 2 * rows.rate * min(rows.cap, 745 / rows.rate) + len(rows.outputs)) * UNIT
    allowed = certificate.error + 4 * rows.rate * error + 4 * rounding
    found = certificate.numbers["epsilon"]
    if np.any(loss > found * (1.0 if local else s) + allowed):
        raise CertificateError(
            f"The certificate's epsilon={found!r} at rate={rows.rate!r} is refuted: two words of this vocabulary lose "
            "more. Make another with certify(); if that is refuted too, the distances are no metric."
        )
    what = f"certificate: {certificate.method} of this vocabulary and candidate set"
    if whole:
        return f"{what}, held against every pair of words when fitted, to {round_up(allowed, 2)} nats"
    return f"{what}, {NOT_REPEATED}: only the pairs of {len(ids)} words were held against it"


def _chosen(embeddings: Embeddings, canonical: IdArray) -> tuple[IdArray, bool]:
    """Return the words whose pairs are computed, ascending, and whether they are all that differ."""
    distinct = np.unique(canonical)
    if len(distinct) <= WHOLE:
        return distinct, True
    vectors = embeddings.vectors
    middle = vectors[distinct[:: len(distinct) // WHOLE]].mean(axis=0)
    far = np.argsort(np.einsum("ij,ij->i", vectors, vectors) - 2 * (vectors @ middle))[-SHARE:]
    barred = np.setdiff1d(distinct, canonical[embeddings.candidates])
    some = [ids[np.linspace(0, len(ids) - 1, min(SHARE, len(ids))).astype(np.int64)] for ids in (distinct, barred)]
    return np.unique(np.concatenate([*some, canonical[far]])), False


def _distances(metric: AnyMetric, embeddings: Embeddings, ids: IdArray, others: IdArray) -> tuple[Float64Array, float]:
    """Return the distances between canonical words, ascending, and others, shape (n, k), and how far one may be off."""
    if not isinstance(metric, Metric):
        source = distance_source(metric, embeddings)
        return source.block(source.canonical[ids], others), source.error
    n, twins = len(ids), embeddings.canonical[others]
    place = np.minimum(np.searchsorted(ids, twins), n - 1)
    own = np.where(ids[place] == twins, place, n + np.arange(len(others)))
    rows = embeddings.vectors[np.concatenate([ids, others])]
    near = CoordinateSource(metric, rows, np.concatenate([np.arange(n), own]).astype(np.int32))
    words = np.arange(len(rows), dtype=np.int32)
    return near.block(words[:n], words[n:]), near.error


def _log_normalizers(
    rows: ChannelRows, embeddings: Embeddings, ids: IdArray, base: Float64Array | None
) -> tuple[Float64Array, IdArray]:
    """Return ln Z of some words by float64 sums, and the output nearest to each, both of shape (n,)."""
    sums, nearest, least = np.zeros(len(ids)), np.zeros(len(ids), dtype=np.int32), np.full(len(ids), np.inf)
    for start in range(0, len(rows.outputs), OUTPUTS):
        span = slice(start, start + OUTPUTS)
        weights = _distances(rows.metric, embeddings, ids, rows.outputs[span])[0]
        masses = np.ones(weights.shape[1]) if base is None else base[span]
        drawn = np.where(masses > 0, weights, np.inf)
        near = drawn.min(axis=1) < least
        nearest[near] = rows.outputs[span][drawn[near].argmin(axis=1)]
        least = np.minimum(least, drawn.min(axis=1))
        np.exp(-rows.rate * np.minimum(weights, rows.cap), out=weights)
        sums += weights @ masses
    return np.asarray(np.log(sums)), nearest
