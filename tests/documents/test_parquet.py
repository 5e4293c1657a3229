"""Parquet: schema, other columns and row groups; nested text; errors."""

import base64
import datetime
import subprocess
import sys

import pytest

from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.runs.documents import run_documents

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table():
    rows = 25
    chat = pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int16()),
            "text": pa.array([None if n % 5 == 0 else f"naïve {n}" for n in range(rows)], pa.large_string()),
            "tags": pa.array([["a", None], [], None, ["b"], ["c"]] * 5, pa.list_(pa.string())),
            "chat": pa.array(
                [[{"role": "user", "text": f"hi {n}"}, {"role": None, "text": None}] for n in range(rows)], chat
            ),
            "kind": pa.array(["x", "y", "x", None, "z"] * 5).dictionary_encode(),
            "when": pa.array([datetime.datetime(2020, 1, 1)] * rows, pa.timestamp("ns", "UTC")),
            "raw": pa.array([b"\x00\xff"] * rows),
        }
    ).replace_schema_metadata({"source": "test"})


def plain(read):
    """A table as it is released: categories are plain values."""
    kinds = [
        field.with_type(getattr(field.type, "value_type", field.type)) if field.name == "kind" else field
        for field in read.schema
    ]
    return read.cast(pa.schema(kinds, metadata=read.schema.metadata))


def run(tmp_path, process, *, rows=10, block=24_000_000, source=None, **settings):
    pq.write_table(
        table() if source is None else source, tmp_path / "in.parquet", compression="ZSTD", row_group_size=17
    )
    details = FormatDetails(row_group_rows=rows)
    settings = settings if {"keep", "drop_others"} & set(settings) else {"keep_others": True, **settings}
    chosen = DocumentSettings(details=details, block_characters=block, **settings)
    summary = run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", process, settings=chosen)
    return summary, pq.read_table(tmp_path / "out.parquet")


def test_identity_keeps_table_schema_and_codec(tmp_path, identity):
    summary, written = run(tmp_path, identity, columns=("text", "tags", "chat.text", "kind"))
    read = pq.read_table(tmp_path / "in.parquet")
    assert written.schema.equals(plain(read).schema)
    assert written.to_pylist() == read.to_pylist()
    assert (summary.documents, summary.copied_columns) == (25, ["id", "chat.role", "when", "raw"])
    metadata = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]


def test_selected_texts_are_replaced_and_nulls_stay(tmp_path, shout):
    _, written = run(tmp_path, shout, columns=("text", "tags", "chat.text"))
    rows = written.to_pylist()
    assert rows[0]["text"] is None
    assert rows[0]["tags"] == ["A#in.parquet:0:1", None]
    assert rows[2]["tags"] is None
    assert rows[1]["text"] == "NAÏVE 1#in.parquet:1:0"
    assert rows[1]["chat"] == [{"role": "user", "text": "HI 1#in.parquet:1:1"}, {"role": None, "text": None}]
    untouched = ["id", "kind", "when", "raw"]
    assert written.select(untouched).schema.equals(plain(table()).select(untouched).schema)
    assert written.select(untouched).to_pylist() == table().select(untouched).to_pylist()


def laden():
    """A table with SECRET in every place that is neither a value nor the name of a column."""

    def field(name, kind):
        return pa.field(name, kind, metadata={"note": "SECRET", "ARROW:extension:name": "made.up"})

    used = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["a", "b", "SECRET"]))
    ordered = pa.DictionaryArray.from_arrays(used.indices, used.dictionary, ordered=True)
    inner = pa.struct([field("kind", used.type), field("n", pa.int32())])
    pairs = pa.StructArray.from_arrays([used, pa.array([1, 2, 3], pa.int32())], fields=list(inner))
    ends = pa.array([0, 1, 2, 3], pa.int32())
    kinds = pa.map_(pa.string(), field("value", used.type))
    columns = {
        "text": (pa.array(["x", "y", "z"]), pa.string()),
        "used": (used, used.type),
        "ordered": (ordered, ordered.type),
        "pairs": (pairs, inner),
        "lists": (pa.ListArray.from_arrays(ends, pairs), pa.list_(field("SECRET", inner))),
        "more": (pa.LargeListArray.from_arrays(ends.cast(pa.int64()), pairs), pa.large_list(field("item", inner))),
        "fixed": (pa.array([["a", "b"]] * 3, pa.list_(pa.string(), 2)), pa.list_(field("item", pa.string()), 2)),
        "map": (pa.MapArray.from_arrays(pa.array([0, 1, None, 1], pa.int32()), pa.array(["k"]), used[:1]), kinds),
        "own": (pa.array(["p", "q", "r"]), Own()),
        "owns": (pa.array([["p"], [], None]), pa.list_(field("item", Own()))),
        "when": (pa.array([1000, None, 3000], pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC")),
    }
    arrays = [array if array.type == kind else array.cast(kind) for array, kind in columns.values()]
    fields = [field(name, kind) for name, (_, kind) in columns.items()]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"pandas": "SECRET"}))


