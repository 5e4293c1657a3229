"""What the rate of a selection mechanism costs on one vocabulary, by the computation that suits its promise and metric.

A pass over all pairs finds the normalizers and one the worst pair; for tight constraints a base measure is solved for
first. The rate is chosen elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, cast

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.certification.barred_words import PairSpace
from wordveil.certification.normalizer_lipschitz import ExactLoss, LossComputation, PassOptions
from wordveil.certification.pair_spaces import DistinctVectors, WordPairs
from wordveil.certification.tight_constraints import solve_tight_constraints, tight_loss
from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.exponential import LARGEST_LOSS, SelectionMechanism
from wordveil.mechanisms.metric_rows import bound_metric, distance_source
from wordveil.mechanisms.tight import TIGHT, TightConstraints, pack_base, unpack_base
from wordveil.metrics.distances import Metric
from wordveil.promises.certificates import Certificate, Scalar
from wordveil.vocabulary.table import Embeddings


class RateLosses:
    """What a mechanism loses at any rate; with tight constraints each rate has a base measure of its own.

    That is solved for, or taken from a certificate to repeat. `CertificateError` if a checkpoint is asked for where
    none can be kept.
    """

    def __init__(
        self,
        mechanism: SelectionMechanism,
        embeddings: Embeddings,
        *,
        repeat: Certificate | None = None,
        **options: Unpack[PassOptions],
    ) -> None:
        self._mechanism, self._embeddings, self._options = mechanism, embeddings, options
        # No other mechanism has this certificate.
        self._tight = cast(TightConstraints, mechanism) if mechanism.certificate_method == TIGHT else None
        self._bases: dict[float, Float64Array] = {}  # of the rates asked for
        self._base: Float64Array | None = None
        if self._tight is None:
            metric = bound_metric(mechanism.metric, embeddings)
            pairs: PairSpace = (
                DistinctVectors.of(embeddings, metric) if isinstance(metric, Metric) else WordPairs(embeddings, metric)
            )
            self._work = LossComputation(pairs, **options)
        elif options.get("checkpoint") is not None:
            raise CertificateError("Tight constraints are solved in one go; leave the checkpoint out.")
        elif repeat is not None:
            self._base = unpack_base(repeat.parameters.get("base"), len(embeddings.candidates))

    @property
    def _local(self) -> bool:
        return self._mechanism.certificate_method == LARGEST_LOSS

    def at(self, rate: float) -> ExactLoss:
        """Return what a rate costs, in the unit of the mechanism's epsilon."""
        if self._tight is None:
            find = self._work.local if self._local else self._work.metric
            return find(rate, self._mechanism.cap(rate, len(self._embeddings.candidates)))
        if self._base is not None:
            self._bases[rate] = self._base
            return tight_loss(self._tight, self._embeddings, self._base, rate, **self._options)
        self._bases[rate], loss = solve_tight_constraints(self._tight, self._embeddings, rate, **self._options)
        return loss

    def within(self) -> tuple[float, float] | None:
        """Return where to look for the largest rate, as `largest_rate` has it: None for metric DP.

        One word's distances give rates around the target: half the diameter is at most the longest of them. At
        epsilon / (2 * diameter) the theorem holds. Above epsilon / diameter no rate keeps epsilon, unless the cap
        shrinks as the rate grows; there the search merely looks no further.
        """
        if not self._local:
            return None
        metric = bound_metric(self._mechanism.metric, self._embeddings)
        source = distance_source(metric, self._embeddings)
        every = np.arange(len(self._embeddings), dtype=np.int32)
        radius = float(source.block(source.canonical[:1], every).max())
        if not radius > 0:
            raise ParameterError("embeddings", "one point", "must hold two words apart for a rate to be certified.")
        epsilon, outputs = self._mechanism.epsilon, len(self._embeddings.candidates)
        diameter = 2 * (radius + source.error) * (1 + 1e-9)
        cap = self._mechanism.cap(epsilon / (2 * diameter), outputs)
        return epsilon / (2 * min(diameter, cap)), epsilon / min(radius, cap)

    def solved(self, rate: float) -> Mapping[str, Scalar]:
        """Return what a certificate must say besides numbers about a rate that was asked for."""
        return {"base": pack_base(self._bases[rate])} if rate in self._bases else {}

    def finish(self) -> None:
        """Delete the checkpoint, if there is one."""
        if self._tight is None:
            self._work.finish()
