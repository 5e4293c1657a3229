"""Random words for the tokens of many documents, by compiled kernels where there are any: the same words either way."""

from __future__ import annotations

from collections.abc import Iterator

from wordveil.kernels.compiled.random_words import aes_words, can_draw
from wordveil.kernels.integer_draws import WordArray
from wordveil.randomness import DocumentStreams

__all__ = ["document_words"]


def document_words(documents: DocumentStreams, lane: int, size: int) -> Iterator[WordArray]:
    """Yield one 64-bit word for each token from one lane of its document, `size` tokens at a time."""
    return documents.lane_words(lane, size, aes_words if can_draw() else None)
