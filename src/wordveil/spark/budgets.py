"""A bound on what all documents of one person together may lose: counted before any noise is drawn.

What it decides by, the number of tokens of each document, is disclosed by the release anyway. Of a tree each file is
read once to count them. What is left out is handed to the tasks as one private file of ordinals for each file, in the
run's unfinished output: no user's name is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.arrays import PrivateText
from wordveil.documents import DocumentSettings
from wordveil.documents.trees import TreeFiles
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.files.atomic import write_whole
from wordveil.promises.rows import person
from wordveil.runs.beforehand import Over, UserBudget, costs_of_file
from wordveil.runs.sanitize import fingerprint
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.frames import FILE_AND_ROW, functions_of_spark, with_ids
from wordveil.spark.keys import check_repeatable
from wordveil.spark.workers import ID, on_this_host, packed_for_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

USER, TOKENS = "__wordveil_user", "__wordveil_tokens"
COUNTED = f"{ID} string, {USER} string, {TOKENS} bigint"
"""Schema of what was counted: a row a document, with the `person` behind it."""

_LEFT_OUT = "left_out"  # folder of a run's unfinished output
_DIGITS = 15  # ids are compared as strings
_NAMED = ("string", "char", "varchar", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def left_out(budget: UserBudget, counted: DataFrame, sanitizer: Sanitizer) -> DataFrame:
    """Return ids and users of the documents to leave out, given the tokens of all (`COUNTED`).

    Raises:
        ParameterError: If there are any and over="stop"; counts users, and names none.
    """
    from pyspark.sql import Window

    functions = functions_of_spark()
    users = Window.partitionBy(USER)
    if budget.over == "truncate":
        users = users.orderBy(ID).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    so_far = counted.withColumn("so_far", functions.sum(TOKENS).over(users))
    lost = so_far.where(functions.col("so_far") > budget.tokens(sanitizer)).select(ID, USER)
    if budget.over == "stop":
        budget.refuse(lost.select(USER).distinct().count())
    return lost


def told(budget: UserBudget, lost: DataFrame) -> dict[str, Any]:
    """Return what a report says of a budget, and of what it left out."""
    return budget.told(users=lost.select(USER).distinct().count(), documents=lost.count())


def within_budget(
    dataframe: DataFrame,
    columns: Sequence[str],
    sanitizer: Sanitizer,
    *,
    user: str,
    max_nats: float,
    over: Over = "stop",
    ids: str = FILE_AND_ROW,
) -> DataFrame:
    """Keep the rows whose release costs no user more than a number of nats, one release of one frame.

    The columns are those that will be sanitized by this sanitizer, whose promise must be pure local DP per token; `ids`
    are as in `sanitize`, the other arguments as in `UserBudget`. `ParameterError` if the promise has no such sum, ids
    repeat or are null, or a user is over the budget and over="stop"; it counts users, and names none.
    """
    budget = UserBudget(user=user, max_nats=max_nats, over=over)
    budget.tokens(sanitizer)
    names = [columns] if isinstance(columns, str) else list(columns)
    frame = with_ids(dataframe, ids, taken=names, check=True)
    lost = left_out(budget, tokens_of_rows(frame, names, sanitizer, user), sanitizer)
    return dataframe if over == "stop" else without(frame, lost).drop(ID)


def without(frame: DataFrame, lost: DataFrame) -> DataFrame:
    """Return a frame with ids less the rows of these ids; ids that are null are compared, too."""
    ids = lost.select(functions_of_spark().col(ID).alias("lost"))
    return frame.join(ids, frame[ID].eqNullSafe(ids["lost"]), "left_anti")


def tokens_of_rows(frame: DataFrame, columns: Sequence[str], sanitizer: Sanitizer, user: str) -> DataFrame:
    """Return the tokens of each row of a frame with ids, as `COUNTED`."""
    if user not in frame.columns:
        raise ParameterError("user", user, "must be a column of the frame.")
    functions = functions_of_spark()
    texts = [functions.col(f"`{column}`") for column in columns]
    narrow = frame.select(ID, functions.col(f"`{user}`").alias(USER), *texts)
    kind = narrow.schema[USER].dataType.simpleString()
    if kind.partition("(")[0] not in _NAMED:
        raise ParameterError("user", user, f"must be a column of texts or numbers, not {kind}: cast it first.")
    check_repeatable(sanitizer)
    task = _Counts(columns=tuple(columns), sanitizer=packed_for_tasks(sanitizer), noise=fingerprint(sanitizer))
    return narrow.mapInArrow(task, COUNTED)


@dataclass(frozen=True, kw_only=True)
class _Counts:
    columns: tuple[str, ...]
    sanitizer: bytes
    noise: dict[str, object]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        sanitizer = on_this_host(self.sanitizer, self.noise)
        for batch in batches:
            rows = zip(*(batch.column(name).to_pylist() for name in self.columns), strict=True)
            cost = sanitizer.prepare([[PrivateText(text) for text in row if text is not None] for row in rows]).cost
            users = pa.array(map(person, batch.column(USER).to_pylist()), type=pa.string())
            data = [batch.column(ID), users, pa.array(cost, type=pa.int64())]
            yield pa.RecordBatch.from_arrays(data, names=[ID, USER, TOKENS])


def check_columns(found: TreeFiles, settings: DocumentSettings) -> None:
    """Raise `ParameterError` where a file has no columns, so that no document of it has a user."""
    for name in found.taken:
        if not settings.for_file(name).columns:
            raise ParameterError("budget", name, "has no columns: who is behind a document must stand in one.")


def left_out_of(folder: str, index: int) -> frozenset[int]:
    """Return the ordinals of the documents of a file that are over the budget."""
    place = Path(folder) / _LEFT_OUT / str(index)
    return frozenset(json.loads(place.read_bytes())) if place.exists() else frozenset()


def leave_out_over_budget(
    spark: SparkSession,
    budget: UserBudget,
    sanitizer: Sanitizer,
    *,
    root: str,
    folder: str,
    names: list[str],
    settings: DocumentSettings,
    bad: Callable[[int, str], None],
) -> dict[str, Any]:
    """Count the tokens of every user, and write down which documents are left out.

    Returns:
        The budget and what it left out, JSON-ready.
    """
    functions = functions_of_spark()
    (Path(folder) / _LEFT_OUT).mkdir(exist_ok=True)
    places = spark.sparkContext.parallelize(list(enumerate(names)), len(names))
    files = spark.createDataFrame(places, "place long, name string")
    task = _FileCounts(
        root=root,
        settings=settings,
        user=budget.user,
        sanitizer=packed_for_tasks(sanitizer),
        noise=fingerprint(sanitizer),
        bad=bad,
    )
    counted = files.mapInArrow(task, COUNTED).persist()
    lost = left_out(budget, counted, sanitizer).persist()
    parts = functions.split(ID, ":")
    numbers = lost.select(parts[0].cast("long").alias("place"), parts[1].cast("long").alias("ordinal"))
    by_file = numbers.groupBy("place").agg(functions.collect_list("ordinal").alias("ordinals"))
    by_file.foreach(partial(_written, folder))
    report = told(budget, lost)
    for frame in (lost, counted):
        frame.unpersist()
    return report


def _written(folder: str, row: Row) -> None:
    place = Path(folder) / _LEFT_OUT / str(row["place"])
    write_whole(place, json.dumps(sorted(row["ordinals"])).encode("ascii"), private=True, shared=True)


@dataclass(frozen=True, kw_only=True)
class _FileCounts:
    """Counts the tokens of the documents of a file, for the user of each."""

    root: str
    settings: DocumentSettings
    user: str
    sanitizer: bytes = field(repr=False)
    noise: dict[str, object]
    bad: Callable[[int, str], None]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for index, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                place, settings = str(Path(self.root) / name), self.settings.for_file(name)
                sanitizer = on_this_host(self.sanitizer, self.noise)
                try:
                    counted = costs_of_file(name, place, settings, self.user, sanitizer)
                except DocumentFormatError as error:
                    self.bad(index, str(error))
                    continue
                users, tokens = [user for user, _ in counted], [cost for _, cost in counted]
                ids = [f"{index:0{_DIGITS}}:{ordinal:0{_DIGITS}}" for ordinal in range(len(users))]
                data = [pa.array(ids, pa.string()), pa.array(users, pa.string()), pa.array(tokens, pa.int64())]
                yield pa.RecordBatch.from_arrays(data, names=[ID, USER, TOKENS])
