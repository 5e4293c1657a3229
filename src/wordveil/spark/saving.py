"""A frame released and written in one job: its promise, counts and assumptions stand once beside the data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from wordveil.parameters import OtherColumns
from wordveil.runs.beforehand import UserBudget
from wordveil.runs.tables import TableRelease
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.budgets import left_out, tokens_of_rows, told, without
from wordveil.spark.frames import (
    FILE_AND_ROW,
    bare,
    chosen_of,
    functions_of_spark,
    promise_of,
    promised,
    text_columns,
    with_ids,
    written_columns,
)
from wordveil.spark.workers import COUNTS, Texts, shared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIDECAR = "_wordveil.json"
"""The promise, in the folder that was written: names that begin so are read by no reader of tables."""

_PROPERTY = "wordveil"


def save(  # noqa: PLR0913 (those of `sanitize`, and of what is written)
    dataframe: DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer,
    destination: str,
    *,
    format: str = "parquet",
    partition_by: Sequence[str] = (),
    table: bool = False,
    budget: UserBudget | None = None,
    ids: str = FILE_AND_ROW,
    key_file: str | None = None,
    check_ids: bool = True,
    name: str = "",
    **others: Unpack[OtherColumns],
) -> TableRelease:
    """Sanitize text columns of a data frame and write it; return what is promised, disclosed and counted.

    Arguments that are not told of here, and errors, are those of `sanitize`. The destination is a new folder, where the
    promise is the file `_wordveil.json`; or, with `table`, a new table of the catalog, where it is the properties
    `wordveil` and `wordveil.counts`. `format` is what Spark is to write: parquet, json, csv, orc, delta and so on.
    Columns of `partition_by` become folders; they are copied, as if `keep` named them. `budget` bounds the loss of all
    rows of one person.
    """
    from pyspark.sql import Observation, types

    names = text_columns(dataframe, columns)
    if partition_by and not others.get("keep_others"):
        copied = dict.fromkeys([*(others.get("keep") or ()), *partition_by])
        others = {**others, "keep": list(copied), "drop_others": False}
    written = written_columns(dataframe, names, **others)
    promise, lost = promise_of(written, names, sanitizer), None
    frame = with_ids(dataframe, ids, taken=names, check=check_ids)
    if budget is not None:
        lost = left_out(budget, tokens_of_rows(frame, names, sanitizer, budget.user), sanitizer).persist()
        promise = budget.within(promise, told(budget, lost))
        frame = without(frame, lost)
    frame = chosen_of(frame, written)
    functions, seen = functions_of_spark(), Observation()
    kept = shared(sanitizer, key_file, (name, *names))
    task = Texts(**kept, columns=names, name=name, in_files=ids == FILE_AND_ROW, counted=True)
    schema = types.StructType([*bare(frame), *(types.StructField(each, types.LongType()) for each in COUNTS.values())])
    sums = [functions.sum(column).alias(counted) for counted, column in COUNTS.items()]
    out = frame.mapInArrow(task, schema).observe(seen, functions.count(functions.lit(1)).alias("rows"), *sums)
    _write(promised(out, written, promise), destination, format, partition_by, promise if table else None)
    if lost is not None:
        lost.unpersist()
    promise = replace(promise, counts={counted: int(count or 0) for counted, count in seen.get.items()})
    if table:
        counts = _shown(json.dumps(promise.counts))
        dataframe.sparkSession.sql(f"ALTER TABLE {destination} SET TBLPROPERTIES ('{_PROPERTY}.counts' = r'{counts}')")
    else:
        _put(dataframe.sparkSession, f"{destination}/{SIDECAR}", json.dumps(promise.as_dict(), indent=2))
    return promise


def _write(frame: DataFrame, destination: str, format: str, folders: Sequence[str], table: TableRelease | None) -> None:
    if table is None:
        frame.write.format(format).partitionBy(*folders).save(destination)
        return
    from pyspark.sql import functions

    made = frame.writeTo(destination).using(format).tableProperty(_PROPERTY, _shown(table.as_json()))
    if folders:
        made = made.partitionedBy(*map(functions.col, folders))
    made.create()


def _shown(promise: str) -> str:
    """Return the same JSON without the words for which Spark would hide it: it takes every token for a secret."""
    hidden = re.compile("(?i)token|secret|password|url|access")
    return hidden.sub(lambda word: f"\\u{ord(word[0][0]):04x}{word[0][1:]}", promise)


def _put(spark: SparkSession, place: str, text: str) -> None:
    """Write a file where the frame lies: on this disk, HDFS, or a store of objects that Spark knows."""
    machine: Any = spark._jvm
    path = machine.org.apache.hadoop.fs.Path(place)
    stream = path.getFileSystem(spark._jsc.hadoopConfiguration()).create(path)
    try:
        stream.write(bytearray(text.encode("ascii")))
    finally:
        stream.close()
