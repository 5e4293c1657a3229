"""Records that lack a text column or hold something else there: refused, kept with null, or left out; never copied."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents.test_round_trip import check_output, json_values

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import DocumentFormatError
from wordveil.runs.documents import run_documents

SHOUT = lambda block: [[text and text.upper() for text in record.texts] for record in block]  # noqa: E731
ODD = [12345, 1.5, True, False, {"zebra": "fish"}, {}, [["a", 7]], [{"zebra": 1}]]


def is_text(value) -> bool:
    return all(map(is_text, value)) if isinstance(value, list) else value is None or isinstance(value, str)


def shouted(value):
    """What a text column's value becomes when the record is kept: text in capitals, and null for all else."""
    if isinstance(value, list):
        return [shouted(element) for element in value]
    return value.upper() if isinstance(value, str) else None


rows = st.dictionaries(st.text(max_size=3).filter(lambda key: key != "t"), json_values, max_size=3)
contents = st.one_of(st.none(), st.text(), st.sampled_from(ODD), st.lists(st.one_of(st.text(), st.sampled_from(ODD))))
records = st.lists(st.tuples(rows, contents, st.booleans()))


def written(name, given_rows, missing):
    if name == "in.jsonl":
        content = "".join(json.dumps(row) + "\n" for row in given_rows)
        out = check_output(name, content.encode(), process=SHOUT, columns=("t",), missing=missing).decode()
        return [json.loads(line) for line in out.split("\n") if line]
    content = json.dumps(given_rows, indent=1)
    return json.loads(check_output(name, content.encode(), process=SHOUT, columns=("t",), missing=missing))


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


def run(tmp_path, missing, **options):
    (tmp_path / "in.jsonl").write_bytes(LINES)
    settings = DocumentSettings(columns=("t",), keep_others=True, missing=missing, **options)
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
    (tmp_path / "in.jsonl").write_bytes(LINES.replace(b'"id": 2', b'"Maria": 2'))
    settings = DocumentSettings(columns=("t",), keep_others=True, missing="skip")
    summary = run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SHOUT, settings=settings)
    expected = b'{"id": 1, "t": "ONE"}\n\n{"id": 4, "t": null}\n{"id": 6, "t": "SIX"}'
    assert (tmp_path / "out.jsonl").read_bytes() == expected
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
    calls = []

    def stopping(block):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(block)
        return SHOUT(block)

    settings = DocumentSettings(
        columns=("t",), keep_others=True, missing=missing, block_characters=1,
        details=FormatDetails(section_documents=1),
    )  # fmt: skip
    (tmp_path / "out.jsonl").unlink()
    with pytest.raises(KeyboardInterrupt):
        run_documents(tmp_path / "in.jsonl", tmp_path / "out.jsonl", stopping, settings=settings)
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
