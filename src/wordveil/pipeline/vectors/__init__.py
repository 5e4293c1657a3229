"""Release of vectors: any (n, d) array through a vector mechanism, rounded to a public grid, with its guarantee."""

from __future__ import annotations

from wordveil.pipeline.vectors.files import release_vector_file
from wordveil.pipeline.vectors.releasing import VectorSettings, release_vectors
from wordveil.pipeline.vectors.retrieval import RetrievalMeasurement, measure_retrieval
from wordveil.pipeline.vectors.values import VectorRelease, VectorReport

__all__ = [
    "RetrievalMeasurement",
    "VectorRelease",
    "VectorReport",
    "VectorSettings",
    "measure_retrieval",
    "release_vector_file",
    "release_vectors",
]
