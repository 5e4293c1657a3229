"""A bound on what all rows of one person together may lose: counted before any noise is drawn.

What it decides by, the number of tokens of each row, is disclosed by the release anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from wordveil.errors import ParameterError
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.promises.guarantees import LocalDP, PrivacyUnit
from wordveil.spark.frames import FILE_AND_ROW, ID, functions_of_spark, packed, unpacked, with_ids
from wordveil.text.encoding import tokens_per_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["Over", "within_budget"]

Over = Literal["stop", "drop", "truncate"]
"""What becomes of the rows of a user who is over the budget: an error; none is kept; the first ones by id are kept."""

USER, TOKENS = "__wordveil_user", "__wordveil_tokens"


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

    Args:
        dataframe: Any frame.
        columns: The text columns that will be sanitized.
        sanitizer: The pipeline that will sanitize them; its promise must be pure local DP per token.
        user: The column that names the person behind a row; rows without one are one person's.
        max_nats: The largest sum of epsilons over all tokens of one user.
        over: What becomes of the rows of users who are over it.
        ids: As in `sanitize`.

    Returns:
        The frame, or the part of it that is kept, with its columns.

    Raises:
        ParameterError: If the promise has no such sum, or a user is over the budget and over="stop"; counts users, and
            names none.
    """
    functions = functions_of_spark()
    if over not in get_args(Over):
        raise ParameterError("over", over, f"must be one of {', '.join(get_args(Over))}.")
    allowed = _tokens_allowed(sanitizer, max_nats)
    names = [columns] if isinstance(columns, str) else list(columns)
    frame = with_ids(dataframe, ids, taken=names, check=False)
    counted = _counted(frame, names, sanitizer, user)
    if over == "truncate":
        from pyspark.sql import Window

        order = Window.partitionBy(USER).orderBy(ID).rowsBetween(Window.unboundedPreceding, Window.currentRow)
        so_far = counted.withColumn("so_far", functions.sum(TOKENS).over(order))
        return frame.join(so_far.where(functions.col("so_far") <= allowed).select(ID), ID, "left_semi").drop(ID)
    total = counted.groupBy(USER).agg(functions.sum(TOKENS).alias("total"))
    above = total.where(functions.col("total") > allowed)
    if over == "drop":
        lost = counted.join(above, counted[USER].eqNullSafe(above[USER]), "left_semi").select(ID)
        return frame.join(lost, ID, "left_anti").drop(ID)
    if (users := above.count()) > 0:
        problem = f"is less than what {users:,} users' texts cost; over='drop' or 'truncate' leaves rows out."
        raise ParameterError("max_nats", max_nats, problem)
    return dataframe


def _tokens_allowed(sanitizer: Sanitizer, max_nats: float) -> int:
    promise = sanitizer.guarantee
    if sanitizer.options.grids:  # a number loses by how far it is moved, not by epsilon
        raise ParameterError("sanitizer", "numbers='metric'", "must keep no magnitudes: their losses are no multiples.")
    if not isinstance(promise, LocalDP) or promise.delta or promise.unit is not PrivacyUnit.TOKEN:
        raise ParameterError("sanitizer", promise.promise, "must promise pure local DP per token, which adds up.")
    if not 0 < max_nats < float("inf"):
        raise ParameterError("max_nats", max_nats, "must be positive and finite.")
    return int(Fraction(max_nats) / (Fraction(promise.epsilon) + Fraction(promise.slack or 0.0)))


def _counted(frame: DataFrame, columns: list[str], sanitizer: Sanitizer, user: str) -> DataFrame:
    if user not in frame.columns:
        raise ParameterError("user", user, "must be a column of the frame.")
    narrow = frame.withColumnRenamed(user, USER) if user not in columns else frame.withColumn(USER, frame[user])
    kind = narrow.schema[USER].dataType.simpleString()
    return narrow.select(ID, USER, *columns).mapInArrow(
        _Counts(columns=tuple(columns), sanitizer=packed(sanitizer)), f"{ID} string, {USER} {kind}, {TOKENS} bigint"
    )


@dataclass(frozen=True, kw_only=True)
class _Counts:
    columns: tuple[str, ...]
    sanitizer: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        encoder = unpacked(self.sanitizer).parts.encoder
        for batch in batches:
            rows = zip(*(batch.column(name).to_pylist() for name in self.columns), strict=True)
            texts = ["" if text is None else text for row in rows for text in row]
            counts = [int(n) for n in tokens_per_text(list(encoder.encode_parts(texts)))]
            width = len(self.columns)
            sums = [sum(counts[i : i + width]) for i in range(0, len(counts), width)]
            data = [batch.column(ID), batch.column(USER), pa.array(sums, type=pa.int64())]
            yield pa.RecordBatch.from_arrays(data, names=[ID, USER, TOKENS])
