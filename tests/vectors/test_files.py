"""Files to files: every pair of formats, what is kept, atomic output, kill and resume, two runs at once."""

import io
import json
import shutil
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.beside import names
from tests.documents.test_parquet import laden
from tests.dying import check_deaths, interrupt_after
from tests.times import peak_memory, without_peaks

import seeds
import wordveil as wv
from wordveil.documents.vectors import VECTOR_FORMATS
from wordveil.errors import DataFormatError, ParameterError, ResumeError
from wordveil.files.journal import is_resumable
from wordveil.files.run_key import run_key_path
from wordveil.randomness import RandomSource
from wordveil.runs import engine as engine
from wordveil.runs.vectors import VectorSettings, release_vector_file, release_vectors
from wordveil.runs.vectors.releasing import RowReleaser

KEY = seeds.key(16)
LAPLACE = wv.MultivariateLaplace(epsilon=5.0)
ENDINGS = sorted(VECTOR_FORMATS)


def go(source, target, *, seed=1, mechanism=LAPLACE, resume=False, again=False, progress=None, **options):
    settings = VectorSettings(**({"drop_others": True} if "keep" not in options else {}), **options)
    how = {"settings": settings, "source": seeds.source(seed), "progress": progress}
    return release_vector_file(source, target, mechanism, resume=resume, again=again, **how)


@pytest.mark.slow
def test_any_format_to_any_format(tmp_path, files, rows):
    for first in ENDINGS:
        source = tmp_path / f"in{first}"
        files.write(source, rows)
        wanted = release_vectors(source, LAPLACE, source=seeds.source(1)).vectors
        for second in ENDINGS:
            for dtype in ("float32", "float64"):
                report = go(source, tmp_path / f"out{second}", dtype=dtype, again=True)
                found = files.read(tmp_path / f"out{second}")
                assert found.dtype == dtype
                assert np.array_equal(found, wanted)
                assert (report.rows, report.dimensions, report.dtype, report.column) == (*rows.shape, dtype, None)


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows_give_an_empty_array(tmp_path, files, rows, ending):
    files.write(tmp_path / f"in{ending}", rows[:0])
    report = go(tmp_path / f"in{ending}", tmp_path / f"out{ending}")
    assert report.rows == 0
    if ending == ".parquet":
        table = pq.read_table(tmp_path / "out.parquet")
        assert (table.num_rows, table.schema.field("vectors").type.list_size) == (0, 7)
    else:
        assert files.read(tmp_path / f"out{ending}").shape == (0, 7)


def test_parquet_keeps_named_columns_in_the_order_of_rows(tmp_path, files, rows, monkeypatch):
    monkeypatch.setattr("wordveil.documents.vectors.parquet.GROUP_ROWS", 10)
    files.write_parquet(tmp_path / "in.parquet", rows, note=["private"] * len(rows), n=list(range(len(rows))))
    report = go(tmp_path / "in.parquet", tmp_path / "out.parquet", keep=("n", "id"))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["id", "vectors", "n"]
    assert table.column("id").to_pylist() == [f"id{i}" for i in range(len(rows))]
    assert table.column("n").to_pylist() == list(range(len(rows)))
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 6
    assert report.kept == ("id", "n")
    assert report.left_out == 1
    assert "note" not in json.dumps(report.as_dict())
    assert any(line.endswith("copied unchanged beside each row: id, n") for line in report.disclosed)
    assert b"private" not in (tmp_path / "out.parquet").read_bytes()


SECRET = "Maria Lindqvist"


def test_parquet_metadata_and_categories_that_no_row_has_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr("wordveil.documents.vectors.parquet.GROUP_ROWS", 2)
    source, target, private, told = tmp_path / "in.parquet", tmp_path / "out.parquet", laden(), {"note": "SECRET"}
    copied = private.column_names
    shaped = pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((3, 2, 2)))
    rows = pa.array([[0.5, 1.0]] * 3, pa.list_(pa.field("SECRET", pa.float32(), metadata=told), 2))
    for name, column in (("shaped", shaped), ("v", rows)):
        private = private.append_column(pa.field(name, column.type, metadata=told), column)
    pq.write_table(private, source)
    assert b"SECRET" in source.read_bytes()
    go(source, target, column="v", keep=(*copied, "shaped"))
    assert b"SECRET" not in target.read_bytes()
    table = pq.read_table(target)
    assert (table.column_names, table.schema.metadata) == (private.column_names, None)
    assert table.select(copied).to_pylist() == pq.read_table(source).select(copied).to_pylist()
    assert table.schema.field("shaped").type == pa.list_(pa.float64(), 4)


