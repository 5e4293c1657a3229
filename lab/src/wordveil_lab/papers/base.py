"""What a reproduction is: comparisons with the paper's numbers, findings, what is missing."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wordveil.api import Decoded, Embeddings, ParameterError, RandomSource, VectorMechanism, load_embeddings
from wordveil_lab.corpora import part_of
from wordveil_lab.evaluation.base import Summary, Task, summarize
from wordveil_lab.evaluation.catalogue import data_digests
from wordveil_lab.evaluation.cells import Cells
from wordveil_lab.evaluation.subjects import Entrant, subject_of, unprotected
from wordveil_lab.package import told
from wordveil_lab.plots import Plotted
from wordveil_lab.rows import DATA_VARIABLE, file_digest, locate, read_rows

SIZES = ("paper", "reduced", "miniature")
FILES_PAGE = "docs/results/data.md"
_Choice = TypeVar("_Choice")
Scores = dict[str, Summary]
Drawn = Callable[[int], Entrant]
"""Number of a run -> what is measured in it."""

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested at this size"
VERDICTS = (HOLDS, PARTLY, FAILS, UNTESTED)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One number of the paper and ours."""

    what: str  # which number: figure or table, setting, score
    paper: str  # as the paper gives it, or what it shows; "" where it gives none
    ours: str  # our number, with its standard error where it has one
    remark: str = ""  # why they differ, or ""
    verdict: str = ""  # one of `VERDICTS`, of a whole table, figure or theorem; "" of a number in one
    points: tuple[Plotted, ...] = ()  # the same numbers, and the paper's, as points of figures
    scores: Mapping[str, Summary] = field(default_factory=dict)  # the same numbers with all digits, by name

    def __post_init__(self) -> None:
        if self.verdict not in ("", *VERDICTS):
            raise ParameterError("verdict", self.verdict, f"must be one of {', '.join(VERDICTS)}.")


def verdict(holds: bool, *, full: bool) -> str:
    """Return what a run says of a claim. A run that is smaller than the paper's, or on other data, refutes nothing.

    It is full at the paper's size and data, or where the answer is computed and needs no run.
    """
    return HOLDS if holds else FAILS if full else UNTESTED


def sides(cases: Iterable[tuple[Summary, Summary]], *, lower: bool = False) -> list[int]:
    """Return for each case 1, 0 or -1: the first score is better, level or worse, by two errors of the difference."""
    signs = []
    for own, other in cases:
        ahead = other.mean - own.mean if lower else own.mean - other.mean
        level = abs(ahead) <= 2 * math.hypot(own.standard_error, other.standard_error)
        signs.append(0 if level else 1 if ahead > 0 else -1)
    return signs


def standing(cases: Iterable[tuple[Summary, Summary]], *, lower: bool = False) -> tuple[int, int, int]:
    """Return in how many cases the first score is better, level and worse, as `sides` counts them."""
    signs = sides(cases, lower=lower)
    return signs.count(1), signs.count(0), signs.count(-1)


def ahead_verdict(counts: tuple[int, int, int], *, full: bool) -> str:
    """Return what a run says of a claim to be ahead everywhere, from its `standing`; level cases refute nothing."""
    ahead, level, behind = counts
    if ahead and level and not behind:
        return PARTLY
    return verdict(ahead > 0 and not behind, full=full and behind > 0)


