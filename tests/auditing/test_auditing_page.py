"""The page on auditing: its code runs, and the package exports what it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wordveil.auditing as auditing

PAGE = Path(__file__).parents[2] / "docs" / "auditing.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_block_of_code_runs(number):
    exec(compile(BLOCKS[number], f"auditing.md block {number}", "exec"), {"__name__": "example"})


def test_the_page_has_the_examples_it_should():
    assert len(BLOCKS) == 4


def test_public_names_are_sorted_and_there():
    assert auditing.__all__ == sorted(auditing.__all__)
    assert all(getattr(auditing, name).__module__.startswith("wordveil.auditing.") for name in auditing.__all__)
