"""Identity must give the same bytes back, for every format and on odd input."""

import csv
import gzip
import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails, streams
from wordveil.documents.base import Selection
from wordveil.documents.reader import FORMATS, guess_format
from wordveil.errors import DocumentFormatError
from wordveil.runs.documents import run_documents
from worlds import told

TOLD = told(__file__)
SETS = TOLD.pop("sets")
WHOLE = {name: [text.encode() for text in texts] for name, texts in TOLD.items()}
PLAIN = [*WHOLE["plain"], b"x" * 3_000_000 + b"\n" + b"y" * 100]


JSON_FILES = [*WHOLE["json_files"], json.dumps(["x" * 1000, "é"] * 3000, indent=2, ensure_ascii=False).encode() + b"\n"]


def test_isal_reads_and_writes_the_text_that_zlib_does(tmp_path, monkeypatch):
    """Several members, long and short; damage to any byte of the second is found, or changes nothing."""
    pytest.importorskip("isal", reason="needs the extra fast-gzip")
    data = [*PLAIN, *WHOLE["json_lines"], *WHOLE["tables"]]
    made = {}
    for library in ("isal", "zlib"):
        monkeypatch.setattr(streams, "gzip_library", lambda library=library: library)
        compressor = streams.MemberCompressor("gz")
        made[library] = b"".join(compressor.feed(part) + compressor.close_member() for part in data)
        assert gzip.decompress(made[library]) == b"".join(data)
    assert made["isal"] != made["zlib"]
    for name in ("isal", "zlib"):
        (tmp_path / f"{name}.gz").write_bytes(made[name])
        monkeypatch.setattr(streams, "gzip_library", lambda: "isal")
        opened = streams.InputStream(str(tmp_path / f"{name}.gz"))
        assert opened.stream.read() == b"".join(data)
        opened.close()
    whole = gzip.compress(b"zebrafish\n" * 99, mtime=0)
    for place in range(3, len(whole)):
        (tmp_path / "in.gz").write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        opened = streams.InputStream(str(tmp_path / "in.gz"))
        with suppress(*streams.DAMAGED):
            assert opened.stream.read() == b"zebrafish\n" * 99
        opened.close()


def copying(choice: dict) -> dict:
    """The choice of columns, all others copied where it says nothing of them."""
    said = choice.get("keep") is not None or choice.get("drop_others")
    return choice if said else {"keep_others": True, **choice}


def run_bytes(tmp_path: Path, name: str, content: bytes, process, **settings) -> bytes:
    source, target = tmp_path / name, tmp_path / ("out-" + name)
    source.write_bytes(content)
    run_documents(source, target, process, settings=DocumentSettings(**copying(settings)))
    written = target.read_bytes()
    target.unlink()
    return written


@pytest.mark.parametrize("content", PLAIN)
@pytest.mark.parametrize("whole", [False, True])
def test_plain_text_is_unchanged_by_identity(tmp_path, identity, content, whole):
    details = FormatDetails(whole_file=whole)
    assert run_bytes(tmp_path, "in.txt", content, identity, details=details) == content


@pytest.mark.parametrize(("name", "content"), [
    *(("in.jsonl", each) for each in WHOLE["json_lines"]), *(("in.json", each) for each in JSON_FILES),
    *(("in.csv", each) for each in WHOLE["tables"]), ("in.tsv", b'label\ttext\n"1"\t"a ""b"" c"\n2\t""\n'),
])  # fmt: skip
def test_files_are_unchanged_by_identity(tmp_path, identity, name, content):
    written = run_bytes(tmp_path, name, content, identity, columns=() if name == "in.json" else ("text",))
    if b'" lead"' in content:  # whose quotes are not needed
        assert written.replace(b'"', b"") == content.replace(b'"', b"")
    else:
        assert written == content


