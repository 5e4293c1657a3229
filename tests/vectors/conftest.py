import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seeds

N, D = 53, 7


@pytest.fixture
def rows():
    return seeds.rng(5).standard_normal((N, D))


def write_safetensors(path, arrays, kinds=None):
    """A safetensors file by the letter of its format, independent of the code under test."""
    names = {"f8": "F64", "f4": "F32", "f2": "F16", "i4": "I32", "i8": "I64", "u1": "U8"}
    header, data = {"__metadata__": {"note": "private"}}, b""
    for name, array in arrays.items():
        kind = (kinds or {}).get(name) or names[array.dtype.str[1:]]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_parquet(path, array, *, fixed=True, group=9, name="vectors", **columns):
    flat = pa.array(array.ravel())
    if fixed:
        vectors = pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    else:
        offsets = np.arange(0, array.size + 1, array.shape[1], dtype=np.int32)
        vectors = pa.ListArray.from_arrays(pa.array(offsets), flat)
    table = pa.table({"id": [f"id{i}" for i in range(len(array))], name: vectors, **columns})
    pq.write_table(table, path, row_group_size=group)


def write(path, array):
    """Write an array in the format of the file's name."""
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, vectors=array)
    elif path.suffix == ".parquet":
        write_parquet(path, array)
    else:
        write_safetensors(path, {"vectors": array})


def read(path, name="vectors"):
    """Read an array back with the formats' own libraries."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        return np.load(path)[name]
    if path.suffix == ".parquet":
        column = pq.read_table(path).column(name).combine_chunks()
        return column.flatten().to_numpy().reshape(len(column), -1)
    from safetensors.numpy import load_file

    return load_file(path)[name]


@pytest.fixture(scope="session")
def files():
    """The functions above, for tests."""
    return sys.modules[__name__]
