"""Which kernel draws for which metric, and what a promise in that metric rests on."""

from __future__ import annotations

import re

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray
from wordveil.errors import ParameterError
from wordveil.kernels.channel_rows import ChannelRows
from wordveil.kernels.distance_sources import CoordinateSource, DistanceSource, TableSource
from wordveil.kernels.pairwise import PairwiseRows
from wordveil.kernels.selection import SelectionRows
from wordveil.metrics.distances import SAMPLE, Angular, AnyMetric, Euclidean, Metric, VocabularyMetric, is_known
from wordveil.promises.certificates import code_name, identity, mark_of
from wordveil.vocabulary.table import Embeddings

ALONE = 16  # rows of the sample that are asked for alone too


def bound_metric(metric: AnyMetric, embeddings: Embeddings) -> AnyMetric:
    """Return the metric ready for this vocabulary, the coordinates of a user's own checked on a sample.

    `ParameterError` if it belongs to another vocabulary, cannot be made for this one, has no closed form, has the name
    of another metric, or gives a vector coordinates that depend on other vectors.
    """
    if isinstance(metric, VocabularyMetric):
        return metric.bind(embeddings.vectors, embeddings.checksum_in_use)
    if not is_known(metric):
        _check_form(metric)
        distinct = np.unique(embeddings.canonical)
        some = distinct[np.unique(np.linspace(0, len(distinct) - 1, min(SAMPLE, len(distinct))).astype(np.int64))]
        _check_coordinates(metric, embeddings.vectors, some)
    return metric


def _check_form(metric: Metric) -> None:
    """Check that a user's class brings a name and coordinates, and measures them in a way that is known."""
    if not metric.name.isprintable():
        raise ParameterError("metric", metric.name, "must have a name on one line, without control characters.")
    if metric.name.split(" ")[0] in ("euclidean", "angular", "mahalanobis"):
        raise ParameterError("metric", metric.name, f"is not what {type(metric).__name__} is; give it its own name.")
    base = Angular if isinstance(metric, Angular) else Metric
    for name in ("from_squared", "distance_error"):
        if getattr(getattr(metric, name), "__func__", None) is not vars(base)[name]:
            problem = f"has its own {name}; take it from Euclidean or Angular, or give the distances as a Precomputed."
            raise ParameterError("metric", metric.name, problem)


def _check_coordinates(metric: Metric, vectors: FloatArray, ids: IdArray) -> None:
    """Check on a sample that vectors alone, in a sample, and in the whole table have the same coordinates."""
    rows = metric.coordinates(vectors)[ids]
    if rows.dtype != np.float64 or rows.ndim != 2 or not np.isfinite(rows).all():
        raise ParameterError("metric", metric.name, "must give finite float64 coordinates, a row for each vector.")
    if isinstance(metric, Angular) and not np.allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=0, atol=2.0**-44):
        raise ParameterError("metric", metric.name, "must give unit vectors, as super().coordinates makes them.")
    rounding = 2.0**-44 * float(np.abs(rows).max())
    apart = [metric.coordinates(vectors[ids]) - rows]
    apart += [metric.coordinates(vectors[ids[i : i + 1]]) - rows[i] for i in range(0, len(ids), 1 + len(ids) // ALONE)]
    if not max(float(np.abs(gap).max()) for gap in apart) <= rounding:  # NaN is not
        problem = "gives a vector other coordinates alone than among others; hold what belongs to all in a field."
        raise ParameterError("metric", metric.name, problem)


def distance_source(metric: AnyMetric, embeddings: Embeddings) -> DistanceSource:
    """Return where word-to-word distances of a bound metric come from."""
    if isinstance(metric, VocabularyMetric):
        return TableSource(metric.bind(embeddings.vectors, embeddings.checksum_in_use))
    return CoordinateSource(metric, embeddings.vectors, embeddings.canonical)


def rows_for(
    metric: AnyMetric, embeddings: Embeddings, *, rate: float, cap: float, base: Float64Array | None = None
) -> ChannelRows:
    """Return the rows that draw for a bound metric: tiles for a closed form, one row at a time for any other.

    A base measure, over the candidates, needs a closed form: `ParameterError` otherwise.
    """
    if isinstance(metric, Metric):
        return SelectionRows(
            embeddings.vectors, metric, embeddings.candidates, embeddings.canonical, rate=rate, cap=cap, base=base
        )
    if base is not None:
        raise ParameterError("metric", metric.name, "has no closed form, which a base measure needs.")
    bound = metric.bind(embeddings.vectors, embeddings.checksum_in_use)
    return PairwiseRows(TableSource(bound), bound, embeddings.candidates, rate=rate, cap=cap)


def metric_assumptions(metric: AnyMetric) -> tuple[str, ...]:
    """Return what a promise in a bound metric assumes, each a sentence: nothing of what is known to be a metric."""
    if is_known(metric):
        return ()
    if isinstance(metric, VocabularyMetric):
        return (f"{metric.name} satisfies the triangle inequality, which was checked on a sample of the vocabulary",)
    return (f"{metric.name} gives a vector its own coordinates, the same whenever it is asked, as a sample showed",)


def stated_name(metric: AnyMetric) -> str:
    """Return a metric's name in a claim: of a user's class with a digest of all it is, so that only equal ones add up.

    What cannot be named in full equals nothing.
    """
    return f"{metric.name} (class {mark_of(metric)})" if code_name(type(metric)) else metric.name


def named_metric(name: str) -> AnyMetric | None:
    """Return the metric of this identity, or None where its name does not say everything about it."""
    known: dict[str, AnyMetric] = {identity(metric): metric for metric in (Euclidean(), Angular())}
    from wordveil.vocabulary.rank_metric import NeighbourRank  # loads SciPy

    rank = re.fullmatch(r"NeighbourRank\(k=(\d{1,9}), cap=(None|[\d.e+-]+)\)", name)
    if rank is None:
        return known.get(name)
    try:
        return NeighbourRank(k=int(rank[1]), cap=None if rank[2] == "None" else float(rank[2]))
    except ValueError:
        return None
