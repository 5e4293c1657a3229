"""Real texts, where the shared data sets are here, and the redactor that all tests try."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from wordveil.withholding.redactor import Redactor


@pytest.fixture(scope="session")
def redactor():
    return Redactor()


def lines_of(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from file


@pytest.fixture(scope="session")
def marked(data_directory):
    """The sentences of the Presidio set, each with its marked values."""
    return [json.loads(line) for line in lines_of(data_directory / "privacy" / "presidio-synth.jsonl.gz")]


@pytest.fixture(scope="session")
def real_texts(data_directory, marked):
    """Texts of eight public sets: tables of one column and JSON records alike."""
    texts = [row["text"] for row in marked]
    for name, most in (
        ("privacy/sms-spam.tsv", 1000),
        ("sentences/banking77.test.tsv", 600),
        ("documents/agnews.test.tsv", 600),
    ):
        rows = list(lines_of(data_directory / name))[1:]
        texts += [row.rstrip("\n").split("\t")[-1] for row in rows[:: max(1, len(rows) // most)]]
    for name, most in (
        ("privacy/mts-dialog.test.jsonl.gz", 200),
        ("privacy/llmprivacy-synthetic.jsonl.gz", 525),
        ("documents/cfpb-complaints.jsonl.gz", 400),
        ("documents/multidogo-customer.jsonl.gz", 800),
        ("documents/imdb.test10k.jsonl.gz", 300),
    ):
        rows = list(lines_of(data_directory / name))
        records = (json.loads(row) for row in rows[:: max(1, len(rows) // most)])
        texts += [max((value for value in record.values() if isinstance(value, str)), key=len) for record in records]
    return texts
