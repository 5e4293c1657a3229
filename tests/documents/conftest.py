"""Helpers shared by the document tests."""

import pytest

from wordveil.arrays import ReleasedText


@pytest.fixture(scope="session")
def identity():
    return lambda block: [[None if t is None else ReleasedText(t) for t in record.texts] for record in block]


@pytest.fixture(scope="session")
def shout():
    """A transform that depends on the text and on the record's id, as a sanitizer does."""

    def process(block):
        return [
            [None if t is None else ReleasedText(f"{t.upper()}#{r.text_key(i)}") for i, t in enumerate(r.texts)]
            for r in block
        ]

    return process
