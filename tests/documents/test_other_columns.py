"""No column is copied that was not named: the run stops before it reads a text, and lists the others."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.documents.test_missing import marked
from tests.documents.test_round_trip import check_output
from tests.tables import read_rows, write_rows

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.documents.base import Selection
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.runs.documents import Callbacks, run_documents
from worlds import told

TOLD = told(__file__)

NAMES = ["in.csv", "in.tsv", "in.jsonl", "in.jsonl.gz", "in.json", "in.parquet"]
ROWS = [
    {"customer": "maria", "email": "m@clinic.org", "text": "good film"},
    {"customer": "jon", "email": "j@clinic.org", "text": "bad food"},
]


class Shouting:
    """A process that remembers how many records it was given, and what was told before the first."""

    def __init__(self):
        self.records, self.told, self.told_first = 0, [], None

    def __call__(self, block):
        if self.told_first is None:
            self.told_first = list(self.told)
        self.records += len(block)
        return [[text and text.upper() for text in record.texts] for record in block]


def run(source, target, **choice):
    """Run a file through `Shouting`; returns it and the summary."""
    process, choice = Shouting(), {"columns": ("text",), **choice}
    process.summary = None
    callbacks = Callbacks(notice=process.told.append)
    settings = DocumentSettings(**choice)
    try:
        process.summary = run_documents(source, target, process, settings=settings, callbacks=callbacks)
    except Exception as error:
        error.process = process
        raise
    return process


def stopped(source, target, error=ParameterError, match=None, **choice):
    """The message of a run that must stop before it has read any text, and leave nothing."""
    before = sorted(target.parent.iterdir())
    with pytest.raises(error, match=match) as caught:
        run(source, target, **choice)
    assert caught.value.process.records == 0
    assert sorted(target.parent.iterdir()) == before
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_word_on_the_others_and_with_a_wrong_one_nothing_is_read(tmp_path, name):
    write_rows(tmp_path / name, ROWS)
    target = tmp_path / name.replace("in.", "out.")
    message = stopped(tmp_path / name, target)
    assert "leaves 2 other columns of" in message
    assert "unnamed: customer, email." in message
    assert all(way in message for way in ("keep=[...]", "keep_others=True", "drop_others=True"))
    assert "maria" not in message
    assert "Did you mean 'email'?" in stopped(tmp_path / name, target, match="emial", keep=("customer", "emial"))
    with pytest.raises((ParameterError, DocumentFormatError), match="zzz") as caught:
        run(tmp_path / name, target, keep=("customer", "zzz"))
    assert "customer" not in str(caught.value).replace(str(tmp_path), "")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_column_is_copied_and_all_are_where_that_is_asked_for_and_said_first(tmp_path, name):
    target = tmp_path / name.replace("in.", "out.")
    write_rows(tmp_path / name, ROWS)
    summary = run(tmp_path / name, target, keep=("customer",)).summary
    assert read_rows(target) == [{"customer": row["customer"], "text": row["text"].upper()} for row in ROWS]
    assert summary.copied_columns == ["customer"]
    summary = run(tmp_path / name, target, drop_others=True).summary
    assert read_rows(target) == [{"text": row["text"].upper()} for row in ROWS]
    assert summary.copied_columns == []
    process = run(tmp_path / name, target, keep_others=True)
    assert read_rows(target) == [row | {"text": row["text"].upper()} for row in ROWS]
    assert process.told_first == ["every column besides the text is copied unchanged: customer, email"]
    assert process.summary.copied_columns == ["customer", "email"]


@pytest.mark.parametrize("name", [*NAMES, "in.txt"])
def test_a_file_of_texts_alone_asks_nothing(tmp_path, name):
    target = tmp_path / name.replace("in.", "out.")
    if name == "in.txt":
        (tmp_path / name).write_text("one\ntwo\n")
        assert run(tmp_path / name, target, columns=()).records == 2
    else:
        write_rows(tmp_path / name, [{"text": row["text"]} for row in ROWS])
        assert run(tmp_path / name, target).records == 2
        assert read_rows(target) == [{"text": "GOOD FILM"}, {"text": "BAD FOOD"}]


@pytest.mark.parametrize(("name", "content", "kept"), TOLD["twice"])
def test_a_kept_column_that_stands_twice_is_refused(tmp_path, name, content, kept):
    (tmp_path / name).write_text(content)
    for which in ({"keep": (kept,)}, {"keep_others": True}):
        message = stopped(tmp_path / name, tmp_path / "out", DocumentFormatError, match="twice", **which)
        assert "hidden" not in message


def test_two_choices_are_one_too_many():
    both = {"keep": ("a",), "keep_others": True, "drop_others": True}
    for first, second in (("keep", "keep_others"), ("keep", "drop_others"), ("keep_others", "drop_others")):
        with pytest.raises(ParameterError, match=rf"{first}=.+ cannot be combined with {second}=True"):
            Selection(columns=("t",), **{name: both[name] for name in (first, second)})
    for options, name, problem in (
        ({"columns": ["t"], "keep": "id"}, "in.csv", "put a single one in brackets"),
        ({"columns": "text"}, "in.jsonl", "sequence of names"),
        ({"columns": ["t"], "keep": ["t"]}, "in.jsonl", "keep='t' is a text column"),
        ({"keep": ["id"]}, "in.txt", "the format text has no columns"),
    ):
        with pytest.raises(ParameterError, match=problem):
            DocumentSettings(**options).open(name)


def test_a_format_that_forgets_to_ask_copies_nothing():
    with pytest.raises(ParameterError, match="unnamed: id"):
        Selection(columns=("t",)).copies("id")
    assert Selection(columns=("t",), keep_others=True).copies("id")
    assert not Selection(columns=("t",), drop_others=True).copies("id")


@pytest.mark.parametrize("name", ["in.jsonl", "in.json"])
def test_a_later_record_with_further_members_is_refused_at_its_line(tmp_path, name):
    write_rows(tmp_path / name, [{"text": "one"}, {"text": "two"}, {"text": "three", "zebra": 1, "fish": 2}])
    target = tmp_path / name.replace("in.", "out.")
    with pytest.raises(DocumentFormatError, match=r"line \d+: members .* first record does not have: 2\.") as caught:
        run(tmp_path / name, target)
    assert "--keep, --keep-others or --drop-others" in str(caught.value)
    assert "zebra" not in str(caught.value)
    assert not target.exists()


@pytest.mark.parametrize("name", ["in.jsonl", "in.json"])
def test_what_later_records_have_besides_is_left_out_and_counted_or_copied(tmp_path, name):
    rows = [{"text": "one", "id": 1}, {"text": "two", "id": 2, "zebra": 1}, {"text": "six", "fish": 2, "zebra": 3}]
    write_rows(tmp_path / name, rows)
    target = tmp_path / name.replace("in.", "out.")
    for choice, kept in (({"drop_others": True}, {"text"}), ({"keep": ("id",)}, {"text", "id"})):
        summary = run(tmp_path / name, target, **choice).summary
        assert [set(row) for row in read_rows(target)] == [kept & set(row) for row in rows]
        assert summary.gaps == {"members": 3}
    summary = run(tmp_path / name, target, keep_others=True).summary
    assert [set(row) for row in read_rows(target)] == [set(row) for row in rows]
    assert (summary.gaps, summary.copied_columns) == ({}, ["id", "zebra", "fish"])


def test_a_member_of_a_later_record_may_be_kept(tmp_path):
    write_rows(tmp_path / "in.jsonl", [{"text": "one"}, {"text": "two", "lang": "en"}])
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", keep=("lang",))
    assert read_rows(tmp_path / "out.jsonl") == [{"text": "ONE"}, {"text": "TWO", "lang": "en"}]


def test_a_record_that_is_skipped_asks_nothing(tmp_path):
    write_rows(tmp_path / "in.jsonl", [{"text": "one"}, {"zebra": 2}])
    process = run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", missing="skip")
    assert process.summary.gaps == {"skipped": 1}
    assert read_rows(tmp_path / "out.jsonl") == [{"text": "ONE"}]


def test_the_columns_of_all_files_of_a_tree_are_looked_at_first(tmp_path):
    root, target = tmp_path / "in", tmp_path / "out"
    root.mkdir()
    write_rows(root / "a.csv", [{"text": "one"}])
    write_rows(root / "b.jsonl", [{"text": "one", "email": "m@clinic.org"}])
    write_rows(root / "c.parquet", [{"text": "one", "phone": "555"}])
    (root / "d.txt").write_text("one\n")
    (root / "e.csv").write_bytes(b'text,fax\n"never closed\n')
    assert "unnamed: email, phone, fax." in stopped(root, target)
    assert "Did you mean 'email'?" in stopped(root, target, keep=("emial",))
    process = run(root, target, drop_others=True)
    assert (process.records, process.summary.files) == (4, 4)
    assert read_rows(target / "b.jsonl") == [{"text": "ONE"}]


def test_a_column_of_one_file_of_a_tree_is_kept_and_one_of_none_refused(tmp_path):
    root, target = tmp_path / "in", tmp_path / "out"
    root.mkdir()
    write_rows(root / "a.jsonl", [{"text": "one", "id": 7}])
    write_rows(root / "b.jsonl", [{"text": "two"}])
    run(root, target, keep=("id",))
    assert read_rows(target / "a.jsonl") == [{"text": "ONE", "id": 7}]
    with pytest.raises(ParameterError, match="keep='zzz' is in no record"):
        run(root, tmp_path / "other", keep=("id", "zzz"))
    assert not (tmp_path / "other").exists()


NESTED = [{"id": 1, "msg": {"lang": "en", "body": {"text": "one", "at": 5}}, "turns": [{"who": "m", "text": "two"}]}]
"""Texts in a struct of a struct and in a list of structs, each beside other members."""


@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.parquet"])
@pytest.mark.parametrize(("choice", "expected"), TOLD["nested"])
def test_members_beside_a_nested_text_are_other_columns(tmp_path, name, choice, expected):
    write_rows(tmp_path / name, NESTED)
    target = tmp_path / name.replace("in.", "out.")
    run(tmp_path / name, target, columns=("msg.body.text", "turns.text"), **choice)
    assert read_rows(target) == [json.loads(expected)]


@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.parquet"])
def test_members_beside_a_nested_text_are_asked_for_by_their_whole_path(tmp_path, name):
    write_rows(tmp_path / name, NESTED)
    target, columns = tmp_path / name.replace("in.", "out."), ("msg.body.text", "turns.text")
    message = stopped(tmp_path / name, target, columns=columns)
    assert "unnamed: id, msg.lang, msg.body.at, turns.who." in message
    assert "Did you mean 'msg.lang'?" in stopped(tmp_path / name, target, columns=columns, keep=("msg.lng",))


def test_parquet_keeps_a_part_of_a_struct_without_text(tmp_path):
    write_rows(tmp_path / "in.parquet", [{"text": "one", "meta": {"a": "x", "b": "y"}}, {"text": "two", "meta": None}])
    run(tmp_path / "in.parquet", tmp_path / "out.parquet", keep=("meta.b",))
    assert read_rows(tmp_path / "out.parquet") == [{"text": "ONE", "meta": {"b": "y"}}, {"text": "TWO", "meta": None}]


@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_parquet_leaves_members_out_of_every_kind_of_list(tmp_path, kind):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    turn = pa.struct([("who", pa.string()), ("text", pa.large_string())])
    lists = pa.list_(turn, 1) if kind == "fixed" else getattr(pa, kind)(turn)
    turns = pa.array([[{"who": "maria", "text": "one"}], [{"who": "jon", "text": None}]], lists)
    pq.write_table(pa.table({"turns": turns}), tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out.parquet", columns=("turns.text",), drop_others=True)
    assert read_rows(tmp_path / "out.parquet") == [{"turns": [{"text": "ONE"}]}, {"turns": [{"text": None}]}]
    assert b"maria" not in (tmp_path / "out.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "out.parquet").field("turns").type.value_type == pa.struct(
        [("text", pa.large_string())]
    )


def test_a_table_without_a_header_has_numbers_for_names(tmp_path):
    (tmp_path / "in.csv").write_text("maria,one\n")
    bare = {"columns": ("2",), "details": FormatDetails(header=False)}
    message = stopped(tmp_path / "in.csv", tmp_path / "out.csv", **bare)
    assert "unnamed: 1." in message
    assert "maria" not in message
    (tmp_path / "in.csv").write_text("maria is ill,one\n")
    absent = stopped(tmp_path / "in.csv", tmp_path / "out.csv", DocumentFormatError, columns=("marja is ill",))
    assert "Did you mean" not in absent, "the first line may be a text"


def test_many_columns_are_counted_beyond_the_first(tmp_path):
    write_rows(tmp_path / "in.csv", [{"text": "one", **{f"c{n}": "x" for n in range(30)}}])
    message = stopped(tmp_path / "in.csv", tmp_path / "out.csv")
    assert "leaves 30 other columns" in message
    assert "c19 and 10 more. " in message
    assert "c20" not in message


members = st.recursive(
    st.sampled_from(["SECRET", 1, None]),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "t"]), inner, max_size=3), st.lists(inner, max_size=2)
    ),
    max_leaves=8,
)
records = st.lists(st.dictionaries(st.sampled_from(["a", "b", "t"]), members, max_size=3), min_size=1, max_size=3)
choices = st.one_of(
    st.just({"drop_others": True}), st.builds(lambda names: {"keep": tuple(names)}, st.sampled_from([["b"], ["a.b"]]))
)


@example_settings(max_examples=300)
@given(records, choices, st.sampled_from([("t",), ("a.t",), ("t", "a.t")]), st.sampled_from(["l", ""]))
def test_no_string_passes_that_lies_under_no_named_path(made, choice, columns, ending):
    """The rule of the oracle knows no tree: a path is named if one of its beginnings is."""
    rows = marked(made, {*columns, *choice.get("keep", ())}, "SECRET", "named")
    body = "".join(json.dumps(row) + "\n" for row in rows) if ending else json.dumps(rows)
    try:
        out = check_output(f"in.json{ending}", body.encode(), columns=columns, missing="keep", **choice)
    except DocumentFormatError:  # of a value that should be copied in part and has none
        out = b""
    assert b"SECRET" not in out
