"""The documents of a tree that a budget for each person leaves out: a job of its own before any noise is drawn.

Each file is read once to count the tokens of every document. What is left out is handed to the tasks as one private
file of ordinals for each file, in the run's unfinished output: no user's name is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.documents import DocumentSettings
from wordveil.documents.trees import TreeFiles
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.files.atomic import write_whole
from wordveil.runs.beforehand import UserBudget, costs_of_file
from wordveil.runs.sanitize import fingerprint
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.spark.budgets import COUNTED, TOKENS, USER, left_out, told
from wordveil.spark.frames import functions_of_spark
from wordveil.spark.workers import ID, on_this_host, packed_for_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

_LEFT_OUT = "left_out"
_DIGITS = 15  # ids are compared as strings


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
    files = spark.createDataFrame(
        spark.sparkContext.parallelize(list(enumerate(names)), len(names)), "place long, name string"
    )
    task = _Counts(
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
    by_file.foreach(_Written(folder))
    report = told(budget, lost)
    for frame in (lost, counted):
        frame.unpersist()
    return report


@dataclass(frozen=True)
class _Written:
    folder: str

    def __call__(self, row: Row) -> None:
        place = Path(self.folder) / _LEFT_OUT / str(row["place"])
        write_whole(place, json.dumps(sorted(row["ordinals"])).encode("ascii"), private=True, shared=True)


@dataclass(frozen=True, kw_only=True)
class _Counts:
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
