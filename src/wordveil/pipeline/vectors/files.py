"""A run over a file of vectors: streamed, atomic, resumable, with a report.

The run key lies in a 0600 file beside the output until all rows are written, so that a resumed run draws the noise it
would have drawn. Compressed .npz input is read again from its start on a resume; all formats can be resumed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.documents.checkpoints import (
    Journal,
    is_resumable,
    journal_path,
    remove_run_key,
    run_key_path,
    save_run_key,
)
from wordveil.documents.output import is_regular_target, partial_path, remove_partial
from wordveil.documents.vectors import OutputPlan, RowsOutput, VectorReader, open_vectors, vector_format
from wordveil.errors import ParameterError, ResumeError, WordveilError
from wordveil.mechanisms.base import VectorMechanism
from wordveil.pipeline.runs import run_source
from wordveil.pipeline.vectors.binding import bind
from wordveil.pipeline.vectors.grid import grid_mitigation
from wordveil.pipeline.vectors.releasing import RowReleaser, VectorSettings
from wordveil.pipeline.vectors.values import VectorReport, vector_disclosures
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings

__all__ = ["release_vector_file"]

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
    progress: Progress | None = None,
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
        resume: Continue an interrupted run with the same input and settings; starts anew where there is none.
        progress: Called after each block with rows done and rows in all.
        deliver: Called with the report when the output is in its place; see `sanitize_documents`.

    Returns:
        The report.

    Raises:
        ParameterError: If a parameter or a row is outside its domain; no output remains.
        DataFormatError: If the input is malformed; no output remains.
        ResumeError: If the interrupted run had another input (all of it counts), key, vocabulary, version or other
            settings.
    """
    settings = settings or VectorSettings()
    _check_destination(Path(path), Path(destination), settings)
    own_source = source is not None
    source = source or run_source(destination, resume=resume)
    started = time.perf_counter()
    with open_vectors(path, settings.column) as reader:
        missing = [name for name in settings.keep if name not in reader.others]
        if missing:
            others = len(reader.others)
            raise ParameterError("keep", ", ".join(missing), f"must be among the {others} others that the file holds.")
        binding = bind(mechanism, reader.dimensions, vocabulary)
        releaser = RowReleaser.for_settings(binding, settings, source, Path(path).name)
        run = _Run(reader=reader, destination=Path(destination), releaser=releaser, settings=settings)
        resumed = run.execute(resume=resume, progress=progress)
        kept = run.plan.keep
        seconds = time.perf_counter() - started
        report = VectorReport(
            guarantee=binding.guarantee(test_source=source.is_test_source),
            mitigations=(grid_mitigation(releaser.grid),),
            grid=releaser.grid,
            dtype=settings.dtype,
            disclosed=vector_disclosures(binding.randomizer, kept=kept, own_source=own_source),
            provenance=binding.provenance(test_source=source.is_test_source),
            rows=reader.rows,
            dimensions=binding.randomizer.dimensions,
            input_dimensions=reader.dimensions,
            column=settings.column,
            kept=kept,
            left_out=len(reader.others) - len(kept),
            resumed_rows=resumed,
            finished=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            seconds=seconds,
            rows_per_second=(reader.rows - resumed) / seconds,
        )
        if deliver is not None:
            deliver(report)
        run.journal.remove()
        return report


def _check_destination(path: Path, destination: Path, settings: VectorSettings) -> None:
    """Refuse outputs that would harm the input or cannot be written whole."""
    theirs, ours = vector_format(path), vector_format(destination)
    if settings.keep and theirs is not ours:
        raise ParameterError("keep", ", ".join(settings.keep), f"needs an output in the input's format, {theirs.name}.")
    if not is_regular_target(os.fspath(destination)):
        raise ParameterError("destination", os.fspath(destination), "must be a file.")
    if not destination.resolve().parent.is_dir():
        raise ParameterError("destination", os.fspath(destination), "must lie in an existing directory.")
    if destination.exists() and path.exists() and os.path.samefile(path, destination):
        raise ParameterError("destination", os.fspath(destination), "must differ from the input.")


def _whole_input(path: Path) -> dict[str, Any]:
    """Return the name (it is part of the rows' ids) and a digest of all bytes: what is kept is read at the end only."""
    with path.open("rb") as file:
        return {"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


@dataclass(kw_only=True)
class _Run:
    """One file on its way: reader, output and journal kept in step."""

    reader: VectorReader
    destination: Path
    releaser: RowReleaser
    settings: VectorSettings
    plan: OutputPlan = field(init=False)
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        self.plan = OutputPlan(
            rows=self.reader.rows,
            dimensions=self.releaser.binding.randomizer.dimensions,
            dtype=np.dtype(self.settings.dtype).newbyteorder("<").str,
            name=self.reader.name,
            keep=tuple(name for name in self.reader.others if name in self.settings.keep),
            reader=self.reader,
        )
        self.journal = Journal(journal_path(self.destination), self._fingerprint())

    def execute(self, *, resume: bool, progress: Progress | None) -> int:
        """Publish, and keep the journal; returns the number of rows taken over from an interrupted run."""
        journal = self.journal
        going_on = resume and journal.load()
        resumed = journal.records
        if journal.complete and self._published():
            remove_partial(partial_path(self.destination.resolve()))
            return resumed
        # The output is claimed first: another run that is writing it must keep its journal and key.
        output = RowsOutput(self.destination, vector_format(self.destination), self.plan, resumed if going_on else None)
        try:
            if not going_on:
                journal.remove()
                save_run_key(run_key_path(self.destination), self.releaser.source.export_key())
            self._release(output, progress)
        finally:
            if not is_resumable(self.destination):
                remove_run_key(run_key_path(self.destination))
        return resumed

    def _published(self) -> bool:
        """Whether a complete run was cut off after its output had been renamed into place."""
        target = self.destination.resolve()
        return target.is_file() and not (partial_path(target) / "rows").exists()

    def _release(self, output: RowsOutput, progress: Progress | None) -> None:
        journal = self.journal
        try:
            for block in self.reader.blocks(journal.records, self.settings.rows_at_once(self.reader.dimensions)):
                output.write(self.releaser.release(block, journal.records))
                output.checkpoint()
                journal.records += len(block)
                journal.save()
                if progress is not None:
                    progress(journal.records, self.reader.rows)
            if journal.records != self.reader.rows:
                raise ResumeError("The input is shorter than it said. Start without --resume.")
            output.checkpoint()
            journal.complete = True
            journal.save()
            remove_run_key(run_key_path(self.destination))  # nothing is left to draw
            output.publish()
        except WordveilError:
            # Wrong input or settings: the same run would fail again, so nothing is kept.
            output.abort()
            journal.remove()
            raise
        except BaseException:
            output.abort(keep=journal.records > 0 or journal.complete)
            raise

    def _fingerprint(self) -> dict[str, Any]:
        """Everything the output depends on."""
        source = self.releaser.source
        provenance = self.releaser.binding.provenance(test_source=source.is_test_source)
        # A digest of 128 random bits says nothing of them; it keeps a run from going on under another key.
        key = hashlib.blake2b(source.export_key(), digest_size=16).hexdigest()
        return {
            "input": _whole_input(Path(self.reader.path)),
            "array": [self.reader.name, self.reader.rows, self.reader.dimensions, self.reader.kind],
            "output format": vector_format(self.destination).name,
            "keep": list(self.plan.keep),
            "grid": self.releaser.grid,
            "dtype": self.settings.dtype,
            "version": provenance.version,
            "mechanism": provenance.mechanism,
            "vocabulary": provenance.checksum,
            "test source": provenance.test_source,
            "run key": key,
        }
