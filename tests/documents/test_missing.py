"""What a text column holds is never copied, by whatever path it is reached; records that lack it, or are left out."""

import gzip
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.conftest import interrupted, is_text
from tests.documents.test_round_trip import check_output, json_values
from tests.tables import read_rows, write_rows

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError
from wordveil.runs.documents import run_documents, run_tree_file
from worlds import told

SHOUT = lambda block: [[text and text.upper() for text in record.texts] for record in block]  # noqa: E731
ODD = [12345, 1.5, True, False, {"zebra": "fish"}, {}, [["a", 7]], [{"zebra": 1}]]


def shouted(value):
    """What a text column's value becomes when the record is kept: text in capitals, and null for all else."""
    if isinstance(value, list):
        return [shouted(element) for element in value]
    return value.upper() if isinstance(value, str) else None


rows = st.dictionaries(st.text(max_size=3).filter(lambda key: key != "t"), json_values, max_size=3)
contents = st.one_of(st.none(), st.text(), st.sampled_from(ODD), st.lists(st.one_of(st.text(), st.sampled_from(ODD))))
records = st.lists(st.tuples(rows, contents, st.booleans()))


def written(name, given_rows, missing):
    lines = name == "in.jsonl"
    content = "".join(json.dumps(row) + "\n" for row in given_rows) if lines else json.dumps(given_rows, indent=1)
    out = check_output(name, content.encode(), process=SHOUT, columns=("t",), missing=missing).decode()
    return [json.loads(line) for line in out.split("\n") if line] if lines else json.loads(out)


@given(records, st.sampled_from(["in.jsonl", "in.json"]))
def test_kept_records_hold_no_value_of_a_text_column_but_released_text(made, name):
    given_rows = [row | ({"t": content} if present else {}) for row, content, present in made]
    expected = [row | ({"t": shouted(row["t"])} if "t" in row else {}) for row in given_rows]
    assert json.dumps(written(name, given_rows, "keep")) == json.dumps(expected)  # NaN is not equal to itself


@given(records, st.sampled_from(["in.jsonl", "in.json"]))
def test_skipped_records_leave_the_others_as_they_would_be(made, name):
    given_rows = [row | ({"t": content} if present else {}) for row, content, present in made]
    expected = [row | {"t": shouted(row["t"])} for row in given_rows if "t" in row and is_text(row["t"])]
    assert json.dumps(written(name, given_rows, "skip")) == json.dumps(expected)


@given(st.lists(st.sampled_from(['{"t": "a"}', '{"u": 1}', '{"t": 5}'])), st.sampled_from([" ", "\n", ""]))
def test_an_array_stays_valid_json_whichever_elements_are_left_out(elements, space):
    content = space + "[" + space + f"{space},{space}".join(elements) + space + "]" + space
    out = check_output("in.json", content.encode(), process=SHOUT, columns=("t",), missing="skip")
    assert json.loads(out) == [{"t": "A"}] * elements.count('{"t": "a"}')


LINES = (
    b'{"id": 1, "t": "one"}\n{"id": 2}\n\n{"id": 3, "t": 4711}\n'
    b'{"id": 4, "t": null}\n{"id": 5, "t": ["x", {"zebra": "fish"}]}\n{"id": 6, "t": "six"}'
)


def run(tmp_path, missing, content=LINES):
    (tmp_path / "in.jsonl").write_bytes(content)
    settings = DocumentSettings(columns=("t",), keep_others=True, missing=missing)
    summary = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SHOUT, settings=settings)
    return summary, (tmp_path / "out.jsonl").read_bytes()


def test_records_are_kept_with_null_for_what_is_no_text_and_counted(tmp_path):
    summary, out = run(tmp_path, "keep")
    assert out == (
        b'{"id": 1, "t": "ONE"}\n{"id": 2}\n\n{"id": 3, "t": null}\n'
        b'{"id": 4, "t": null}\n{"id": 5, "t": ["X", null]}\n{"id": 6, "t": "SIX"}'
    )
    assert (summary.documents, summary.gaps) == (6, {"missing": 1, "not_text": 2})


def test_records_are_left_out_and_counted_and_nothing_of_them_is_listed(tmp_path):
    summary, out = run(tmp_path, "skip", LINES.replace(b'"id": 2', b'"Maria": 2'))
    assert out == b'{"id": 1, "t": "ONE"}\n\n{"id": 4, "t": null}\n{"id": 6, "t": "SIX"}'
    assert (summary.documents, summary.gaps) == (3, {"skipped": 3})
    assert summary.copied_columns == ["id"]


@pytest.mark.parametrize("missing", ["keep", "skip"])
def test_a_malformed_line_is_refused_whatever_happens_to_records_without_text(tmp_path, missing):
    for line in (b'{"id": 1', b'{"id": 1} {"id": 2}', b"{'id': 1}", b'{"t": 5, "id": }'):
        (tmp_path / "in.jsonl").write_bytes(line)
        with (
            pytest.raises(DocumentFormatError, match="line 1"),
            DocumentSettings(columns=["t"], keep_others=True, missing=missing).open(tmp_path / "in.jsonl") as reader,
        ):
            list(reader)


