"""What a fitted selection mechanism is: P(y | x) proportional to b(y) exp(-rate * min(dist(x, y), cap)).

The mechanisms themselves (TEM, SanText, TightConstraints) live in their own files; each states its cap and its promise.
This module has the law, finds the rows that draw it fast, and what the guarantee rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordveil.arrays import Float64Array, IdArray, PrivateIds, Progress, ReleasedIds
from wordveil.errors import ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.compiled.library import document_bits
from wordveil.kernels.selection import SelectionRows
from wordveil.mechanisms.base import WordRandomizer
from wordveil.mechanisms.certificate_check import check_certificate
from wordveil.mechanisms.common import answered_by
from wordveil.mechanisms.metric_rows import bound_metric, metric_assumptions, rows_for, stated_name
from wordveil.mechanisms.selection import LARGEST_LOSS, SelectionMechanism, rate_and_cap
from wordveil.mechanisms.worst_pairs import word_distances
from wordveil.metrics.distances import Metric, is_known
from wordveil.parameters import check_draws, checked_ids
from wordveil.promises.certificates import Certificate, digest_of
from wordveil.promises.guarantees import LocalDP, MetricDP, Standing, weakest
from wordveil.promises.pair_loss import PairLoss, channel_pair
from wordveil.randomness import DocumentStreams, Draws, Stream, random_bits
from wordveil.vocabulary.table import Embeddings

JOB_CACHE_BYTES = 192 << 20
"""Memory that one batch job may keep block masses in."""


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """What a guarantee rests on."""

    slack: float  # what arithmetic and the certificate add to the loss, nats
    standing: Standing  # how sure it is
    assumptions: tuple[str, ...]  # conditions, a sentence each
    loss: float | None  # largest loss between two words by a certificate of local DP, nats; None for metric DP


@answered_by("rows", "metric engine outputs draw_width")
@dataclass(frozen=True, kw_only=True)
class FittedExponential(WordRandomizer):
    """A selection mechanism bound to a vocabulary."""

    mechanism: SelectionMechanism  # the parameters
    embeddings: Embeddings  # the public vocabulary; outputs are its candidates
    rows: ChannelRows  # the exact rows that draw
    grounds: Grounds  # what was found out for the guarantee when it was fitted
    base: Float64Array | None = None  # base measure over the outputs, None for 1

    @property
    def public_data(self) -> str:
        return digest_of({"rate": self.rows.rate, "cap": self.rows.cap, "base": self.base})

    @property
    def draws_by_arithmetic(self) -> bool:
        # A user's own metric may have coordinates that another machine rounds otherwise.
        return self.rows.ideal is None or (isinstance(self.metric, Metric) and not is_known(self.metric))

    @property
    def selection(self) -> ChannelRows:
        return self.rows

    @cached_property
    def _size(self) -> int:
        return len(self.embeddings)

    @cached_property
    def _metric_name(self) -> str:
        return stated_name(self.metric)

    def guarantee(self) -> MetricDP | LocalDP:
        # By the certificate; or, at rate epsilon/2, because score and ln Z each lose at most rate * min(dist, cap).
        found = self.grounds
        facts: dict[str, Any] = {"slack": found.slack, "standing": found.standing, "assumptions": found.assumptions}
        if found.loss is not None:
            return LocalDP(epsilon=found.loss, **facts)
        cap = self.rows.cap
        return MetricDP(epsilon=self.mechanism.epsilon, metric=self._metric_name, largest_distance=cap, **facts)

    def law(self, ids: IdArray) -> Float64Array:
        weights = np.exp(-self.rows.rate * np.minimum(self.distances(ids), self.rows.cap))
        if self.base is not None:
            weights *= self.base
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def distances(self, ids: IdArray) -> Float64Array:
        return word_distances(self.embeddings, self.metric)(checked_ids(ids, self._size), self.outputs)

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        claim = self.guarantee()
        assert claim.slack is not None
        # The slack separates the sampler from ideal weights, on both sides. The channel is a float's: each of its
        # entries is a weight over a sum of weights, and a loss compares two.
        rounding = 0.0 if self.rows.ideal is None else 4 * self.rows.ideal.error(len(self.outputs))
        return replace(channel_pair(self.channel(), slack=2 * claim.slack + rounding), assumptions=claim.assumptions)

    def on(self, device: str) -> FittedExponential:
        if device == "cpu" or not isinstance(self.rows, SelectionRows):
            return super().on(device)
        from wordveil.kernels.gpu.selection import GpuSelection  # heavy, and an extra

        rows = GpuSelection(self.rows, device=device)
        slack = self.grounds.slack - self.rows.arithmetic_slack() + rows.arithmetic_slack()
        return replace(self, rows=rows, grounds=replace(self.grounds, slack=slack))

    def sample(self, stream: Stream, n: int) -> Draws:
        # Whole 64-bit words, not floats in [0, 1), which leave out what is rarer than their grid.
        return (random_bits(stream.lane(0), (n, self.draw_width)),)

    def draws(self, documents: DocumentStreams, size: int) -> Iterator[Draws]:
        words = document_bits(documents, 0, size, self.draw_width)  # what `sample` draws, for many documents at once
        return ((some.reshape(-1, self.draw_width),) for some in words)

    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        ids = checked_ids(ids, self._size)
        check_draws(draws, (len(ids), self.draw_width))
        return ReleasedIds(self.rows.draw(ids, draws[0], threads=threads, progress=progress))

    def for_batch_job(self) -> FittedExponential:
        return replace(self, rows=self.rows.with_cache(JOB_CACHE_BYTES))

    def keep_probabilities(self, ids: IdArray) -> Float64Array:
        kept = np.exp(-self.rows.log_normalizers(ids))  # a word's own weight is its base measure, 1 unless there is one
        return kept if self.base is None else kept * self.base[np.searchsorted(self.rows.outputs, ids)]

    def likelihoods(self, outputs: IdArray) -> Float64Array:
        words = np.arange(len(self.embeddings), dtype=np.int32)
        found = word_distances(self.embeddings, self.metric)(checked_ids(outputs, len(words)), words)
        np.minimum(found, self.rows.cap, out=found)
        found *= -self.rows.rate
        found -= self._log_normalizers
        np.exp(found, out=found)
        return found if self.base is None else found * self.base[np.searchsorted(self.outputs, outputs)][:, None]

    @cached_property
    def _log_normalizers(self) -> Float64Array:
        return self.rows.log_normalizers(np.arange(len(self.embeddings), dtype=np.int32), threads=1)

    def channel(self) -> Float64Array:
        """Return the channel that `rows` draw from, shape (v, number of candidates), if it takes at most 2 GiB.

        It is `law` but for the rounding of the weights; words are drawn by the law itself where the slack is 0.
        """
        v, outputs = len(self.embeddings), len(self.rows.outputs)
        if 8 * v * outputs > 2**31:
            raise ParameterError("embeddings", f"{v} x {outputs}", "is too large for a whole channel (2 GiB at most).")
        weights = self.rows.weights(np.arange(v, dtype=np.int32))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def fit_selection(
    mechanism: SelectionMechanism,
    embeddings: Embeddings,
    certificate: Certificate | None,
    *,
    base: Float64Array | None = None,
) -> FittedExponential:
    """Bind a selection mechanism to a vocabulary at the rate its calibration gives.

    A base measure over the candidates is the one that the certificate speaks of; None stands for 1. `CertificateError`
    if a certificate is missing, superfluous, made for other inputs, or refuted by two words; `ParameterError` if no cap
    exists, it is so far that 64-bit sampling cannot honour the promise, or the metric does not belong to this
    vocabulary or fails an axiom.
    """
    rate, cap = rate_and_cap(mechanism, embeddings, certificate)
    metric = bound_metric(mechanism.metric, embeddings)
    rows = rows_for(metric, embeddings, rate=rate, cap=cap, base=base)
    slack, local = rows.arithmetic_slack(), mechanism.certificate_method == LARGEST_LOSS
    if not math.isfinite(slack):
        problem = "makes the farthest words' weights too small for 64-bit sampling at this epsilon; lower it."
        raise ParameterError("gamma", cap, problem)
    assumptions = metric_assumptions(metric)
    standing, loss = Standing.PUBLISHED if assumptions else Standing.PROVED, None
    if certificate is not None:
        assumptions += (check_certificate(certificate, rows, embeddings, base, local=local),)
        standing, slack = weakest([standing, Standing.CERTIFIED]), slack + certificate.error
        if local:
            loss = certificate.numbers["epsilon"]  # at most what was asked for, and rounded up
    grounds = Grounds(slack=slack, standing=standing, assumptions=assumptions, loss=loss)
    return FittedExponential(mechanism=mechanism, embeddings=embeddings, rows=rows, grounds=grounds, base=base)
