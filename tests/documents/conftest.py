"""Helpers shared by the document tests."""

import pytest

from wordveil.arrays import ReleasedText
from wordveil.runs.documents import run_documents


@pytest.fixture(scope="session")
def identity():
    return lambda block: [[None if t is None else ReleasedText(t) for t in record.texts] for record in block]


@pytest.fixture(scope="session")
def shout():
    """A transform that depends on the text and on the record's id, as a sanitizer does."""

    def process(block):
        return [
            [None if t is None else ReleasedText(f"{t.upper()}#{r.key}:{i}") for i, t in enumerate(r.texts)]
            for r in block
        ]

    return process


def is_text(value) -> bool:
    """Whether a value of JSON is text, null or a list of them."""
    return all(map(is_text, value)) if isinstance(value, list) else value is None or isinstance(value, str)


def interrupted(source, target, calls, process, **options):
    """Run, and stop by an interrupt from the keyboard after some calls."""
    left = iter(range(calls))

    def stopping(block):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return process(block)

    with pytest.raises(KeyboardInterrupt):
        run_documents(source, target, stopping, **options)
