"""fastText .vec: as word2vec text, with spaces at the ends of lines; the header is sometimes left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.text_lines import text_blocks

__all__ = ["FORMAT"]


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    return text_blocks(path, limit, header="optional")


FORMAT = EmbeddingFormat(name="fasttext_vec", unit="line", read=_read)
