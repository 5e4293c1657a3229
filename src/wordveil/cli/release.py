"""`wordveil release`: an array of vectors through a vector mechanism, rounded to a public grid."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordveil.cli.common import ParameterOption, build_mechanism, open_vocabulary, say

if TYPE_CHECKING:
    from wordveil.embeddings.table import Embeddings
    from wordveil.mechanisms.base import VectorMechanism
    from wordveil.vector_release.values import VectorReport

__all__ = ["release"]

EMBEDDED = "embedded"


def release(
    source: Annotated[Path, typer.Argument(metavar="IN", help="An .npy, .npz, .parquet or .safetensors file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending chooses the format.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="Privacy loss; its unit is the mechanism's.")],
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="A vector mechanism; see: wordveil mechanisms.")
    ] = "laplace",
    settings: ParameterOption = None,
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Accept a refuted calibration, for an experiment.")
    ] = False,
    vocabulary: Annotated[
        str | None,
        typer.Option("--vocabulary", help=f"Public vocabulary for mechanisms that need one; {EMBEDDED!r} is ours."),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", "-c", help="Array, column or tensor to release; default: the only one.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Copy this other column unchanged, such as ids.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option("--grid", help="Public grid to round to, such as 2^-12; default: by the noise.")
    ] = None,
    dtype: Annotated[str, typer.Option("--dtype", help="float32 or float64.")] = "float32",
    measure_retrieval: Annotated[
        bool, typer.Option("--measure-retrieval", help="Print recall@10 against the original, for you alone.")
    ] = False,
    threads: Annotated[int | None, typer.Option("--threads", help="Default: one per processor.")] = None,
    block_rows: Annotated[int | None, typer.Option("--block-rows", help="Rows held at once.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report, .json.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary on standard error.")] = False,
) -> None:
    """Release the vectors of IN, each row with noise of its own, rounded to a public grid.

    The guarantee, the grid and what is disclosed whatever the noise are printed on standard error.
    """
    from wordveil.errors import ParameterError
    from wordveil.vector_release import VectorSettings, release_vector_file
    from wordveil.vector_release.values import write_vector_report

    if report is not None and report.suffix != ".json":
        raise ParameterError("--report", report.name, "must end in .json.")
    chosen_settings = VectorSettings(
        column=column,
        keep=tuple(keep or ()),
        grid=None if grid is None else _parse_grid(grid),
        dtype=dtype,
        block_rows=block_rows,
        threads=threads,
    )
    table = None if vocabulary is None else open_vocabulary(None if vocabulary == EMBEDDED else Path(vocabulary))
    given = [*(settings or ()), *(["allow_refuted=True"] if allow_refuted else [])]
    chosen = _mechanism(mechanism, epsilon, given, source, column, table)
    with _Progress("rows released", quiet) as progress:
        result = release_vector_file(
            source, output, chosen, vocabulary=table, settings=chosen_settings, resume=resume, progress=progress
        )
    if report is not None:
        write_vector_report(result, report)
    if not quiet:
        _print_summary(result)
    if measure_retrieval:
        _print_recall(source, output, column, threads, quiet)


def _mechanism(
    name: str, epsilon: float, settings: Sequence[str], source: Path, column: str | None, table: Embeddings | None
) -> VectorMechanism:
    """Return the mechanism; a projection without a vocabulary gets settings that hold for any vectors, which are said.

    Raises:
        ParameterError: If there is no such mechanism, it works on words, or a parameter is outside its domain.
    """
    from wordveil.errors import ParameterError
    from wordveil.mechanisms.base import VectorMechanism

    added: list[str] = []
    if name == "projection" and table is None:
        added = _projection_settings(settings, source, column)
        if added:
            say(f"projection of any vectors: {', '.join(added)} (choose with --set)")
    chosen = build_mechanism(name, epsilon, [*added, *settings])
    if not isinstance(chosen, VectorMechanism):
        raise ParameterError("mechanism", name, "must be a vector mechanism, such as laplace: this one works on words.")
    return chosen


def _projection_settings(settings: Sequence[str], source: Path, column: str | None) -> list[str]:
    """Return the default settings for any vectors that were not given."""
    from wordveil.vector_release.binding import default_projection
    from wordveil.vectors import open_vectors

    given = {setting.partition("=")[0].strip().replace("-", "_") for setting in settings}
    if "matrix" in given:
        given |= {"dimensions", "directions"}
    planned = any(setting.partition("=")[2].strip() in ("published", "union-bound") for setting in settings)
    if planned:
        return []
    with open_vectors(source, column) as reader:
        defaults = default_projection(reader.dimensions)
    return [f"{name}={value}" for name, value in defaults.items() if name not in given]


def _parse_grid(text: str) -> float:
    """Read 2^-12, or the number itself.

    Raises:
        ParameterError: If it is neither.
    """
    from wordveil.errors import ParameterError

    base, power, exponent = text.partition("^")
    try:
        value = math.ldexp(1.0, int(exponent)) if power and base.strip() == "2" else float(text)
    except (ValueError, OverflowError):
        value = math.nan
    if math.isnan(value):
        raise ParameterError("--grid", text, "must be a power of two, such as 2^-12.")
    return value


def _print_summary(report: VectorReport) -> None:
    from wordveil.vector_release.values import grid_sentence

    say(
        f"{report.rows:,} rows of {report.input_dimensions} numbers to {report.dimensions} ({report.dtype}), "
        f"{report.rows_per_second:,.0f} rows/s"
    )
    say(f"guarantee: {report.guarantee.sentence()}")
    for assumption in getattr(report.guarantee, "assumptions", ()):
        say(f"assumes: {assumption}")
    say(f"grid: {grid_sentence(report.grid)}")
    for line in report.disclosed:
        say(f"disclosed: {line}")
    if report.left_out:
        say(f"left out: {', '.join(report.left_out)} (copy one with --keep)")


def _print_recall(source: Path, output: Path, column: str | None, threads: int | None, quiet: bool) -> None:
    from wordveil.vector_release import measure_retrieval

    with _Progress("rows searched", quiet) as progress:
        measured = measure_retrieval(source, output, column=column, threads=threads, progress=progress)
    say(f"{measured.sentence()}.")


class _Progress:
    """A progress bar with time left, on a terminal only."""

    def __init__(self, what: str, quiet: bool) -> None:
        self._what = what
        self._shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not self._shown:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn(self._what), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=None)
        self._bar.start()
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.stop()
