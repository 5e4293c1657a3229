"""What the output shows beside its words does not follow the lengths of private texts: members, row groups, blocks."""

import csv
import gzip
import json
import zlib

import pytest
import zstandard

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.runs.documents import run_documents

HIDE = lambda block: [[text and ReleasedText("released " * 50) for text in r.texts] for r in block]  # noqa: E731
DOCUMENTS = 9000


def texts(kind):
    """Private texts of quite different lengths; all are released as one and the same."""
    lengths = {"short": lambda n: 30, "long": lambda n: 3000, "mixed": lambda n: 40_000 if n == 4 else 10 + n % 50}[
        kind
    ]
    return ["x" * lengths(n) for n in range(DOCUMENTS)]


def write(path, kind):
    rows = texts(kind)
    if ".jsonl" in path.name:
        lines = [json.dumps({"t": text, "id": n}) + "\n" for n, text in enumerate(rows)]
        if "gaps" in path.name:  # records that are left out: how many, and where, is not told
            hole = '{"id": "' + rows[0] + '"}\n'
            lines = [hole * (3 + n % 5) + line if kind == "mixed" else line for n, line in enumerate(lines)]
        path.write_text("".join(lines))
    elif path.suffix == ".json":
        path.write_text(json.dumps([{"t": text} for text in rows]))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["t", "id"], *([text, n] for n, text in enumerate(rows))])
    else:
        path.write_text("".join(text + "\n" for text in rows))


def members(raw):
    """Bytes of each member of a compressed file."""
    sizes, is_gzip = [], raw.startswith(b"\x1f\x8b")
    while raw:
        member = zlib.decompressobj(31) if is_gzip else zstandard.ZstdDecompressor().decompressobj()
        sizes.append(len(member.decompress(raw)))
        raw = member.unused_data
    return sizes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ending"),
    [("in.jsonl", "zst"), ("gaps.jsonl", "gz"), ("in.json", "zst"), ("in.csv", "gz"), ("in.txt", "zst")],
)
def test_members_of_compressed_output_do_not_follow_private_lengths(tmp_path, name, ending):
    written = []
    for kind, block in (("short", 24_000_000), ("long", 24_000_000), ("mixed", 24_000_000), ("mixed", 5000)):
        write(tmp_path / name, kind)
        output = tmp_path / f"out.{name.partition('.')[2]}.{ending}"
        columns = () if name == "in.txt" else ("t",)
        settings = DocumentSettings(columns=columns, keep_others=True, block_characters=block, missing="skip")
        run_documents(tmp_path / name, output, HIDE, settings=settings)
        written.append(output.read_bytes())
    assert len(members(written[0])) > 1
    assert len(set(written)) == 1


def test_members_in_a_tree_and_of_a_compressed_input_neither(tmp_path):
    written = []
    for kind in ("short", "long"):
        (tmp_path / kind / "in").mkdir(parents=True)
        text = "".join(line + "\n" for line in texts(kind)).encode()
        (tmp_path / kind / "in" / "a.txt.gz").write_bytes(gzip.compress(text, 1))
        run_documents(tmp_path / kind / "in", tmp_path / kind / "out", HIDE)
        written.append((tmp_path / kind / "out" / "a.txt.gz").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("form", ["string", "dictionary", "list", "large"])
def test_row_groups_follow_neither_the_inputs_nor_private_lengths(tmp_path, form):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    types = {"large": pyarrow.large_string(), "list": pyarrow.list_(pyarrow.string())}
    written, groups = [], []
    for kind, rows in (("short", 10_000), ("mixed", 77), ("long", 4000)):
        made = [[text] for text in texts(kind)] if form == "list" else texts(kind)
        column = pyarrow.array(made, type=types.get(form, pyarrow.string()))
        other = pyarrow.array([f"c{n % 300}" for n in range(DOCUMENTS)])
        if form == "dictionary":
            column, other = column.dictionary_encode(), other.dictionary_encode()
        table = pyarrow.table({"t": column, "id": other})
        parquet.write_table(table, tmp_path / "in.parquet", row_group_size=rows)
        settings = DocumentSettings(
            columns=("t",), keep_others=True, details=FormatDetails(row_group_rows=2000), block_characters=rows * 9
        )
        run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", HIDE, settings=settings)
        meta = parquet.ParquetFile(tmp_path / "out.parquet").metadata
        groups.append([meta.row_group(n).num_rows for n in range(meta.num_row_groups)])
        written.append((tmp_path / "out.parquet").read_bytes())
    assert groups == [[2000] * 4 + [1000]] * 3
    assert len(set(written)) == 1
