"""word2vec text: a first line with rows and dimensions, then "word value ... value" on each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.text_lines import text_blocks

__all__ = ["FORMAT"]


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    return text_blocks(path, limit, header="required")


FORMAT = EmbeddingFormat(name="word2vec_text", unit="line", read=_read)
