"""What a vector release is: the rows, what they promise, the grid they lie on, what they disclose anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from wordveil.arrays import FloatArray
from wordveil.errors import printable
from wordveil.mechanisms.base import VectorRandomizer
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import Provenance, Reported
from wordveil.runs.digests import FileDigest
from wordveil.runs.report import write_facts
from wordveil.runs.report_schema import SCHEMA


@dataclass(frozen=True, kw_only=True)
class VectorRelease(Reported):
    """Released vectors.

    Attributes:
        vectors: What leaves, shape (n, d), or (n, m) for a projection: multiples of `grid`, float32 or float64.
        guarantee: What each row promises.
        grid: The public grid that sums were rounded to, a power of two, in the units of the vectors: what is promised
            is promised of its points.
        disclosed: What is disclosed whatever the noise, one sentence each.
        provenance: Where it came from.
    """

    vectors: FloatArray = field(repr=False)
    guarantee: Guarantee
    grid: float
    disclosed: tuple[str, ...]
    provenance: Provenance

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary of everything but the vectors."""
        facts = super().as_dict()
        del facts["vectors"]
        rows, dimensions = self.vectors.shape
        return {"rows": rows, "dimensions": dimensions, "dtype": self.vectors.dtype.name, **facts}


@dataclass(frozen=True, kw_only=True)
class VectorReport(Reported):
    """What a run over a file released; nothing that the release does not show anyway."""

    guarantee: Guarantee  # what each row promises
    grid: float  # the public grid, a power of two
    dtype: Literal["float32", "float64"]  # type of the released numbers, "float32" or "float64"
    disclosed: tuple[str, ...]  # what is disclosed whatever the noise
    provenance: Provenance  # where it came from
    outputs: tuple[FileDigest, ...]  # the file written
    rows: int  # rows released
    dimensions: int  # columns released: d, or m for a projection
    input_dimensions: int  # the d of the input
    column: str | None  # which array, column or tensor was asked for; None for the only one
    kept: tuple[str, ...]  # what else was copied from the input, as asked for
    left_out: int  # how many other arrays, columns or tensors the input holds; their names may be private
    resumed_rows: int  # rows taken over from an interrupted run
    finished: str  # time of the end, UTC, ISO 8601
    seconds: float  # wall-clock time of this process's part
    rows_per_second: float  # rows of this process's part over its time


def vector_disclosures(
    randomizer: VectorRandomizer, *, kept: Sequence[str] = (), own_source: bool = False
) -> tuple[str, ...]:
    """Return what any release of vectors discloses, one sentence each."""
    said = ["the number of rows and their order, and the number of columns", *randomizer.disclosed()]
    if own_source:
        said.append(
            "which rows equal those of another release under the same key, name, column and mechanism: the "
            "losses of two releases add up only under two keys"
        )
    if kept:
        said.append("these columns, copied unchanged beside each row: " + ", ".join(map(printable, kept)))
    return tuple(said)


def write_vector_report(report: VectorReport, path: Path) -> None:
    """Write the report as JSON, with what is to be warned of, its schema and its checksum."""
    warnings = report.guarantee.warnings()
    write_facts({"schema": SCHEMA, "kind": "vectors", **report.as_dict(), "warnings": warnings}, path)
