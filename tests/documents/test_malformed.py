"""Wrong input stops with its position and the remedy, and never with the content."""

from __future__ import annotations

import gzip
import traceback

import pytest

from wordveil.documents import DocumentSettings, FormatDetails, open_documents, run_documents
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError

SECRET = "zebrafish"

CASES = [
    ("in.txt", b"fine\nzebrafish \xff\n", {}, r"in\.txt, line 2, byte 15: not valid UTF-8\. .*iconv"),
    ("in.jsonl", b'{"t": "a"}\n{"t": "zebrafish"\n', {"columns": ["t"]}, "line 2: not valid JSON"),
    ("in.jsonl", b'{"t": "zebrafish\xff"}\n', {"columns": ["t"]}, "line 1, byte 16: not valid UTF-8"),
    ("in.jsonl", b'{"t": "a"} zebrafish\n', {"columns": ["t"]}, "line 1: more than one JSON value"),
    ("in.jsonl", b'{"t": "a"}\n{"u": "zebrafish", "v": 1}\n', {"columns": ["t"]}, r"line 2: no column 't'; .*u, v"),
    ("in.jsonl", b'{"t": 5, "u": "zebrafish"}\n', {"columns": ["t"]}, "line 1: column 't' holds a number, not text"),
    ("in.jsonl", b'{"t": {"zebrafish_": 1}}\n', {"columns": ["t"]}, "column 't' holds an object"),
    ("in.jsonl", b'{"t": ["zebrafish", true]}\n', {"columns": ["t"]}, "column 't' holds true or false"),
    ("in.jsonl", b'{"m": [{"t": "zebrafish"}, {"u": ""}]}\n', {"columns": ["m.t"]}, r"no column 'm\.t'"),
    ("in.jsonl", b'{"m": "zebrafish"}\n', {"columns": ["m.t"]}, r"no column 'm\.t'"),
    ("in.jsonl", b'{"t": "a", "m": "zebrafish"}\n', {"columns": ["t"], "keep": ["m.x"]}, "column 'm' holds no members"),
    ("in.jsonl", b'{"t": "a", "u": "zebrafish"}\n', {}, "no column was chosen; the columns here are: t, u"),
    ("in.jsonl", b"[" * 100_000, {}, "nested too deeply"),
    ("in.jsonl", b'{"t": "zebrafish\\q"}', {"columns": ["t"]}, "line 1: not valid JSON"),
    ("in.json", b'[\n"a",\n"zebrafish" "b"]', {}, "line 3: not valid JSON"),
    ("in.json", b'[\n"a",\n', {}, "line 3: not valid JSON"),
    ("in.json", b'["zebrafish', {}, "line 1: not valid JSON"),
    ("in.json", b'"a"\n"zebrafish"', {}, "line 2: more text after the JSON value.*jsonl"),
    ("in.json", b"", {}, "not valid JSON"),
    ("in.json", b'["zebrafish\xff"]', {}, "byte 11: not valid UTF-8"),
    ("in.csv", b"", {"columns": ["t"]}, "no header line"),
    ("in.csv", b"a,t\n1,x\n1,zebrafish,z\n", {"columns": ["t"]}, "line 3: 3 fields, but the header has 2"),
    ("in.csv", b'a,t\n1,"zebrafish\n', {"columns": ["t"]}, "line 2: a quoted field is not closed"),
    ("in.csv", b'a,t\n1,"x"zebrafish\n', {"columns": ["t"]}, "line 2: text follows a closing quote"),
    ("in.csv", b"a,t\n1,zebrafish\xff\n", {"columns": ["t"]}, "line 2, byte 11: not valid UTF-8"),
    ("in.csv", b"a,u\n1,zebrafish\n", {"columns": ["t"]}, "line 1: no column 't'; the columns are: a, u"),
    ("in.csv", b"a,t\rzebrafish,2", {"columns": ["t"]}, "lone CR"),
    ("in.tsv", b"a\tt\n1\tzebra\tfish\n", {"columns": ["t"]}, "line 2: 3 fields, but the header has 2"),
    ("in.txt.gz", gzip.compress(b"zebrafish\n" * 1000)[:-9], {}, "truncated or damaged"),
    ("in.txt.gz", b"zebrafish", {}, "truncated or damaged"),
    ("in.parquet", b"zebrafish" * 10, {"columns": ["t"]}, "not a readable Parquet file"),
]


@pytest.mark.parametrize(("name", "content", "options", "message"), CASES)
def test_malformed_input_names_its_place_and_no_content(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(WordveilError, match=message) as caught, open_documents(path, **options) as reader:
        list(reader)
    assert isinstance(caught.value, DocumentFormatError)
    chain = caught.value
    while chain is not None:
        assert SECRET not in "".join(traceback.format_exception_only(chain)).replace(SECRET + "_", "")
        assert SECRET not in repr(vars(chain))
        chain = chain.__context__


def test_truncated_and_damaged_zst(tmp_path):
    import zstandard

    packed = zstandard.ZstdCompressor(write_checksum=True).compress(b"zebrafish %d\n" * 5000)
    for content in (packed[:-7], b"zebrafish" + packed):
        path = tmp_path / "in.txt.zst"
        path.write_bytes(content)
        with pytest.raises(DocumentFormatError, match="damaged"), open_documents(path) as reader:
            list(reader)


def test_unknown_formats_list_the_known_ones(tmp_path):
    with pytest.raises(ParameterError, match=r"text, jsonl, json, csv, tsv, parquet.*\.txt .*\.gz or \.zst"):
        open_documents(tmp_path / "notes.docx")
    with pytest.raises(ParameterError, match="format='xml' must be one of"):
        open_documents(tmp_path / "notes.txt", format="xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ["a"], "drop_others": True, "columns": ["t"]}, "cannot be combined"),
        ({"keep": ["t"], "columns": ["t"]}, "none of them also in keep"),
        ({"columns": "text"}, "sequence of names"),
    ],
)
def test_contradicting_columns_are_refused(tmp_path, options, message):
    (tmp_path / "in.jsonl").write_bytes(b"")
    with pytest.raises(ParameterError, match=message):
        open_documents(tmp_path / "in.jsonl", **options)


def test_plain_text_has_no_columns(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"")
    with pytest.raises(ParameterError, match="text has no columns"):
        open_documents(tmp_path / "in.txt", columns=["text"])


def test_tables_without_a_chosen_column_list_what_there_is(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,2\n")
    with (
        pytest.raises(ParameterError, match=r"must name the text columns; .*has: a, b"),
        open_documents(tmp_path / "in.csv") as reader,
    ):
        list(reader)


@pytest.mark.parametrize(
    "values",
    [{"delimiter": "ab"}, {"delimiter": '"'}, {"quoting": "some"}, {"section_bytes": 0}, {"row_group_rows": 0}],
)
def test_details_are_checked(values):
    with pytest.raises(ParameterError, match=next(iter(values))):
        FormatDetails(**values)


def test_unquoted_tables_refuse_released_texts_that_break_them(tmp_path):
    (tmp_path / "in.tsv").write_bytes(b"a\tt\n1\tx\n")
    with pytest.raises(DocumentFormatError, match="line 2: a released text holds a delimiter"):
        run_documents(
            tmp_path / "in.tsv",
            tmp_path / "out.tsv",
            lambda block: [["a\tb"] for _ in block],
            settings=DocumentSettings(columns=("t",)),
        )
    assert not (tmp_path / "out.tsv").exists()
