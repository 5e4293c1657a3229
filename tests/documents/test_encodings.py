"""Inputs of other encodings are read as what they are and written as UTF-8."""

import gzip
import io
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents.conftest import interrupted
from tests.tables import write_rows

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.documents.streams import _Utf8Raw
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.runs.documents import run_documents
from worlds import told


@pytest.mark.parametrize(
    "encoding", ["windows-1252", "latin-1", "utf-16", "utf-16-le", "utf-32", "iso-8859-15", "UTF8"]
)
@pytest.mark.parametrize("name", ["in.txt", "in.jsonl", "in.json", "in.csv", "in.tsv", "in.txt.gz"])
def test_the_output_is_that_of_the_same_file_in_utf_8(tmp_path, shout, name, encoding):
    text = told(__file__)[name.split(".")[1]]
    pack = gzip.compress if name.endswith(".gz") else bytes
    columns = () if "txt" in name else ("t",)
    for folder, written in (("utf-8", "utf-8"), ("other", encoding)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(pack(text.encode(written)))
        settings = DocumentSettings(columns=columns, keep_others=True, encoding=written)
        run_documents(tmp_path / folder / name, tmp_path / f"{folder}.out", shout, settings=settings)
    assert (tmp_path / "other.out").read_bytes() == (tmp_path / "utf-8.out").read_bytes()
    assert "NAÏVE" in (tmp_path / "utf-8.out").read_text(encoding="utf-8")


class Dribble(io.BytesIO):
    """A stream that gives a byte or two at a time."""

    def read1(self, size=-1):
        return super().read1(2 if self.tell() % 3 else 1)


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(["utf-16", "utf-16-be", "utf-32", "gb18030", "utf-7"]))
def test_characters_cut_in_two_by_a_read_are_whole(text, encoding):
    stream = io.BufferedReader(_Utf8Raw(Dribble(text.encode(encoding)), "in.txt", encoding), 7)
    assert stream.read().decode() == text.encode(encoding).decode(encoding)


@pytest.mark.parametrize(("content", "encoding", "message"), [
    (b"fine\nzebra \x81fish", "windows-1252", r"in\.txt, byte 11: not valid cp1252\. Name the encoding"),
    ("zebrafish".encode("utf-16-le"), "utf-16", "not valid utf-16"),
    ("zebrafish".encode("utf-16-le")[:-1], "utf-16-le", "byte 16: not valid utf-16-le"),
    (b"zebrafish \xff", "ascii", "byte 10: not valid ascii"),
])  # fmt: skip
def test_a_wrong_encoding_is_told_with_its_place_and_no_content(tmp_path, shout, content, encoding, message):
    (tmp_path / "in.txt").write_bytes(content)
    with pytest.raises(DocumentFormatError, match=message) as caught:
        run_documents(tmp_path / "in.txt", tmp_path / "out.txt", shout, settings=DocumentSettings(encoding=encoding))
    assert "zebra" not in str(caught.value)
    assert caught.value.__context__ is None
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("name", ["no-such-thing", "rot13", "base64", "zlib"])
def test_a_name_that_is_no_encoding_of_text_is_refused(name):
    with pytest.raises(ParameterError, match=f"encoding='{name}' is not known; give for example windows-1252"):
        DocumentSettings(encoding=name)


def test_parquet_has_no_encoding_to_choose_but_a_tree_may_hold_some(tmp_path, identity):
    (tmp_path / "in").mkdir()
    write_rows(tmp_path / "in" / "a.parquet", {"t": ["naïve"]})
    (tmp_path / "in" / "b.txt").write_bytes("naïve".encode("latin-1"))
    settings = DocumentSettings(columns=("t",), keep_others=True, encoding="latin-1")
    with pytest.raises(ParameterError, match="cannot be chosen"):
        DocumentSettings(columns=["t"], keep_others=True, encoding="latin-1").open(tmp_path / "in" / "a.parquet")
    assert run_documents(tmp_path / "in", tmp_path / "out", identity, settings=settings).files == 2
    assert (tmp_path / "out" / "b.txt").read_text(encoding="utf-8") == "naïve"


def test_an_interrupted_run_goes_on_in_the_same_encoding(tmp_path, shout):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps({"t": f"naïve {n}"}, ensure_ascii=False) + "\n" for n in range(40)), "cp1252")
    settings = DocumentSettings(
        columns=("t",), keep_others=True, encoding="windows-1252", block_characters=100,
        details=FormatDetails(section_documents=4),
    )  # fmt: skip
    run_documents(source, tmp_path / "whole.jsonl", shout, settings=settings)
    interrupted(source, target, 3, shout, settings=settings)
    resumed = replace(settings, encoding="cp1252", block_characters=24_000_000)  # the same by another name
    assert run_documents(source, target, shout, settings=resumed, resume=True).resumed_documents > 0
    assert target.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.slow
def test_closed_standard_streams_are_told(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"a\n")
    code = (
        "import sys; from wordveil.runs.documents import run_documents; "
        "run_documents(sys.argv[1], '-', lambda block: block)"
    )
    closed = {"-": ("0", "standard input is closed"), str(tmp_path / "in.txt"): ("1", "standard output is closed")}
    for source, (number, message) in closed.items():
        command = ["bash", "-c", f'"$0" -c "$1" "$2" {number}>&-', sys.executable, code, source]
        answer = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        assert message in answer.stderr, answer.stderr


@pytest.mark.parametrize(("name", "choice"), [
    ("in.jsonl", {"delimiter": ";"}), ("in.txt", {"header": False}), ("in.parquet", {"csv_safe": True}),
    ("in.csv", {"whole_file": True}), ("in.tsv", {"ascii_json": True}), ("in.json", {"quoting": "none"}),
])  # fmt: skip
def test_a_choice_that_does_not_concern_the_file_is_refused_but_in_a_tree(tmp_path, name, choice):
    (field,) = choice
    settings = DocumentSettings(details=FormatDetails(**choice))
    form = name[3:].replace("txt", "text")
    with pytest.raises(ParameterError, match=f"^{field}=.* does not concern the format {form}: leave it out"):
        settings.open(tmp_path / name)
    assert settings.for_file(name).details == FormatDetails()
    assert settings.for_file("unknown") is settings
