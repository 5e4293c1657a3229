"""Documents that are left out of a file: it comes out as if they had never stood in it."""

import gzip
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import DocumentFormatError
from wordveil.runs.documents import run_tree_file

ROWS = [{"user": n % 3 or None, "text": f"secret {n}", "kind": f"only in {n}"} for n in range(40)]
FORMATS = ("jsonl", "jsonl.gz", "json", "csv", "no header.csv", "parquet")


def write(folder, form, rows):
    folder.mkdir(exist_ok=True)
    place, lines = folder / f"a.{form}", "".join(json.dumps(row) + "\n" for row in rows)
    if form == "jsonl":
        place.write_text("\n" + lines)
    elif form == "jsonl.gz":
        place.write_bytes(gzip.compress(lines.encode()))
    elif form == "json":
        place.write_text(json.dumps(rows, indent=1))
    elif form.endswith("csv"):
        header = "" if "header" in form else "user,text,kind\n"
        place.write_text(header + "".join(f"{row['user'] or ''},{row['text']},{row['kind']}\n" for row in rows))
    else:
        schema = {"user": pa.int64(), "text": pa.string(), "kind": pa.string()}
        columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in schema.items()}
        columns["kind"] = columns["kind"].dictionary_encode()
        pq.write_table(pa.table(columns), place, row_group_size=7)
    return place.name


def settings(form):
    headless = "header" in form
    details = FormatDetails(row_group_rows=8, section_documents=4, header=not headless)
    return DocumentSettings(
        columns=("2" if headless else "text",), keep_others=True, details=details, block_characters=200
    )


def released(folder, form, out, leave_out=()):
    """The output's bytes, and counts; a document becomes its ordinal."""
    seen = []

    def process(records):
        seen.extend(record.ordinal for record in records)
        return [[f"{record.texts[0]}!".upper()] for record in records]

    out.mkdir()
    name, counts = next(folder.iterdir()).name, Counter()
    how = {"settings": settings(form), "counts": counts, "leave_out": leave_out}
    made, tally = run_tree_file(str(folder), name, out, process, **how)
    assert seen == list(range(counts["documents"]))
    return made.read_bytes(), tally


@pytest.mark.parametrize("lost", [{0}, {39}, {3, 4, 5, 6, 7, 8, 20}, set(range(40)) - {17}, set(range(40))], ids=len)
@pytest.mark.parametrize("form", FORMATS)
def test_the_file_is_as_if_they_had_never_stood_in_it(form, lost, tmp_path):
    write(tmp_path / "all", form, ROWS)
    write(tmp_path / "less", form, [row for n, row in enumerate(ROWS) if n not in lost])
    out, tally = released(tmp_path / "all", form, tmp_path / "out", lost)
    assert tally["gaps"] == {"left_out": len(lost)}
    assert tally["counts"] == ({"documents": 40 - len(lost)} if len(lost) < 40 else tally["counts"])
    kept = [n for n in range(40) if n not in lost]
    if form == "json":  # white space between elements may stay
        assert [row["text"] for row in json.loads(out)] == [f"SECRET {n}!" for n in kept]
    elif form == "no header.csv" and not kept:
        assert not out.strip()
    else:
        expected, _ = released(tmp_path / "less", form, tmp_path / "expected")
        assert out == expected
    plain = gzip.decompress(out) if form.endswith("gz") else out
    for n in lost:
        assert f"only in {n}".encode() + b"|" not in plain.replace(b'"', b"|").replace(b"\n", b"|")


@pytest.mark.parametrize("form", FORMATS)
def test_values_of_any_kind_are_read_as_they_are_written(form, tmp_path):
    name = write(tmp_path / "all", form, ROWS)
    with settings(form).open_values(str(tmp_path / "all" / name), "1" if "header" in form else "user") as reader:
        read = [record.texts for record in reader if not record.structural]
    none = [""] if "csv" in form else [None]
    assert read == [[str(row["user"])] if row["user"] else none for row in ROWS]


def test_a_column_that_is_absent_is_no_value_in_json_and_an_error_in_a_table(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "secret"}\n{"text": "secret", "user": 7}\n')
    with DocumentSettings(columns=("text",), keep=("user",)).open_values(str(tmp_path / "a.jsonl"), "user") as reader:
        assert [record.texts for record in reader] == [[], ["7"]]
    (tmp_path / "b.jsonl").write_text('{"text": "secret", "user": {"id": [1, "b"]}}\n')
    with (
        pytest.raises(DocumentFormatError, match="column 'user' holds an object"),
        DocumentSettings(columns=("text",), keep=("user",)).open_values(str(tmp_path / "b.jsonl"), "user") as reader,
    ):
        list(reader)
    (tmp_path / "a.csv").write_text("text\nsecret\n")
    with (
        pytest.raises(DocumentFormatError, match="no column 'user'"),
        DocumentSettings(columns=("text",), keep_others=True).open_values(str(tmp_path / "a.csv"), "user") as reader,
    ):
        list(reader)
