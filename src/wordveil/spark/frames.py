"""Spark data frames: text columns through a sanitizer, a column of vectors through a vector mechanism.

Rows go through `mapInArrow` batch by batch; nothing here depends on how Spark cuts them. Types, order of columns and
partitions stay as they are; no other column is copied that is not named.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from wordveil.errors import MissingExtraError, ParameterError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.parameters import OtherColumns
from wordveil.runs.tables import TableRelease, chosen_columns, described
from wordveil.runs.vectors import VectorSettings
from wordveil.runs.vectors.binding import bind
from wordveil.runs.vectors.values import vector_disclosures
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.keys import check_same_job
from wordveil.spark.pythons import check_workers
from wordveil.spark.workers import ID, Redacts, Texts, Vectors, driver_key, shared
from wordveil.vocabulary.table import Embeddings
from wordveil.withholding.redactor import Redactor

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    Batches = Iterator[pa.RecordBatch]

FILE_AND_ROW = "file and row"
"""As `ids`: the file and the row in it, of a frame read from Parquet."""
JUDGED = 100
"""Rows of which a redactor must keep enough, so that no text in another language is released as holes."""


def sanitize(
    dataframe: DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer | Redactor,
    *,
    ids: str = FILE_AND_ROW,
    key_file: str | None = None,
    check_ids: bool = True,
    name: str = "",
    **others: Unpack[OtherColumns],
) -> DataFrame:
    """Sanitize text columns of a data frame; a row is one document.

    Args:
        dataframe: Any frame; the columns hold strings or null, which stays null.
        columns: The text columns.
        sanitizer: The pipeline, or a redactor. A vocabulary travels as a path, and is one memory-mapped copy a host.
        ids: A column whose values are unique and stay with their rows, such as a primary key; it is copied where it is
            named in `keep`, too. The default takes file and row, which needs a frame read from Parquet and not changed
            since.
        key_file: The job's key, from `run_key`. None makes one that lives as long as this driver: enough where all
            executors are on this machine.
        check_ids: Run a job that makes sure that the ids are unique: two rows of one id would share their noise. Files
            and rows of a frame that is as it was read need none.
        name: What tells this frame from others that are released under the same key file, whose ids may be the same.
        **others: What becomes of the other columns: `keep`, `keep_others` or `drop_others`; see `OtherColumns`.

    Returns:
        A frame of these columns, their order and types as they were. Its text columns carry guarantee and disclosures
        as metadata ("wordveil"), which Parquet and table formats keep.

    Raises:
        ParameterError: If a column is missing or no text, there are others and nothing was said of them, or ids
            repeat.
        TooLittleKeptError: If a redactor would keep too little of the first rows.
        MissingExtraError: If PySpark or PyArrow is missing.
    """
    names = text_columns(dataframe, columns)
    written = written_columns(dataframe, names, **others)
    frame = chosen_of(with_ids(dataframe, ids, taken=names, check=check_ids), written)
    task: Texts | Redacts
    if isinstance(sanitizer, Redactor):
        first = frame.select(*(f"`{each}`" for each in names)).limit(JUDGED).collect()
        sanitizer.release_rows([tuple(row) for row in first])
        task = Redacts.for_frame(sanitizer, key_file, columns=names, name=name)
    else:
        work = shared(sanitizer, key_file, (name, *names))
        task = Texts(**work, columns=names, name=name, in_files=ids == FILE_AND_ROW)
    return promised(frame.mapInArrow(task, bare(frame)), written, promise_of(written, names, sanitizer))


def text_columns(dataframe: DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns of strings, of a frame whose workers can release them."""
    functions_of_spark()
    check_workers(dataframe.sparkSession)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    types = dict(dataframe.dtypes)
    for column in names:
        if types.get(column) != "string":
            raise ParameterError("columns", column, "must be a column of strings of the frame.")
    return names


def written_columns(dataframe: DataFrame, names: Sequence[str], **choice: Unpack[OtherColumns]) -> list[str]:
    """Return the columns of a frame that are written, given the text columns and what is said of the others."""
    chosen, copied = chosen_columns(names, dataframe.columns, **choice)
    return [column for column in dataframe.columns if column in chosen or column in copied]


