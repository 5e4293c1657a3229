"""A run over a file of vectors: streamed, atomic, resumable, with a report; see `runs.engine` for what becomes of it.

Compressed .npz input is read again from its start on a resume; all formats can be resumed, because they frame the rows
only at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from wordveil.documents.vectors import OutputPlan, VectorFormat, VectorReader, open_vectors, vector_format
from wordveil.errors import DataFormatError, ParameterError
from wordveil.files.atomic import is_replaceable, open_private, sync
from wordveil.files.journal import file_identity
from wordveil.files.run_key import run_source
from wordveil.mechanisms.base import VectorMechanism
from wordveil.parameters import copied_columns, listed_names
from wordveil.randomness import RandomSource
from wordveil.runs.completion import Completion
from wordveil.runs.digests import file_digests
from wordveil.runs.engine import Notice, Position, Run, silent
from wordveil.runs.preconditions import check_file
from wordveil.runs.vectors.binding import bind
from wordveil.runs.vectors.releasing import RowReleaser, VectorSettings
from wordveil.runs.vectors.values import VectorReport, vector_disclosures
from wordveil.vocabulary.table import Embeddings

Progress = Callable[[int, int], None]
"""Called after each block with rows done and rows in all."""


def release_vector_file(  # noqa: PLR0913 (two of them are told of the run)
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    mechanism: VectorMechanism,
    *,
    vocabulary: Embeddings | None = None,
    settings: VectorSettings | None = None,
    source: RandomSource | None = None,
    resume: bool = False,
    again: bool = False,
    progress: Progress | None = None,
    notice: Notice = silent,
    deliver: Callable[[VectorReport], None] | None = None,
) -> VectorReport:
    """Release the vectors of a file into another, holding one block at a time.

    Args:
        path: An .npy, .npz, .parquet or .safetensors file.
        destination: The output; its ending chooses its format, which must be the input's where something is kept.
        mechanism: A vector mechanism.
        vocabulary: Public vocabulary for mechanisms that need one.
        settings: Which array, what to keep, grid, type.
        source: Randomness; None takes a fresh secure source, or the key of the interrupted run that is resumed. As for
            `release_vectors`, two releases under one source tell which rows changed.
        resume: Continue an interrupted run with the same input and settings; does nothing where the output is complete,
            starts anew where there is neither.
        again: Write over an output that is there: a second release, whose loss adds to the first's.
        progress: Called after each block with rows done and rows in all.
        notice: Told what `keep_others` copies, of a run that is continued or discarded, and of an output that is
            complete or written over.
        deliver: Called with the report when the output is in its place; see `sanitize_documents`.

    Returns:
        The report.

    Raises:
        ParameterError: If a parameter or a row is outside its domain, the file holds more than the array and nothing
            was said of the rest, or the output is there and `again` was not asked for; nothing of this run remains.
        DataFormatError: If the input is malformed; no output remains.
        ResumeError: If the interrupted run had another input (all of it counts), key, vocabulary, version or other
            settings.
    """
    settings = settings or VectorSettings()
    _check_destination(Path(path), Path(destination))
    own_source = source is not None
    source = source or run_source(destination, resume=resume)
    started = time.perf_counter()
    reports: list[VectorReport] = []
    ends: list[str] = []
    with open_vectors(path, settings.column) as reader:
        kept = _kept(reader, vector_format(path) is vector_format(destination), settings)
        if settings.keep_others:
            notice(f"all else in the file is copied unchanged: {listed_names(kept) or 'there is nothing'}")
        binding = bind(mechanism, reader.dimensions, vocabulary)
        releaser = RowReleaser.for_settings(binding, settings, source, Path(path).name)
        plan = _plan(reader, releaser, settings, kept)

        def reported(finished: str) -> VectorReport:
            seconds = time.perf_counter() - started
            return VectorReport(
                guarantee=binding.guarantee(test_source=source.is_test_source),
                grid=releaser.grid,
                dtype=cast(Any, settings.dtype),
                disclosed=vector_disclosures(binding.randomizer, kept=plan.keep, own_source=own_source),
                provenance=binding.provenance(test_source=source.is_test_source),
                outputs=file_digests(Path(destination)),
                rows=reader.rows,
                dimensions=plan.dimensions,
                input_dimensions=reader.dimensions,
                column=settings.column,
                kept=plan.keep,
                left_out=len(reader.others) - len(plan.keep),
                resumed_rows=work.resumed,
                finished=finished,
                seconds=seconds,
                rows_per_second=(reader.rows - work.resumed) / seconds,
            )

        def finish(ended: str) -> None:
            reports.append(reported(ended))
            if deliver is not None:
                deliver(reports[0])

        work = _Rows(plan, releaser, vector_format(destination), settings, progress, finish)
        facts = _identity(releaser, plan, vector_format(destination).name)
        run = Run(destination=destination, work=work, identity=facts, source=source, resume=resume, notice=notice)
        run.completion = Completion(
            inputs=[Path(path)], again=again, counted=dict, recall=lambda *told: ends.append(told[1])
        )
        run.execute()
        return reports[0] if reports else reported(ends[0])


def _kept(reader: VectorReader, same_format: bool, settings: VectorSettings) -> tuple[str, ...]:
    kept = copied_columns([reader.name], reader.others, where=reader.path, **settings.choice)
    if kept and not same_format:
        form = vector_format(reader.path).name
        raise ParameterError("keep", ", ".join(kept), f"needs an output in the input's format, {form}.")
    return tuple(kept)


def _check_destination(path: Path, destination: Path) -> None:
    vector_format(path)
    vector_format(destination)
    if not is_replaceable(destination):
        raise ParameterError("destination", os.fspath(destination), "must be a file.")
    check_file(os.fspath(path), os.fspath(destination), resume=True)


def _plan(reader: VectorReader, releaser: RowReleaser, settings: VectorSettings, kept: tuple[str, ...]) -> OutputPlan:
    return OutputPlan(
        rows=reader.rows,
        dimensions=releaser.binding.randomizer.dimensions,
        dtype=np.dtype(settings.dtype).newbyteorder("<").str,
        name=reader.name,
        keep=kept,
        reader=reader,
    )


def _identity(releaser: RowReleaser, plan: OutputPlan, form: str) -> dict[str, Any]:
    """Return everything the output depends on; all bytes of the input, as what is kept is read at the end only."""
    reader = plan.reader
    return {
        "input": file_identity(Path(reader.path)),
        "array": [reader.name, reader.rows, reader.dimensions, reader.kind],
        "output format": form,
        "keep": list(plan.keep),
        **releaser.fingerprint(),
    }


@dataclass
class _Rows:
    """The rows of a file on their way; a `Work`."""

    plan: OutputPlan
    releaser: RowReleaser
    form: VectorFormat
    settings: VectorSettings
    progress: Progress | None
    finish: Callable[[str], None]

    def __post_init__(self) -> None:
        self._prefix = self.form.prefix(self.plan)  # now: it finds out what cannot be written
        self._done = self.resumed = 0

    def restore(self, tally: Mapping[str, Any]) -> str:
        self.resumed = self._done = tally.get("rows", 0)
        return f"{self.resumed:,} rows"

    def tally(self) -> Mapping[str, Any]:
        return {"rows": self._done}

    def steps(self, folder: Path | None, position: Position) -> Generator[Position | None, None, str]:
        assert folder is not None  # the destination is a file
        rows, reader = folder / "rows", self.plan.reader
        start = len(self._prefix) + self._done * self.plan.row_bytes if position else None
        with open_private(rows, start=start) as file:
            if start is None:
                file.write(self._prefix)
            for block in reader.blocks(self._done, self.settings.rows_at_once(reader.dimensions)):
                file.write(self.releaser.release(block, self._done).tobytes())
                sync(file)
                self._done += len(block)
                yield {"rows": self._done}
                if self.progress is not None:
                    self.progress(self._done, reader.rows)
            sync(file)
        if self._done != reader.rows:
            raise DataFormatError(reader.path, "it has fewer rows than it says.", remedy="Fetch it again.")
        return self.form.finish(self.plan, rows, folder / "merged").name
