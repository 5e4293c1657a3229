"""gensim: word vectors to a vocabulary and back."""

from __future__ import annotations

from typing import Any

from wordveil.errors import MissingExtraError
from wordveil.vocabulary.table import Embeddings

try:
    from gensim.models import KeyedVectors
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.gensim", "gensim", "gensim") from missing

__all__ = ["from_keyed_vectors", "to_keyed_vectors"]


def from_keyed_vectors(vectors: KeyedVectors, **header: Any) -> Embeddings:
    """Return a vocabulary of the same words and rows; they must be public.

    Args:
        vectors: Such as `Word2Vec(...).wv`, most frequent words first.
        **header: Name, source, licence and so on, as for `Embeddings.from_arrays`.

    Raises:
        ParameterError: If a row is not finite.
    """
    return Embeddings.from_arrays(vectors.index_to_key, vectors.vectors, **{"source": "gensim KeyedVectors", **header})


def to_keyed_vectors(embeddings: Embeddings) -> KeyedVectors:
    """Return the words and rows of a vocabulary."""
    vectors = KeyedVectors(embeddings.dimensions)
    vectors.add_vectors(list(embeddings.words), embeddings.vectors)
    return vectors
