"""A bound on what all documents of one person together may lose: counted before any noise is drawn.

What it decides by, the number of tokens of each document, is disclosed by the release anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.promises.rows import person
from wordveil.runs.beforehand import Over, UserBudget
from wordveil.runs.sanitize import fingerprint
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.frames import FILE_AND_ROW, functions_of_spark, with_ids
from wordveil.spark.keys import check_repeatable
from wordveil.spark.workers import ID, on_this_host, packed_for_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

USER, TOKENS = "__wordveil_user", "__wordveil_tokens"
COUNTED = f"{ID} string, {USER} string, {TOKENS} bigint"
"""Schema of what was counted: a row a document, with the `person` behind it."""

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
