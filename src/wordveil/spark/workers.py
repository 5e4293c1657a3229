"""What runs on the executors of a frame's release: rows of texts, or of vectors, batch by batch."""

from __future__ import annotations

import atexit
import json
import pickle
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.errors import ParameterError
from wordveil.files.run_key import save_run_key
from wordveil.mechanisms.base import VectorMechanism
from wordveil.promises.rows import ReleasedRows, refused_row
from wordveil.randomness import RandomSource
from wordveil.runs.sanitize import fingerprint
from wordveil.runs.vectors.binding import bind
from wordveil.runs.vectors.releasing import RowReleaser, VectorSettings
from wordveil.sanitizing.sanitizer import Sanitizer, release_rows
from wordveil.spark.keys import check_host, check_repeatable, check_same_job, keyed
from wordveil.vocabulary.table import Embeddings
from wordveil.withholding.redactor import Redactor

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterator[pa.RecordBatch]

ID = "__wordveil_id"
COUNTS = {"tokens": "__wordveil_tokens", "exempt": "__wordveil_exempt"}
"""What is counted of a release -> the column that holds it on the way."""


def driver_key() -> str:
    """Return a key file that goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="wordveil-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    save_run_key(folder / "key", RandomSource().export_key())
    return str(folder / "key")


def shared(sanitizer: Sanitizer, key_file: str | None, release: Sequence[str]) -> dict[str, Any]:
    """Return what every worker needs; see `Worker`."""
    check_repeatable(sanitizer)
    key, noise = key_file or driver_key(), fingerprint(sanitizer)
    check_same_job(key, ("texts", *release), noise)
    return {"sanitizer": packed_for_tasks(sanitizer), "key_file": key, "noise": noise}


def packed_for_tasks(sanitizer: Sanitizer) -> bytes:
    """Return a sanitizer of one thread, because Spark runs a task a core; no key travels with it."""
    one = copy(sanitizer)
    one.threads = 1
    return pickle.dumps(one)


@lru_cache(maxsize=4)
def unpacked(parts: bytes) -> Any:
    """Return objects from bytes, which tell a worker process whether it has them already."""
    return pickle.loads(parts)  # noqa: S301 (the driver's own bytes, as Spark's tasks are)


@lru_cache(maxsize=4)
def _ready(sanitizer: bytes) -> Sanitizer:
    made: Sanitizer = unpacked(sanitizer).for_batch_job()
    return made


def on_this_host(sanitizer: bytes, noise: dict[str, object]) -> Sanitizer:
    """Return a copy of a packed sanitizer, refused where it would draw, or count, otherwise than the driver's."""
    job = copy(_ready(sanitizer))
    check_host(fingerprint(job), noise)
    return job


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A sanitizer on an executor; what travels holds no key."""

    sanitizer: bytes = field(repr=False)
    key_file: str
    noise: dict[str, object]

    def ready(self) -> Sanitizer:
        """Return the sanitizer with the job's key, refused where it would draw other noise than the driver's."""
        source = keyed(self.key_file)
        job = on_this_host(self.sanitizer, self.noise)
        job.source = source
        return job


@dataclass(frozen=True, kw_only=True)
class Texts(Worker):
    """Sanitizes the rows of a partition."""

    columns: tuple[str, ...]  # the text columns
    name: str = ""  # what tells this frame from others under its key
    in_files: bool = False  # whether ids are files and rows, which an error may name
    counted: bool = False  # add the columns `COUNTS`: the first row of a batch holds the counts of all of it

    def __call__(self, batches: Batches) -> Batches:
        sanitizer = self.ready()
        for batch in batches:
            yield self._released(batch, sanitizer)

    def _released(self, batch: pa.RecordBatch, sanitizer: Sanitizer) -> pa.RecordBatch:
        import pyarrow as pa

        rows = list(zip(*(batch.column(name).to_pylist() for name in self.columns), strict=True))
        ids = batch.column(ID).to_pylist()
        # Other columns, and frames of other names, draw noise of their own under the same key and ids.
        part = json.dumps([self.name, *self.columns])
        try:
            done, release = release_rows(sanitizer, rows, ids, part)
        except ParameterError as error:
            row = refused_row(error, rows) if self.in_files else None
            if row is None:
                raise
            raise ParameterError("text", error.value, f"{error.requirement} Row {ids[row]}.") from None
        batch = _with_texts(batch, self.columns, done)
        for counted, name in COUNTS.items() if self.counted else ():
            sums = [getattr(release, counted)] + [0] * (len(rows) - 1) if rows else []
            batch = batch.append_column(name, pa.array(sums, pa.int64()))
        return batch


def _with_texts(batch: pa.RecordBatch, columns: Sequence[str], rows: ReleasedRows) -> pa.RecordBatch:
    import pyarrow as pa

    for place, name in enumerate(columns):
        at = batch.schema.get_field_index(name)
        column = pa.array([row[place] for row in rows], type=batch.schema.field(at).type)
        batch = batch.set_column(at, batch.schema.field(at), column)
    return batch


@dataclass(frozen=True, kw_only=True)
class Redacts:
    """Redacts the rows of a partition."""

    redactor: bytes = field(repr=False)
    key_file: str
    choices: dict[str, Any]
    columns: tuple[str, ...]
    name: str = ""

    @classmethod
    def for_frame(cls, redactor: Redactor, key_file: str | None, *, columns: tuple[str, ...], name: str) -> Redacts:
        key, choices = key_file or driver_key(), redactor.choices()
        own = replace(redactor, source=keyed(key)).own_words()
        check_same_job(key, ("redacted", name, *columns), {**choices, "own": own})
        return cls(redactor=pickle.dumps(redactor), key_file=key, choices=choices, columns=columns, name=name)

    def __call__(self, batches: Batches) -> Batches:
        redactor: Redactor = replace(unpacked(self.redactor), source=keyed(self.key_file))
        check_host(redactor.choices(), self.choices)
        part = json.dumps([self.name, *self.columns])
        for batch in batches:
            rows = list(zip(*(batch.column(name).to_pylist() for name in self.columns), strict=True))
            released = redactor.release_rows(rows, batch.column(ID).to_pylist(), part, judged=False)
            yield _with_texts(batch, self.columns, released)


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Releases the vectors of a partition."""

    column: str
    name: str
    key_file: str
    dimensions: int
    mechanism: bytes = field(repr=False)
    noise: dict[str, object]

    @classmethod
    def for_frame(cls, parts: tuple[VectorMechanism, Embeddings | None, VectorSettings], **where: Any) -> Vectors:
        """Return the task as the driver makes it; see the attributes.

        Raises:
            ParameterError: If the mechanism has no name that holds in other processes: a retry has to repeat its noise.
        """
        task = cls(mechanism=pickle.dumps(parts), noise={}, **where)
        noise = task.releaser().fingerprint()
        if task.releaser().fingerprint() != noise:
            problem = "must be a mechanism that can be named: a retry has to repeat its noise."
            raise ParameterError("mechanism", type(parts[0]).__name__, problem)
        return replace(task, noise=noise)

    def releaser(self) -> RowReleaser:
        mechanism, vocabulary, settings = unpacked(self.mechanism)
        binding = bind(mechanism, self.dimensions, vocabulary)
        name = json.dumps([self.name, self.column])
        return RowReleaser.for_settings(binding, settings, keyed(self.key_file), name)

    def __call__(self, batches: Batches) -> Batches:
        import pyarrow as pa

        releaser = self.releaser()
        check_host(releaser.fingerprint(), self.noise)
        done = 0
        for batch in batches:
            column = batch.column(self.column)
            lengths = column.value_lengths()
            if column.null_count or set(lengths.unique().to_pylist()) - {self.dimensions}:
                raise ParameterError("column", self.column, f"must hold {self.dimensions} numbers in every row.")
            rows = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, self.dimensions)
            out = releaser.release(rows, done, batch.column(ID).to_pylist())
            done += len(out)
            values = pa.array(out.astype(out.dtype.newbyteorder("=")).ravel())
            offsets = pa.array(range(0, out.size + 1, out.shape[1]), type=pa.int32())
            at = batch.schema.get_field_index(self.column)
            made = pa.ListArray.from_arrays(offsets, values)
            yield batch.set_column(at, pa.field(self.column, made.type), made)
