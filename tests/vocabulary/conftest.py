"""Fixtures shared by the embedding tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def embedding_data() -> Path:
    """The folder of real embedding files; tests that need it skip where it is absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("WORDVEIL_DATA", beside)) / "embeddings"
    if not folder.is_dir():
        pytest.skip(f"needs the shared data sets; set WORDVEIL_DATA (looked in {folder})")
    return folder
