"""Files of rows, written and read in the format that their names tell, for whoever tries every format."""

import csv
import gzip
import io
import json

import pytest


def write_rows(path, rows, columns=None):
    """Write rows, which have the same columns where the format is a table; of plain text, the column `text` alone.

    A table of no rows is told its columns.
    """
    kind, _, packing = path.name.partition(".")[2].partition(".")
    if kind == "parquet":
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_pylist(rows) if isinstance(rows, list) else arrow.table(rows)
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
        return
    out = io.StringIO(newline="")
    if kind == "txt":
        out.writelines(row["text"] + "\n" for row in rows)
    elif kind == "json":
        json.dump(rows, out, indent=1)
    elif kind == "jsonl":
        out.writelines(json.dumps(row) + "\n" for row in rows)
    else:
        writer = csv.DictWriter(out, columns or rows[0], delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    data = out.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if packing else data)


def read_rows(path):
    """Read them back."""
    kind, _, packing = path.name.partition(".")[2].partition(".")
    if kind == "parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    data = path.read_bytes()
    text = (gzip.decompress(data) if packing else data).decode()
    if kind == "txt":
        return [{"text": line} for line in text.splitlines()]
    if kind == "json":
        return json.loads(text)
    if kind == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="\t" if kind == "tsv" else ","))
