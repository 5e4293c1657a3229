"""Parquet: schema, other columns and row groups; nested text; errors."""

from __future__ import annotations

import datetime
import subprocess
import sys

import pytest

from wordveil.documents import DocumentSettings, FormatDetails, run_documents
from wordveil.errors import DocumentFormatError, ParameterError

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


def run(tmp_path, process, *, rows=10, block=24_000_000, source=None, **settings):
    pq.write_table(
        table() if source is None else source, tmp_path / "in.parquet", compression="ZSTD", row_group_size=17
    )
    details = FormatDetails(row_group_rows=rows)
    chosen = DocumentSettings(details=details, block_characters=block, **settings)
    summary = run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", process, settings=chosen)
    return summary, pq.read_table(tmp_path / "out.parquet")


def test_identity_keeps_table_schema_and_codec(tmp_path, identity):
    summary, written = run(tmp_path, identity, columns=("text", "tags", "chat.text", "kind"))
    read = pq.read_table(tmp_path / "in.parquet")
    assert written.schema.equals(read.schema)
    assert written.to_pylist() == read.to_pylist()
    assert (summary.documents, summary.copied_columns) == (25, ["id", "when", "raw", "chat (other members)"])
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
    assert written.select(untouched).schema.equals(table().select(untouched).schema)
    assert written.select(untouched).to_pylist() == table().select(untouched).to_pylist()


def test_private_values_are_nowhere_in_the_file(tmp_path):
    source = pa.table({"text": pa.array(["zebrafish"] * 20).dictionary_encode(), "n": list(range(20))})
    run(tmp_path, lambda block: [["word"] for _ in block], source=source, columns=("text",))
    assert b"zebra" not in (tmp_path / "out.parquet").read_bytes()


def test_bytes_do_not_depend_on_the_block_and_row_groups_have_fixed_rows(tmp_path, shout):
    written = set()
    for block in (1, 300, 2000, 10**8):
        run(tmp_path, shout, block=block, columns=("text",))
        written.add((tmp_path / "out.parquet").read_bytes())
    assert len(written) == 1
    metadata = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert max(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)) == 10


def test_columns_kept_and_dropped(tmp_path, identity):
    _, written = run(tmp_path, identity, columns=("text",), keep=("id",))
    assert written.column_names == ["id", "text"]
    assert written.schema.metadata is None
    summary, written = run(tmp_path, identity, columns=("text",), drop_others=True)
    assert written.column_names == ["text"]
    assert summary.copied_columns == []


def test_empty_tables_stay_empty(tmp_path, identity):
    summary, written = run(tmp_path, identity, source=table().slice(0, 0), columns=("text",))
    assert summary.documents == 0
    assert written.equals(pq.read_table(tmp_path / "in.parquet"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"columns": ("nope",)}, DocumentFormatError, "no column 'nope' among its 7"),
        ({"columns": ("chat.nope",)}, DocumentFormatError, r"no column 'chat\.nope'"),
        ({"columns": ("id",)}, DocumentFormatError, "row 1: column 'id' holds int values, not text"),
        ({"columns": ("chat",)}, DocumentFormatError, "row 1: column 'chat' holds dict values, not text"),
        ({"columns": ()}, ParameterError, "must name the text columns"),
        ({"columns": ("chat.text",), "drop_others": True}, ParameterError, "copy all"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, identity, options, error, message):
    with pytest.raises(error, match=message):
        run(tmp_path, identity, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet"]


@pytest.mark.slow
def test_parquet_into_a_pipe_equals_the_file(tmp_path, identity):
    run(tmp_path, identity, columns=("text",))
    code = (
        "import sys; from wordveil.documents import *\n"
        "settings = DocumentSettings(columns=('text',), details=FormatDetails(row_group_rows=10))\n"
        "run_documents(sys.argv[1], '-', lambda block: [r.texts for r in block], settings=settings)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "in.parquet"], capture_output=True, check=True, timeout=60
    )
    assert answer.stdout == (tmp_path / "out.parquet").read_bytes()