@dataclass(frozen=True, kw_only=True)
class Check:
    """How one baseline or part of the setting was held against the paper's own words."""

    what: str  # which mechanism, score, data set or parameter
    paper: str  # what the paper says, and where; what its code does, where that is public and known
    ours: str  # what is drawn or computed here
    same: str = "yes"  # "yes", or in what it differs


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What came of repeating one paper."""

    name: str  # the paper's short name on the command line
    reference: str  # authors, year, title
    setting: tuple[str, ...]  # vocabulary, data and sizes, and how they differ from the paper's
    checks: tuple[Check, ...]  # each baseline, and what else decides the numbers, beside the paper's words
    comparisons: tuple[Comparison, ...]  # number beside number
    findings: tuple[str, ...]  # what we found wrong or worth knowing, one sentence or two each
    missing: tuple[str, ...]  # what was not reproduced, and why
    size: str = ""  # "paper", "reduced" or "miniature"
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a reproduction is run."""

    paper: str  # the paper's short name, whose roles `files` may name
    size: str = "reduced"  # "paper" (the paper's own: hours), "reduced" (minutes), "miniature" (for tests: a minute)
    files: Mapping[str, str] = field(default_factory=dict)  # role -> file in place of the data folder's
    seed: int = 0  # changes all noise
    repeats: int = 3  # runs of everything that is noisy, at least 2
    epsilons: tuple[float, ...] = ()  # the epsilons to keep of the paper's; none keeps all
    cells: Path | None = None  # where finished runs are kept, for an interrupted reproduction to go on from
    progress: Callable[[str], None] | None = field(default=None, compare=False)  # called with a line before every part

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise ParameterError("size", self.size, f"must be one of {', '.join(SIZES)}.")
        if self.repeats < 2:
            raise ParameterError("repeats", self.repeats, "must be at least 2: one run shows no spread.")
        roles = roles_of(self.paper)
        for role in self.files:
            if role not in roles:
                raise ParameterError("role", role, f"must be one of {', '.join(roles)}, the roles of {self.paper}.")

    def pick(self, paper: _Choice, reduced: _Choice, miniature: _Choice) -> _Choice:
        """Return the value for this size."""
        return {"paper": paper, "reduced": reduced, "miniature": miniature}[self.size]

    def among(self, *epsilons: tuple[float, ...]) -> tuple[float, ...]:
        """Return the epsilons of this size that were asked for; all of them where none was."""
        sized = self.pick(*epsilons)
        chosen = tuple(epsilon for epsilon in sized if not self.epsilons or epsilon in self.epsilons)
        if not chosen:
            raise ParameterError("--epsilon", self.epsilons, f"must be among {', '.join(f'{e:g}' for e in sized)}.")
        return chosen

    def whole(self) -> bool:
        """Whether a run may say what does not hold: at the paper's size, runs and epsilons, on its tables and data.

        `files.toml` says what these are. A data set or table that is larger than the paper's will do.
        """
        needs = told("papers/files.toml")["whole"][self.paper]
        roles = (*needs["data"], *needs["tables"])
        if self.size != "paper" or self.epsilons or self.repeats < needs["runs"] or not all(map(self.has, roles)):
            return False
        if any(sum(1 for _ in read_rows(self.file(role), ())) < records for role, records in needs["data"].items()):
            return False
        tables = ((self.table(role), *least) for role, least in needs["tables"].items())
        return all(len(table) >= words and table.dimensions == d for table, words, d in tables)

    def check(self) -> None:
        """Refuse a run that lacks a file, before anything is computed."""
        spared = told("papers/files.toml")["spared"].get(self.paper, {})
        for role in roles_of(self.paper):
            if role in self.files or (self.has(role) and spared.get(role) not in self.files):
                self.file(role)

    def say(self, line: str) -> None:
        """Report what is done next."""
        if self.progress is not None:
            self.progress(line)

    def has(self, role: str) -> bool:
        """Whether a role is filled: some have no file in the data folder."""
        return bool(self.files.get(role) or roles_of(self.paper)[role])

    def file(self, role: str) -> str:
        """Return the path of a role's file, or of the folder of an imported vocabulary."""
        given = self.files.get(role)
        kind = "--table" if is_table(self.paper, role) else "--data"
        if given and kind == "--table" and Path(given).is_dir():
            return given
        own = roles_of(self.paper)[role]
        try:
            return str(locate(given or own))
        except ParameterError:
            where = f"{FILES_PAGE} says where each file comes from."
            if given:
                raise ParameterError(kind, f"{role}={given}", f"must name a file; {where}") from None
            lacking = f"needs a file: {own} is not in the folder named by {DATA_VARIABLE}"
            raise ParameterError("role", role, f"{lacking}. Give {kind} {role}=FILE; {where}") from None

    def table(self, role: str) -> Embeddings:
        """Return the vocabulary of a role, every entry of it allowed as output."""
        file = self.file(role)
        return load_embeddings(file) if Path(file).is_dir() else table_of(file)

    def scaled_table(self, role: str) -> Embeddings:
        """Return the vocabulary of a role, scaled to the median norm of `norms`, or as it is and called not scaled.

        It is scaled where `norms` is given, and where its file is that of the data folder, by whatever name.
        """
        table, given = self.table(role), self.files.get(role)
        try:
            own = not given or file_digest(given) == file_digest(roles_of(self.paper)[role])
        except ParameterError:  # no such file in the data folder, or a folder is given
            own = False
        if own or "norms" in self.files:
            return scaled(table, median_norm(self.table("norms")))
        return scaled(table, median_norm(table), "not scaled")

    def score(self, task: Task, subject: Entrant, label: str, afresh: Drawn | None = None) -> Scores:
        """Return a task's scores over the repeats, with noise of the label's own; a baseline is run once.

        `afresh` gives what is measured in each run, where that differs by run, as with a fresh matrix each.
        """
        runs = 1 if subject.is_baseline else self.repeats
        return self._over_runs(task, subject, label, afresh or (lambda _: subject), runs, "fresh" if afresh else "")

    def score_tables(
        self, tasks: Iterable[Task], subject: Entrant, label: str, afresh: Drawn | None = None
    ) -> list[Scores]:
        """Return each task's scores on noisy tables, one a run: a word has one noisy vector wherever it occurs.

        That is how experiments with noisy embedding files are done. Releases draw afresh for every token.
        """

        @cache
        def noisy(i: int) -> Entrant:
            return noisy_table(afresh(i) if afresh else subject, self.source(f"table {label} {i}"))

        reading = "fresh table" if afresh else "table"
        return [self._over_runs(task, subject, label, noisy, self.repeats, reading) for task in tasks]

    def _over_runs(self, task: Task, subject: Entrant, label: str, entrant: Drawn, runs: int, reading: str) -> Scores:
        """Return a task's scores over runs; finished ones are taken from `cells`."""
        data = data_digests(task) if self.cells else {}
        mechanism = re.sub(" at 0x[0-9a-f]+", "", repr(subject.words))  # a fitted one may hold a table or a search
        settings = [repr(task), data, subject.embeddings.header.checksum, mechanism, label, reading, self.seed]

        @cache
        def prepared() -> Any:
            return task.prepare(subject.embeddings)

        def run(i: int) -> Mapping[str, float]:
            return task.run(prepared(), entrant(i), self.source(f"{task.name} {label} {i}"))

        return self.over_runs(settings, run, runs)

    def over_runs(self, settings: Sequence[Any], run: Callable[[int], Mapping[str, float]], runs: int) -> Scores:
        """Return the scores of a piece of work over runs; finished ones are taken from `cells`.

        The settings, ready for JSON, are what a run depends on beside its number.
        """
        found = [Cells(self.cells).once([*settings, i], partial(run, i)) for i in range(runs)]
        return {name: summarize([values[name] for values in found]) for name in found[0]}

    def source(self, label: str) -> RandomSource:
        """Return test noise that no other label shares."""
        digest = sum(ord(c) * 257**i for i, c in enumerate(label)) % (1 << 61)
        return RandomSource.seeded_for_tests(self.seed * (1 << 61) + digest)


