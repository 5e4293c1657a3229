"""A document set through a rewriter: streamed, atomic, resumable, its passes counted.

The noise of a text is placed by its document id (columns, input name, record ordinal, position in the record) and its
content, under one key a run that lies in a 0600 file beside the output until all of it is written. A resumed run draws
the noise it would have drawn, so what was cut off is not released twice. (Its words may still differ in a rare tie:
sums of the network depend on the batch. With noise="device" a resumed run draws afresh what was not yet written.)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wordveil import __version__
from wordveil.api import (
    DocumentSettings,
    DocumentSummary,
    Guarantee,
    Notice,
    Record,
    check_not_busy,
    into_rows,
    is_replaceable,
    is_resumable,
    run_documents,
    silent,
)
from wordveil.api import RunAnswers as Answers
from wordveil.api import RunCallbacks as Callbacks
from wordveil.api import sibling_file as sibling
from wordveil_lab.neural.pass_records import PassRecord
from wordveil_lab.neural.rewriting import TextRewriter

__all__ = ["BLOCK_CHARACTERS", "RewriteReport", "rewrite_documents"]

BLOCK_CHARACTERS = 500_000
"""Characters between two checkpoints: some ten seconds of one core."""


@dataclass(frozen=True, kw_only=True)
class RewriteReport:
    """What a run released.

    Attributes:
        summary: Documents, files and copied columns.
        tokens: Tokens that passed, those of the interrupted run included.
        guarantee: What one pass promises for one token.
        disclosed: What is disclosed whatever the noise.
        passes: How often the text that passed most often went through the noise, in all runs on the record; 0 where the
            output was complete before and no record was given. It tells how often a text occurs: for the owner only.
        composed: What those passes promise together; None where no text held a token.
    """

    summary: DocumentSummary
    tokens: int
    guarantee: Guarantee
    disclosed: tuple[str, ...]
    passes: int
    composed: Guarantee | None


def rewrite_documents(  # noqa: PLR0913 (those of `sanitize_documents`)
    source: str,
    destination: str,
    rewriter: TextRewriter,
    *,
    settings: DocumentSettings | None = None,
    passes: PassRecord | None = None,
    resume: bool = False,
    again: bool = False,
    progress: Callable[[int, int | None, int, int], None] | None = None,
    notice: Notice = silent,
) -> RewriteReport:
    """Rewrite a file, a directory or standard input in its own format.

    Args:
        source: A file, a directory, or "-".
        destination: A file, a directory for a directory, or "-".
        rewriter: To be able to resume, load it with `run_source(destination, resume=resume)` as its source.
        settings: How documents are read; blocks of `BLOCK_CHARACTERS` unless given.
        passes: A record of passes that lasts, which is closed at the end; None counts those of this run.
        resume: Continue an interrupted run with the same input, settings and model; does nothing where the output is
            complete, starts anew where there is neither.
        again: Write over an output that is there: a second release, whose loss adds to the first's.
        progress: Called after each block with bytes read, bytes in all (None if unknown), documents, tokens.
        notice: Told of what `keep_others` copies, of a run that is continued or discarded, of an output that is
            complete or written over, and of files that are not read.

    Raises:
        DocumentFormatError: If the input is malformed; no output remains.
        ParameterError: If there are columns of which nothing was said, or the output is there and `again` was not asked
            for.
        ResumeError: If the interrupted run, or the complete output, had another input, other settings or another model.
    """
    settings = settings or DocumentSettings(block_characters=BLOCK_CHARACTERS)
    counts, reports = Counter[str](), list[RewriteReport]()
    counting = _Counting(rewriter=rewriter, given=passes, own=_own_record(source, destination, resume=resume))
    if passes is not None:
        counting.begin()

    def process(records: list[Record]) -> Answers:
        counting.begin()
        prefix = f"\0{json.dumps([*settings.columns])}" if settings.columns else ""  # no file's name begins so
        released, passed = _release(rewriter, records, prefix)
        counts["tokens"] += passed
        return released

    def published(summary: DocumentSummary) -> None:
        counting.begin()
        reports.append(_report(rewriter, summary, counts["tokens"]))

    try:
        summary = run_documents(
            source,
            destination,
            process,
            settings=settings,
            fingerprint={
                "model": rewriter.digest(),
                "version": __version__,
                "test source": rewriter.source.is_test_source,
            },
            randomness=rewriter.source,
            resume=resume,
            again=again,
            counts=counts,
            callbacks=Callbacks(
                progress=progress and (lambda done, total, n: progress(done, total, n, counts["tokens"])),
                notice=notice,
                published=published,
            ),
        )
        return reports[0] if reports else _report(rewriter, summary, counts["tokens"])
    finally:
        counting.end(destination)


def _own_record(source: str, destination: str, *, resume: bool) -> Path | None:
    """Return where a run counts its passes until it has succeeded; None for in memory: it cannot be resumed then."""
    resumable = (Path(source).is_file() or Path(source).is_dir()) and is_replaceable(destination)
    if not (resumable and Path(destination).resolve().parent.is_dir()):
        return None
    own = sibling(destination, "passes")
    check_not_busy(Path(destination))
    if not (resume and is_resumable(destination)):
        PassRecord.discard(own)
    return own


@dataclass(kw_only=True)
class _Counting:
    """Counts the passes of a run: not before it has been found to be the one that was interrupted."""

    rewriter: TextRewriter
    given: PassRecord | None
    own: Path | None
    begun: bool = False

    def begin(self) -> None:
        """Count from now on."""
        if not self.begun:
            self.rewriter.passes, self.begun = self.given or PassRecord(self.own), True

    def end(self, destination: str) -> None:
        """Count no more; what was counted beside the output goes with the run."""
        self.rewriter.passes = PassRecord()
        if self.own is not None and not is_resumable(destination):
            PassRecord.discard(self.own)


def _report(rewriter: TextRewriter, summary: DocumentSummary, tokens: int) -> RewriteReport:
    return RewriteReport(
        summary=summary,
        tokens=tokens,
        guarantee=rewriter.guarantee,
        disclosed=rewriter.disclosed,
        passes=rewriter.passes.largest,
        composed=rewriter.model.embedding.all_passes(rewriter.passes, rewriter.guarantee),
    )


def _release(rewriter: TextRewriter, records: list[Record], prefix: str) -> tuple[Answers, int]:
    """Return the rewrites of a block of records, put back by record, and the tokens they took.

    Ids begin with the prefix, which names the columns: others of the same row are other texts.
    """
    placed = [(prefix + record.text_key(i), text) for record in records for i, text in enumerate(record.texts)]
    given = [(key, text) for key, text in placed if text is not None]
    released, passed = rewriter.rewrite_counted([text for _, text in given], ids=[key for key, _ in given])
    return into_rows([record.texts for record in records], released), passed
