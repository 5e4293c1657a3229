"""Release of vectors: any (n, d) array through a vector mechanism, rounded to a public grid, with its guarantee."""

from __future__ import annotations

from wordveil.runs.vectors.files import release_vector_file
from wordveil.runs.vectors.releasing import VectorSettings, release_vectors
from wordveil.runs.vectors.values import VectorRelease, VectorReport

__all__ = ["VectorRelease", "VectorReport", "VectorSettings", "release_vector_file", "release_vectors"]