def test_without_a_chosen_column_objects_are_refused_and_not_made_null():
    for missing in ("keep", "skip"):
        with pytest.raises(DocumentFormatError, match="no column was chosen among its 1"):
            check_output("in.jsonl", b'{"zebra": "fish"}', missing=missing)


def test_nested_columns_are_counted_and_emptied_one_by_one(tmp_path):
    content = {"m": [{"t": "a", "u": 1}, {"u": 2}, "zebra", {"t": 5}, None], "x": {"t": "b"}}
    (tmp_path / "in.json").write_text(json.dumps([content, {"m": "zebra"}]))
    settings = DocumentSettings(columns=("m.t", "x.t"), keep_others=True, missing="keep")
    summary = run_documents(tmp_path / "in.json", tmp_path / "out.json", SHOUT, settings=settings)
    kept = {"m": [{"t": "A", "u": 1}, {"u": 2}, None, {"t": None}, None], "x": {"t": "B"}}
    assert json.loads((tmp_path / "out.json").read_text()) == [kept, {"m": None}]
    # Lacking: m.t of the second element and x.t of the second record; no text: "zebra" twice and 5.
    assert summary.gaps == {"missing": 2, "not_text": 3}
    assert b"zebra" not in (tmp_path / "out.json").read_bytes()


def test_a_file_of_one_record_cannot_lose_it():
    with pytest.raises(DocumentFormatError, match=r"only record would be left out\. Choose --missing keep"):
        check_output("in.json", b'{"u": 1}', columns=("t",), missing="skip")
    assert check_output("in.json", b'{"u": 1}', columns=("t",), missing="keep") == b'{"u": 1}'


@pytest.mark.parametrize("missing", ["keep", "skip"])
def test_a_resumed_run_counts_the_whole(tmp_path, missing):
    whole, out = run(tmp_path, missing)
    settings = DocumentSettings(
        columns=("t",), keep_others=True, missing=missing, block_characters=1,
        details=FormatDetails(section_documents=1),
    )  # fmt: skip
    (tmp_path / "out.jsonl").unlink()
    interrupted(tmp_path / "in.jsonl", tmp_path / "out.jsonl", 2, SHOUT, settings=settings)
    resumed = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SHOUT, settings=settings, resume=True)
    assert (resumed.documents, resumed.gaps) == (whole.documents, whole.gaps)
    assert resumed.resumed_documents > 0
    assert (tmp_path / "out.jsonl").read_bytes() == out


def test_of_many_copied_members_the_rest_is_named_as_such(tmp_path):
    line = {"t": "a"} | {f"member {n}": n for n in range(1500)}
    (tmp_path / "in.jsonl").write_text(json.dumps(line))
    settings = DocumentSettings(columns=("t",), keep_others=True)
    summary = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SHOUT, settings=settings)
    assert len(summary.copied_columns) == 1001
    assert summary.copied_columns[-1] == "further members (only the first 1,000 names are listed)"
    few = {"t": "a"} | {f"member {n}": n for n in range(1000)}
    (tmp_path / "in.jsonl").write_text((json.dumps(few) + "\n") * 2)
    summary = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SHOUT, settings=settings)
    assert summary.copied_columns[-1] == "member 999"


MISSING = ["refuse", "keep", "skip"]


def selected(value, name="in.jsonl", **options):
    return json.loads(check_output(name, json.dumps(value).encode(), process=SHOUT, **options))


SELECTED = told(__file__)["selected"]


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("name", ["in.jsonl", "in.json"])
@pytest.mark.parametrize("case", SELECTED)
def test_a_column_inside_a_kept_one_is_sanitized(case, name, missing):
    record, expected, options = SELECTED[case]
    options = {"missing": missing, **options}
    assert selected(json.loads(record), name, **options) == json.loads(expected)


def test_an_object_in_the_place_of_a_text_is_refused_unless_null_is_asked_for():
    for more in ({"columns": ("a", "a.b")}, {"columns": ("a",), "keep": ("a.c",)}):
        with pytest.raises(DocumentFormatError, match="column 'a' holds an object"):
            selected({"a": {"b": "maria", "c": "maria"}}, **more)


names = st.sampled_from(["a", "b", "a.b"])
leaves = st.sampled_from(["secret", "secret", None, 1])


def members(inner):
    return st.dictionaries(names, st.one_of(inner, st.lists(inner, max_size=2)), min_size=1, max_size=3)


values = members(st.one_of(leaves, members(st.one_of(leaves, members(leaves)))))
columns = st.lists(st.sampled_from(["a.b", "a.b.a", "a.b.b", "a", "b"]), min_size=1, max_size=2, unique=True)
keeps = st.one_of(st.none(), st.lists(names, min_size=1, max_size=2, unique=True))


def marked(value, chosen, old="secret", new="private", path=()):
    """The value with every such string at or under a chosen path replaced, by a rule that knows no tree."""
    if isinstance(value, dict):
        return {name: marked(inner, chosen, old, new, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner, chosen, old, new, path) for inner in value]
    private = any(".".join(path[:depth]) in chosen for depth in range(1, len(path) + 1))
    return new if value == old and private else value


