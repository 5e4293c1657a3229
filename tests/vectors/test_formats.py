"""Array formats: every reader against the format's own library, damaged files, and names."""

import contextlib
import json
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seeds
from wordveil.documents.vectors import VECTOR_FORMATS, open_vectors, vector_format
from wordveil.errors import DataFormatError, ParameterError

ENDINGS = sorted(VECTOR_FORMATS)
every_format = pytest.mark.parametrize("ending", ENDINGS)


def read_all(path, name=None, start=0, size=10):
    with open_vectors(path, name) as reader:
        blocks = list(reader.blocks(start, size))
        assert all(0 < len(block) <= size for block in blocks)
        empty = np.empty((0, reader.dimensions))
        return reader, np.concatenate([empty, *blocks])


@every_format
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint8"])
def test_all_number_types_are_read(tmp_path, files, rows, ending, dtype):
    array = np.abs(9 * rows).astype(dtype)
    files.write(tmp_path / f"x{ending}", array)
    reader, found = read_all(tmp_path / f"x{ending}")
    assert (reader.rows, reader.dimensions, reader.name) == (*array.shape, "vectors")
    assert np.array_equal(found, array.astype(np.float64))


@every_format
@pytest.mark.parametrize("size", [1, 4, 9, 53, 100])
@pytest.mark.parametrize("start", [0, 1, 9, 17, 52, 53])
def test_reading_begins_anywhere_in_any_blocks(tmp_path, files, rows, ending, start, size):
    files.write(tmp_path / f"x{ending}", rows)
    assert np.array_equal(read_all(tmp_path / f"x{ending}", start=start, size=size)[1], rows[start:])


@pytest.mark.parametrize("save", [np.save, lambda path, array: np.savez(path, vectors=array)])
def test_columns_first_and_big_endian_are_read(tmp_path, rows, save):
    ending = ".npy" if save is np.save else ".npz"
    for number, array in enumerate((np.asfortranarray(rows), rows.astype(">f4"))):
        path = tmp_path / f"{number}{ending}"
        save(path, array)
        for start in (0, 5):
            assert np.array_equal(read_all(path, start=start, size=6)[1], array[start:].astype(np.float64))


def test_deflated_npz_is_read_unless_columns_come_first(tmp_path, rows):
    np.savez_compressed(tmp_path / "c.npz", vectors=rows)
    assert np.array_equal(read_all(tmp_path / "c.npz", start=20)[1], rows[20:])
    np.savez_compressed(tmp_path / "f.npz", vectors=np.asfortranarray(rows))
    with pytest.raises(DataFormatError, match="Save it in C order"):
        open_vectors(tmp_path / "f.npz")


def test_parquet_lists_of_equal_length(tmp_path, files, rows):
    files.write_parquet(tmp_path / "x.parquet", rows, fixed=False)
    for start in (0, 8, 9, 30):
        assert np.array_equal(read_all(tmp_path / "x.parquet", start=start, size=4)[1], rows[start:])


def test_parquet_rows_that_are_no_vectors_are_named(tmp_path):
    for values, message in (
        ([[1.0, 2.0], [3.0]], "row 1 has 1 numbers"),
        ([[1.0, 2.0], None], "row 1 is null"),
        ([[1.0, 2.0], [3.0, 4.0], [5.0, None]], "row 2 holds a null"),
    ):
        pq.write_table(pa.table({"v": values}), tmp_path / "x.parquet")
        with pytest.raises(DataFormatError, match=message):
            read_all(tmp_path / "x.parquet")
    pq.write_table(pa.table({"v": pa.array([], pa.list_(pa.float32()))}), tmp_path / "x.parquet")
    with pytest.raises(DataFormatError, match="fixed size"):
        read_all(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((2, 3, 4)), np.zeros((4, 0)), np.zeros((2, 2), complex), np.zeros((2, 2), bool)]
)
def test_npy_of_another_shape_or_type_is_refused(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataFormatError, match=r"\(n, d\)|floats of at most 64 bits"):
        open_vectors(tmp_path / "x.npy")


def test_pickles_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (exec, ("raise SystemError('a pickle was loaded')",))

    trap = np.empty((1, 1), dtype=object)
    trap[0, 0] = Trap()
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "x.npz", vectors=trap)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(DataFormatError, match="object"):
            open_vectors(tmp_path / name)


