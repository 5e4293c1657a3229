"""The unfinished output of a vector release: rows in a private directory beside the target, renamed on success only.

The directory `.<name>.partial` has mode 0700 and holds the rows written so far; a run that was cut off goes on at
any checkpoint, whatever the format, because formats frame the rows only at the end.
"""

from __future__ import annotations

import os
from pathlib import Path

from wordveil.arrays import FloatArray
from wordveil.documents.output import Claim, discard_partial, open_private, partial_path, publish, remove_partial
from wordveil.documents.vectors.base import OutputPlan, VectorFormat
from wordveil.errors import ResumeError

__all__ = ["RowsOutput"]


class RowsOutput:
    """Rows on their way into a file.

    Args:
        destination: The target; replaced on `publish`.
        form: Its format.
        plan: What it will hold.
        resume_rows: Rows that an interrupted run brought to the disk; None starts anew.

    Raises:
        ParameterError: If another run is writing the same target.
        ResumeError: If the rows of the interrupted run are gone.
    """

    def __init__(self, destination: Path, form: VectorFormat, plan: OutputPlan, resume_rows: int | None) -> None:
        self._form, self._plan = form, plan
        self.target = destination.resolve()
        self._partial = partial_path(self.target)
        self._rows = self._partial / "rows"
        prefix = form.prefix(plan)
        if resume_rows is None:
            discard_partial(self._partial)
            self._partial.mkdir(mode=0o700)
        length = 0 if resume_rows is None else len(prefix) + resume_rows * plan.row_bytes
        if resume_rows is not None and not (self._rows.is_file() and self._rows.stat().st_size >= length):
            raise ResumeError("The unfinished output of the interrupted run is gone. Start without --resume.")
        self._claim = Claim(self._partial)
        self._file = open_private(self._rows, keep=resume_rows is not None)
        self._file.truncate(length)
        self._file.seek(length)
        if resume_rows is None:
            self._file.write(prefix)

    def write(self, rows: FloatArray) -> None:
        """Append rows of the plan's type and width."""
        assert rows.dtype == self._plan.dtype
        assert rows.shape[1] == self._plan.dimensions
        self._file.write(rows.tobytes())

    def checkpoint(self) -> None:
        """Bring all rows to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def publish(self) -> None:
        """Frame the rows and replace the target."""
        self.checkpoint()
        self._file.close()
        publish(self._form.finish(self._plan, self._rows, self._partial / "merged"), self.target)
        remove_partial(self._partial)
        self._claim.release()

    def abort(self, *, keep: bool = False) -> None:
        """Close; the rows are removed, or kept for a later resume."""
        self._file.close()
        if not keep:
            remove_partial(self._partial)
        self._claim.release()