@settings(max_examples=300)
@given(values, columns, keeps, st.sampled_from(["keep", *MISSING]), st.sampled_from(["l", ""]))
def test_no_choice_of_columns_copies_a_text(value, chosen, keep, missing, ending):
    text = json.dumps(marked(value, chosen)).encode()
    keep = None if keep is None else [name for name in keep if name not in chosen]
    options = {"columns": tuple(chosen), "keep": keep, "missing": missing}
    hide = lambda block: [[text and "hidden" for text in record.texts] for record in block]  # noqa: E731
    try:
        out = check_output(f"in.json{ending}", text, process=hide, **options)
    except WordveilError:
        return
    assert b"private" not in out


def test_names_have_a_limit_of_dots_and_what_occurs_twice_is_sanitized_twice():
    with pytest.raises(ParameterError, match="at most 8 dots"):
        selected({"a": "b"}, columns=(".".join("abcdefghij"),))
    text = b'{"a": {"b": "maria", "b": "maria"}, "a": {"b": "maria"}, "\\u0061.b": "maria"}'
    out = check_output("in.jsonl", text, process=SHOUT, columns=("a.b",))
    assert (out.count(b"MARIA"), out.count(b"maria")) == (4, 0)
    out = check_output("in.csv", b"t,a,t\nmaria,x,maria\n", process=SHOUT, columns=("t",), keep=("a",))
    assert out == b"t,a,t\nMARIA,x,MARIA\n"


@pytest.mark.parametrize("columns", [("a.b",), ("a.b", "a.c"), ("a.b", "a")])
@pytest.mark.parametrize("keep", [None, ("a",), ("id",)])
def test_parquet_copies_no_text_column_either(tmp_path, columns, keep):
    write_rows(tmp_path / "in.parquet", {"a": [{"b": "maria"}], "a.b": ["maria"], "a.c": ["maria"], "id": ["x"]})
    keep = None if keep is None else tuple(name for name in keep if name not in columns)
    chosen = DocumentSettings(columns=columns, keep=keep, keep_others=keep is None)
    copied = 0 if "a.c" in columns or keep is not None else 1
    try:
        run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", SHOUT, settings=chosen)
    except WordveilError:
        assert keep is not None or "a" in columns
        return
    out = json.dumps(read_rows(tmp_path / "out.parquet"))
    assert (out.count("maria"), "MARIA" in out) == (copied, True)


def test_parquet_columns_of_one_name_are_refused_or_sanitized(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    arrays = [pyarrow.array(["maria"]), pyarrow.array(["maria"])]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=["t", "t"]), tmp_path / "in.parquet")
    settings = DocumentSettings(columns=("t",), keep_others=True)
    with pytest.raises(DocumentFormatError, match="two columns of one name"):
        run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", SHOUT, settings=settings)


ROWS = [{"user": n % 3 or None, "text": f"secret {n}", "kind": f"only in {n}"} for n in range(40)]
FORMATS = ("jsonl", "jsonl.gz", "json", "csv", "headless csv", "parquet")


def write(folder, form, rows):
    folder.mkdir(exist_ok=True)
    place = folder / f"a.{form.removeprefix('headless ')}"
    if form == "parquet":
        schema = {"user": pa.int64(), "text": pa.string(), "kind": pa.string()}
        columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in schema.items()}
        columns["kind"] = columns["kind"].dictionary_encode()
        pq.write_table(pa.table(columns), place, row_group_size=7)
        return place.name
    write_rows(place, rows, columns=ROWS[0])
    if form == "jsonl":
        place.write_text("\n" + place.read_text())
    elif "headless" in form:
        place.write_text(place.read_text().partition("\n")[2])
    return place.name


def choices_of(form):
    headless = "headless" in form
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
    how = {"settings": choices_of(form), "counts": counts, "leave_out": leave_out}
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
    elif form == "headless csv" and not kept:
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
    with choices_of(form).open_values(str(tmp_path / "all" / name), "1" if "headless" in form else "user") as reader:
        read = [record.texts for record in reader if not record.structural]
    none = [""] if "csv" in form else [None]
    assert read == [[str(row["user"])] if row["user"] else none for row in ROWS]


def test_a_column_that_is_absent_is_no_value_in_json_and_an_error_in_a_table(tmp_path):
    def users(name, content):
        (tmp_path / name).write_text(content)
        with DocumentSettings(columns=("text",), keep_others=True).open_values(str(tmp_path / name), "user") as reader:
            return [record.texts for record in reader]

    assert users("a.jsonl", '{"text": "secret"}\n{"text": "secret", "user": 7}\n') == [[], ["7"]]
    with pytest.raises(DocumentFormatError, match="column 'user' holds an object"):
        users("b.jsonl", '{"text": "secret", "user": {"id": [1, "b"]}}\n')
    with pytest.raises(DocumentFormatError, match="no column 'user'"):
        users("a.csv", "text\nsecret\n")
