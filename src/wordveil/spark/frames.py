"""Spark data frames: text columns through a sanitizer, a column of vectors through a vector mechanism.

Rows go through `mapInArrow` batch by batch; nothing here depends on how Spark cuts them. Schema, order of columns,
other columns and partitions stay as they are.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.files.run_key import save_run_key
from wordveil.mechanisms.base import VectorMechanism
from wordveil.pipeline.runs import fingerprint
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.vectors import VectorSettings
from wordveil.pipeline.vectors.binding import bind
from wordveil.pipeline.vectors.releasing import RowReleaser
from wordveil.promises.release import KEYED
from wordveil.randomness import RandomSource
from wordveil.spark.keys import check_host, check_repeatable, keyed
from wordveil.vocabulary.table import Embeddings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

__all__ = [
    "FILE_AND_ROW",
    "ID",
    "Worker",
    "functions_of_spark",
    "packed",
    "packed_for_tasks",
    "release",
    "sanitize",
    "session",
    "unpacked",
    "with_ids",
]

FILE_AND_ROW = "file and row"
"""As `ids`: the file and the row in it, of a frame read from Parquet."""

ID = "__wordveil_id"


def sanitize(
    dataframe: DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer,
    *,
    ids: str = FILE_AND_ROW,
    key_file: str | None = None,
    check_ids: bool = True,
    name: str = "",
) -> DataFrame:
    """Sanitize text columns of a data frame; a row is one document.

    Args:
        dataframe: Any frame; the columns hold strings or null, which stays null.
        columns: The text columns.
        sanitizer: The pipeline. Its vocabulary travels as a path, and is one memory-mapped copy a host.
        ids: A column whose values are unique and stay with their rows, such as a primary key; it is kept. The default
            takes file and row, which needs a frame read from Parquet and not changed since.
        key_file: The job's key, from `run_key`. None makes one that lives as long as this driver: enough where all
            executors are on this machine.
        check_ids: Run a job that makes sure that the ids are unique: two rows of one id would share their noise.
        name: What tells this frame from others that are released under the same key file, whose ids may be the same.

    Returns:
        A frame of the same schema. Its text columns carry guarantee and disclosures as metadata ("wordveil"), which
        Parquet and table formats keep.

    Raises:
        ParameterError: If a column is missing or no text, or ids repeat.
        MissingExtraError: If PySpark or PyArrow is missing.
    """
    functions = functions_of_spark()
    names = [columns] if isinstance(columns, str) else list(columns)
    types = dict(dataframe.dtypes)
    for column in names:
        if types.get(column) != "string":
            raise ParameterError("columns", column, "must be a column of strings of the frame.")
    keyed_frame = with_ids(dataframe, ids, taken=names, check=check_ids)
    task = _Texts(**_shared(sanitizer, key_file), columns=tuple(names), name=name)
    out = keyed_frame.mapInArrow(task, keyed_frame.schema).drop(ID)
    said = {
        "guarantee": sanitizer.guarantee.as_dict(),
        "sentence": sanitizer.guarantee.sentence(),
        "disclosed": [*sanitizer.disclosed, KEYED],
    }
    note = {"wordveil": json.dumps(said)}
    kept = {column: note if column in names else None for column in dataframe.columns}
    return out.select(*(functions.col(f"`{column}`").alias(column, metadata=told) for column, told in kept.items()))


def release(  # noqa: PLR0913 (five of them say where the noise lies)
    dataframe: DataFrame,
    column: str,
    mechanism: VectorMechanism,
    *,
    ids: str = FILE_AND_ROW,
    key_file: str | None = None,
    check_ids: bool = True,
    name: str = "",
    vocabulary: Embeddings | None = None,
    settings: VectorSettings | None = None,
) -> DataFrame:
    """Release a column of vectors, each with noise of its own, rounded to a public grid; see `release_vectors`.

    Args:
        dataframe: Any frame.
        column: A column of arrays of floats or doubles, all of one length, none null.
        mechanism: A vector mechanism.
        ids: As in `sanitize`.
        key_file: As in `sanitize`.
        check_ids: As in `sanitize`.
        name: As in `sanitize`.
        vocabulary: Public vocabulary for mechanisms that need one.
        settings: Grid and type.

    Returns:
        The frame with the column released, as array<float> or array<double>.

    Raises:
        ParameterError: If the column holds no vectors, or ids repeat.
    """
    from pyspark.sql import types

    functions = functions_of_spark()
    if dict(dataframe.dtypes).get(column) not in ("array<float>", "array<double>"):
        raise ParameterError("column", column, "must be a column of arrays of floats or doubles.")
    settings = settings or VectorSettings()
    first = dataframe.select(functions.size(functions.col(f"`{column}`")).alias("d")).first()
    if first is None:
        return dataframe
    binding = bind(mechanism, int(first["d"]), vocabulary)
    key = key_file or _driver_key()
    task = _Vectors(
        column=column,
        name=name,
        key_file=key,
        dimensions=int(first["d"]),
        mechanism=packed((mechanism, vocabulary, settings)),
    )
    frame = with_ids(dataframe, ids, taken=[column], check=check_ids)
    kind = types.DoubleType() if settings.dtype == "float64" else types.FloatType()
    note = {"wordveil": json.dumps({"guarantee": binding.guarantee(test_source=False).as_dict()})}
    schema = types.StructType(
        [
            types.StructField(f.name, types.ArrayType(kind, containsNull=False), f.nullable, note)
            if f.name == column
            else f
            for f in frame.schema.fields
        ]
    )
    return frame.mapInArrow(task, schema).drop(ID)


def session(master: str | None, conf: Sequence[str] = ()) -> SparkSession:
    """Return the session of this process, made where there is none.

    Args:
        master: Spark's master; None leaves it to Spark's settings.
        conf: Settings as "name=value".

    Raises:
        MissingExtraError: If PySpark is missing.
        ParameterError: If a setting has no value.
    """
    functions_of_spark()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("wordveil")
    if master is not None:
        builder = builder.master(master)
    for setting in conf:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError("--conf", setting, "must be NAME=VALUE.")
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    return made


def functions_of_spark() -> Any:
    """Return `pyspark.sql.functions`, or say which extra is missing."""
    try:
        import pyarrow  # noqa: F401
        from pyspark.sql import functions
    except ImportError as error:
        raise MissingExtraError("Spark", error.name or "pyspark", "spark") from error
    return functions


def with_ids(dataframe: DataFrame, ids: str, *, taken: Sequence[str], check: bool) -> DataFrame:
    """Return the frame with a column `ID` of unique strings.

    Raises:
        ParameterError: If there is no such column, it is one of those released, or its values repeat or are null.
    """
    functions = functions_of_spark()
    if ids != FILE_AND_ROW and (ids not in dataframe.columns or ids in taken):
        raise ParameterError("ids", ids, "must be a column that is not released, or file and row (Parquet).")
    frame = dataframe.withColumn(ID, _file_and_row(functions) if ids == FILE_AND_ROW else functions.col(f"`{ids}`"))
    frame = frame.withColumn(ID, functions.col(ID).cast("string"))
    if check and ids != FILE_AND_ROW:
        found = frame.select(ID).agg(functions.count("*").alias("n"), functions.count_distinct(ID).alias("ids")).first()
        if found is not None and found["n"] != found["ids"]:
            problem = f"must be unique and not null: {found['n']:,} rows have {found['ids']:,} ids."
            raise ParameterError("ids", ids, problem)
    return frame


def _file_and_row(functions: Any) -> Column:
    place = functions.col("_metadata.file_path"), functions.col("_metadata.row_index")
    made: Column = functions.concat_ws(":", *place)
    return made


def _driver_key() -> str:
    """Return a key file that goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="wordveil-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    save_run_key(folder / "key", RandomSource().export_key())
    return str(folder / "key")


