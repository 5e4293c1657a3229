"""`wordveil release`: an array of vectors through a vector mechanism, rounded to a public grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import wordveil as wv
from wordveil.cli.common import chosen_mechanism, say
from wordveil.cli.options import AllowRefutedOption, SetOption, ThreadsOption, Wanted
from wordveil.cli.progress import row_bar
from wordveil.cli.running import OtherColumnOptions, Running
from wordveil.cli.summary import Summary, copied, promised
from wordveil.errors import ParameterError

if TYPE_CHECKING:
    from wordveil.runs.vectors.values import VectorReport

EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What the vectors go through."""

    epsilon: Annotated[float, Option("--epsilon", "-e", help="Privacy loss; its unit is the mechanism's.")]
    mechanism: Annotated[str, Option("--mechanism", "-m", help="A vector mechanism; see: wordveil mechanisms.")] = (
        "laplace"
    )
    settings: SetOption = None
    allow_refuted: AllowRefutedOption = False
    vocabulary: Annotated[
        str | None, Option(help=f"Public vocabulary for mechanisms that need one; {EMBEDDED!r} is ours.")
    ] = None

    def build(self, source: Path, column: str | None) -> tuple[wv.VectorMechanism, wv.Embeddings | None]:
        """Return the mechanism, and the vocabulary it is fitted to."""
        table = None
        if self.vocabulary is not None:
            table = wv.load_embeddings(None if self.vocabulary == EMBEDDED else Path(self.vocabulary))
        given = list(self.settings or ())
        if self.mechanism == "projection" and table is None:
            given = _projection_settings(given, source, column)
        wanted = Wanted(
            mechanism=self.mechanism, epsilon=self.epsilon, allow_refuted=self.allow_refuted, settings=given
        )
        chosen: Any = chosen_mechanism(wanted)
        if chosen.releases != "vectors":
            problem = "must be a vector mechanism, such as laplace: it works on words."
            raise ParameterError("mechanism", self.mechanism, problem)
        return chosen, table


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What is released, and how it is rounded and written."""

    column: Annotated[
        str | None, Option("--column", "-c", help="Array, column or tensor to release; default: the only one.")
    ] = None
    others: OtherColumnOptions
    grid: Annotated[str | None, Option(help="Public grid to round to, such as 2^-12; default: by the noise.")] = None
    dtype: Annotated[str, Option(help="float32 or float64.")] = "float32"
    measure_retrieval: Annotated[
        bool, Option("--measure-retrieval", help="Print recall@10 against the original, for you alone.")
    ] = False
    threads: ThreadsOption = None
    block_rows: Annotated[int | None, Option(help="Rows held at once.")] = None

    def vector_settings(self) -> wv.VectorSettings:
        return wv.VectorSettings(
            column=self.column,
            grid=None if self.grid is None else _parse_grid(self.grid),
            dtype=self.dtype,
            block_rows=self.block_rows,
            threads=self.threads,
            **self.others.choice(),
        )


def release(
    source: Annotated[Path, Argument(metavar="IN", help="An .npy, .npz, .parquet or .safetensors file.")],
    output: Annotated[Path, Option("--output", "-o", help="File to write; its ending chooses the format.")],
    *,
    noise: Noise,
    rows: Rows,
    running: Running,
) -> int:
    """Release the vectors of IN, each row with noise of its own, rounded to a public grid.

    Standard error gets four lines: what was released, the promise, what passed unchanged, the strongest warning.
    """
    from wordveil.runs.vectors.values import write_vector_report

    running.check_report(source, output, noise.vocabulary, endings=(".json",))
    settings = rows.vector_settings()
    mechanism, table = noise.build(source, rows.column)
    with row_bar("rows released", quiet=running.quiet) as progress:
        options = running.options(write_vector_report)
        result = wv.release_vector_file(
            source, output, mechanism, vocabulary=table, settings=settings, progress=progress, **options
        )
    status = running.end(result, write_vector_report, partial(_summary, output))
    if rows.measure_retrieval:
        with row_bar("rows searched", quiet=running.quiet) as progress:
            measured = wv.measure_retrieval(source, output, column=rows.column, threads=rows.threads, progress=progress)
        say(f"{measured.sentence()}.")
    return status


def _projection_settings(settings: Sequence[str], source: Path, column: str | None) -> list[str]:
    """Return the settings with, for those not given, defaults that hold for any vectors, which are said."""
    from wordveil.documents.vectors import open_vectors
    from wordveil.runs.vectors.binding import default_projection

    given = {setting.partition("=")[0].strip().replace("-", "_") for setting in settings}
    if "matrix" in given:
        given |= {"dimensions", "directions"}
    if any(setting.partition("=")[2].strip() in ("published", "union-bound") for setting in settings):
        return list(settings)  # sizes its noise by a vocabulary, not for any vectors
    with open_vectors(source, column) as reader:
        defaults = default_projection(reader.dimensions)
    added = [f"{name}={value}" for name, value in defaults.items() if name not in given]
    if added:
        say(f"projection of any vectors: {', '.join(added)} (choose with --set)")
    return [*added, *settings]


def _parse_grid(text: str) -> float:
    """Read 2^-12, or the number itself."""
    base, power, exponent = text.partition("^")
    try:
        value = math.ldexp(1.0, int(exponent)) if power and base.strip() == "2" else float(text)
    except (ValueError, OverflowError):
        value = math.nan
    if math.isnan(value):
        raise ParameterError("--grid", text, "must be a power of two, such as 2^-12.")
    return value


def _summary(output: Path, report: VectorReport) -> Summary:
    from wordveil.runs.vectors.grid import on_grid

    rows = f"{report.rows:,} rows of {report.input_dimensions} numbers to {report.dimensions} ({report.dtype})"
    others = [f"left out: {report.left_out:,} other arrays, columns or tensors"] if report.left_out else []
    released, grid = [f"{rows}, {report.rows_per_second:,.0f} rows/s", *others], on_grid(report.grid)
    warnings = report.guarantee.warnings()
    return Summary(
        released="; ".join(released),
        guarantee=f"{report.guarantee.sentence()}; {grid}",
        unchanged=["the number of rows and their order", *copied({"copied": report.kept, "tree": False})],
        warnings=warnings,
        lines=[*released, *promised(report, warnings, [grid])],
        destination=str(output),
    )
