"""`wordveil report`: whether a report speaks of the file at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.common import counted
from wordveil.cli.printing import JsonOption, show
from wordveil.errors import ChecksumError, DataFormatError

if TYPE_CHECKING:
    from wordveil.pipeline.runs import FileDigest

__all__ = ["report"]


def report(
    released: Annotated[Path, typer.Argument(metavar="FILE", help="The released file, or directory.")],
    verify: Annotated[Path, typer.Option("--verify", metavar="REPORT", help="A .json report of wordveil sanitize.")],
    as_json: JsonOption = False,
) -> None:
    """Check that FILE is, byte for byte, what a report speaks of.

    Whoever receives a release and its report can so tell that the one belongs to the other.
    """
    from wordveil.pipeline.evidence import differences, shortfall
    from wordveil.pipeline.runs import file_digests

    facts, said = _facts_and_files(verify)
    if not said:
        raise DataFormatError(verify, "no file is named in this report: the release went to standard output.")
    found = file_digests(released)
    if not found:
        raise DataFormatError(released, "no such file.", remedy="Check the path.")
    told = differences(said, found)
    if told:
        raise ChecksumError(f"{released} is not what {verify} speaks of: {'; '.join(told)}.")
    line = f"{released}: is what {verify} speaks of ({counted(len(said), 'file')})"
    missing = shortfall(facts)
    show({"released": released, "report": verify, "files": said, "missing": missing}, [line, *missing], as_json=as_json)


def _facts_and_files(path: Path) -> tuple[dict[str, Any], list[FileDigest]]:
    """Return what a report says, and the files that it names.

    Raises:
        DataFormatError: If it is no report.
    """
    from wordveil.pipeline.runs import FileDigest

    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return facts, [FileDigest(**file) for file in facts["outputs"]]
    except (ValueError, KeyError, TypeError):
        raise DataFormatError(path, "is no report of `wordveil sanitize` in JSON.") from None
