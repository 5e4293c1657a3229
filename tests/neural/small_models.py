"""A small public table and small texts for the neural tests."""

import pytest

import seeds

try:
    import torch
except ImportError:
    HAS_GPU = False
else:
    HAS_GPU = torch.cuda.is_available()

from wordveil.vocabulary.table import Embeddings

needs_cuda = pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA GPU")

POSITIVE = ("lovely", "great", "happy", "splendid")
NEGATIVE = ("awful", "poor", "sad", "dreadful")
REST = ("the", "film", "food", "place", "was", "here")
WORDS = POSITIVE + NEGATIVE + REST


def small_table(dimensions: int = 6) -> Embeddings:
    rows = seeds.rng(5).standard_normal((len(WORDS), dimensions))
    rows[: len(POSITIVE), 0] += 4.0
    rows[len(POSITIVE) : len(POSITIVE) + len(NEGATIVE), 0] -= 4.0
    return Embeddings.from_arrays(list(WORDS), rows, name="small")


def sentences(count: int = 60) -> list[tuple[str, str]]:
    """Texts whose class is that of their one adjective."""
    made = []
    for i in range(count):
        kind, words = (("good", POSITIVE), ("bad", NEGATIVE))[i % 2]
        noun = ("film", "food", "place")[i % 3]
        made.append((f"the {noun} was {words[(i // 2) % 4]}" + (" here" if i % 5 == 0 else ""), kind))
    return made
