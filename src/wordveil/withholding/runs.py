"""A run: a document set through a redactor, by the one run engine, with a report that counts by kind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from wordveil.arrays import ReleasedText
from wordveil.documents import DocumentSettings, Record
from wordveil.errors import ParameterError
from wordveil.files.journal import UNDER_KEY
from wordveil.files.records import known_again
from wordveil.promises.rows import into_rows
from wordveil.runs.documents import Answers, DocumentSummary, Known, stamp_of
from wordveil.runs.engine import RunOptions
from wordveil.runs.frame import DocumentReport, RunProgress, run_and_report, run_facts, run_shows
from wordveil.sanitizing.input_watch import Warn, nothing_read, warn_caller
from wordveil.withholding.claim import COUNTED, Claim
from wordveil.withholding.linking import DOCUMENT, NONE, persons_of
from wordveil.withholding.redactor import Redactor, check_share


@dataclass(frozen=True, kw_only=True)
class RedactionReport(DocumentReport):
    """What a run released; no private word, but how many tokens are hidden, which placeholders do not show.

    Attributes:
        claim: What may and must be said of it.
        kept: Tokens that left.
        hidden: Tokens hidden, by what is printed for them.
    """

    claim: Claim
    kept: int
    hidden: dict[str, int]


def redact_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    redactor: Redactor,
    *,
    settings: DocumentSettings | None = None,
    warn: Warn = warn_caller,
    word_files: Sequence[Path] = (),
    **how: Unpack[RunOptions[RedactionReport, RunProgress]],
) -> RedactionReport:
    """Redact a file, a directory tree or standard input, in its own format.

    Args:
        source: A file, a directory, or "-"; where persons are linked, a file with columns.
        destination: A file, a directory for a directory, or "-".
        redactor: Give it `run_source(destination, resume=resume)` as its source to be able to resume.
        settings: How documents are read.
        warn: Called with an `InputWarning` at the end where the input held nothing.
        word_files: The files of the owner's words: an output is complete for `resume` as long as they are as they were.
        **how: As for `sanitize_documents`.

    Returns:
        The report of the run.

    Raises:
        TooLittleKeptError: If less than .4 of all tokens are kept. No output is in its place then; what went to
            standard output is out.
        DocumentFormatError: If the input is malformed.
        ParameterError: If settings or destination do not fit, or the output is there and `again` was not asked for.
        ResumeError: If the interrupted run had another input, or other choices.
    """
    settings = settings or DocumentSettings()
    counts = Counter[str]()
    prefix = "".join(f"\0{column}" for column in settings.columns)
    persons, by_person = list[str | None](), redactor.link not in (NONE, DOCUMENT)
    if by_person and (not os.path.isfile(source) or settings.missing == "skip" or not settings.columns):
        problem = "names a column, which needs one file with columns, and no --missing skip; or use document."
        raise ParameterError("link", redactor.link, problem)

    def linked(files: Sequence[tuple[str, DocumentSettings]]) -> list[Known]:
        ((path, own),) = files
        before = stamp_of(path)
        persons[:] = persons_of(path, redactor.link, own)
        return [Known(documents=len(persons), stamp=before)]

    def released(records: list[Record]) -> list[ReleasedText]:
        together = redactor.release_all([t for record in records for t in record.texts if t is not None], counts)
        return [text for record in records for text in of_record(record)] if together is None else together

    def of_record(record: Record) -> Iterator[ReleasedText]:
        person = persons[record.ordinal] if by_person else None
        return redactor.release_row(record.texts, counts, f"{prefix}{record.key}:", person)

    def process(records: list[Record]) -> Answers:
        return into_rows([record.texts for record in records], released(records))

    def reported(summary: DocumentSummary, seconds: float) -> RedactionReport:
        facts = run_facts(source, destination, settings, summary)
        return RedactionReport(
            guarantee=redactor.guarantee,
            disclosed=(*redactor.disclosed, COUNTED, *run_shows(facts)),
            claim=Claim.of(counts, redactor.words, redactor.rule, law=redactor.law, days=redactor.days),
            provenance=redactor.provenance,
            options=redactor.choices(),
            tokens=counts["kept"] + counts["hidden"],
            kept=counts["kept"],
            hidden={kind: counts[kind] for kind in ("name", "number", "link", "word")},
            seconds=seconds,
            **facts,
        )

    report, _ = run_and_report(
        source,
        destination,
        process,
        reported,
        settings=settings,
        fingerprint={"redact": redactor.choices(), **_own_words(redactor, word_files)},
        randomness=redactor.source,
        counts=counts,
        tokens=["kept", "hidden"],
        second=_second(redactor),
        beforehand=linked if by_person else None,
        read=lambda: check_share(counts),  # not earlier: where blocks end depends on the length of hidden tokens
        **how,
    )
    if empty := nothing_read(report.documents, report.tokens):
        warn(empty)
    return report


def _second(redactor: Redactor) -> str:
    """Return what a second redaction of the same texts comes to."""
    if redactor.days is not None:
        return "dates are moved anew, and two such releases tell more than one"
    if redactor.draws:
        return "its numbers and made-up values are drawn anew"
    return "nothing is drawn: the same words, lists and options give the same file, and others a second form of it"


def _own_words(redactor: Redactor, files: Sequence[Path]) -> dict[str, str]:
    """Return what tells a run with other words of the owner's: by their files, and under the key while it is there.

    Words that come from no file are compared under the key alone, so that no complete output is taken for theirs.
    """
    own = redactor.words.added or redactor.words.hidden
    kept = {} if not files else {"files of words": known_again(files)}
    return kept | {"own words" if own and not files else f"{UNDER_KEY}own words": redactor.own_words()}
