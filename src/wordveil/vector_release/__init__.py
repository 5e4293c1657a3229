"""Release of vectors: any (n, d) array through a vector mechanism, rounded to a public grid, with its guarantee."""

from __future__ import annotations

from wordveil.vector_release.files import release_vector_file
from wordveil.vector_release.releasing import VectorSettings, release_vectors
from wordveil.vector_release.retrieval import RetrievalMeasurement, measure_retrieval
from wordveil.vector_release.values import VectorRelease, VectorReport

__all__ = [
    "RetrievalMeasurement",
    "VectorRelease",
    "VectorReport",
    "VectorSettings",
    "measure_retrieval",
    "release_vector_file",
    "release_vectors",
]
