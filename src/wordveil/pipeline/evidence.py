"""What a report says beside the facts of a run, so that it is evidence to whoever reads it.

Sentences on public words only; and whether a file is the one a report speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordveil.pipeline.runs import FileDigest, RunReport
from wordveil.pipeline.sanitizer import Sanitizer

__all__ = ["ALWAYS_ASSUMED", "Evidence", "differences", "shortfall"]

ALWAYS_ASSUMED = (
    "vocabulary, mechanism, parameters and word lists are public, and were not chosen by looking at these texts",
    "this is the only release of these texts: losses of several add up, and a choice among several voids the promise",
    "the key of the run was read by nobody; wordveil removes it when the run has succeeded",
)
"""What every release assumes, besides what its guarantee says."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a report says beside the facts of the run.

    Attributes:
        in_words: What the promise comes to, one sentence each.
        notes: Choices made for the user, and words never output.
        assumptions: What every release assumes.
    """

    in_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ALWAYS_ASSUMED

    @classmethod
    def of_run(cls, sanitizer: Sanitizer, report: RunReport, notes: Sequence[str] = ()) -> Evidence:
        """Word the promise of a run, on typical public words and on a text as long as its documents are on average."""
        mean = max(1, round(report.tokens / max(1, report.documents)))
        said = (f"In one sentence: {sanitizer.in_words.sentence}.", *sanitizer.explained(mean).examples)
        return cls(in_words=said, notes=tuple(notes))


def shortfall(facts: Mapping[str, Any]) -> list[str]:
    """Return what a report says is missing in its release of a directory, one sentence each."""
    counts = {
        "could not be read and are left out of the release": facts.get("bad_files", 0),
        "were not read, as they are hidden, links or of another format": facts.get("skipped_files", 0),
    }
    return [f"{count:,} of the files of the input {what}" for what, count in counts.items() if count]


def differences(said: Sequence[FileDigest], found: Sequence[FileDigest]) -> list[str]:
    """Return in what files differ from what a report says of them, one sentence each; a single one may be renamed."""
    if len(said) == len(found) == 1:
        return [] if said[0].sha256 == found[0].sha256 else [f"{found[0].name}: other bytes than the report says"]
    before, now = {file.name: file.sha256 for file in said}, {file.name: file.sha256 for file in found}
    told = [f"{name}: is missing" for name in sorted(before.keys() - now.keys())]
    told += [f"{name}: is not in the report" for name in sorted(now.keys() - before.keys())]
    changed = (name for name in sorted(before.keys() & now.keys()) if before[name] != now[name])
    return told + [f"{name}: other bytes than the report says" for name in changed]
