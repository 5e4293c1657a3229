"""Columns of texts: what tables of every library go through. A row is one document, with all its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, Unpack, cast

from wordveil.errors import ParameterError, printable
from wordveil.parameters import OtherColumns, copied_columns, similar_name, unique_ids
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import KEYED, Provenance
from wordveil.promises.rows import Rows
from wordveil.sanitizing.default import default_sanitizer
from wordveil.sanitizing.sanitizer import Sanitizer, release_rows
from wordveil.withholding.redactor import Redactor

Releaser = Sanitizer | Redactor
Columns = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True, kw_only=True)
class TableRelease:
    """A released table."""

    table: Any = field(repr=False)  # what leaves, of the kind that was given; None where it was written
    columns: tuple[str, ...]  # the columns released
    guarantee: Guarantee  # what each row promises
    disclosed: tuple[str, ...]  # what is disclosed whatever the noise, one sentence each
    provenance: Provenance  # where it came from
    # "rows", "tokens" randomized and "exempt" public words, where they are known
    counts: Mapping[str, int] = field(default_factory=dict)
    budget: Mapping[str, Any] | None = None  # what bounds the loss of all rows of one person, and what it left out

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary of everything but the table."""
        facts: dict[str, Any] = {"columns": list(self.columns), "disclosed": list(self.disclosed)}
        facts |= {"guarantee": self.guarantee.as_dict(), "provenance": asdict(self.provenance)}
        known = {"counts": dict(self.counts), "budget": self.budget}
        return facts | {name: fact for name, fact in known.items() if fact}

    def as_json(self) -> str:
        return json.dumps(self.as_dict())

    def card(self) -> str:
        """Return what is promised and disclosed as Markdown, for a data set's card."""
        lines = [self.guarantee.sentence()]
        lines += [f"Assumes: {line}" for line in self.guarantee.assumptions]
        lines += [f"Disclosed: {line}" for line in self.disclosed]
        made = asdict(self.provenance)
        lines += [f"{name.replace('_', ' ').capitalize()}: `{value}`" for name, value in made.items() if value != ""]
        return "\n".join(["## Privacy guarantee", "", *(f"- {line}" for line in lines), ""])


def chosen_columns(
    columns: Sequence[Any], present: Sequence[Any], also: Sequence[Any] = (), /, **choice: Unpack[OtherColumns]
) -> tuple[list[Any], list[Any]]:
    """Return the columns of a table that are released, and those of the others that are copied: none unasked.

    Raises:
        ParameterError: If a column is not there, or there twice, or there are others and nothing was said of them.
        TypeError: If something else is chosen than what becomes of other columns.
    """
    if unknown := [*choice.keys() - OtherColumns.__annotations__.keys()]:
        near = similar_name(unknown[0], OtherColumns.__annotations__)
        raise TypeError(f"there is no argument {unknown[0]!r}.{near}")
    if isinstance(choice.get("keep"), Iterator):
        choice["keep"] = tuple(choice["keep"] or ())
    if isinstance(columns, str):
        raise ParameterError("columns", columns, "must be a list of names; put a single one in brackets.")
    chosen, there = list(columns), list(present)
    if not chosen:
        raise ParameterError("columns", chosen, "must name at least one column of texts.")
    for name in chosen:
        if name not in there:
            raise ParameterError("columns", name, f"is no column of the table.{similar_name(name, there)}")
        if (times := [*there, *also].count(name)) > 1:
            raise ParameterError("columns", name, f"is the name of {times} columns or indices. Rename all but one.")
        if chosen.count(name) > 1:
            raise ParameterError("columns", name, "is given twice; give it once.")
    others = [name for name in there if name not in chosen] + list(also)
    copied = copied_columns(chosen, others, where="the table", **choice)
    for name in choice.get("keep") or ():
        if (times := there.count(name)) > 1:
            raise ParameterError("keep", name, f"is the name of {times} columns. Rename all but one.")
    if both := [name for name in copied if name in there and name in also]:
        problem = "is the name of a column and of an index. Rename one, or reset the index."
        raise ParameterError("keep", both[0], problem)
    return chosen, copied


def described(
    table: Any, sanitizer: Releaser | None, columns: Sequence[str], others: Sequence[str], *, keyed: bool
) -> TableRelease:
    """Return a released table with what it promises."""
    used = sanitizer or default_sanitizer()
    said = [*used.disclosed, f"the number of rows, their order, and where the columns {_named(columns)} hold no text"]
    said += [KEYED] if keyed else []
    said += [f"these columns, copied unchanged: {_named(others)}"] if others else []
    return TableRelease(
        table=table, columns=tuple(columns), guarantee=used.guarantee, disclosed=tuple(said), provenance=used.provenance
    )


def released_columns(
    columns: Columns, sanitizer: Releaser | None, ids: Sequence[str] | None = None
) -> dict[str, list[str | None]]:
    """Return columns of texts, released; None stays None.

    Args:
        columns: Name to the texts of every row.
        sanitizer: How, or a redactor; None is the default of `wordveil.sanitize`.
        ids: One per row, unique under the sanitizer's key: a row of the same id comes out as before where columns and
            texts are the same.

    Raises:
        ParameterError: If there is no column, a value is neither text nor None, or the ids do not fit.
    """
    if not columns:
        raise ParameterError("columns", [], "must name at least one column of texts.")
    for name, values in columns.items():
        for row, value in enumerate(cast(Sequence[object], values)):
            if not (value is None or isinstance(value, str)):
                problem = f"must hold text or nothing; row {row} holds {type(value).__name__}. Convert it first."
                raise ParameterError("columns", name, problem)
    rows = cast(Rows, list(zip(*columns.values(), strict=True)))
    prefix = json.dumps([*columns], default=str)  # other columns draw noise of their own under the same key and ids
    placed = None if ids is None else unique_ids(ids, len(rows))
    used = sanitizer or default_sanitizer()
    if isinstance(used, Redactor):
        released = used.release_rows(rows, placed, prefix)
    else:
        released, _ = release_rows(used, rows, placed, prefix)
    by_column = zip(*released, strict=True) if released else chain([()] * len(columns))
    return {name: list(values) for name, values in zip(columns, by_column, strict=True)}


def _named(columns: Sequence[str]) -> str:
    return ", ".join(printable(str(name)) for name in columns)
