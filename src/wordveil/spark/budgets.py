"""A bound on what all documents of one person together may lose: counted before any noise is drawn.

What it decides by, the number of tokens of each document, is disclosed by the release anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.rounding import round_up
from wordveil.promises.rows import person
from wordveil.runs.sanitize import fingerprint
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.frames import FILE_AND_ROW, functions_of_spark, with_ids
from wordveil.spark.keys import check_repeatable
from wordveil.spark.workers import ID, on_this_host, packed_for_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["COUNTED", "TOKENS", "USER", "Over", "UserBudget", "person", "tokens_of_rows", "within_budget", "without"]

Over = Literal["stop", "drop", "truncate"]
"""What becomes of the rows of a user who is over the budget: an error; none is kept; the first ones by id are kept."""

USER, TOKENS = "__wordveil_user", "__wordveil_tokens"
COUNTED = f"{ID} string, {USER} string, {TOKENS} bigint"
"""Schema of what was counted: a row a document, with the `person` behind it."""

_NAMED = ("string", "char", "varchar", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True, kw_only=True)
class UserBudget:
    """A bound on the loss of one person's documents, in one release of one frame or tree.

    Attributes:
        user: The column of texts or numbers that names the person behind a document; documents without one are one
            person's.
        max_nats: The largest sum of epsilons over all tokens of one user.
        over: What becomes of the documents of users who are over it.
    """

    user: str
    max_nats: float
    over: Over = "stop"

    def __post_init__(self) -> None:
        if self.over not in get_args(Over):
            raise ParameterError("over", self.over, f"must be one of {', '.join(get_args(Over))}.")
        if not 0 < self.max_nats < float("inf"):
            raise ParameterError("max_nats", self.max_nats, "must be positive and finite.")

    def tokens(self, sanitizer: Sanitizer) -> int:
        """Return how many tokens of one user may be released.

        Raises:
            ParameterError: If the promise is no pure local DP per token: its losses do not add up to such a sum.
        """
        promise = sanitizer.guarantee
        if sanitizer.options.grids:  # a number loses by how far it is moved, not by epsilon
            raise ParameterError(
                "sanitizer", "numbers='metric'", "must keep no magnitudes: their losses are no multiples."
            )
        local = promise.epsilon is not None and not (promise.metric or promise.graph)
        if not local or promise.delta or promise.unit is not PrivacyUnit.TOKEN:
            raise ParameterError("sanitizer", promise.promise, "must promise pure local DP per token, which adds up.")
        return int(Fraction(self.max_nats) / (Fraction(promise.epsilon or 0.0) + Fraction(promise.slack or 0.0)))

    def left_out(self, counted: DataFrame, sanitizer: Sanitizer) -> DataFrame:
        """Return ids and users of the documents to leave out, given the tokens of all (`COUNTED`).

        Raises:
            ParameterError: If there are any and over="stop"; counts users, and names none.
        """
        from pyspark.sql import Window

        functions = functions_of_spark()
        users = Window.partitionBy(USER)
        if self.over == "truncate":
            users = users.orderBy(ID).rowsBetween(Window.unboundedPreceding, Window.currentRow)
        so_far = counted.withColumn("so_far", functions.sum(TOKENS).over(users))
        lost = so_far.where(functions.col("so_far") > self.tokens(sanitizer)).select(ID, USER)
        if self.over == "stop" and (above := lost.select(USER).distinct().count()) > 0:
            problem = f"is less than what {above:,} users' texts cost; over='drop' or 'truncate' leaves documents out."
            raise ParameterError("max_nats", self.max_nats, problem)
        return lost

    def disclosed(self) -> str:
        """Return the sentence that tells of documents that are left out."""
        which = "all documents" if self.over == "drop" else "the last documents"
        return f"which documents are left out: {which} of users with more than {round_up(self.max_nats)} nats"

    def sentence(self) -> str:
        return (
            f"all documents of one user together lose at most {round_up(self.max_nats)} nats in this release, "
            "between inputs that agree in whose each document is and in how many tokens it has"
        )

    def told(self, lost: DataFrame) -> dict[str, Any]:
        left_out = {"users_over": lost.select(USER).distinct().count(), "documents_left_out": lost.count()}
        return {**asdict(self), "sentence": self.sentence(), **left_out}


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
    lost = budget.left_out(tokens_of_rows(frame, names, sanitizer, user), sanitizer)
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