def test_tsv_without_quoting_takes_quotes_as_characters(tmp_path, identity):
    content = b'label\ttext\n1\t"open quote\n2\t5" disk, "x"\n3\t\n'
    plain = FormatDetails(quoting="none")
    assert run_bytes(tmp_path, "in.tsv", content, identity, columns=("text",), details=plain) == content
    with DocumentSettings(columns=["text"], keep_others=True, details=plain).open(tmp_path / "in.tsv") as reader:
        records = list(reader)
        written = [reader.format.render(record, [] if record.structural else record.texts) for record in records]
    assert b"".join(written) == content
    texts = [record.texts[0] for record in records if not record.structural]
    assert texts == ['"open quote', '5" disk, "x"', ""]


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("array", [True, False])
def test_pretty_printed_json_keeps_its_indentation(tmp_path, shout, indent, array):
    rows = [{"id": i, "m": {"text": [f"t{i}", None], "n": 1.5}, "z": {"text": "copied"}} for i in range(3)]
    value = rows if array else rows[0]
    content = json.dumps(value, indent=indent).encode() + b"\n"
    written = run_bytes(tmp_path, "in.json", content, shout, columns=("m.text",))
    for i, row in enumerate(rows):
        row["m"]["text"][0] = f"T{i}#in.json:{i if array else 0}:0"
    assert written == json.dumps(value, indent=indent).encode() + b"\n"


def test_json_array_larger_than_the_window(tmp_path, identity):
    rows = [{"text": "abc " * n, "n": [1, {"b": n}]} for n in range(2500)]
    content = json.dumps(rows).encode()
    assert len(content) > 5 << 20
    assert run_bytes(tmp_path, "in.json", content, identity, columns=("text",)) == content