def _shared(sanitizer: Sanitizer, key_file: str | None) -> dict[str, Any]:
    check_repeatable(sanitizer)
    noise = fingerprint(sanitizer)
    return {"sanitizer": packed_for_tasks(sanitizer), "key_file": key_file or _driver_key(), "noise": noise}


def packed_for_tasks(sanitizer: Sanitizer) -> bytes:
    """Return a sanitizer of one thread, because Spark runs a task a core; no key travels with it."""
    one = copy(sanitizer)
    one.threads = 1
    return packed(one)


def packed(parts: object) -> bytes:
    """Return objects as bytes, which tell a worker process whether it has them already."""
    return pickle.dumps(parts)


@lru_cache(maxsize=4)
def unpacked(parts: bytes) -> Any:
    """Return the objects again, once a worker process."""
    return pickle.loads(parts)  # noqa: S301 (the driver's own bytes, as Spark's tasks are)


@lru_cache(maxsize=4)
def _ready(sanitizer: bytes) -> Sanitizer:
    made: Sanitizer = unpacked(sanitizer).for_batch_job()
    return made


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A sanitizer on an executor; what travels holds no key.

    Attributes:
        sanitizer: The sanitizer, packed.
        key_file: Where the key lies.
        noise: What decides the noise on the driver.
    """

    sanitizer: bytes = field(repr=False)
    key_file: str
    noise: dict[str, object]

    def ready(self) -> Sanitizer:
        """Return the sanitizer with the job's key, refused where it would draw other noise than the driver's."""
        source = keyed(self.key_file)
        job = copy(_ready(self.sanitizer))
        check_host(fingerprint(job), self.noise)
        job.source = source
        return job


@dataclass(frozen=True, kw_only=True)
class _Texts(Worker):
    columns: tuple[str, ...]
    name: str = ""

    def __call__(self, batches: Batches) -> Batches:
        sanitizer = self.ready()
        for batch in batches:
            yield self._released(batch, sanitizer)

    def _released(self, batch: pa.RecordBatch, sanitizer: Sanitizer) -> pa.RecordBatch:
        import pyarrow as pa

        rows = list(zip(*(batch.column(name).to_pylist() for name in self.columns), strict=True))
        held = [[text for text in row if text is not None] for row in rows]
        # Other columns, and frames of other names, draw noise of their own under the same key and ids.
        prefix = json.dumps([self.name, *self.columns])
        ids = [prefix + own for own, texts in zip(batch.column(ID).to_pylist(), held, strict=True) if texts]
        released = iter(sanitizer.release_documents([texts for texts in held if texts], ids=ids).texts)
        done = [[None if text is None else next(released) for text in row] for row in rows]
        for place, name in enumerate(self.columns):
            at = batch.schema.get_field_index(name)
            column = pa.array([row[place] for row in done], type=batch.schema.field(at).type)
            batch = batch.set_column(at, batch.schema.field(at), column)
        return batch


@dataclass(frozen=True, kw_only=True)
class _Vectors:
    column: str
    name: str
    key_file: str
    dimensions: int
    mechanism: bytes = field(repr=False)

    def __call__(self, batches: Batches) -> Batches:
        import pyarrow as pa

        mechanism, vocabulary, settings = unpacked(self.mechanism)
        binding = bind(mechanism, self.dimensions, vocabulary)
        releaser = RowReleaser.for_settings(
            binding, settings, keyed(self.key_file), json.dumps([self.name, self.column])
        )
        done = 0
        for batch in batches:
            column = batch.column(self.column)
            lengths = column.value_lengths()
            if column.null_count or set(lengths.unique().to_pylist()) - {self.dimensions}:
                raise ParameterError("column", self.column, f"must hold {self.dimensions} numbers in every row.")
            rows = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, self.dimensions)
            out = releaser.release(rows, done, batch.column(ID).to_pylist())
            done += len(out)
            values = pa.array(out.astype(out.dtype.newbyteorder("=")).ravel())
            offsets = pa.array(range(0, out.size + 1, out.shape[1]), type=pa.int32())
            at = batch.schema.get_field_index(self.column)
            made = pa.ListArray.from_arrays(offsets, values)
            yield batch.set_column(at, pa.field(self.column, made.type), made)
