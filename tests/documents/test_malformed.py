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

SECRET = "zebrafish"

QUOTES = [
    (b' "Maria', b'"'), (b'x"Maria', b'"'), (b'\xc2\xa0"Maria', b'"'), (b'"Maria"" said', b'"'), (b'""', b'""'),
    (b'"a" "Maria', b'"'), (b'5" disk', b""), (b'"a"b"', b""), (b"plain", b'"'), (b'"', b""),
]  # fmt: skip
PACKED = zstandard.ZstdCompressor(write_checksum=True).compress(b"zebrafish %d\n" * 5000)
CASES = [
    ("in.txt", b"fine\nzebrafish \xff\n",
     r"in\.txt, line 2, byte 15: not valid UTF-8\. .*--encoding windows-1252", {"columns": ()}),
    ("in.jsonl", b'{"t": "a"}\n{"t": "zebrafish"\n', "line 2: not valid JSON", {}),
    ("in.jsonl", b'{"t": "zebrafish\xff"}\n', "line 1, byte 16: not valid UTF-8", {}),
    ("in.jsonl", b'{"t": "a"} zebrafish\n', "line 1: more than one JSON value", {}),
    ("in.jsonl", b'{"t": "a"}\n{"u": "zebrafish", "v": 1}\n', "line 2: no column 't' among its 2", {}),
    ("in.jsonl", b'{"u": "zebrafish"}\n', "--missing keep .* --missing skip", {}),
    ("in.jsonl", b'{"zebrafish": {"u": 1}, "T": ""}\n', "among its 2. One differs .* upper and lower", {}),
    ("in.jsonl", b'{"zebrafish": {"note": "good"}}\n', "no column was chosen among its 1", {"columns": ()}),
    ("in.jsonl", b'[{"zebrafish": 1}]\n', "no column 't' among its 1", {}),
    ("in.json", b'[{"zebrafish": 1}]\n', "line 1: no column 't' among its 1", {}),
    ("in.jsonl", b'{"t": ["a"], "t": 5, "zebrafish": 1}\n', "holds a number, not text", {}),
    ("in.jsonl", b'{"m": {"t": "a"}, "m": "zebrafish"}\n', r"no column 'm\.t'", {"columns": ["m.t"]}),
    ("in.jsonl", b'{"t": 5, "u": "zebrafish"}\n', "line 1: column 't' holds a number, not text", {}),
    ("in.jsonl", b'{"t": {"zebrafish_": 1}}\n', "column 't' holds an object", {}),
    ("in.jsonl", b'{"t": ["zebrafish", true]}\n', "column 't' holds true or false", {}),
    ("in.jsonl", b'{"m": [{"t": "zebrafish"}, {"u": ""}]}\n', r"no column 'm\.t'", {"columns": ["m.t"]}),
    ("in.jsonl", b'{"m": "zebrafish"}\n', r"no column 'm\.t'", {"columns": ["m.t"]}),
    ("in.jsonl", b'{"t": "a", "m": "zebrafish"}\n', "column 'm' holds no members", {"columns": ["t"], "keep": ["m.x"]}),
    ("in.jsonl", b'{"t": "a", "u": "zebrafish"}\n', "no column was chosen among its 2", {"columns": ()}),
    ("in.jsonl", b"[" * 100_000, "nested too deeply", {"columns": ()}),
    ("in.jsonl", b'{"t": "zebrafish\\q"}', "line 1: not valid JSON", {}),
    ("in.json", b'[\n"a",\n"zebrafish" "b"]', "line 3: not valid JSON", {"columns": ()}),
    ("in.json", b'[\n"a",\n', "line 3: not valid JSON", {"columns": ()}),
    ("in.json", b'["zebrafish', "line 1: not valid JSON", {"columns": ()}),
    ("in.json", b'"a"\n"zebrafish"', "line 2: more text after the JSON value.*jsonl", {"columns": ()}),
    ("in.json", b"", "not valid JSON", {"columns": ()}),
    ("in.json", b'["zebrafish\xff"]', "byte 11: not valid UTF-8", {"columns": ()}),
    ("in.txt", "zebrafish\n".encode("utf-16-le"), "line 1, byte 0: .* NUL: this looks like UTF-16", {"columns": ()}),
    ("in.txt", "zebrafish\n".encode("utf-16"), "looks like UTF-16.*--encoding utf-16", {"columns": ()}),
    ("in.csv", b"", "no header line", {}),
    ("in.csv", b"a,t\n1,x\n1,zebrafish,z\n", "line 3: 3 fields, but the header has 2", {}),
    ("in.csv", b'a,t\n1,"zebrafish\n', "line 2: a quoted field is not closed", {}),
    ("in.tsv", b'i\tt\n1\t"by a doctor.\nzebrafish\tis ill"\n', "line 2: a quote stands inside a field", {}),
    *(("in.tsv", b"i\tt\tw\n2\t" + field + b"\tzebrafish" + rest + b"\n",
       r"in\.tsv, line 2: a quote stands .* Choose quoting 'minimal' .*, or 'none'", {})
      for field, rest in QUOTES),
    ("in.csv", b'a, t, w\n1, "x, zebrafish"\n', "line 2: a quote stands inside a field", {"columns": [" t"]}),
    ("in.csv", 'a,t,w\n1,\xa0"x, zebrafish"\n'.encode(), "line 2: a quote stands inside a field", {}),
    ("in.csv", b'a,t\n1,"x"zebrafish\n', "line 2: text follows a closing quote", {}),
    ("in.csv", b"a,t\n1,zebrafish\xff\n", "line 2, byte 11: not valid UTF-8", {}),
    ("in.csv", b"a,u\n1,zebrafish\n", "line 1: no column 't' among its 2", {}),
    ("in.csv", b"zebrafish,1\nfish,2\n", "line 1: no column 't' among its 2.*--no-header", {}),
    ("in.csv", b"zebrafish,T\n1,2\n", "among its 2. One differs .* upper and lower", {}),
    ("in.csv", b"zebrafish,b\n1,2\n", "no column 'a,b' .* Give --column once for each", {"columns": ["a,b"]}),
    ("in.csv", b"a,t\nzebrafish\n", "line 2: 1 fields, .* Complete the row", {}),
    ("in.csv", b"a,t\rzebrafish,2", "lone CR", {}),
    ("in.csv", b"a,t\n1,zebrafish\n", "line 1: no column 'b'", {"columns": ["t"], "keep": ["b"]}),
    ("in.tsv", b"a\tt\n1\tzebra\tfish\n", "line 2: 3 fields, but the header has 2", {}),
    ("in.txt.gz", gzip.compress(b"zebrafish\n" * 1000, mtime=0)[:-9], "truncated or damaged", {"columns": ()}),
    ("in.txt.gz", b"zebrafish", r"not \.gz data, as its name says", {"columns": ()}),
    ("in.txt.zst", b"zebrafish", r"not \.zst data, as its name says", {"columns": ()}),
    ("in.txt.zst", PACKED[:-7], "damaged", {"columns": ()}),
    ("in.txt.zst", PACKED[:60] + b"zebrafish" + PACKED[69:], "damaged", {"columns": ()}),
    ("in.parquet", b"zebrafish" * 10, "not a readable Parquet file", {}),
]  # fmt: skip


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


