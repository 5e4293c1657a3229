"""A run of a league as docs/results keeps it: NAME.json, and the tables and the picture of NAME.md, made from it.

    python -m wordveil_lab.leagues.NAME [--page | --only ROW ...]

--page writes tables and picture again from the stored run; --only computes the cells of some rows and writes nothing.
All runs have the form of `wordveil evaluate`, which `check_run` holds them to:

    schema, version, command, noise    of which form it is, what made it
    rows                               label, name, group of the promise, epsilon (both null for a baseline), cells
    cells                              by task or set of texts: scores, and of some leagues those of random outputs
    scores                             by name: mean and standard_error (null where none is known)

A league adds facts of its own beside these.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordveil.api import DataFormatError
from wordveil_lab.evaluation.cells import Cells
from wordveil_lab.evaluation.curves import Pair
from wordveil_lab.evaluation.report import SCHEMA, as_json
from wordveil_lab.package import ROOT
from wordveil_lab.tables import refilled

Report = dict[str, Any]


def read_run(path: Path) -> Report:
    """Return a stored run, if it is of this schema and form: else its league has to be run again."""
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    if report.get("schema") != SCHEMA:
        raise DataFormatError(path, f"is a run of another schema than {SCHEMA!r}. Run its league again.")
    check_run(path, report)
    return report


def check_run(path: Path, report: Report) -> None:
    """Check that a run has the form that the top of this module describes."""
    _check(path, "The run", report, {"version": str, "command": str, "noise": str, "rows": list})
    for row in report["rows"]:
        _check(path, "A row", row, {"label": str, "name": str, "group": _TEXT, "epsilon": _NUMBER, "cells": dict})
        for cell in row["cells"].values():
            _check(path, "A cell", cell, {"scores": dict})
            for score in (*cell["scores"].values(), *cell.get("random", {}).values()):
                _check(path, "A score", score, {"mean": (int, float), "standard_error": _NUMBER})


_TEXT, _NUMBER = (str, type(None)), (int, float, type(None))


def _check(path: Path, what: str, facts: Any, form: Mapping[str, Any]) -> None:
    for name, kind in form.items():
        if not isinstance(facts, dict) or name not in facts or not isinstance(facts[name], kind):
            raise DataFormatError(path, f"is no run: {what} needs {name}. Run its league again.")


Work = tuple[str, str | None, float | None, str, Callable[[], Report]]
"""A cell to be computed: name, group and epsilon of its row, the task or set of texts, and what computes it."""


def rows_from(work: Iterable[Work]) -> list[Report]:
    """Compute the cells of such a run, saying which, and return its rows in the order of their first cells."""
    rows: dict[str, Report] = {}
    for name, group, epsilon, where, compute in work:
        label = name if epsilon is None else f"{name} @ {epsilon:g}"
        print(f"{label}: {where}", file=sys.stderr, flush=True)
        row: Report = {"label": label, "name": name, "group": group, "epsilon": epsilon, "cells": {}}
        rows.setdefault(label, row)["cells"][where] = compute()
    return list(rows.values())


def rounded_score(mean: float, error: float) -> dict[str, float]:
    """Return a score to six digits."""
    return {"mean": float(f"{mean:.6g}"), "standard_error": float(f"{error:.6g}")}


def less(own: Pair, other: Pair) -> Pair:
    """Return the difference of two means, and its standard error."""
    return own[0] - other[0], math.hypot(own[1], other[1])


def score_pair(summary: Mapping[str, Any]) -> Pair:
    """Return mean and standard error."""
    return summary["mean"], summary["standard_error"]


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """Where a league's run lies, how it is measured, and what is written from it."""

    name: str  # of its files
    tables: Callable[[Report], Mapping[str, Sequence[str]]]  # those of the page by their headings, for `refilled`
    rows: Collection[str]  # what `--only` takes
    measure: Callable[[Collection[str]], Report]  # of some rows, or with none named of all
    pictures: Mapping[str, Callable[[Report], bytes]] = field(default_factory=dict)  # name of an SVG -> what draws it

    @property
    def path(self) -> Path:
        """The file of the run."""
        return ROOT / f"docs/results/{self.name}.json"

    def once(self, facts: Any, compute: Callable[[], Mapping[str, Any]]) -> Report:
        """Return a cell of the run, computed unless it was finished before; see `Cells.once`."""
        return Cells(ROOT / f"build/{self.name}.cells").once([self.name, facts], compute)

    def report(self) -> Report:
        """Return the stored run."""
        return read_run(self.path)

    def page(self) -> str:
        """Return the page as it is, with the tables of the stored run."""
        return refilled(self.path.with_suffix(".md").read_text(encoding="utf-8"), self.tables(self.report()))

    def write(self, report: Report | None = None) -> None:
        """Write the page and the pictures of the stored run, or of a new one, which is stored."""
        if report is not None:
            self.path.write_text(as_json(report), encoding="utf-8")
        self.path.with_suffix(".md").write_text(self.page(), encoding="utf-8")
        for name, draw in self.pictures.items():
            self.path.with_name(name).write_bytes(draw(self.report()))

    def main(self, about: str | None) -> None:
        """Do what the command line says: measure, or take the stored run, and write page and picture."""
        parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--page", action="store_true", help="write page and picture again from the stored run")
        parser.add_argument("--only", nargs="+", choices=self.rows, help="compute the cells of these rows alone")
        asked = parser.parse_args()
        if asked.only:
            self.measure(asked.only)
        else:
            self.write(None if asked.page else self.measure(()))