def test_parquet_columns_are_found_by_their_whole_names(tmp_path, rows):
    # Asked for the column "s.v", pyarrow gives the member v of a column s too, and first.
    table = pa.table({"s": [{"v": [0.0] * 7}] * len(rows), "s.v": np.asarray(rows, np.float64).tolist()})
    pq.write_table(table, tmp_path / "in.parquet")
    go(tmp_path / "in.parquet", tmp_path / "out.npy")
    wanted = release_vectors(rows, LAPLACE, source=seeds.source(1), name="in.parquet")
    assert np.array_equal(np.load(tmp_path / "out.npy"), wanted.vectors)


def test_npz_and_safetensors_keep_named_arrays(tmp_path, files, rows):
    arrays = {"ids": np.arange(53), "x": rows, "other": rows + 1}
    np.savez(tmp_path / "in.npz", **arrays)
    files.write_safetensors(tmp_path / "in.safetensors", arrays)
    for ending in (".npz", ".safetensors"):
        report = go(tmp_path / f"in{ending}", tmp_path / f"out{ending}", column="x", keep=("ids",))
        assert np.array_equal(files.read(tmp_path / f"out{ending}", "ids"), np.arange(53))
        placed = {"name": f"in{ending}", "settings": VectorSettings(column="x")}
        wanted = release_vectors(rows, LAPLACE, source=seeds.source(1), **placed)
        assert np.array_equal(files.read(tmp_path / f"out{ending}", "x"), wanted.vectors)
        with pytest.raises(KeyError):
            files.read(tmp_path / f"out{ending}", "other")
        assert (report.column, report.left_out) == ("x", 1)
        assert '"other"' not in json.dumps(report.as_dict())
    assert b"private" not in (tmp_path / "out.safetensors").read_bytes()


def test_destinations_that_would_do_harm_and_what_cannot_be_kept_are_refused(tmp_path, files, rows):
    files.write(tmp_path / "in.npy", rows)
    (tmp_path / "dir.npy").mkdir()
    files.write_parquet(tmp_path / "in.parquet", rows)
    for source, target, options, message in (
        ("in.npy", "in.npy", {}, "must differ from the input"),
        ("in.npy", "no/out.npy", {}, "existing directory"),
        ("in.npy", "out.csv", {}, r"must end in one of \.npy"),
        ("in.npy", "dir.npy", {}, "must be a file"),
        ("in.parquet", "out.parquet", {"keep": ("no",)}, r"keep='no' is no other column of .*in\.parquet\."),
        ("in.parquet", "out.npy", {"keep": ("id",)}, "needs an output in the input's format, parquet"),
    ):
        with pytest.raises(ParameterError, match=message):
            go(tmp_path / source, tmp_path / target, **options)
    assert np.array_equal(np.load(tmp_path / "in.npy"), rows)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_bad_row_leaves_nothing_behind_and_the_old_output_alone(tmp_path, files, rows, ending):
    rows = rows.copy()
    rows[50, 0] = np.nan
    files.write(tmp_path / f"in{ending}", rows)
    (tmp_path / f"out{ending}").write_bytes(b"old")
    with pytest.raises(ParameterError, match="row 50"):
        go(tmp_path / f"in{ending}", tmp_path / f"out{ending}", block_rows=5, again=True)
    assert (tmp_path / f"out{ending}").read_bytes() == b"old"
    assert names(tmp_path) == [f"in{ending}", f"out{ending}"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupted_run_goes_on_under_its_own_key(tmp_path, files, rows, ending):
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    files.write(source, rows)
    settings = VectorSettings(block_rows=9, drop_others=True)
    with pytest.raises(KeyboardInterrupt):
        release_vector_file(source, target, LAPLACE, settings=settings, progress=interrupt_after(2))
    assert is_resumable(target)
    key_path = run_key_path(target)
    assert key_path.stat().st_mode & 0o777 == 0o600
    key = key_path.read_bytes()
    settings = VectorSettings(block_rows=20, drop_others=True)
    report = release_vector_file(source, target, LAPLACE, settings=settings, resume=True)
    assert report.resumed_rows == 27
    assert np.array_equal(files.read(target), release_vectors(source, LAPLACE, source=RandomSource(key)).vectors)
    assert names(tmp_path) == [source.name, target.name]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mechanism": wv.MultivariateLaplace(epsilon=6.0)}, "mechanism"),
        ({"grid": 2.0**-8}, "grid"),
        ({"dtype": "float64"}, "dtype"),
        ({"seed": 2}, "run key"),
        ({"column": "vectors"}, "column"),  # the same array, but other noise
    ],
)
def test_a_run_does_not_go_on_with_other_settings(tmp_path, files, rows, change, named):
    files.write(tmp_path / "in.npz", rows)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "in.npz", tmp_path / "out.npy", block_rows=9, progress=interrupt_after(2))
    with pytest.raises(ResumeError, match=f"differs in:.*{named}"):
        go(tmp_path / "in.npz", tmp_path / "out.npy", block_rows=9, resume=True, **change)
    report = go(tmp_path / "in.npz", tmp_path / "out.npy", block_rows=9, resume=True)
    assert report.resumed_rows == 27


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "keep", "every"),
    [(".npy", "", 3), (".npz", "ids", 4), (".parquet", "id", 4), (".safetensors", "ids", 4)],
)
def test_a_run_killed_anywhere_resumes_to_the_same_bytes(tmp_path, files, rows, ending, keep, every):
    """Every third or fourth step around a change on the disk: the end of one is the beginning of the next."""
    source, target = tmp_path / f"in{ending}", tmp_path / "out" / f"out{ending}"
    target.parent.mkdir()
    files.write(source, rows)
    if ending == ".npz":
        np.savez(source, vectors=rows, ids=np.arange(53))
    if ending == ".safetensors":
        files.write_safetensors(source, {"vectors": rows, "ids": np.arange(53)})

    def run(death, *, resume):
        """Of some blocks, and of others where it goes on."""
        death.around_the_disk()
        shutil.rmtree, RowReleaser.release = death.around(shutil.rmtree), death.around(RowReleaser.release)
        settings = VectorSettings(block_rows=9 if resume else 20, keep=(keep,) if keep else None, threads=1)
        release_vector_file(source, target, LAPLACE, settings=settings, source=RandomSource(KEY), resume=resume)

    assert sum(outcome.resumable for outcome in check_deaths(run, target, every=every)) > 3


