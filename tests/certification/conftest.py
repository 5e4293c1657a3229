"""Fixtures shared by the certification tests."""

import numpy as np
import pytest

from wordveil.vocabulary.table import Embeddings
from worlds import placed, shared


@pytest.fixture(scope="session")
def glove_50d() -> Embeddings:
    """The first 20 000 words of GloVe-6B-50d, all of which may be output."""
    with np.load(shared("embeddings", "glove.6B.50d.top100k.npz")) as stored:
        words = str(stored["words"]).split("\n")[:20_000]
        return placed(stored["vectors"][:20_000], words)