def roles_of(paper: str) -> Mapping[str, str]:
    """Return role -> file of the data folder, "" where it holds none, of one paper."""
    roles: Mapping[str, str] = told("papers/files.toml")["roles"][paper]
    return roles


def is_table(paper: str, role: str) -> bool:
    """Whether a role is an embedding rather than data."""
    return role in told("papers/files.toml")["tables"][paper]


def about(paper: str, **values: Any) -> dict[str, Any]:
    """Return name, reference, setting, checks and missing parts of a reproduction, from `about.toml`, braces filled."""
    words = told("papers/about.toml")[paper]
    setting = tuple(sentence.format(**values) for sentence in words["setting"])
    checks = tuple(Check(**{k: v.format(**values) for k, v in check.items()}) for check in words["checks"])
    facts = {"name": paper, "reference": words["reference"], "missing": tuple(words["missing"])}
    return {**facts, "setting": setting, "checks": checks}


def computed(paper: str, **values: Any) -> tuple[str, ...]:
    """Return the findings of a reproduction that its numbers tell, from `about.toml`, braces filled."""
    return tuple(sentence.format(**values) for sentence in told("papers/about.toml")[paper]["computed"])


def decoded(mechanism: VectorMechanism, table: Embeddings) -> Entrant:
    """Return a vector mechanism over a table, decoded to the nearest word."""
    return subject_of(Decoded(mechanism=mechanism).fit(table), threads=None)


def noisy_table(subject: Entrant, source: RandomSource) -> Entrant:
    """Return the subject whose space is one release of every word's vector, and which adds nothing to it."""
    words = subject.embeddings
    rows = subject.release_vectors(np.arange(len(words), dtype=np.int32), source, "table")
    space = Embeddings.from_arrays(list(words.words), rows, casing=words.header.casing, candidate_rule="all")
    return replace(unprotected(words, threads=subject.threads), space=space)


def median_norm(table: Embeddings) -> float:
    """Return the median length of the vectors of a table."""
    return float(np.median(np.linalg.norm(np.asarray(table.vectors, dtype=np.float64), axis=1)))


def scaled(table: Embeddings, norm: float = 1.0, called: str = "scaled") -> Embeddings:
    """Return a table scaled by one public number to this median norm, on which what an epsilon means depends."""
    rows = np.asarray(table.vectors, dtype=np.float64) * (norm / median_norm(table))
    return Embeddings.from_arrays(list(table.words), rows, name=f"{table.header.name} ({called})", candidate_rule="all")


def table_of(name: str) -> Embeddings:
    """Return the vocabulary in a file, every entry of it allowed as output."""
    read = load_embeddings(locate(name))
    if len(read.candidates) == len(read):
        return read
    header = read.header
    return part_of(read, np.arange(len(read)), header.name, source=header.source, casing=header.casing)


def labelled(name: str, epsilon: float | None) -> str:
    """Return the name of a row; one without noise has no epsilon."""
    return f"{name}, epsilon {epsilon:g}" if epsilon else name


def shown(summary: Summary, digits: int = 3) -> str:
    """Return mean and standard error as text."""
    mean = f"{summary.mean:.{digits}f}"
    return mean if summary.runs == 1 else f"{mean} +- {summary.standard_error:.{digits}f}"


def timed(make: Callable[[Options], Reproduction], options: Options) -> Reproduction:
    """Return a reproduction with its size, the time it took, and the tables and figures that it leaves out."""
    options.check()
    started = time.perf_counter()
    found = make(options)
    words = told("papers/about.toml")[options.paper]
    return replace(
        found,
        comparisons=(*found.comparisons, *(Comparison(**{"verdict": UNTESTED, **row}) for row in words["left"])),
        findings=(*found.findings, *words.get("findings", ())),
        size=options.size,
        seconds=time.perf_counter() - started,
    )
