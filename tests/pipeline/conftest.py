"""Small public vocabularies and what the pipeline tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import seeds
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings, load_embeddings

KEY = seeds.key(16)


def made_up_words(n: int) -> list[str]:
    """n distinct lower-case words of letters only, none of them English."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables = [c + v for c in consonants for v in vowels]
    return [syllables[i % 70] + syllables[i // 70 % 70] + "q" for i in range(n)]


@pytest.fixture(scope="session")
def vocabulary() -> Embeddings:
    """300 words in 8 dimensions, twenty of which share their vector with an earlier word."""
    vectors = seeds.rng(0).standard_normal((300, 8)).astype(np.float32)
    vectors[280:] = vectors[:20]
    return Embeddings.from_arrays(made_up_words(300), vectors, name="made up")


@pytest.fixture(scope="session")
def tiny() -> Embeddings:
    """Six words on a line, one of which may not be output: enough for exact laws."""
    words = ["alpha", "beta", "gamma", "delta", "kappa", "<unk>"]
    return Embeddings.from_arrays(words, [[0.0], [0.4], [1.0], [1.1], [3.0], [0.5]], name="tiny")


@pytest.fixture(scope="session")
def far_apart() -> Embeddings:
    """Words so far apart that every mechanism at epsilon 1 returns its input, up to e^-28."""
    words = ["cat", "dog", "tree", "house", "river", "stone"]
    return Embeddings.from_arrays(words, 1000.0 * np.eye(6), name="far apart")


@pytest.fixture(scope="session")
def packaged() -> Embeddings:
    return load_embeddings()


@pytest.fixture
def source() -> RandomSource:
    return RandomSource(KEY)


@pytest.fixture(scope="session")
def data_directory() -> Path:
    named = os.environ.get("WORDVEIL_DATA")
    directory = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not directory.is_dir():
        pytest.skip("the shared data sets are absent (set WORDVEIL_DATA)")
    return directory
