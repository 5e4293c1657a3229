"""`wordveil audit`: find out what a mechanism really promises; exit code 1 where its claim is refuted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wordveil.cli.common import ParameterOption, VocabularyOption, open_vocabulary, parse_settings
from wordveil.cli.printing import JsonOption, show
from wordveil.plugins import mechanism_class

__all__ = ["audit"]


def audit(
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="One of wordveil's mechanisms; see: wordveil mechanisms.")
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", metavar="MODULE:NAME", help="Your own mechanism or callable instead.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="The epsilon claimed.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="The delta claimed.")] = None,
    calibration: Annotated[str | None, typer.Option("--calibration", help="The calibration to audit.")] = None,
    allow_refuted: Annotated[bool, typer.Option("--allow-refuted", help="Permit a refuted calibration.")] = False,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", help="Dimensions of vectors, to audit without a vocabulary.")
    ] = None,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    kind: Annotated[str | None, typer.Option("--kind", help="What a callable of yours takes: vectors or text.")] = None,
    samples: Annotated[int, typer.Option("--samples", help="Number of samples of each input of each pair.")] = 20_000,
    pairs: Annotated[int, typer.Option("--pairs", help="Number of pairs of inputs.")] = 6,
    alpha: Annotated[float, typer.Option("--alpha", help="Probability of refuting an honest mechanism.")] = 1e-6,
    classifier: Annotated[bool, typer.Option("--classifier", help="Train a classifier too (scikit-learn).")] = False,
    timing: Annotated[bool, typer.Option("--timing", help="Time words too; only on a quiet machine.")] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Write a report, .json or .html.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a mechanism's claim by exact checks and by statistics that hold with the stated confidence.

    Exit code 0: nothing refuted. 1: refuted, with the pair and the numbers. 2: the audit could not run, or no pair of
    the claim could be tried.
    """
    from wordveil.auditing import AuditOptions
    from wordveil.auditing import audit as run
    from wordveil.errors import ParameterError
    from wordveil.pipeline.run import check_report_path

    if (mechanism is None) == (python is None):
        raise ParameterError("--mechanism", None, "or --python must be given, and only one of them.")
    if mechanism is not None:
        mechanism_class(mechanism)
    else:
        sys.path.insert(0, str(Path.cwd()))  # a module of the user's lies where the command is run
    if report is not None:
        check_report_path(report)
    parameters: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "calibration": calibration}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if allow_refuted:
        parameters["allow_refuted"] = True
    parameters |= parse_settings(settings or ())
    without_vocabulary = dimensions is not None or (python is not None and kind is not None)
    found = run(
        mechanism or python or "",
        embeddings=None if without_vocabulary else open_vocabulary(vocabulary),
        dimensions=dimensions,
        parameters=parameters,
        kind=kind,
        options=AuditOptions(samples=samples, pairs=pairs, alpha=alpha, classifier=classifier, timing=timing),
    )
    show(found.as_dict(), found.summary_lines(), as_json=as_json)
    if report is not None:
        report.write_text(found.to_html() if report.suffix == ".html" else found.to_json(), encoding="utf-8")
    raise typer.Exit(found.exit_code)
