"""A text column is never copied, by whatever path of nested and dotted names it is reached and whatever is kept."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.test_round_trip import check_output
from tests.tables import read_rows, write_rows

from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, ParameterError, WordveilError
from wordveil.runs.documents import run_documents

SHOUT = lambda block: [[text and text.upper() for text in record.texts] for record in block]  # noqa: E731
MISSING = ["refuse", "keep", "skip"]


def written(value, name="in.jsonl", **options):
    return json.loads(check_output(name, json.dumps(value).encode(), process=SHOUT, **options))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("name", ["in.jsonl", "in.json"])
def test_a_column_inside_a_kept_one_is_sanitized(name, missing):
    options = {"columns": ("a.b",), "keep": ("a",), "missing": missing}
    assert written({"a": {"b": "maria", "c": "x"}, "d": "y"}, name, **options) == {"a": {"b": "MARIA", "c": "x"}}
    assert written({"a": [{"b": "maria"}, {"b": None}]}, name, **options) == {"a": [{"b": "MARIA"}, {"b": None}]}
    both = {"a": {"b": "maria"}, "a.b": ["maria"]}
    assert written(both, name, **options) == {"a": {"b": "MARIA"}, "a.b": ["MARIA"]}


def test_a_column_is_found_at_any_depth_of_what_is_kept():
    deep = {"t": "one", "a": {"b": {"c": "maria", "d": "x"}, "b.c": "maria"}, "a.b": {"c": "maria"}}
    out = {"t": "ONE", "a": {"b": {"c": "MARIA", "d": "x"}, "b.c": "MARIA"}, "a.b": {"c": "MARIA"}}
    for keep in (("a", "a.b"), ("a.b", "a"), None):
        assert written(deep, columns=("t", "a.b.c"), keep=keep, missing="keep") == out


def test_a_text_column_that_holds_an_object_is_null_whatever_is_chosen_in_it():
    for more in ({"columns": ("a", "a.b")}, {"columns": ("a",), "keep": ("a.c",)}):
        value = {"a": {"b": "maria", "c": "maria"}}
        assert written(value, missing="keep", **more) == {"a": None}
        assert written({"a": ["maria", {"c": "x"}]}, missing="keep", **more) == {"a": ["MARIA", None]}
        with pytest.raises(DocumentFormatError, match="column 'a' holds an object"):
            written(value, **more)
    flat = {"a": "maria", "a.b": "maria"}
    assert written(flat, columns=("a", "a.b")) == {"a": "MARIA", "a.b": "MARIA"}


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


def test_members_that_occur_twice_are_sanitized_twice():
    text = b'{"a": {"b": "maria", "b": "maria"}, "a": {"b": "maria"}, "\\u0061.b": "maria"}'
    out = check_output("in.jsonl", text, process=SHOUT, columns=("a.b",))
    assert (out.count(b"MARIA"), out.count(b"maria")) == (4, 0)


def test_columns_that_occur_twice_are_sanitized_twice():
    out = check_output("in.csv", b"t,a,t\nmaria,x,maria\n", process=SHOUT, columns=("t",), keep=("a",))
    assert out == b"t,a,t\nMARIA,x,MARIA\n"


def test_names_have_a_limit_of_dots():
    with pytest.raises(ParameterError, match="at most 8 dots"):
        written({"a": "b"}, columns=(".".join("abcdefghij"),))


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
    with pytest.raises(DocumentFormatError, match="two columns of one name"):
        run_documents(
            tmp_path / "in.parquet",
            tmp_path / "out.parquet",
            SHOUT,
            settings=DocumentSettings(columns=("t",), keep_others=True),
        )
