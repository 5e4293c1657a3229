"""Cuts the records of a file into blocks: what is held in memory and handed out at once."""

from __future__ import annotations

from collections.abc import Iterator

from wordveil.documents.base import Record
from wordveil.documents.settings import DocumentSettings

_FIRST_BLOCK = 1 << 20  # each block is twice the one before: the time left is known from the first seconds on


def blocks(records: Iterator[Record], settings: DocumentSettings) -> Iterator[list[Record]]:
    """Cut records into blocks that end at sections, or inside one where a section is larger than a block.

    The first blocks are smaller, so that progress is seen at once.
    """
    block: list[Record] = []
    size = section = 0  # of the block, and of what it has of its last section
    budget = min(_FIRST_BLOCK, settings.block_characters)
    whole_sections = True  # the block began at a section
    for record in records:
        block.append(record)
        size += record.size
        section += record.size
        if settings.line_buffered:
            full = True
        elif record.closes_section:
            full = not whole_sections or size + section // 2 > budget
        else:
            full = size >= budget and section >= budget // 2
        if full:
            yield block
            block, size, whole_sections = [], 0, record.closes_section
            budget = min(2 * budget, settings.block_characters)
        if full or record.closes_section:
            section = 0
    if block:
        yield block
