"""Identity over real data sets gives the same bytes."""

import gzip

import pytest

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.runs.documents import run_documents

pytestmark = pytest.mark.data

SETS = [
    ("documents/imdb.test10k.jsonl.gz", ("text",), 10_000),
    ("documents/agnews.test.tsv", ("title", "description"), 7_600),
    ("documents/yahoo2.test.jsonl.gz", ("text",), 418),
    ("documents/20news.test.jsonl.gz", ("text",), 7_532),
    ("privacy/presidio-synth.jsonl.gz", ("text",), 1_500),
    ("privacy/sms-spam.tsv", ("text",), 5_574),
    ("privacy/mts-dialog.test.jsonl.gz", ("note", "dialogue"), 200),
    ("sentences/mr.tsv", ("text",), 10_662),
]


@pytest.mark.parametrize(("name", "columns", "documents"), SETS)
def test_identity_over_real_data(tmp_path, identity, data_directory, name, columns, documents):
    source = data_directory / name
    target = tmp_path / source.name
    details = FormatDetails(quoting="none" if name.endswith(".tsv") else "auto")  # their quotes are text
    summary = run_documents(
        source, target, identity, settings=DocumentSettings(columns=columns, keep_others=True, details=details)
    )
    assert summary.documents == documents
    unpack = gzip.decompress if name.endswith(".gz") else bytes
    assert unpack(target.read_bytes()) == unpack(source.read_bytes())


def test_llm_comments_with_nested_profiles(tmp_path, identity, data_directory):
    source = data_directory / "privacy" / "llmprivacy-synthetic.jsonl.gz"
    settings = DocumentSettings(columns=("profile.occupation",), keep=("id",))
    summary = run_documents(source, tmp_path / "out.jsonl", identity, settings=settings)
    assert (summary.documents, summary.copied_columns) == (525, ["id"])
    first = (tmp_path / "out.jsonl").read_bytes().split(b"\n")[0]
    assert first.startswith(b'{"id": 0, "profile": {"occupation": "')
