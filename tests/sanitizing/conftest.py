"""Small public vocabularies and what the pipeline tests share."""

import numpy as np
import pytest

import seeds
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings
from worlds import made_up

KEY = seeds.key(16)


@pytest.fixture(scope="session")
def vocabulary() -> Embeddings:
    """300 words in 8 dimensions, twenty of which share their vector with an earlier word."""
    return made_up()


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


@pytest.fixture
def source() -> RandomSource:
    return RandomSource(KEY)
