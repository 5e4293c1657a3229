"""`wordveil audit`: find out what a mechanism really promises; exit code 1 where its claim is refuted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

import wordveil as wv
from wordveil.cli.common import parse_settings
from wordveil.cli.options import SetOption, VocabularyOption
from wordveil.cli.printing import JsonOption, show
from wordveil.cli.progress import step_bar
from wordveil.errors import ParameterError
from wordveil.plugins import mechanism_class


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What is audited, and what it claims."""

    mechanism: Annotated[
        str | None, Option("--mechanism", "-m", help="One of wordveil's mechanisms; see: wordveil mechanisms.")
    ] = None
    python: Annotated[
        str | None, Option(metavar="FILE.py:NAME", help="Your own mechanism or callable instead; MODULE:NAME, too.")
    ] = None
    epsilon: Annotated[float | None, Option("--epsilon", "-e", help="The epsilon claimed.")] = None
    delta: Annotated[float | None, Option(help="The delta claimed.")] = None
    calibration: Annotated[str | None, Option(help="The calibration to audit.")] = None
    allow_refuted: Annotated[bool, Option("--allow-refuted", help="Permit a refuted calibration.")] = False
    dimensions: Annotated[int | None, Option(help="Dimensions of vectors, to audit without a vocabulary.")] = None
    settings: SetOption = None
    vocabulary: VocabularyOption = None
    words: Annotated[
        int, Option(help="Number of words to audit over, of those that may be output; 0 means all, and every input.")
    ] = 0
    kind: Annotated[str | None, Option(help="What a callable of yours takes: vectors or text.")] = None
    texts: Annotated[
        tuple[str, str] | None, Option(help="Two texts to tell apart, for one that knows no words of a vocabulary.")
    ] = None

    def checked(self) -> str:
        """Return the name of the mechanism, or the place of the caller's own."""
        if (self.mechanism is None) == (self.python is None):
            raise ParameterError("--mechanism", None, "or --python must be given, and only one of them.")
        if self.mechanism is not None:
            mechanism_class(self.mechanism)
        else:
            sys.path.insert(0, str(Path.cwd()))  # a module of the user's lies where the command is run
        return self.mechanism or self.python or ""

    def parameters(self) -> dict[str, Any]:
        named = {"epsilon": self.epsilon, "delta": self.delta, "calibration": self.calibration}
        given = {name: value for name, value in named.items() if value is not None}
        return given | ({"allow_refuted": True} if self.allow_refuted else {}) | parse_settings(self.settings or ())

    def embeddings(self) -> wv.Embeddings | None:
        """Return the vocabulary to audit over; None where vectors of some dimension, or texts, stand for it."""
        if self.texts is not None and self.python is None:
            raise ParameterError("--texts", None, "is for --python: what wordveil brings is audited over a vocabulary.")
        own = self.kind is not None or self.texts is not None
        without = self.dimensions is not None or (self.python is not None and own)
        if without and self.words:
            raise ParameterError("--words", self.words, "needs a vocabulary; leave it out here.")
        if without:
            return None
        # All words: those that may not be output are inputs, of which the claim speaks too.
        table = wv.load_embeddings(self.vocabulary)
        return table.first(self.words) if self.words else table


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is tried."""

    samples: Annotated[int, Option(help="Number of samples of each input of each pair.")] = 20_000
    pairs: Annotated[int, Option(help="Number of pairs of inputs.")] = 6
    alpha: Annotated[float, Option(help="Probability of refuting an honest mechanism.")] = 1e-6
    classifier: Annotated[bool, Option("--classifier", help="Train a classifier too (scikit-learn).")] = False
    timing: Annotated[bool, Option("--timing", help="Time words too; only on a quiet machine.")] = False


def audit(
    *,
    subject: Attacked,
    effort: Effort,
    report: Annotated[Path | None, Option(help="Write a report, .json or .html.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a mechanism's claim by exact checks and by statistics that hold with the stated confidence.

    Exit code 0: nothing refuted. 1: refuted, with the pair and the numbers. 2: the audit could not run, or no pair of
    the claim could be tried.
    """
    from wordveil.auditing import AuditOptions
    from wordveil.runs.engine import check_replaced, check_report_path

    name = subject.checked()
    if report is not None:
        check_report_path(report)
        check_replaced(report)
    with step_bar() as progress:
        found = wv.audit(
            name,
            embeddings=subject.embeddings(),
            dimensions=subject.dimensions,
            texts=subject.texts,
            parameters=subject.parameters(),
            kind=subject.kind,
            options=AuditOptions(**vars(effort)),
            progress=progress,
        )
    show(found.as_dict(), found.summary_lines(), as_json=as_json)
    if report is not None:
        report.write_text(found.to_html() if report.suffix == ".html" else found.to_json(), encoding="utf-8")
    raise typer.Exit(found.exit_code)
