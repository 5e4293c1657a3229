"""What the output shows beside its words does not follow the lengths of private texts: members, row groups, blocks."""

import zlib

import pytest
import zstandard
from tests.tables import write_rows

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, FormatDetails
from wordveil.runs.documents import run_documents

HIDE = lambda block: [[text and ReleasedText("released " * 50) for text in r.texts] for r in block]  # noqa: E731
DOCUMENTS = 9000


def rows(kind, *, gaps=False):
    """Records of private texts of quite different lengths; all are released as one and the same."""
    lengths = {"short": lambda n: 30, "long": lambda n: 3000, "mixed": lambda n: 40_000 if n == 4 else 10 + n % 50}
    for n in range(DOCUMENTS):
        if gaps and kind == "mixed":  # records that are left out: how many, and where, is not told
            yield from [{"id": "x"}] * (3 + n % 5)
        yield {"text": "x" * lengths[kind](n), "id": n}


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
        write_rows(tmp_path / name, list(rows(kind, gaps="gaps" in name)))
        output = tmp_path / f"out.{name.partition('.')[2]}.{ending}"
        columns = () if name == "in.txt" else ("text",)
        settings = DocumentSettings(columns=columns, keep_others=True, block_characters=block, missing="skip")
        run_documents(tmp_path / name, output, HIDE, settings=settings)
        written.append(output.read_bytes())
    assert len(members(written[0])) > 1
    assert len(set(written)) == 1


def test_members_in_a_tree_and_of_a_compressed_input_neither(tmp_path):
    written = []
    for kind in ("short", "long"):
        (tmp_path / kind / "in").mkdir(parents=True)
        write_rows(tmp_path / kind / "in" / "a.txt.gz", rows(kind))
        run_documents(tmp_path / kind / "in", tmp_path / kind / "out", HIDE)
        written.append((tmp_path / kind / "out" / "a.txt.gz").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("form", ["string", "dictionary", "list", "large"])
def test_row_groups_follow_neither_the_inputs_nor_private_lengths(tmp_path, form):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    types = {"large": pyarrow.large_string(), "list": pyarrow.list_(pyarrow.string())}
    written, groups = [], []
    for kind, size in (("short", 10_000), ("mixed", 77), ("long", 4000)):
        texts = [row["text"] for row in rows(kind)]
        made = [[text] for text in texts] if form == "list" else texts
        column = pyarrow.array(made, type=types.get(form, pyarrow.string()))
        other = pyarrow.array([f"c{n % 300}" for n in range(DOCUMENTS)])
        if form == "dictionary":
            column, other = column.dictionary_encode(), other.dictionary_encode()
        table = pyarrow.table({"t": column, "id": other})
        parquet.write_table(table, tmp_path / "in.parquet", row_group_size=size)
        settings = DocumentSettings(
            columns=("t",), keep_others=True, details=FormatDetails(row_group_rows=2000), block_characters=size * 9
        )
        run_documents(tmp_path / "in.parquet", tmp_path / "out.parquet", HIDE, settings=settings)
        meta = parquet.ParquetFile(tmp_path / "out.parquet").metadata
        groups.append([meta.row_group(n).num_rows for n in range(meta.num_row_groups)])
        written.append((tmp_path / "out.parquet").read_bytes())
    assert groups == [[2000] * 4 + [1000]] * 3
    assert len(set(written)) == 1
