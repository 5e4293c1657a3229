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
from typing import Any, Unpack, cast

import numpy as np

from wordveil.documents.vectors import OutputPlan, VectorReader, open_vectors, vector_format
from wordveil.errors import DataFormatError, ParameterError
from wordveil.files.atomic import is_replaceable, open_private, sync
from wordveil.files.journal import file_identity
from wordveil.files.run_key import run_source
from wordveil.mechanisms.base import VectorMechanism
from wordveil.parameters import copied_columns, listed_names
from wordveil.randomness import RandomSource
from wordveil.runs.completion import Completion
from wordveil.runs.digests import file_digests
from wordveil.runs.engine import Going, Position, Run, RunOptions, silent
from wordveil.runs.preconditions import check_file
from wordveil.runs.vectors.binding import bind
from wordveil.runs.vectors.releasing import RowReleaser, VectorSettings
from wordveil.runs.vectors.values import VectorReport, vector_disclosures
from wordveil.vocabulary.table import Embeddings

Progress = Callable[[int, int], None]
"""Called after each block with rows done and rows in all."""


def release_vector_file(
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    mechanism: VectorMechanism,
    *,
    vocabulary: Embeddings | None = None,
    settings: VectorSettings | None = None,
    source: RandomSource | None = None,
    **how: Unpack[RunOptions[VectorReport, Progress]],
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
        **how: How the run goes, and who is told of it: `resume`, `again`, `progress`, `notice` and `deliver`; see
            `RunOptions`.

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
    vector_format(path)
    vector_format(destination)
    if not is_replaceable(destination):
        raise ParameterError("destination", os.fspath(destination), "must be a file.")
    check_file(os.fspath(path), os.fspath(destination), resume=True)
    own_source, going = source is not None, Going(**how)
    source, notice = source or run_source(destination, resume=going.resume), going.notice or silent
    began = time.perf_counter()
    with open_vectors(path, settings.column) as reader:
        kept = _kept(reader, vector_format(path) is vector_format(destination), settings)
        if settings.keep_others:
            notice(f"all else in the file is copied unchanged: {listed_names(kept) or 'there is nothing'}")
        binding = bind(mechanism, reader.dimensions, vocabulary)
        releaser = RowReleaser.for_settings(binding, settings, source, Path(path).name)
        plan = OutputPlan(
            rows=reader.rows,
            dimensions=binding.randomizer.dimensions,
            dtype=np.dtype(settings.dtype).newbyteorder("<").str,
            name=reader.name,
            keep=kept,
            reader=reader,
        )
        work = _Rows(plan, releaser, Path(destination), settings, own_source, began, going)
        facts = {  # all bytes of the input: what is kept is read at the end only
            "input": file_identity(Path(reader.path)),
            "array": [reader.name, reader.rows, reader.dimensions, reader.kind],
            "output format": vector_format(destination).name,
            "keep": list(kept),
            **releaser.fingerprint(),
        }
        complete = Completion(inputs=[Path(path)], again=going.again, counted=dict, recall=work.recall)
        run = Run(destination=destination, work=work, identity=facts, source=source, completion=complete)
        run.resume, run.notice = going.resume, notice
        run.execute()
        return work.reported()


def _kept(reader: VectorReader, same_format: bool, settings: VectorSettings) -> tuple[str, ...]:
    kept = copied_columns([reader.name], reader.others, where=reader.path, **settings.choice)
    if kept and not same_format:
        form = vector_format(reader.path).name
        raise ParameterError("keep", ", ".join(kept), f"needs an output in the input's format, {form}.")
    return tuple(kept)


@dataclass
class _Rows:
    """The rows of a file on their way; a `Work`."""

    plan: OutputPlan
    releaser: RowReleaser
    destination: Path
    settings: VectorSettings
    own_source: bool
    began: float
    going: Going[VectorReport, Progress]

    def __post_init__(self) -> None:
        self._form = vector_format(self.destination)
        self._prefix = self._form.prefix(self.plan)  # now: it finds out what cannot be written
        self._done = self._resumed = 0
        self._finished = ""
        self._report: VectorReport | None = None

    def restore(self, tally: Mapping[str, Any]) -> str:
        self._resumed = self._done = tally.get("rows", 0)
        return f"{self._resumed:,} rows"

    def recall(self, _: Mapping[str, Any], finished: str) -> None:
        self._finished = finished

    def finish(self, ended: str) -> None:
        self._finished = ended
        self._report = self.reported()
        if self.going.deliver is not None:
            self.going.deliver(self._report)

    def reported(self) -> VectorReport:
        """Return the report that was delivered, or that of an output which was complete before."""
        if self._report is not None:
            return self._report
        plan, binding, test = self.plan, self.releaser.binding, self.releaser.source.is_test_source
        seconds = time.perf_counter() - self.began
        return VectorReport(
            guarantee=binding.guarantee(test_source=test),
            grid=self.releaser.grid,
            dtype=cast(Any, self.settings.dtype),
            disclosed=vector_disclosures(binding.randomizer, kept=plan.keep, own_source=self.own_source),
            provenance=binding.provenance(test_source=test),
            outputs=file_digests(self.destination),
            rows=plan.rows,
            dimensions=plan.dimensions,
            input_dimensions=plan.reader.dimensions,
            column=self.settings.column,
            kept=plan.keep,
            left_out=len(plan.reader.others) - len(plan.keep),
            resumed_rows=self._resumed,
            finished=self._finished,
            seconds=seconds,
            rows_per_second=(plan.rows - self._resumed) / seconds,
        )

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
                if self.going.progress is not None:
                    self.going.progress(self._done, reader.rows)
            sync(file)
        if self._done != reader.rows:
            raise DataFormatError(reader.path, "it has fewer rows than it says.", remedy="Fetch it again.")
        return self._form.finish(self.plan, rows, folder / "merged").name