@given(st.lists(st.text(st.characters(codec="utf-8"))), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_text_survives(lines, end, last):
    content = (end.join(lines) + end * last).encode()
    check_identity("in.txt", content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
selected = st.recursive(st.none() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=4)
rows = st.dictionaries(st.text(max_size=3).filter(lambda k: k != "t"), json_values, max_size=3)


@given(st.lists(st.tuples(rows, selected, st.booleans())), st.sampled_from([None, (",", ":"), (" , ", " : ")]))
def test_any_json_lines_survive(records, separators):
    lines = []
    for row, text, first in records:
        row = {"t": text, **row} if first else {**row, "t": text}
        lines.append(json.dumps(row, ensure_ascii=True, separators=separators))
    content = "".join(line + "\n" for line in lines).encode()
    details = FormatDetails(ascii_json=True)
    check_identity("in.jsonl", content, columns=("t",), details=details)


@given(st.lists(st.tuples(rows, selected)), st.sampled_from([("t",), ("t", "keep")]))
def test_dropping_columns_equals_dropping_them_from_the_parsed_line(records, wanted):
    dumped = [json.dumps({**row, "t": text, "keep": 1.5}) for row, text in records]
    expected = [{k: v for k, v in json.loads(line).items() if k in wanted} for line in dumped]
    keep = tuple(name for name in wanted if name != "t")
    written = check_output("in.jsonl", "\n".join(dumped).encode(), columns=("t",), keep=keep)
    assert [json.loads(line) for line in written.decode().split("\n") if line] == expected


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)


@given(st.lists(st.tuples(cells, cells, cells)), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_any_table_survives(table, quoting):
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=quoting, lineterminator="\n")
    writer.writerows([("a", "t", "b"), *table])
    check_identity("in.csv", out.getvalue().encode(), columns=("t",))


@given(st.lists(st.tuples(cells, cells), min_size=1), st.sampled_from(",;\t|"))
def test_released_cells_are_read_back_by_the_csv_module(table, delimiter):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([("a", "t"), *[(a, "private") for a, _ in table]])
    answers = iter([b for _, b in table])
    written = check_output(
        "in.csv", out.getvalue().encode(), process=lambda block: [[next(answers)] for _ in block], columns=("t",)
    )
    read = list(csv.reader(io.StringIO(written.decode(), newline=""), delimiter=delimiter))
    assert [tuple(row) for row in read[1:]] == table


def check_identity(name: str, content: bytes, **settings) -> None:
    assert check_output(name, content, **settings) == content


def check_output(name: str, content: bytes, process=None, details=None, **selection) -> bytes:
    """Read and render in memory, without files, for many examples."""
    process = process or (lambda block: [list(record.texts) for record in block])
    form = FORMATS[guess_format(name)](Selection(**copying(selection)), details or FormatDetails())
    written = b""
    for record in form.read(io.BytesIO(content), name):
        written += form.render(record, [] if record.structural else process([record])[0])
    return written


@pytest.mark.parametrize("name", ["in.jsonl.gz", "in.jsonl.zst"])
def test_compressed_input_and_output_hold_the_same_bytes(tmp_path, identity, name):
    content = b"".join(b'{"text": "line %d"}\n' % i for i in range(5000))
    whole = lambda data: zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()  # noqa: E731
    packed, unpack = (gzip.compress, gzip.decompress) if name.endswith("gz") else (zstandard.compress, whole)
    half = len(content) // 2
    details = FormatDetails(section_documents=1000)
    # Two members in the input, many in the output.
    written = run_bytes(
        tmp_path, name, packed(content[:half]) + packed(content[half:]), identity, columns=("text",), details=details
    )
    assert unpack(written) == content
    assert run_bytes(tmp_path, name, packed(b""), identity, columns=("text",)) != b""


def test_gzip_output_names_no_file_and_no_time(tmp_path, identity):
    written = run_bytes(tmp_path, "in.txt.gz", gzip.compress(b"text\n"), identity)
    flags, time = written[3], written[4:8]
    assert (flags, time) == (0, b"\0\0\0\0")


def test_a_long_quoted_field_of_many_lines_takes_linear_time(tmp_path, identity):
    # Joining what came before at every line would copy 360 GB.
    field = b'a ""quoted"" line,\n' * 200_000
    content = b'id,text\n1,"' + field + b'"\n2,b\n'
    assert run_bytes(tmp_path, "in.csv", content, identity, columns=("text",)) == content


def test_quoting_follows_the_header_and_never_the_private_field(tmp_path, shout):
    content = b'id,text\n1,"quoted, because of the comma"\n2,plain\n'
    same = lambda block: [[ReleasedText("word")] for _ in block]  # noqa: E731
    assert run_bytes(tmp_path, "in.csv", content, same, columns=("text",)) == b"id,text\n1,word\n2,word\n"
    content = b'id,"text"\n1,a\n'
    assert run_bytes(tmp_path, "in.csv", content, same, columns=("text",)) == b'id,"text"\n1,"word"\n'


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_released_formula_is_text_where_that_is_asked_for(first):
    formula = lambda block: [[ReleasedText(first + 'A1&"x"')] for _ in block]  # noqa: E731
    word = lambda block: [[ReleasedText("a=1")] for _ in block]  # noqa: E731
    table = b"id,text\n=1,private\n"
    for safe in (False, True):
        details = FormatDetails(csv_safe=safe)
        written = check_output("in.csv", table, process=formula, columns=("text",), details=details)
        (_, row) = csv.reader(io.StringIO(written.decode(), newline=""))
        assert row == ["=1", ("'" if safe else "") + first + 'A1&"x"']  # a copied cell stays as it is
        assert check_output("in.csv", table, process=word, columns=("text",), details=details).endswith(b"=1,a=1\n")


@pytest.mark.parametrize("line", [b"one; two; three", b"one|two|three", b"one\ttwo"])
def test_a_first_line_of_texts_does_not_choose_where_columns_end(tmp_path, shout, line):
    details = FormatDetails(header=False)
    written = run_bytes(tmp_path, "in.csv", line + b"\n", shout, columns=("1",), details=details)
    assert written == line.upper() + b"#in.csv:0:0\n"
    with pytest.raises(DocumentFormatError, match="no column '2'"):
        run_bytes(tmp_path, "in.csv", line + b"\n", shout, columns=("2",), details=details)


@pytest.mark.data
@pytest.mark.parametrize(("name", "columns", "documents"), [(name, *row) for name, row in SETS.items()])
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


@pytest.mark.data
def test_llm_comments_with_nested_profiles(tmp_path, identity, data_directory):
    source = data_directory / "privacy" / "llmprivacy-synthetic.jsonl.gz"
    settings = DocumentSettings(columns=("profile.occupation",), keep=("id",))
    summary = run_documents(source, tmp_path / "out.jsonl", identity, settings=settings)
    assert (summary.documents, summary.copied_columns) == (525, ["id"])
    first = (tmp_path / "out.jsonl").read_bytes().split(b"\n")[0]
    assert first.startswith(b'{"id": 0, "profile": {"occupation": "')
