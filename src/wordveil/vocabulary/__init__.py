"""Public vocabularies: words, vectors, look-up, candidates, and readers of embedding files.

Importing loads when it is first asked for: most programs only open a vocabulary.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wordveil.vocabulary.checksums import table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.table import Embeddings, load_embeddings

if TYPE_CHECKING:
    from wordveil.vocabulary.importing import import_embeddings

__all__ = ["Embeddings", "VocabularyHeader", "import_embeddings", "load_embeddings", "table_checksum"]


def __getattr__(name: str) -> Any:
    if name != "import_embeddings":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = importlib.import_module(f"{__name__}.importing").import_embeddings
    globals()[name] = value
    return value