@pytest.mark.slow
@without_peaks
def test_memory_is_bounded_by_the_block(tmp_path):
    np.save(tmp_path / "small.npy", np.zeros((500, 512), np.float32))
    np.save(tmp_path / "large.npy", np.zeros((6000, 512), np.float32))  # 12 MB in, 25 MB out as float64
    program = """
import sys
import wordveil as wv
from wordveil.runs.vectors import VectorSettings, release_vector_file
settings = VectorSettings(block_rows=250, threads=1, dtype="float64")
release_vector_file(sys.argv[1], sys.argv[2], wv.MultivariateLaplace(epsilon=5.0), settings=settings)
"""
    small, large = (
        peak_memory(program, tmp_path / name, tmp_path / f"out-{name}") for name in ("small.npy", "large.npy")
    )
    assert large - small < 10_000  # kilobytes


def test_a_kept_member_is_its_values_and_nothing_else(tmp_path, rows):
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as out:
        for name, array, more in (("x", rows, b""), ("ids", np.arange(53), SECRET.encode())):
            buffer = io.BytesIO()
            np.save(buffer, array)
            out.writestr(f"{name}.npy", buffer.getvalue() + more)
    go(tmp_path / "in.npz", tmp_path / "out.npz", column="x", keep=("ids",))
    assert SECRET.encode() not in (tmp_path / "out.npz").read_bytes()
    assert np.array_equal(np.load(tmp_path / "out.npz")["ids"], np.arange(53))


@pytest.mark.parametrize(("kind", "shape"), [(SECRET, [15]), ("U8", [1])])
def test_a_kept_tensor_is_its_values_and_nothing_else(tmp_path, kind, shape):
    ids = {"dtype": kind, "shape": shape, "data_offsets": [8, 23]}
    text = json.dumps({"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}, "ids": ids}).encode()
    (tmp_path / "in.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8) + SECRET.encode())
    with pytest.raises(DataFormatError, match=r"unknown type|does not fit its bytes"):
        go(tmp_path / "in.safetensors", tmp_path / "out.safetensors", column="x", keep=("ids",))


def test_members_that_share_bytes_are_refused(tmp_path, rows):
    np.savez(tmp_path / "in.npz", x=rows, ids=np.arange(53))
    whole = bytearray((tmp_path / "in.npz").read_bytes())
    entry = whole.index(b"PK\x01\x02")  # of the first member: let it reach over the second
    for place in (entry + 20, entry + 24):
        size = int.from_bytes(whole[place : place + 4], "little")
        whole[place : place + 4] = (size + 40).to_bytes(4, "little")
    (tmp_path / "in.npz").write_bytes(whole)
    with pytest.raises(DataFormatError, match="members of the file share bytes"):
        go(tmp_path / "in.npz", tmp_path / "out.npz", column="ids", keep=("x",))
