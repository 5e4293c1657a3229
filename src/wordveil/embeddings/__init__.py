"""Public vocabularies: words, vectors, look-up, candidates, and readers of embedding files."""

from __future__ import annotations

from .checksums import table_checksum
from .header import VocabularyHeader
from .importing import import_embeddings
from .table import Embeddings, load_embeddings

__all__ = ["Embeddings", "VocabularyHeader", "import_embeddings", "load_embeddings", "table_checksum"]
