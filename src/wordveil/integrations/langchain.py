"""LangChain: embeddings that are released under a guarantee. Its models speak through `wordveil proxy`."""

from __future__ import annotations

from wordveil.errors import MissingExtraError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.runs.vectors import VectorRelease, VectorSettings, release_vectors

try:
    from langchain_core.embeddings import Embeddings
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.langchain", "langchain-core", "langchain") from missing


class PrivateEmbeddings(Embeddings):
    """Embeddings of another model, released under a guarantee before anything else, such as a vector store, sees them.

    Every vector, of a document or a query, is a row with noise of its own, drawn afresh: one text embedded twice is
    released twice.

    Args:
        embeddings: What embeds; it sees the private texts, so it must be yours.
        mechanism: A vector mechanism that needs no vocabulary.
        settings: The grid.
    """

    def __init__(
        self, embeddings: Embeddings, mechanism: VectorMechanism, *, settings: VectorSettings | None = None
    ) -> None:
        self._embeddings, self._mechanism, self._settings = embeddings, mechanism, settings
        self.release: VectorRelease | None = None
        """The last release: its guarantee, assumptions and disclosures."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._released(self._embeddings.embed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        return self._released([self._embeddings.embed_query(text)])[0]

    def _released(self, rows: list[list[float]]) -> list[list[float]]:
        if not rows:
            return []
        self.release = release_vectors(rows, self._mechanism, settings=self._settings)
        vectors: list[list[float]] = self.release.vectors.tolist()
        return vectors
