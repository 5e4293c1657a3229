"""Small vocabularies on which fast and slow computations are compared."""

from typing import Any

import numpy as np

from wordveil.vocabulary.table import Embeddings
from worlds import clustered, placed, scattered


def small_vectors(case: str, seed: int = 0) -> np.ndarray:
    """Return one of the vocabularies on which fast and slow computations are compared."""
    if case == "duplicates":
        rows = scattered(seed, 120, 5)
        return np.concatenate([rows, rows[:50], rows[:10]])
    if case == "hair apart":
        rows = scattered(seed, 60, 4)
        return np.concatenate([rows, np.nextafter(rows, np.float32(9))])
    if case == "outlier":
        rows = scattered(seed, 530, 6)
        rows[17] *= 40
        return rows
    return {
        "gaussian": lambda: scattered(seed, 300, 7),
        "clusters": lambda: clustered(seed, 280, 8),
        "far from origin": lambda: 100 + scattered(seed, 270, 3),
        "one dimension": lambda: np.sort(scattered(seed, 90, 1), axis=0),
        "two words": lambda: np.array([[0.0, 0.0], [3.0, 4.0]], dtype=np.float32),
    }[case]()


def losses_by_definition(s: np.ndarray, rate: float, outputs: np.ndarray) -> np.ndarray:
    """Return max_y |ln P(y | x) - ln P(y | x')| of the exact law of each pair, from distances and output ids alone."""
    scores = -rate * s[:, outputs]
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return np.stack([np.abs(logs - row).max(axis=1) for row in logs])


def channel_losses(fitted: Any) -> np.ndarray:
    """Return the largest loss of every pair of inputs, from the exact channel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(fitted.channel())
        return np.stack([np.nan_to_num(np.abs(log_p - row), nan=0.0, posinf=np.inf).max(axis=1) for row in log_p])


def worst_by_definition(s: np.ndarray, rate: float, outputs: np.ndarray) -> tuple[float, float]:
    """Return the largest loss per distance of that law, and its largest loss."""
    losses = losses_by_definition(s, rate, outputs)
    return float((losses[s > 0] / s[s > 0]).max()), float(losses.max())


SMALL = ["gaussian", "duplicates", "clusters", "hair apart", "far from origin", "one dimension", "outlier", "two words"]


def small_embeddings(case: str, outputs: str = "all", seed: int = 0) -> Embeddings:
    """Return a small vocabulary; with outputs="some", every third word is barred from output."""
    rows = small_vectors(case, seed)
    embeddings = placed(rows)
    return embeddings if outputs == "all" else embeddings.without_outputs(embeddings.words[1::3])
