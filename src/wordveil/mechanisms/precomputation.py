"""Selection with rows made beforehand: size first, then the same law at the cost of two bisections a word.

Worth it for batch work where few words lie within the truncation distance of another: TEM at a large epsilon. Which
memory a draw touches depends on the word, so a service that answers strangers should not use it.
"""

from __future__ import annotations

from dataclasses import replace

from wordveil.errors import ParameterError
from wordveil.kernels.near_words import NearSize, near_size, near_words
from wordveil.kernels.precomputed import NearRows
from wordveil.mechanisms.base import Progress
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.metric_rows import distance_source

LIMIT_BYTES = 1 << 30
"""Memory that precomputed rows take without being asked for more: 1 GiB."""


def precomputed_size(
    fitted: FittedExponential, *, threads: int | None = None, progress: Progress | None = None
) -> NearSize:
    """Count the pairs within the truncation distance, without keeping them.

    Args:
        fitted: TEM or another selection mechanism with any metric.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call.

    Returns:
        Pairs and bytes; `str` of it is one line for people.
    """
    rows = fitted.rows
    source = distance_source(rows.metric, fitted.embeddings)
    return near_size(source, rows.outputs, rows.cap, threads=threads, progress=progress)


def precompute(
    fitted: FittedExponential,
    *,
    limit_bytes: int = LIMIT_BYTES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FittedExponential:
    """Return the same mechanism drawing from precomputed rows.

    Guarantee:
        That of the mechanism given. The slack is the larger of both ways to draw.

    Args:
        fitted: TEM or another selection mechanism with any metric, exactly as `fit` returned it.
        limit_bytes: Most memory to take; `precomputed_size` says beforehand what is needed.
        threads: Threads; the answer does not depend on it.
        progress: Called with the number of words done since the last call; every word is passed twice.

    Raises:
        ParameterError: If the rows would exceed the limit, 64-bit sampling from them cannot honour the promise, the
            mechanism claims no metric DP, or words have a base measure, so that those beyond the distance differ.
    """
    rows, claim = fitted.rows, fitted.guarantee()
    if not claim.metric or claim.slack is None:
        raise ParameterError("fitted", claim.promise, "must be a mechanism with metric DP and a stated slack.")
    if fitted.base is not None:
        raise ParameterError("fitted", "<a base measure>", "must draw without one: precomputed rows would not hold it.")
    source = distance_source(rows.metric, fitted.embeddings)
    size = near_size(source, rows.outputs, rows.cap, threads=threads, progress=progress)
    if size.bytes > limit_bytes:
        raise ParameterError(
            "limit_bytes", limit_bytes, f"is less than {size.bytes}: {size}. Raise it, or draw without precomputing."
        )
    near = near_words(source, rows.outputs, rows.cap, size, threads=threads, progress=progress)
    made = NearRows(near, rows.metric, rows.outputs, rate=rows.rate, cap=rows.cap)
    slack = claim.slack + max(0.0, made.arithmetic_slack() - rows.arithmetic_slack())
    if slack == float("inf"):
        raise ParameterError("fitted", size.pairs, "pairs weigh too little for 64-bit sampling; lower gamma.")
    return replace(fitted, rows=made, grounds=replace(fitted.grounds, slack=slack))
