"""What is found out in a reading of its own before any noise is drawn: who is over a budget, and the ids of documents.

A budget decides by the number of tokens of each document, which the release discloses anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, ParameterError
from wordveil.parameters import check_choice
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.rounding import round_up
from wordveil.promises.rows import person
from wordveil.runs.documents import Known, stamp_of
from wordveil.sanitizing.sanitizer import Sanitizer

R = TypeVar("R")

Over = Literal["stop", "drop", "truncate"]
"""What becomes of the rows of a user who is over the budget: an error; none is kept; the first ones by id are kept."""


@dataclass(frozen=True, kw_only=True)
class UserBudget:
    """A bound on the loss of one person's documents, in one release of a file, a tree or a frame.

    Attributes:
        user: The column of texts or numbers that names the person behind a document; documents without one are one
            person's.
        max_nats: The largest sum of epsilons over all tokens of one user.
        over: What becomes of the documents of users who are over it.
    """

    user: str
    max_nats: float
    over: Over = "stop"

    def __post_init__(self) -> None:
        check_choice("over", self.over, get_args(Over))
        if not 0 < self.max_nats < float("inf"):
            raise ParameterError("max_nats", self.max_nats, "must be positive and finite.")

    def tokens(self, sanitizer: Sanitizer) -> int:
        """Return how many tokens of one user may be released.

        Raises:
            ParameterError: If the promise is no pure local DP per token: its losses do not add up to such a sum.
        """
        promise = sanitizer.guarantee
        if sanitizer.options.grids:  # a number loses by how far it is moved, not by epsilon
            problem = "must keep no magnitudes: their losses are no multiples."
            raise ParameterError("sanitizer", "numbers='metric'", problem)
        local = promise.epsilon is not None and not (promise.metric or promise.graph)
        if not local or promise.delta or promise.unit is not PrivacyUnit.TOKEN:
            raise ParameterError("sanitizer", promise.promise, "must promise pure local DP per token, which adds up.")
        return int(Fraction(self.max_nats) / (Fraction(promise.epsilon or 0.0) + Fraction(promise.slack or 0.0)))

    def refuse(self, users: int) -> None:
        """Stop where so many users are over the budget and that is what was asked for; names none."""
        if self.over == "stop" and users:
            problem = f"is less than what {users:,} users' texts cost; over='drop' or 'truncate' leaves documents out."
            raise ParameterError("max_nats", self.max_nats, problem)

    def left_out(self, counted: Sequence[tuple[str | None, int]], tokens: int) -> list[int]:
        """Return which documents are left out of those of all files, each with its user and its tokens, in order.

        Raises:
            ParameterError: If there are any and over="stop".
        """
        total, so_far = Counter[str | None](), list[int]()
        for user, cost in counted:
            total[user] += cost
            so_far.append(total[user])
        reached = so_far if self.over == "truncate" else [total[user] for user, _ in counted]
        lost = [place for place, spent in enumerate(reached) if spent > tokens]
        self.refuse(len({counted[place][0] for place in lost}))
        return lost

    def disclosed(self) -> str:
        """Return the sentence that tells of documents that are left out, or that none had to be."""
        if self.over == "stop":
            return f"that no user is over {round_up(self.max_nats)} nats"
        which = "all documents" if self.over == "drop" else "the last documents"
        return f"which documents are left out: {which} of users with more than {round_up(self.max_nats)} nats"

    def sentence(self) -> str:
        return (
            f"all documents of one user together lose at most {round_up(self.max_nats)} nats in this release, "
            "between inputs that agree in whose each document is and in how many tokens it has"
        )

    def told(self, *, users: int, documents: int) -> dict[str, Any]:
        """Return what a report says of it, and of what it left out."""
        found = {"users_over": users, "documents_left_out": documents}
        return {**asdict(self), "sentence": self.sentence(), **found}

    def within(self, report: R, told: Mapping[str, Any] | None) -> R:
        """Return the report of a release that keeps this budget, given what is `told` of it."""
        held: R = replace(cast(Any, report), budget=told, disclosed=(*cast(Any, report).disclosed, self.disclosed()))
        return held


@dataclass(frozen=True, kw_only=True)
class FirstReading:
    """The reading before a run; it holds a name and two numbers of every document in memory."""

    sanitizer: Sanitizer  # what the documents will be released by
    budget: UserBudget | None  # what bounds the loss of all documents of one person
    ids: str | None  # the column that names each document, so that its noise does not go by its place
    counts: Counter[str]  # the counts of the run, which what was left out is added to

    @classmethod
    def asked_for(
        cls,
        sanitizer: Sanitizer,
        settings: DocumentSettings,
        counts: Counter[str],
        budget: UserBudget | None,
        ids: str | None,
    ) -> FirstReading | None:
        """Return the reading that a budget or ids need, None without either; refuse what cannot have it."""
        if budget is None and ids is None:
            return None
        if budget is not None:
            budget.tokens(sanitizer)
        if settings.missing == "skip":
            raise ParameterError("missing", "skip", "leaves out documents that a budget or ids count; choose keep.")
        if ids is not None and not sanitizer.source.lasts:
            problem = "needs a key that stays, else no later run knows a document again; run_source takes a key_file."
            raise ParameterError("ids", ids, problem)
        return cls(sanitizer=sanitizer, budget=budget, ids=ids, counts=counts)

    def __call__(self, files: Sequence[tuple[str, DocumentSettings]]) -> list[Known]:
        """Return what is known of each file; one that cannot be read has a problem, and is released by nobody.

        Raises:
            ParameterError: If a file has no columns, two documents have one id or one has none, or users are over a
                budget that stops.
        """
        for path, settings in files:
            if not Path(path).is_file() or not settings.columns:
                raise ParameterError("source", path, "must be files with columns, for a budget or ids.")
        read = [self._read(path, settings) for path, settings in files]
        lost = self._over_budget([counted for counted, _, _ in read])
        taken = set[str]()
        for _, names, _ in read:
            repeated = list[int]()
            for place, name in enumerate(names, start=1):
                repeated += [place] if name in taken or not name else []
                taken.add(name)
            if repeated:
                where = f"in {len(repeated):,} documents of a file, first in its document {repeated[0]:,}."
                raise ParameterError("ids", self.ids, f"has no value, or one that another document has, {where}")
        return [
            replace(
                known,
                leave_out=out,
                ids=None if self.ids is None else [name for place, name in enumerate(names) if place not in out],
            )
            for (_, names, known), out in zip(read, lost, strict=True)
        ]

    def _read(self, path: str, settings: DocumentSettings) -> tuple[list[tuple[str | None, int]], list[str], Known]:
        """Return person and tokens of each document of a file, its ids, and what is known of it without the others."""
        counted, names, before = list[tuple[str | None, int]](), list[str](), stamp_of(path)
        try:
            if self.budget is not None:
                counted = costs_of_file(path, path, settings, self.budget.user, self.sanitizer)
            if self.ids is not None:
                names = [name for name, structural in _values(path, path, settings, self.ids) if not structural]
        except DocumentFormatError as problem:
            return [], [], Known(problem=problem)
        return counted, names, Known(documents=len(counted) or len(names), stamp=before)

    def _over_budget(self, counted: Sequence[Sequence[tuple[str | None, int]]]) -> list[frozenset[int]]:
        """Return for each file which documents are left out."""
        if self.budget is None:
            return [frozenset()] * len(counted)
        places = [(index, ordinal) for index, found in enumerate(counted) for ordinal in range(len(found))]
        every = [each for found in counted for each in found]
        lost = self.budget.left_out(every, self.budget.tokens(self.sanitizer))
        self.counts["users_over"] = len({every[place][0] for place in lost})
        self.counts["documents_left_out"] = len(lost)
        found_in = [set[int]() for _ in counted]
        for index, ordinal in (places[place] for place in lost):
            found_in[index].add(ordinal)
        return [*map(frozenset, found_in)]


def _values(name: str, place: str, settings: DocumentSettings, column: str) -> Iterator[tuple[str, bool]]:
    """Yield the value that every record has in a column, "" for none, as it is written, and whether it is structural.

    `DocumentFormatError` if the file, which is told of by its name, cannot be read, or a document has several.
    """
    with settings.open_values(place, column) as reader:
        for record in reader:
            if len(record.texts) > 1:
                problem = f"a document has several values in the column {column!r}."
                raise DocumentFormatError(name, problem, line=record.line)
            yield (record.texts[0] or "").strip() if record.texts else "", record.structural


def costs_of_file(
    name: str, place: str, settings: DocumentSettings, user: str, sanitizer: Sanitizer
) -> list[tuple[str | None, int]]:
    """Return the person behind each document of a file, and its tokens; errors as for its values.

    Both readings have the same records. A document that is skipped for want of text is one in the first alone.
    """
    counted, named = list[tuple[str | None, int]](), _values(name, place, settings, user)
    with settings.open_texts(place) as reader:
        for block in settings.blocks(iter(reader)):
            users = [value for record, (value, _) in zip(block, named) if not record.structural]  # noqa: B905 (in turns)
            documents = [record.texts for record in block if not record.structural]
            if len(users) < len(documents):
                raise DocumentFormatError(name, "was written to while it was read.")
            try:
                cost = sanitizer.prepare([[t for t in texts if t is not None] for texts in documents]).cost.tolist()
            except ParameterError as error:
                if error.name != "text":
                    raise
                cost, problem = None, f"a text of {error.value} {error.requirement}"
            if cost is None:
                raise DocumentFormatError(name, problem)
            counted += zip(map(person, users), cost, strict=True)
    return counted