@every_format
def test_damage_is_one_kind_of_error(tmp_path, files, rows, ending):
    path = tmp_path / f"x{ending}"
    files.write(path, rows)
    whole = path.read_bytes()
    for cut in (0, 3, 8, 9, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataFormatError):
            read_all(path)
    # Every byte of a header, as every kind of bracket, quote and number; Parquet begins with its data.
    for place in range(0, min(len(whole), 128), 4 if ending == ".parquet" else 1):
        for byte in b"]}()'\"\\9\x00\xff":
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            with contextlib.suppress(DataFormatError, ParameterError):
                read_all(path)
    generator = seeds.rng(1)
    outcomes = set()
    for first in [0] * 60 + [max(0, len(whole) - 400)] * 60:  # Parquet ends with its names and its layout
        spoilt = bytearray(whole)
        for place in first + generator.integers(0, min(len(whole), 400), 3):
            spoilt[place] ^= int(generator.integers(1, 256))
        path.write_bytes(spoilt)
        try:
            read_all(path)
        except (DataFormatError, ParameterError) as error:
            outcomes.add(type(error).__name__)
        else:
            outcomes.add("read")  # numbers may be spoilt unnoticed
    assert "DataFormatError" in outcomes


def test_the_array_is_named_where_there_are_several(tmp_path, files, rows):
    np.savez(tmp_path / "x.npz", a=rows, b=2 * rows, ids=np.arange(len(rows)))
    files.write_safetensors(tmp_path / "x.safetensors", {"a": rows, "b": 2 * rows, "ids": np.arange(len(rows))})
    for name in ("x.npz", "x.safetensors"):
        with pytest.raises(ParameterError, match="column=None must be given: the file holds 2 that could be meant"):
            open_vectors(tmp_path / name)
        reader, found = read_all(tmp_path / name, "b")
        assert np.array_equal(found, 2 * rows)
        assert reader.others == ("a", "ids")
        with pytest.raises(DataFormatError, match=r"named 'c' among its \d\.") as error:
            open_vectors(tmp_path / name, "c")
        assert "ids" not in str(error.value)  # names may be those of people
    np.savez(tmp_path / "y.npz", a=rows, ids=np.arange(len(rows)))
    assert read_all(tmp_path / "y.npz")[0].name == "a"


def write_header(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_tensors_that_share_bytes_are_refused(tmp_path):
    # A tensor to keep that lies over the one that is released would carry it out without noise.
    private = np.arange(8, dtype="<f4").tobytes()
    path = tmp_path / "x.safetensors"

    def of(**places):
        kinds = {"vectors": ("F32", [4, 2])}
        return {
            name: dict(zip(("dtype", "shape"), kinds.get(name, ("U8", [last - first])), strict=True))
            | {"data_offsets": [first, last]}
            for name, (first, last) in places.items()
        }

    for shared in ((0, 32), (4, 8), (31, 33), (0, 40)):
        write_header(path, of(vectors=(0, 32), ids=shared), private + bytes(8))
        with pytest.raises(DataFormatError, match="header is malformed"):
            open_vectors(path)
    for apart in ((32, 40), (0, 0), (16, 16)):
        write_header(path, of(vectors=(0, 32), ids=apart), private + bytes(8))
        assert read_all(path)[0].others == ("ids",)


def test_a_name_that_stands_for_two_things_is_refused(tmp_path, rows):
    entry = b'{"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}'
    write_header(tmp_path / "x.safetensors", b'{"vectors": %s, "vectors": %s}' % (entry, entry), bytes(8))
    table = pa.Table.from_arrays([pa.array([[1.0]]), pa.array([1]), pa.array([2])], names=["vectors", "id", "id"])
    pq.write_table(table, tmp_path / "x.parquet")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            with out.open("vectors.npy", "w") as member:
                np.save(member, rows)
    for ending in ("safetensors", "parquet", "npz"):
        with pytest.raises(DataFormatError, match=r"header is malformed|have one name"):
            open_vectors(tmp_path / f"x.{ending}", "vectors")


def test_names_of_files(tmp_path):
    with pytest.raises(ParameterError, match=r"\.npy, \.npz, \.parquet, \.safetensors"):
        vector_format("x.txt")
    with pytest.raises(DataFormatError, match="no such file"):
        open_vectors(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.zeros((1, 1)))
    with pytest.raises(DataFormatError, match="Leave it out"):
        open_vectors(tmp_path / "x.npy", "a")


def test_parquet_is_decoded_one_row_group_at_a_time(tmp_path, files):
    array = seeds.rng(0).standard_normal((40_000, 64))  # 20 megabytes in 40 row groups
    files.write_parquet(tmp_path / "x.parquet", array, group=1000)
    before = pa.total_allocated_bytes()
    held = []
    with open_vectors(tmp_path / "x.parquet") as reader:
        for block in reader.blocks(0, 500):
            held.append(pa.total_allocated_bytes() - before)
            assert len(block) == 500
    assert len(held) == 80
    assert max(held) < 5_000_000
