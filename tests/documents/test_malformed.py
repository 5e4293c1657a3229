"""Wrong input stops with its position and the remedy, and never with the content."""

import gzip
import io
import json
import traceback
import tracemalloc
from contextlib import closing
from functools import partial

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.documents.conftest import is_text

import seeds
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.documents.base import Selection
from wordveil.documents.json_document import JsonDocument
from wordveil.documents.json_walker import JsonWalker, WalkError, selection_tree
from wordveil.documents.jsonl import JsonLines
from wordveil.documents.streams import InputStream
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError
from wordveil.runs.documents import run_documents
from worlds import told

SECRET = "zebrafish"

PACKED = zstandard.ZstdCompressor(write_checksum=True).compress(b"zebrafish %d\n" * 5000)
TOLD = told(__file__)
CASES = [
    *((name, content.encode(), *rest) for name, content, *rest in TOLD["cases"]),
    *(("in.tsv", f"i\tt\tw\n2\t{before}\tzebrafish{after}\n".encode(),
       r"in\.tsv, line 2: a quote stands .* Choose quoting 'minimal' .*, or 'none'", {})
      for before, after in TOLD["quotes"]),
    ("in.txt", b"fine\nzebrafish \xff\n",
     r"in\.txt, line 2, byte 15: not valid UTF-8\. .*--encoding windows-1252", {"columns": ()}),
    ("in.jsonl", b'{"t": "zebrafish\xff"}\n', "line 1, byte 16: not valid UTF-8", {}),
    ("in.jsonl", b"[" * 100_000, "nested too deeply", {"columns": ()}),
    ("in.json", b'["zebrafish\xff"]', "byte 11: not valid UTF-8", {"columns": ()}),
    ("in.txt", "zebrafish\n".encode("utf-16-le"), "line 1, byte 0: .* NUL: this looks like UTF-16", {"columns": ()}),
    ("in.txt", "zebrafish\n".encode("utf-16"), "looks like UTF-16.*--encoding utf-16", {"columns": ()}),
    ("in.csv", b"a,t\n1,zebrafish\xff\n", "line 2, byte 11: not valid UTF-8", {}),
    ("in.txt.gz", gzip.compress(b"zebrafish\n" * 1000, mtime=0)[:-9], "truncated or damaged", {"columns": ()}),
    ("in.txt.zst", PACKED[:-7], "damaged", {"columns": ()}),
    ("in.txt.zst", PACKED[:60] + b"zebrafish" + PACKED[69:], "damaged", {"columns": ()}),
]  # fmt: skip
"""File, its content, what is said of the content, and the choices beside column t."""


@pytest.mark.parametrize(("name", "content", "message", "options"), CASES)
def test_malformed_input_names_its_place_and_no_content(tmp_path, name, content, message, options):
    path = tmp_path / name
    path.write_bytes(content)
    options = {"columns": ("t",), "keep_others": "keep" not in options, **options}
    with pytest.raises(WordveilError, match=message) as caught, DocumentSettings(**options).open(path) as reader:
        list(reader)
    assert isinstance(caught.value, DocumentFormatError)
    chain = caught.value
    while chain is not None:
        assert SECRET not in "".join(traceback.format_exception_only(chain)).replace(SECRET + "_", "")
        assert SECRET not in repr(vars(chain))
        chain = chain.__context__


json_marks = st.text(st.sampled_from('{}[],:" tux1-\\.eE'), max_size=12)


@given(json_marks, json_marks, st.sampled_from(['{"t": "a"}', '{"x": [1, {"y": 2}], "t": ["a", null]}']), st.data())
def test_a_line_is_accepted_exactly_where_the_json_module_accepts_it(before, after, line, data):
    cut = data.draw(st.integers(0, len(line)))
    line = data.draw(st.sampled_from([line[:cut] + before + line[cut:], before + line + after]))
    form = JsonLines(Selection(columns=("t",), keep_others=True), FormatDetails())
    try:
        expected = json.loads(line)
        expected = isinstance(expected, dict) and is_text(expected.get("t", 0))
    except ValueError:
        expected = not line.strip()
    try:
        list(form.read(io.BytesIO(line.encode()), "in.jsonl"))
        accepted = True
    except DocumentFormatError:
        accepted = False
    assert accepted == expected or (accepted is False and line.count('"t"') > 1)


MEMBERS = ['"t"', '"u"', '"é x"', '""', '"t.u"', '"\\u0074"']
VALUES = ['"a b"', r'"q\"x"', r'"\u00e9\ud800"', '"{,}"', "1", "-0.5e3", "true", "null"]
ODD_VALUES = ["[1]", '{"t": "x"}', r'"bad\x"', "01", '"\x01"', "1 2", '"', ""]


