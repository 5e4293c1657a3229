"""A format of another package: its suffix, its row groups and its encoding are asked of it."""

from pathlib import Path

import numpy as np
import pytest
from tests.installed_packages import install

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.documents.reader import _foreign_endings, guess_format
from wordveil.errors import DocumentFormatError, ParameterError

EXAMPLE = Path(__file__).parents[2] / "examples" / "format"
WORDS = ["alpha", "beta", "gamma", "delta"]
OFFERED = "[wordveil.readers]\ncounted-rows = counted_rows:CountedRows\n"


@pytest.fixture(autouse=True)
def installed(monkeypatch, tmp_path):
    """The example, as an installer leaves it."""
    code = (EXAMPLE / "counted_rows.py").read_text(encoding="utf-8")
    install(monkeypatch, tmp_path / "site", code, name="counted_rows", offers=OFFERED)
    _foreign_endings.cache_clear()
    yield
    _foreign_endings.cache_clear()


@pytest.fixture
def sanitizer():
    table = wv.Embeddings.from_arrays(WORDS, np.eye(4))
    return wv.Sanitizer(table, wv.SanText(epsilon=60.0), source=seeds.source(1))


def groups(path):
    """The numbers of rows of a file's groups, and all its rows."""
    lines, sizes, rows = path.read_text().splitlines(), [], []
    while lines:
        sizes.append(int(lines[0]))
        rows += lines[1 : 1 + sizes[-1]]
        lines = lines[1 + sizes[-1] :]
    return sizes, rows


def test_it_is_one_file_and_one_line():
    assert sorted(path.name for path in EXAMPLE.iterdir() if path.is_file()) == ["counted_rows.py", "pyproject.toml"]


def test_a_directory_takes_its_files_and_writes_row_groups_of_its_own(tmp_path, sanitizer):
    """At epsilon 60 a word becomes another with a probability below 1e-15, so the rows must be those of the input."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.rows").write_text("5\nalpha\nbeta\ngamma\ndelta\nalpha\n2\nbeta\nbeta\n")
    (folder / "b.txt").write_bytes("beta é\n".encode("cp1252"))
    settings = DocumentSettings(encoding="cp1252", details=FormatDetails(row_group_rows=3))
    report = wv.sanitize_documents(folder, tmp_path / "out", sanitizer, settings=settings)
    assert report.documents == 8
    assert groups(tmp_path / "out" / "a.rows") == (
        [3, 3, 1], ["Alpha", "Beta", "Gamma", "Delta", "Alpha", "Beta", "Beta"]
    )  # fmt: skip


def test_what_it_has_not_is_refused_by_what_it_says(tmp_path):
    path = tmp_path / "a.rows"
    path.write_text("2\nalpha\n")
    with pytest.raises(ParameterError, match="the text of the format counted-rows is UTF-8"):
        DocumentSettings(encoding="cp1252").open(path)
    with pytest.raises(ParameterError, match="the format counted-rows has no columns"):
        DocumentSettings(columns=["a"]).open(path)
    with DocumentSettings().open(path) as reader, pytest.raises(DocumentFormatError, match="the row group is cut off"):
        list(reader)


def test_no_package_takes_an_ending_of_ours_and_a_broken_one_is_in_nobodys_way(monkeypatch, tmp_path):
    code = (EXAMPLE / "counted_rows.py").read_text(encoding="utf-8").replace('(".rows",)', '(".rows", ".txt")')
    install(monkeypatch, tmp_path / "other", code, name="counted_rows", offers=OFFERED + "gone = no_such_module:Form\n")
    _foreign_endings.cache_clear()
    formats = {"a.txt": "text", "a.rows.gz": "counted-rows", "a.none": None, "a": None}
    assert {name: guess_format(name) for name in formats} == formats
