"""Fixtures shared by the embedding tests."""

from pathlib import Path

import pytest

from worlds import shared


@pytest.fixture(scope="session")
def embedding_data() -> Path:
    """The folder of real embedding files; tests that need it skip where it is absent."""
    return shared("embeddings")
