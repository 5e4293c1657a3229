"""Measures how well the built vectors agree with human word similarity; used only by build_vocabulary.py.

Reads tab-separated files with one header line and the columns word, word, score. It never feeds back into the
vectors: what it prints is a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

REPORTED_SETS = ("men3k", "simlex999", "wordsim353", "rg65", "mturk771", "mturk287", "rw")


def print_similarity(words: Sequence[str], vectors: NDArray[np.float32], folder: Path) -> None:
    """Prints Spearman's rho with the cosine for each set: uncovered pairs left out, then counted as cosine 0."""
    rows = {word: row for row, word in enumerate(words)}
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    print(f"{'set':<12} {'covered':>9} {'of':>5}  rho, covered pairs  rho, uncovered pairs as cosine 0")
    for name in REPORTED_SETS:
        path = folder / f"{name}.tsv"
        if not path.exists():
            print(f"{name:<12} missing: {path}")
            continue
        pairs = _read_pairs(path)
        known = np.array([a in rows and b in rows for a, b, _ in pairs])
        scores = np.array([score for *_, score in pairs])
        cosines = np.array(
            [unit[rows[a]] @ unit[rows[b]] if k else 0.0 for (a, b, _), k in zip(pairs, known, strict=True)]
        )
        left_out = spearmanr(cosines[known], scores[known]).statistic
        counted = spearmanr(cosines, scores).statistic
        print(f"{name:<12} {known.sum():>9} {len(pairs):>5}  {left_out:18.4f}  {counted:.4f}")


def _read_pairs(path: Path) -> list[tuple[str, str, float]]:
    lines = path.read_text(encoding="utf-8").split("\n")[1:]
    cells = [line.lower().split("\t") for line in lines if line]
    return [(first, second, float(score)) for first, second, score, *_ in cells]
