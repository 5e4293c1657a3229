"""A run: a document set through a sanitizer, streamed, atomic, resumable, with a report.

The noise of a record is placed by its document id (input name, record ordinal) and all its texts, under one key a
run. The key lies in a 0600 file beside the output until the run has succeeded, so that a
resumed run draws the noise it would have drawn.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, Unpack

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, Record
from wordveil.promises.release import KEYED, BatchRelease, keyed_by
from wordveil.promises.rows import into_rows
from wordveil.runs.beforehand import FirstReading, UserBudget
from wordveil.runs.digests import FileDigest, file_digests
from wordveil.runs.documents import Answers, DocumentSummary
from wordveil.runs.engine import RunOptions
from wordveil.runs.frame import DocumentReport, RunProgress, run_and_report, run_facts, run_shows
from wordveil.sanitizing.input_watch import InputWatch
from wordveil.sanitizing.sanitizer import Sanitizer, release_rows


@dataclass(frozen=True, kw_only=True)
class RunReport(DocumentReport):
    """What a run released."""

    exempt: int  # public words that passed verbatim
    longest: int  # tokens randomized of the longest document
    tokens_per_second: float  # tokens of this process's part over its time
    # every file read, only where it was asked for: whoever has the digest of a private file can tell whether a guess of
    # the whole file is right, and its size is the total length of its words
    inputs: tuple[FileDigest, ...] = ()
    ids: str = ""  # the column that names each document; "" where its place does
    lasting_key: bool = False  # whether the key is its owner's, who keeps it, and none of the run's own
    # what bounds the loss of all documents of one person, and what it left out, where that was asked for
    budget: dict[str, Any] | None = None
    # what was read of the release, and what an attacker reads, where that was asked for
    denoised: dict[str, Any] | None = None

    def with_inputs(self, source: str | os.PathLike[str], settings: DocumentSettings | None = None) -> Self:
        """Return the report with size and SHA-256 of the input as it is now; see `inputs`."""
        return replace(self, inputs=file_digests(Path(source), settings or DocumentSettings()))


class Afterwards(Protocol):
    """Post-processing in a run; it sees what was released and no more."""

    def __call__(self, batch: BatchRelease) -> tuple[list[ReleasedText], Mapping[str, int]]:
        """Return the texts to write in the place of the released ones, and counts to add up."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Return what the texts depend on besides the release, as JSON values."""

    def facts(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what a report says of it."""


def sanitize_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    *,
    settings: DocumentSettings | None = None,
    afterwards: Afterwards | None = None,
    watch: InputWatch | None = None,
    budget: UserBudget | None = None,
    ids: str | None = None,
    **how: Unpack[RunOptions[RunReport, RunProgress]],
) -> RunReport:
    """Sanitize a file, a directory tree or standard input, in its own format.

    Args:
        source: A file, a directory, or "-".
        destination: A file, a directory for a directory, or "-".
        sanitizer: The pipeline; give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        afterwards: What is done to the released texts before they are written.
        watch: `sanitizer.watch(warn)`: counts unknown words for the owner, and calls `warn` before a text is released
            that does not look like what the vocabulary is for, or at the end if there were no words. The first blocks
            decide, up to 10 000 words; a resumed run is not judged again. None warns as Python does.
        budget: What bounds the loss of all documents of one person; files are read once more then.
        ids: The column that names each document: its noise goes by that name, wherever it stands. Under one key a
            document that did not change is then released as it was, so the source needs a key that stays, such as
            `run_source(destination, key_file=FILE)`. Files are read once more.
        **how: How the run goes, and who is told of it: `resume`, `again`, `progress`, `notice` and `deliver`; see
            `RunOptions`.

    Returns:
        The report of the run.

    Raises:
        DocumentFormatError: If the input is malformed, in a tree every file; no output remains.
        OSError: If the disk is full; names the output, and says whether the run can be resumed.
        ResumeError: If the interrupted run, or the complete output, had another input, other settings, vocabulary or
            version, or if its key is the owner's in one run and the run's own in the other.
        ParameterError: If settings or destination do not fit, the output is there and `again` was not asked for,
            another run is writing there, a user is over the budget that stops, or ids repeat or lack a key that stays.
    """
    settings = settings or DocumentSettings()
    counts, here = Counter[str](), Counter[str]()  # of the whole run, and of this process's part
    watch = watch or sanitizer.watch()
    job = sanitizer.for_batch_job(watch.look)
    job.source = sanitizer.source.kept()  # beside the output, until it is written

    def process(records: list[Record]) -> Answers:
        if counts["documents"] and not here:
            watch.settled = True  # the interrupted run was judged
        answers, found = release_records(job, records, afterwards, columns=settings.columns)
        for counter in (counts, here):
            add_counts(counter, found)
        return answers

    def reported(summary: DocumentSummary, seconds: float) -> RunReport:
        spent = seconds, here["tokens"]
        report = run_report(source, destination, sanitizer, settings, summary, counts=counts, spent=spent, ids=ids)
        if budget is not None:
            told = budget.told(users=counts["users_over"], documents=counts["documents_left_out"])
            report = budget.within(report, told)
        return report if afterwards is None else replace(report, denoised=afterwards.facts(counts))

    # What an output depends on of what was asked for.
    besides: dict[str, Any] = {} if budget is None else {"budget": asdict(budget)}
    besides |= {} if ids is None else {"ids": ids}
    besides |= {} if afterwards is None else afterwards.fingerprint()
    report, was_complete = run_and_report(
        source,
        destination,
        process,
        reported,
        settings=settings,
        fingerprint={**fingerprint(sanitizer), **besides},
        beforehand=FirstReading.asked_for(sanitizer, settings, counts, budget, ids),
        randomness=sanitizer.source,
        counts=counts,
        tokens=["tokens"],
        **how,
    )
    if not was_complete and not (counts["documents_left_out"] and not counts["documents"]):
        watch.finish(counts["documents"], counts["tokens"] + counts["exempt"])
    return report


def fingerprint(sanitizer: Sanitizer) -> dict[str, Any]:
    """What a run's output depends on besides its input, the settings and the key, as JSON values.

    The noise domain holds what the other two do not name: the reading of texts, a stock's map and encoder. The engine
    does not count: every one gives the same words.
    """
    origin = asdict(sanitizer.provenance)
    del origin["engine"]
    return {"options": sanitizer.options.choices(), **origin, "noise": sanitizer.parts.domain}


def run_report(  # noqa: PLR0913 (what a report says of a run)
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    sanitizer: Sanitizer,
    settings: DocumentSettings,
    summary: DocumentSummary,
    *,
    counts: Counter[str],
    spent: tuple[float, int],
    outputs: Iterable[Mapping[str, Any]] | None = None,
    ids: str | None = None,
) -> RunReport:
    """Return the report of a run whose output is in its place; `spent` are this process's seconds and tokens."""
    facts = run_facts(source, destination, settings, summary, outputs)
    facts |= {"ids": ids or "", "lasting_key": sanitizer.source.lasts}
    return RunReport(
        guarantee=sanitizer.guarantee,
        disclosed=run_disclosures(sanitizer, facts),
        provenance=sanitizer.provenance,
        options=sanitizer.options.choices(),
        tokens=counts["tokens"],
        exempt=counts["exempt"],
        longest=counts["longest"],
        seconds=spent[0],
        tokens_per_second=spent[1] / spent[0],
        **facts,
    )


def run_disclosures(sanitizer: Sanitizer, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a run discloses whatever the noise, one sentence each, given what its report says of it."""
    return (*sanitizer.disclosed, keyed_by(facts["ids"]) if facts.get("ids") else KEYED, *run_shows(facts))


def release_records(
    sanitizer: Sanitizer, records: list[Record], afterwards: Afterwards | None = None, *, columns: Sequence[str] = ()
) -> tuple[Answers, Mapping[str, int]]:
    """Return the released texts of each record of a block, and what to count; a record is one document.

    The columns that texts are taken from are part of its id: others of the same row are another document.
    """
    rows = [record.texts for record in records]
    part = f"\0{json.dumps([*columns])}" if columns else ""  # no file's name begins so
    released, batch = release_rows(sanitizer, rows, [record.key for record in records], part)
    seen = {name: getattr(batch, name) for name in ("tokens", "exempt", "longest")}
    if afterwards is None:
        return released, seen
    texts, found = afterwards(batch)
    return into_rows(rows, texts), {**found, **seen}


def add_counts(counts: Counter[str], others: Mapping[str, int]) -> None:
    """Add what was counted elsewhere; of "longest" the larger one stays."""
    longest = max(counts["longest"], others.get("longest", 0))
    counts.update(others)
    counts["longest"] = longest
