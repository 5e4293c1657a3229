"""Fixtures shared by the certification tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from wordveil.vocabulary.table import Embeddings


@pytest.fixture(scope="session")
def glove_50d() -> Embeddings:
    """The first 20 000 words of GloVe-6B-50d, all of which may be output."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("WORDVEIL_DATA", beside)) / "embeddings" / "glove.6B.50d.top100k.npz"
    if not path.is_file():
        pytest.skip(f"needs the shared data sets; set WORDVEIL_DATA (looked for {path})")
    with np.load(path) as stored:
        words = str(stored["words"]).split("\n")[:20_000]
        return Embeddings.from_arrays(words, stored["vectors"][:20_000], candidate_rule="all")
