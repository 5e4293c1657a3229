"""A run of a league as docs/results keeps it: NAME.json, and NAME.md and NAME.svg, which are written from it.

    python -m wordveil_lab.leagues.NAME [--page | --only ROW ...]

--page writes page and picture again from the stored run; --only computes the cells of some rows and writes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil.api import DataFormatError
from wordveil_lab.clone import ROOT
from wordveil_lab.evaluation.report import as_json

__all__ = ["StoredRun", "read_run"]

Report = dict[str, Any]


def read_run(path: Path, schema: str) -> Report:
    """Return a stored run.

    Raises:
        DataFormatError: If it is of another schema: its league has to be run again.
    """
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    if report.get("schema") != schema:
        raise DataFormatError(path, f"is a run of another schema than {schema!r}. Run its league again.")
    return report


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """Where a league's run lies, how it is measured, and what is written from it.

    Attributes:
        name: Of its files.
        schema: Of its JSON.
        rows: What `--only` takes.
        measure: Returns the run of some rows; with none named, of all.
        page: Returns the page, from the run and the page as it is.
        picture: Returns the picture, an SVG.
        text: Returns the run as JSON.
    """

    name: str
    schema: str
    rows: Collection[str]
    measure: Callable[[Collection[str]], Report]
    page: Callable[[Report, str], str]
    picture: Callable[[Report], bytes]
    text: Callable[[Report], str] = as_json

    @property
    def path(self) -> Path:
        """The file of the run."""
        return ROOT / f"docs/results/{self.name}.json"

    @property
    def cells(self) -> Path:
        """The folder of finished cells, with which an interrupted run goes on."""
        return ROOT / f"build/{self.name}.cells"

    def report(self) -> Report:
        """Return the stored run."""
        return read_run(self.path, self.schema)

    def write(self) -> None:
        """Write the page and the picture of the stored run."""
        report, page = self.report(), self.path.with_suffix(".md")
        page.write_text(self.page(report, page.read_text(encoding="utf-8")), encoding="utf-8")
        self.path.with_suffix(".svg").write_bytes(self.picture(report))

    def main(self, about: str | None) -> None:
        """Do what the command line says: measure, or take the stored run, and write page and picture."""
        parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--page", action="store_true", help="write page and picture again from the stored run")
        parser.add_argument("--only", nargs="+", choices=self.rows, help="compute the cells of these rows alone")
        asked = parser.parse_args()
        if asked.only:
            self.measure(asked.only)
            return
        if not asked.page:
            self.path.write_text(self.text(self.measure(())), encoding="utf-8")
        self.write()
