"""What a reproduction is: comparisons with the paper's numbers, findings, what is missing; and how it is written."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wordveil import __version__
from wordveil.api import Decoded, Embeddings, ParameterError, RandomSource, VectorMechanism, load_embeddings
from wordveil_lab.evaluation.base import Summary, Task, summarize
from wordveil_lab.evaluation.subjects import Entrant, subject_of, unprotected
from wordveil_lab.plots import Plotted, draw
from wordveil_lab.rows import locate
from wordveil_lab.tables import markdown_table

__all__ = [
    "Check",
    "Comparison",
    "Options",
    "Reproduction",
    "about",
    "as_markdown",
    "decoded",
    "table_of",
    "write_reproduction",
]

SIZES = ("full", "reduced", "miniature")
_Choice = TypeVar("_Choice")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One number of the paper and ours.

    Attributes:
        what: Which number: figure or table, setting, score.
        paper: As the paper gives it, or what it shows; "" where it gives none.
        ours: Our number, with its standard error where it has one.
        remark: Why they differ, or "".
        points: The same numbers, and the paper's, as points of figures.
    """

    what: str
    paper: str
    ours: str
    remark: str = ""
    points: tuple[Plotted, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Check:
    """How one baseline or part of the setting was held against the paper's own words.

    Attributes:
        what: Which mechanism, score, data set or parameter.
        paper: What the paper says, and where; what its code does, where that is public and known.
        ours: What is drawn or computed here.
        same: "yes", or in what it differs.
    """

    what: str
    paper: str
    ours: str
    same: str = "yes"


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What came of repeating one paper.

    Attributes:
        name: The paper's short name on the command line.
        reference: Authors, year, title.
        setting: Vocabulary, data and sizes, and how they differ from the paper's.
        checks: Each baseline, and what else decides the numbers, beside the paper's words.
        comparisons: Number beside number.
        findings: What we found wrong or worth knowing, one sentence or two each.
        missing: What was not reproduced, and why.
        seconds: Time it took.
    """

    name: str
    reference: str
    setting: tuple[str, ...]
    checks: tuple[Check, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a reproduction is run.

    Attributes:
        size: "full", "reduced" (minutes) or "miniature" (seconds, for tests; its numbers mean little).
        vocabulary: An embedding file or directory in place of the data folder's; None takes those.
        seed: Changes all noise.
        repeats: Runs of everything that is noisy, at least 2.
        progress: Called with a line before every part.
    """

    size: str = "reduced"
    vocabulary: str | None = None
    seed: int = 0
    repeats: int = 3
    progress: Callable[[str], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise ParameterError("size", self.size, f"must be one of {', '.join(SIZES)}.")
        if self.repeats < 2:
            raise ParameterError("repeats", self.repeats, "must be at least 2: one run shows no spread.")

    def pick(self, full: _Choice, reduced: _Choice, miniature: _Choice) -> _Choice:
        """Return the value for this size."""
        return {"full": full, "reduced": reduced, "miniature": miniature}[self.size]

    def say(self, line: str) -> None:
        """Report what is done next."""
        if self.progress is not None:
            self.progress(line)

    def table(self, default: str) -> Embeddings:
        """Return the vocabulary given, or this file of the data folder."""
        if self.vocabulary is not None:
            return load_embeddings(self.vocabulary)
        return table_of(default)

    def score(self, task: Task, subject: Entrant, label: str) -> dict[str, Summary]:
        """Return a task's scores over the repeats, with noise of the label's own."""
        prepared = task.prepare(subject.embeddings)
        runs = 1 if subject.is_baseline else self.repeats
        found: dict[str, list[float]] = {score.name: [] for score in task.scores}
        for i in range(runs):
            for name, value in task.run(prepared, subject, self.source(f"{task.name} {label} {i}")).items():
                found[name].append(value)
        return {name: summarize(values) for name, values in found.items()}

    def score_tables(self, tasks: Sequence[Task], subject: Entrant, label: str) -> list[dict[str, Summary]]:
        """Return each task's scores on noisy tables, one a run: a word has one noisy vector wherever it occurs.

        That is how experiments with noisy embedding files are done. Releases draw afresh for every token.
        """
        prepared = [task.prepare(subject.embeddings) for task in tasks]
        found: list[dict[str, list[float]]] = [{score.name: [] for score in task.scores} for task in tasks]
        for i in range(self.repeats):
            table = noisy_table(subject, self.source(f"table {label} {i}"))
            for task, ready, scores in zip(tasks, prepared, found, strict=True):
                for name, value in task.run(ready, table, self.source(f"{task.name} {label} {i}")).items():
                    scores[name].append(value)
        return [{name: summarize(values) for name, values in scores.items()} for scores in found]

    def source(self, label: str) -> RandomSource:
        """Return test noise that no other label shares."""
        digest = sum(ord(c) * 257**i for i, c in enumerate(label)) % (1 << 61)
        return RandomSource.seeded_for_tests(self.seed * (1 << 61) + digest)


def about(paper: str, **values: Any) -> dict[str, Any]:
    """Return reference, setting, checks and missing parts of a reproduction, from `about.toml`.

    Args:
        paper: The paper's short name.
        values: What the names in braces stand for.
    """
    told = tomllib.loads(files("wordveil_lab.papers").joinpath("about.toml").read_text(encoding="utf-8"))[paper]
    return {
        "reference": told["reference"],
        "setting": tuple(sentence.format(**values) for sentence in told["setting"]),
        "checks": tuple(Check(**{k: v.format(**values) for k, v in check.items()}) for check in told["checks"]),
        "missing": tuple(told["missing"]),
    }


def decoded(mechanism: VectorMechanism, table: Embeddings) -> Entrant:
    """Return a vector mechanism over a table, decoded to the nearest word."""
    return subject_of(Decoded(mechanism=mechanism).fit(table), threads=None)


def noisy_table(subject: Entrant, source: RandomSource) -> Entrant:
    """Return the subject whose space is one release of every word's vector, and which adds nothing to it."""
    words = subject.embeddings
    rows = subject.release_vectors(np.arange(len(words), dtype=np.int32), source, "table")
    space = Embeddings.from_arrays(list(words.words), rows, casing=words.header.casing, candidate_rule="all")
    return replace(unprotected(words, threads=subject.threads), space=space)


def table_of(name: str) -> Embeddings:
    """Return the vocabulary in a file of the data folder, every entry of it allowed as output."""
    read = load_embeddings(locate(name))
    if len(read.candidates) == len(read):
        return read
    header = read.header
    return Embeddings.from_arrays(
        list(read.words),
        read.vectors,
        name=header.name,
        source=header.source,
        casing=header.casing,
        candidate_rule="all",
    )


def shown(summary: Summary, digits: int = 3) -> str:
    """Return mean and standard error as text."""
    mean = f"{summary.mean:.{digits}f}"
    return mean if summary.runs == 1 else f"{mean} +- {summary.standard_error:.{digits}f}"


def timed(make: Callable[[Options], Reproduction], options: Options) -> Reproduction:
    """Return a reproduction with the time it took."""
    started = time.perf_counter()
    found = make(options)
    return Reproduction(**{**vars(found), "seconds": time.perf_counter() - started})


def as_markdown(found: Reproduction, command: str = "", picture: str = "") -> str:
    """Return the page of a reproduction, with its picture where the name of one is given."""
    lines = [f"# {found.reference}", ""]
    if command:
        lines += ["    " + command, ""]
    lines += [f"wordveil {__version__}, {found.seconds:.0f} s. Public data, seeded test noise.", ""]
    lines += ["## Setting", "", *_items(found.setting)]
    if picture:
        lines += [f"![{found.name}: the figures, repeated]({picture})", ""]
    checks = (map(_escaped, (c.what, c.paper, c.ours, c.same)) for c in found.checks)
    lines += ["## Checked against the paper", "", *markdown_table(["what", "the paper", "here", "same"], checks)]
    numbers = (map(_escaped, (c.what, c.paper, c.ours, c.remark)) for c in found.comparisons)
    lines += ["", "## Numbers", "", *markdown_table(["what", "paper", "here", "remark"], numbers)]
    lines += ["", "A number after +- is the standard error over runs with fresh noise.", ""]
    if found.findings:
        lines += ["## Findings", "", *_items(found.findings)]
    if found.missing:
        lines += ["## Not reproduced", "", *_items(found.missing)]
    return "\n".join(lines).rstrip() + "\n"


def _escaped(cell: str) -> str:
    """Return a cell of a table; a bar inside it is escaped."""
    return cell.replace("|", "\\|")


def _items(sentences: Sequence[str]) -> list[str]:
    return [*(f"- {sentence}" for sentence in sentences), ""]


def as_dict(found: Reproduction, command: str = "") -> dict[str, Any]:
    """Return a JSON-ready dictionary."""
    return {"version": __version__, "command": command, **asdict(found)}


def write_reproduction(found: Reproduction, path: str | os.PathLike[str], command: str = "") -> None:
    """Write the page; the ending .md or .json chooses the form. A page has its figures beside it, as an SVG.

    Raises:
        ParameterError: If the name has another ending.
        MissingExtraError: If there are figures for a page and matplotlib is not installed.
    """
    target = Path(path)
    if target.suffix == ".md":
        points = [point for comparison in found.comparisons for point in comparison.points]
        picture = target.with_suffix(".svg")
        if points:
            picture.write_bytes(draw(points, found.reference))
        target.write_text(as_markdown(found, command, picture.name if points else ""), encoding="utf-8")
    elif target.suffix == ".json":
        target.write_text(json.dumps(as_dict(found, command), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        raise ParameterError("report", target.name, "must end in .md or .json.")