class Own(pa.ExtensionType):
    """A type of the user's own whose parameters are text."""

    def __init__(self):
        super().__init__(pa.string(), "made.own")

    def __arrow_ext_serialize__(self):
        return b"SECRET"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("choice", [{}, {"drop_others": True}, {"keep": ("lists", "own", "used", "map")}])
def test_no_metadata_and_no_unused_value_is_copied(tmp_path, identity, choice, registered):
    if registered:
        pa.register_extension_type(Own())
    try:
        _, written = run(tmp_path, identity, rows=2, source=laden(), columns=("text", "pairs.kind"), **choice)
    finally:
        if registered:
            pa.unregister_extension_type("made.own")
    read = pq.read_table(tmp_path / "in.parquet")
    assert b"SECRET" in (tmp_path / "in.parquet").read_bytes()
    raw = (tmp_path / "out.parquet").read_bytes()
    assert b"SECRET" not in raw
    metadata = pq.ParquetFile(tmp_path / "out.parquet").metadata.metadata
    assert set(metadata) <= {b"ARROW:schema"}
    schema = base64.b64decode(metadata[b"ARROW:schema"])
    assert b"SECRET" not in schema
    assert b"made." not in schema
    expected = read.select(written.column_names).to_pylist()
    if choice:  # of a column that was chosen in part nothing else is written
        expected = [row | {"pairs": {"kind": row["pairs"]["kind"]}} for row in expected]
    assert written.to_pylist() == expected
    assert len(written.column_names) == {0: 11, 1: 2 if "drop_others" in choice else 6}[len(choice)]


def test_dictionaries_of_the_text_column_and_of_numbers_are_read(tmp_path, shout):
    source = pa.table({"text": laden().column("used"), "n": pa.array([7, 8, 7]).dictionary_encode()})
    _, written = run(tmp_path, shout, source=source, columns=("text",))
    assert written.column("n").to_pylist() == [7, 8, 7]
    assert written.column("text").to_pylist() == ["A#in.parquet:0:0", "B#in.parquet:1:0", None]
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()


def test_a_damaged_file_is_told_in_one_line_that_names_it(tmp_path, identity):
    run(tmp_path, identity, columns=("text",))
    whole = (tmp_path / "in.parquet").read_bytes()
    messages = []
    for at in range(4, len(whole), 23):
        (tmp_path / "in.parquet").write_bytes(
            whole[:at] + bytes(byte ^ 0x5A for byte in whole[at : at + 4]) + whole[at + 4 :]
        )
        try:
            settings = DocumentSettings(columns=("text",), keep_others=True)
            run_documents(tmp_path / "in.parquet", tmp_path / "again.parquet", identity, settings=settings)
        except (DocumentFormatError, ParameterError) as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all("in.parquet" in message and "\n" not in message for message in messages)


def test_empty_tables_stay_empty(tmp_path, identity):
    summary, written = run(tmp_path, identity, source=table().slice(0, 0), columns=("text",))
    assert summary.documents == 0
    assert written.equals(plain(pq.read_table(tmp_path / "in.parquet")))


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"columns": ("nope",)}, DocumentFormatError, "no column 'nope' among its 7"),
    ({"columns": ("chat.nope",)}, DocumentFormatError, r"no column 'chat\.nope'"),
    ({"columns": ("id",)}, DocumentFormatError, "row 1: column 'id' holds int values, not text"),
    ({"columns": ("chat",)}, DocumentFormatError, "row 1: column 'chat' holds dict values, not text"),
    ({"columns": ()}, ParameterError, "must name the text columns"),
])  # fmt: skip
def test_wrong_columns_are_refused(tmp_path, identity, options, error, message):
    with pytest.raises(error, match=message):
        run(tmp_path, identity, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet"]


@pytest.mark.parametrize("beside", [["xyz", "q"], ["b", ""], [1, 2], [None, "b"]])
def test_a_column_whose_name_begins_like_the_chosen_one_is_copied(tmp_path, identity, beside):
    source = pa.table({"a": beside, "a.b": ["one", "two"]})
    _, written = run(tmp_path, identity, columns=("a.b",), source=source)
    assert written.to_pydict() == source.to_pydict()


@pytest.mark.slow
def test_parquet_into_a_pipe_equals_the_file(tmp_path, identity):
    run(tmp_path, identity, columns=("text",))
    code = (
        "import sys; from wordveil.documents import *; from wordveil.runs.documents import run_documents\n"
        "settings = DocumentSettings(columns=('text',), keep_others=True, details=FormatDetails(row_group_rows=10))\n"
        "run_documents(sys.argv[1], '-', lambda block: [r.texts for r in block], settings=settings)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "in.parquet"], capture_output=True, check=True, timeout=60
    )
    assert answer.stdout == (tmp_path / "out.parquet").read_bytes()
