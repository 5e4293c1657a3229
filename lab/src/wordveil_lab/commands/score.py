"""`wordveil score`: what somebody's releases keep, tell and are good for; exit code 1 where a claim is contradicted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from wordveil.api import EXIT_DONE, EXIT_NO, JsonOption, ParameterError, say, show

if TYPE_CHECKING:
    from wordveil_lab.court.pairs import PairedTexts


@dataclass(frozen=True, kw_only=True)
class ScoredTexts:
    """What is compared."""

    original: Annotated[str, Option("--original", metavar="FILE", help="The private texts.")]
    released: Annotated[
        str | None, Option("--released", metavar="FILE", help="What was released of them; default: the same file.")
    ] = None
    original_column: Annotated[str | None, Option("--original-column", "-c", help="Column of the originals.")] = None
    released_column: Annotated[
        str | None, Option("--released-column", help="Column of the releases; default: of the same name.")
    ] = None
    label: Annotated[str | None, Option("--label", help="Column of the originals: a class to be learnt.")] = None
    attribute: Annotated[
        str | None, Option("--attribute", help="Column of the originals: a class that releases should not reveal.")
    ] = None
    author: Annotated[str | None, Option("--author", help="Column of the originals: who wrote the text.")] = None

    def pairs(self) -> PairedTexts:
        """Return the rows that have both texts and all classes asked for."""
        from wordveil_lab.court.pairs import PairedTexts, read_column

        if self.released is None and self.released_column is None:
            raise ParameterError("--released", None, "or --released-column must be given: nothing else is compared.")
        named = {"label": self.label, "attribute": self.attribute, "author": self.author}
        columns = {
            "originals": read_column(self.original, self.original_column),
            "releases": read_column(self.released or self.original, self.released_column or self.original_column),
            **{name: read_column(self.original, own, values=True) for name, own in named.items() if own is not None},
        }
        if len({len(column) for column in columns.values()}) > 1:
            counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
            raise ParameterError("--released", counts, "must be equally many, in one order.")
        whole = [row for row in zip(*columns.values(), strict=True) if None not in row]
        if len(whole) < len(columns["originals"]):
            say(f"left out: {len(columns['originals']) - len(whole)} rows without a text or a class")
        texts = dict(zip(columns, zip(*whole, strict=True) if whole else ((),) * len(columns), strict=True))
        return PairedTexts(originals=texts.pop("originals"), released=texts.pop("releases"), facts=texts)


def score(
    texts: ScoredTexts,
    claimed: Annotated[float | None, Option("--claimed", metavar="EPSILON", help="Loss claimed, in nats.")] = None,
    per: Annotated[str, Option("--per", help="What the claim is for: text, or word (each by itself).")] = "text",
    alpha: Annotated[float, Option("--alpha", help="Probability of calling a claim that holds contradicted.")] = 1e-6,
    limit: Annotated[int, Option("--limit", help="Number of pairs to read, spread evenly; 0 means all.")] = 1000,
    report: Annotated[Path | None, Option("--report", help="Write a report, .json or .html.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Score anybody's releases: what survives, whose release it is, what it is still good for.

    The files hold a text a row, in one order: text lines, CSV, TSV, JSON, JSON Lines or Parquet. No word of them is
    printed or reported. A claim is held against how often a release is matched with its original; that assumes fresh
    noise for every text, and releases that depend on no other text.

    Exit code 0: the claim, if any, is not contradicted, which proves nothing. 1: it is.
    """
    from wordveil.api import check_replaced, check_report_path
    from wordveil_lab.court.identification import Claim
    from wordveil_lab.court.scoring import score as run

    if report is not None:
        others = (texts.original, *(() if texts.released is None else (texts.released,)))
        check_report_path(report, others=others)
        check_replaced(report)
    pairs = texts.pairs().thinned(limit or None)
    found = run(pairs, None if claimed is None else Claim(epsilon=claimed, per=per), alpha=alpha)
    show(found.as_dict(), found.summary_lines(), as_json=as_json)
    if report is not None:
        report.write_text(found.to_html() if report.suffix == ".html" else found.to_json(), encoding="utf-8")
    raise typer.Exit(EXIT_NO if found.contradicted else EXIT_DONE)
