"""Random words for the tokens of many documents, by compiled kernels where there are any: the same words either way."""

from __future__ import annotations

from collections.abc import Iterator

from wordveil.kernels.compiled.random_bits import aes_bits, can_draw
from wordveil.kernels.integer_draws import BitArray
from wordveil.randomness import DocumentStreams

__all__ = ["document_bits"]


def document_bits(documents: DocumentStreams, lane: int, size: int) -> Iterator[BitArray]:
    """Yield one 64-bit word for each token from one lane of its document, `size` tokens at a time."""
    return documents.lane_bits(lane, size, aes_bits if can_draw() else None)