def test_a_file_that_is_absent_is_named(tmp_path):
    with pytest.raises(DocumentFormatError, match=r"none\.txt: cannot be opened: No such file"):
        DocumentSettings().open(tmp_path / "none.txt")


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


def test_unknown_formats_list_the_known_ones(tmp_path):
    with pytest.raises(ParameterError, match=r"text, jsonl, json, csv, tsv, parquet.*\.txt .*\.gz or \.zst"):
        DocumentSettings().open(tmp_path / "notes.docx")
    with pytest.raises(ParameterError, match="format='xml' must be one of"):
        DocumentSettings(format="xml").open(tmp_path / "notes.txt")


def test_tables_without_a_chosen_column_are_refused(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,2\n")
    with (
        pytest.raises(ParameterError, match=r"must name the text columns among the 2 of .* head -n 1 .*in\.csv$"),
        DocumentSettings().open(tmp_path / "in.csv") as reader,
    ):
        list(reader)


@pytest.mark.parametrize(
    "values",
    [{"delimiter": "ab"}, {"delimiter": '"'}, {"quoting": "some"}, {"section_documents": 0}, {"row_group_rows": 0}],
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
            settings=DocumentSettings(columns=("t",), keep_others=True),
        )
    assert not (tmp_path / "out.tsv").exists()
