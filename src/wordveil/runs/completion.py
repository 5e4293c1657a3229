"""Whether an output is a release already, and what a run may then do: nothing, or a second release.

A retry must not release a second time, nor must a run that forgot the first. So an output that is there is written
over only where that is asked for (`again`), and `resume` takes one that is complete for what it is: nothing is read,
drawn or written, provided that the record beside it (`files.records`) is of the same settings and the same input, and
that the output is as the run left it. Where that cannot be told, the run is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordveil.errors import ParameterError, ResumeError
from wordveil.files.atomic import Stamp
from wordveil.files.journal import UNDER_KEY, is_resumable
from wordveil.files.records import ReleaseRecord, known_again, load_record, record_path, written

SECOND = "a second release of the same texts adds its loss to the first's"
"""What is said of writing over an output whose noise would be drawn anew."""


def is_taken(target: Path) -> bool:
    """Whether something stands at an output's place that a run would write over: no empty file, no empty folder."""
    return any(target.iterdir()) if target.is_dir() else target.exists() and target.stat().st_size > 0


@dataclass(kw_only=True)
class Completion:
    """What a run has to do with the release that may be there."""

    inputs: Sequence[Path] | None  # the files that are read; None where they can be read only once
    again: bool  # write over what is there
    counted: Callable[[], Mapping[str, Any]]  # returns what is remembered of the counts: nothing private
    # takes it over, and the time of the end, where the output is complete
    recall: Callable[[Mapping[str, Any], str], None]
    second: str = SECOND  # what a second output of the same texts comes to; "" where it comes to nothing
    _seen: str = field(default="", init=False)

    def check(self, target: Path, identity: Mapping[str, Any] | None, *, resume: bool) -> str:
        """Return what to tell the owner where the output is complete, "" where the run is to go on."""
        if self.again and resume:
            raise ParameterError("again", True, "begins a second release; resume=True alone goes on with it.")
        self._seen = "" if self.inputs is None else known_again(self.inputs)
        record, taken = load_record(target), is_taken(target) or self.replaces(target)
        if resume and is_resumable(target):
            return ""
        if not resume and target.is_dir() and is_taken(target) and not self.replaces(target):
            problem = "must be a new or empty directory, or one that holds a release alone."
            raise ParameterError("destination", target.name, problem)
        if self.again:
            return ""
        if not taken:
            self._check_gone(target, record)
            return ""
        if not resume:
            advice = "again=True writes over it" + (f" ({self.second})" if self.second else "")
            problem = f"is there already. resume=True tells whether it is complete; {advice}."
            raise ParameterError("destination", target.name, problem)
        return self._complete(target, identity or {}, record)

    def overwriting(self, target: Path) -> str:
        """Return what to tell the owner of what is written over; "" where nothing is."""
        if not (self.again and is_taken(target)):
            return ""
        return f"writing over {target.name}{self._reason()}."

    def _reason(self) -> str:
        return f": {self.second}" if self.second else ""

    def _check_gone(self, target: Path, record: ReleaseRecord | None) -> None:
        if self.second and record is not None and self._seen == record.input:
            problem = f"was released from the same input ({record.finished}) and is gone."
            advice = f"again=True releases it once more{self._reason()}."
            raise ParameterError("destination", target.name, f"{problem} {advice}")

    def _complete(self, target: Path, identity: Mapping[str, Any], record: ReleaseRecord | None) -> str:
        over = f"add again=True to write over this one{self._reason()}."
        remedy = f"Nothing was done. Choose another output, or {over}"
        if record is None:
            raise ResumeError(f"{target.name} is there, but no record beside it tells what it is. {remedy}")
        differing = record.differing(_lasting(identity), self._seen)
        if differing:
            raise ResumeError(f"{target.name} is complete, but differs in: {', '.join(differing)}. {remedy}")
        if written(target) != record.output:
            raise ResumeError(f"{target.name} is not what the run that completed it wrote any more. {remedy}")
        self.recall(record.tally, record.finished)
        return f"complete already, since {record.finished}: nothing is released anew."

    def replaces(self, target: Path) -> bool:
        """Whether an output is what a run released, and nothing else, so that a folder may be replaced as a whole."""
        record = load_record(target) if target.exists() else None
        return record is not None and written(target) == record.output

    def remember(self, target: Path, identity: Mapping[str, Any] | None, ended: str, output: Stamp) -> None:
        """Leave the record of an output, by its stamp when it was complete; none where the input can be read only once.

        What somebody wrote into it since, such as one who was told that it is there, is not what is remembered.
        """
        if identity is None or self.inputs is None:
            record_path(target).unlink(missing_ok=True)
        else:
            how: dict[str, Any] = {"inputs": self._seen, "tally": self.counted(), "finished": ended}
            ReleaseRecord.of(output, _lasting(identity), **how).save(target)


def _lasting(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in identity.items() if not name.startswith(UNDER_KEY)}