def chosen_of(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return these columns of a frame with ids, and the ids."""
    functions = functions_of_spark()
    return frame.select(*(functions.col(f"`{column}`") for column in columns), ID)


def bare(frame: DataFrame) -> StructType:
    """Return the schema of a frame without metadata at any depth: labels and comments may hold anybody's text."""
    whole = json.loads(
        frame.schema.json(), object_hook=lambda each: each | ({"metadata": {}} if "metadata" in each else {})
    )
    return type(frame.schema).fromJson(whole)


def promise_of(written: Sequence[str], names: Sequence[str], sanitizer: Sanitizer | Redactor) -> TableRelease:
    """Return what a release of the named columns, written with others, promises and discloses."""
    others = [column for column in written if column not in names]
    return described(None, sanitizer, names, others, keyed=True)


def promised(frame: DataFrame, columns: Sequence[str], promise: TableRelease) -> DataFrame:
    """Return the columns of a frame; those released carry the promise as metadata."""
    functions = functions_of_spark()
    note = {"wordveil": promise.as_json()}
    kept = {column: note if column in promise.columns else None for column in columns}
    return frame.select(*(functions.col(f"`{column}`").alias(column, metadata=told) for column, told in kept.items()))


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

    The column holds arrays of floats or doubles, all of one length, none null, and is released as such. `ids`,
    `key_file`, `check_ids` and `name` are as in `sanitize`; the vocabulary is for mechanisms that need one; the
    settings say grid, type, and what becomes of the other columns. `ParameterError` if the column holds no vectors,
    there are others and nothing was said of them, or ids repeat.
    """
    from pyspark.sql import types

    functions = functions_of_spark()
    if dict(dataframe.dtypes).get(column) not in ("array<float>", "array<double>"):
        raise ParameterError("column", column, "must be a column of arrays of floats or doubles.")
    check_workers(dataframe.sparkSession)
    settings = settings or VectorSettings()
    written = written_columns(dataframe, [column], **settings.choice)
    first = dataframe.select(functions.size(functions.col(f"`{column}`")).alias("d")).first()
    if first is None:
        return dataframe.select(*(functions.col(f"`{own}`") for own in written))
    binding = bind(mechanism, int(first["d"]), vocabulary)
    kept = [other for other in written if other != column]
    disclosed = vector_disclosures(binding.randomizer, kept=kept, own_source=True)
    where = {"column": column, "name": name, "key_file": key_file or driver_key(), "dimensions": int(first["d"])}
    task = Vectors.for_frame((mechanism, vocabulary, settings), **where)
    check_same_job(task.key_file, ("vectors", name, column), task.noise)
    frame = chosen_of(with_ids(dataframe, ids, taken=[column], check=check_ids), written)
    kind = types.DoubleType() if settings.dtype == "float64" else types.FloatType()
    promise = binding.guarantee(test_source=False).as_dict()
    note = {"wordveil": json.dumps({"guarantee": promise, "disclosed": disclosed})}
    schema = types.StructType(
        [
            types.StructField(f.name, types.ArrayType(kind, containsNull=False), f.nullable, note)
            if f.name == column
            else f
            for f in bare(frame).fields
        ]
    )
    return frame.mapInArrow(task, schema).drop(ID)


def session(master: str | None, conf: Sequence[str] = ()) -> SparkSession:
    """Return the session of this process, made where there is none."""
    functions_of_spark()
    from pyspark.sql import SparkSession

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        remedy = "apt-get install openjdk-17-jre-headless (Debian), or set JAVA_HOME"
        raise MissingExtraError("Spark", "Java 17", "spark", remedy=remedy)
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
    """Return the frame with a column `ID` of unique strings."""
    functions = functions_of_spark()
    if ids != FILE_AND_ROW and (ids not in dataframe.columns or ids in taken):
        raise ParameterError("ids", ids, "must be a column that is not released, or file and row (Parquet).")
    if ids == FILE_AND_ROW and "_metadata" in map(str.lower, dataframe.columns):
        raise ParameterError("ids", ids, "are hidden by the frame's own column _metadata: rename it, or name a column.")
    place = functions.concat_ws(":", functions.col("_metadata.file_path"), functions.col("_metadata.row_index"))
    frame = dataframe.withColumn(ID, place if ids == FILE_AND_ROW else functions.col(f"`{ids}`"))
    frame = frame.withColumn(ID, functions.col(ID).cast("string"))
    if check and (ids != FILE_AND_ROW or not _is_read(dataframe)):
        found = frame.select(ID).agg(functions.count("*").alias("n"), functions.count_distinct(ID).alias("ids")).first()
        if found is not None and found["n"] != found["ids"]:
            problem = f"must be unique and not null: {found['n']:,} rows have {found['ids']:,} ids."
            raise ParameterError("ids", ids, problem)
    return frame


def _is_read(dataframe: DataFrame) -> bool:
    """Whether a frame is files as they were read, less rows and columns: no row of a file stands in it twice.

    Where the plan is out of sight, as under Spark Connect, no.
    """
    plan = getattr(dataframe, "_jdf", None)
    node = None if plan is None else plan.queryExecution().analyzed()
    while node is not None and node.children().size():
        if node.nodeName() not in ("Project", "Filter", "SubqueryAlias"):
            return False
        node = node.children().head()
    return node is not None