def _cut(walker, line):
    try:
        end = walker.walk(line, 0, 0)
    except WalkError as error:
        return error.problem, error.position, error.incomplete, error.remedy
    return end, walker.pieces, walker.texts, list(walker.dropped), walker.lacking, walker.not_text


@pytest.mark.parametrize(("keep", "others"), [(None, True), (("u",), False), ((), False)])
@pytest.mark.parametrize("missing", ["refuse", "keep", "skip"])
def test_a_record_is_cut_as_by_a_walker_that_has_read_no_other(monkeypatch, keep, others, missing):
    """What is learnt of the layout of earlier records must change nothing of later ones."""
    step_by_step, anew = [], JsonWalker._anew
    monkeypatch.setattr(JsonWalker, "_anew", lambda *given: step_by_step.append(1) or anew(*given))
    rng, selection = seeds.rng(5), Selection(columns=("t",), keep=keep, keep_others=others, missing=missing)
    count = 0
    for _ in range(300):
        walker = JsonWalker(selection_tree(selection), missing)
        names = rng.permutation(MEMBERS[: 2 if keep else None])[: rng.integers(1, 4)]
        for _ in range(10):
            values = rng.choice(VALUES if rng.random() < 0.9 else ODD_VALUES, len(names))
            spaces = rng.choice(["", "", " ", "\t\n"], (len(names), 3))
            members = (f"{a}{name}{b}:{c}{value}" for name, value, (a, b, c) in zip(names, values, spaces, strict=True))
            line = "{" + ",".join(members) + rng.choice(["}", "}", " }", ",}", ""])
            assert _cut(walker, line) == _cut(JsonWalker(selection_tree(selection), missing), line)
            count += 2
    assert not others or count - len(step_by_step) > 10


class Dribble(io.BytesIO):
    """A stream that gives a few bytes at a time, as a slow pipe does."""

    def read(self, size=-1):
        return super().read(min(size, 3) if size >= 0 else 3)


@given(st.sampled_from(["[", "", " [ "]), st.data())
def test_json_windows_do_not_change_the_outcome(opening, data):
    element = st.one_of(
        json_marks, st.sampled_from(['{"t": "é\\ud83d\\ude00 \\n", "n": -12.5e-3}', '{"t":"a"}', ",", "]"])
    )
    text = opening + "".join(data.draw(st.lists(element, max_size=6))) + data.draw(st.sampled_from(["", "]", "\n]\n"]))
    outcomes = []
    for stream in (io.BytesIO(text.encode()), Dribble(text.encode())):
        form = JsonDocument(Selection(columns=("t",), keep_others=True), FormatDetails())
        try:
            outcomes.append(b"".join(form.render(r, r.texts) for r in form.read(stream, "in.json")))
        except DocumentFormatError as error:
            outcomes.append((str(error), error.line))
    assert outcomes[0] == outcomes[1]


def test_a_small_file_that_stands_for_a_long_one_is_read_in_bounded_memory(tmp_path):
    path, size = tmp_path / "in.txt.zst", 400 << 20
    packing = zstandard.ZstdCompressor().compressobj()
    path.write_bytes(b"".join([packing.compress(bytes(1 << 20)) for _ in range(size >> 20)]) + packing.flush())
    tracemalloc.start()
    with closing(InputStream(str(path))) as opened:
        assert sum(map(len, iter(partial(opened.stream.read, 1 << 20), b""))) == size
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 4


def test_what_cannot_be_read_at_all_is_told_before_it_is(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,2\n")
    for name, options, error, message in (
        ("none.txt", {}, DocumentFormatError, r"none\.txt: cannot be opened: No such file"),
        ("notes.docx", {}, ParameterError, r"text, jsonl, json, csv, tsv, parquet.*\.txt .*\.gz or \.zst"),
        ("notes.txt", {"format": "xml"}, ParameterError, "format='xml' must be one of"),
        ("in.csv", {}, ParameterError, r"must name the text columns among the 2 of .* head -n 1 .*in\.csv$"),
    ):
        with pytest.raises(error, match=message), DocumentSettings(**options).open(tmp_path / name) as reader:
            list(reader)
    for name, value in (
        ("delimiter", "ab"), ("delimiter", '"'), ("quoting", "some"), ("section_documents", 0), ("row_group_rows", 0),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=name):
            FormatDetails(**{name: value})


def test_unquoted_tables_refuse_released_texts_that_break_them(tmp_path):
    (tmp_path / "in.tsv").write_bytes(b"a\tt\n1\tx\n")
    settings = DocumentSettings(columns=("t",), keep_others=True)
    with pytest.raises(DocumentFormatError, match="line 2: a released text holds a delimiter"):
        run_documents(
            tmp_path / "in.tsv", tmp_path / "out.tsv", lambda block: [["a\tb"] for _ in block], settings=settings
        )
    assert not (tmp_path / "out.tsv").exists()
