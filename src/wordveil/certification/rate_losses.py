"""What the rate of a selection mechanism costs on one vocabulary, by the computation that suits its promise and metric.

    PairRates     metric DP or local DP of TEM, SanText and the like: a pass over all pairs for the normalizers, one
                  for the worst pair
    TightRates    tight constraints: a base measure is solved for first

Neither chooses the rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, cast

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.certification.barred_words import PairSpace
from wordveil.certification.normalizer_lipschitz import ExactLoss, LossComputation, PassOptions
from wordveil.certification.pairwise_loss import WordPairs
from wordveil.certification.tight_constraints import solve_tight_constraints, tight_loss
from wordveil.certification.vocabulary import DistinctVectors
from wordveil.errors import CertificateError, ParameterError
from wordveil.mechanisms.metric_rows import bound_metric, distance_source
from wordveil.mechanisms.selection import LARGEST_LOSS, SelectionMechanism
from wordveil.mechanisms.tight import TIGHT, TightConstraints, pack_base, unpack_base
from wordveil.metrics.distances import Metric
from wordveil.promises.certificates import Certificate, Scalar
from wordveil.vocabulary.table import Embeddings


def rate_losses(
    mechanism: SelectionMechanism,
    embeddings: Embeddings,
    *,
    repeat: Certificate | None = None,
    **options: Unpack[PassOptions],
) -> PairRates | TightRates:
    """Return the computation that certifies a mechanism.

    What a certificate to repeat found is taken from it, not solved for. `CertificateError` if a checkpoint is asked for
    where none can be kept.
    """
    if mechanism.certificate_method != TIGHT:
        return PairRates(mechanism, embeddings, **options)
    if options.get("checkpoint") is not None:
        raise CertificateError("Tight constraints are solved in one go; leave the checkpoint out.")
    base = None
    if repeat is not None:
        base = unpack_base(repeat.parameters.get("base"), len(embeddings.candidates))
    tight = cast(TightConstraints, mechanism)  # no other has this certificate
    return TightRates(tight, embeddings, base, **options)


class PairRates:
    """Losses of a mechanism whose outputs all have the same base measure."""

    def __init__(self, mechanism: SelectionMechanism, embeddings: Embeddings, **options: Unpack[PassOptions]) -> None:
        self._mechanism, self._embeddings = mechanism, embeddings
        self._local = mechanism.certificate_method == LARGEST_LOSS
        metric = bound_metric(mechanism.metric, embeddings)
        pairs: PairSpace = (
            DistinctVectors.of(embeddings, metric) if isinstance(metric, Metric) else WordPairs(embeddings, metric)
        )
        self._work = LossComputation(pairs, **options)

    def at(self, rate: float) -> ExactLoss:
        """Return what a rate costs, in the unit of the mechanism's epsilon."""
        find = self._work.local if self._local else self._work.metric
        return find(rate, self._mechanism.cap(rate, len(self._embeddings.candidates)))

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
        return {}

    def finish(self) -> None:
        """Delete the checkpoint, if there is one."""
        self._work.finish()


class TightRates:
    """Losses of tight constraints: each rate has its own base measure, solved for unless one is given."""

    def __init__(
        self,
        mechanism: TightConstraints,
        embeddings: Embeddings,
        base: Float64Array | None,
        **options: Unpack[PassOptions],
    ) -> None:
        self._mechanism, self._embeddings, self._base, self._options = mechanism, embeddings, base, options
        self._found: dict[float, Float64Array] = {}

    def at(self, rate: float) -> ExactLoss:
        if self._base is not None:
            self._found[rate] = self._base
            return tight_loss(self._mechanism, self._embeddings, self._base, rate, **self._options)
        solution = solve_tight_constraints(self._mechanism, self._embeddings, rate, **self._options)
        self._found[rate] = solution.base
        return solution.loss

    def within(self) -> tuple[float, float] | None:
        return None

    def solved(self, rate: float) -> Mapping[str, Scalar]:
        return {"base": pack_base(self._found[rate])}

    def finish(self) -> None:
        """Do nothing: nothing is saved."""
