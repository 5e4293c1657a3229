"""Neighbour lists by their key: those that lie beside a vocabulary, or ones made on the spot."""

from __future__ import annotations

from numpy.typing import ArrayLike

from wordveil.metrics.distances import AnyMetric
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import NeighbourLists, Progress, build_lists
from wordveil.vocabulary.table import Embeddings

__all__ = ["neighbour_lists"]


def neighbour_lists(
    embeddings: Embeddings,
    k: int,
    *,
    outputs: int | ArrayLike | None = None,
    metric: AnyMetric | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NeighbourLists:
    """Return the lists of the k outputs nearest to each word; see `build_lists`.

    Args:
        embeddings: The public vocabulary.
        k: Length of a list, in [1, 64] and at most the number of outputs.
        outputs: The ids that may be in a list; a number for so many of the most frequent, by `most_frequent`; None for
            all that may be output.
        metric: The metric; None for cosine.
        threads: Threads to use; the answer does not depend on it.
        progress: Called with the number of words done since the last call.

    Raises:
        ParameterError: If k or an output is outside its domain.
    """
    chosen = most_frequent(embeddings, outputs) if isinstance(outputs, int) else outputs
    return build_lists(embeddings, k, outputs=chosen, metric=metric, threads=threads, progress=progress)
