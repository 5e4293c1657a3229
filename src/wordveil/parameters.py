"""Checks of what callers pass: numbers, not bools or strings, inside their domain; else `ParameterError`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from decimal import Context, Decimal
from difflib import get_close_matches
from numbers import Integral
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float64Array, IdArray, PrivateIds
from wordveil.errors import ParameterError, printable

NAMED = 20  # columns that a message names


def natural_logarithm(value: float) -> float:
    """Return the logarithm of a positive number, the same on every machine: C libraries differ in the last bit."""
    return float(Context(prec=25).ln(Decimal(value)))


def as_floats(name: str, value: object) -> Float64Array:
    """Return an array of real numbers as float64; it is never shown."""
    try:
        given = np.asarray(value)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "fiu":
        raise ParameterError(name, f"{given.dtype} of shape {given.shape}", "must be an array of real numbers.")
    return np.asarray(given, dtype=np.float64)


def check_number(name: str, value: object, holds: Callable[[float], bool], domain: str) -> None:
    """Raise `ParameterError` unless the parameter is a real number inside its domain, which is printed as given.

    `holds` tells whether a number is inside, by comparisons alone, so that NaN never is.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, value, f"must be a number in {domain}, an int or a float of 64 bits.")
    if not holds(float(value)):
        raise ParameterError(name, value, f"must be in {domain}.")


def check_positive(name: str, value: object) -> None:
    """Raise `ParameterError` unless the parameter is a number in (0, inf)."""
    check_number(name, value, lambda x: 0 < x < math.inf, "(0, inf)")


def check_delta(delta: object, upper: float = 1.0, *, name: str = "delta") -> None:
    """Raise `ParameterError` unless the parameter is a number in (0, upper)."""
    check_number(name, delta, lambda x: 0 < x < upper, f"(0, {upper:g})")


def check_within(name: str, value: object, most: float = math.inf) -> None:
    """Raise `ParameterError` unless the parameter is a finite number in [0, most]."""
    domain = "[0, inf)" if most == math.inf else f"[0, {most:g}]"
    check_number(name, value, lambda x: 0 <= x <= most and x < math.inf, domain)


def check_distance(distance: float) -> None:
    """Refuse what is no finite distance."""
    if not (math.isfinite(distance) and distance >= 0):
        raise ParameterError("distance", distance, "must be in [0, inf).")


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise `ParameterError` unless the parameter is a whole number, at least so large."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(name, value, f"must be a whole number, at least {least}.")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise `ParameterError` unless the value is one of the choices."""
    if value not in tuple(choices):
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}.")


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise `ParameterError` unless the value is of the kind; the value is not shown."""
    if not isinstance(value, kind):
        raise ParameterError(name, f"<{type(value).__name__}>", f"must be of type {kind.__name__}.")


def strings(name: str, values: Sequence[str]) -> list[Any]:
    """Return the values as a list; errors name a position and a type, never a value."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ParameterError(name, f"<{type(values).__name__}>", "must be a list of str; put a single one in brackets.")
    listed: list[Any] = list(values)
    for place, value in enumerate(listed):
        if not isinstance(value, str):
            problem = f"must be str; position {place} holds {type(value).__name__}."
            raise ParameterError(name, f"<{len(listed)} entries>", problem)
    return listed


def check_draws(draws: Sequence[NDArray[Any]], *shapes: tuple[int, ...]) -> None:
    """Check that there is one draw per row. Broadcasting fewer would reuse one row's noise."""
    found = tuple(np.shape(draw) for draw in draws)
    if found != shapes:
        raise ParameterError("draws", f"shapes {found}", f"must have the shapes {shapes}: one draw a row.")


def checked_ids(ids: IdArray, words: int, *, unknown: bool = False) -> PrivateIds:
    """Return word ids after checking that each is one of a vocabulary, or -1 where `unknown`; they are never shown."""
    given = np.asarray(ids)
    if given.ndim != 1 or not (given.size == 0 or given.dtype.kind in "iu"):
        raise ParameterError("ids", f"{given.dtype} of shape {given.shape}", "must be whole numbers of shape (n,).")
    least = -1 if unknown else 0
    if given.size and not least <= given.min() <= given.max() < words:
        raise ParameterError("ids", "<hidden>", f"must be in [{least}, {words}), the words of the vocabulary.")
    return PrivateIds(np.asarray(given, dtype=np.int32))


def unique_ids(ids: Sequence[str], n: int) -> list[str]:
    """Return the ids of n documents as a list, each one of its own."""
    names = strings("ids", ids)
    if len(names) != n:
        raise ParameterError("ids", f"<{len(names)} entries>", f"must hold one id for each of {n} documents.")
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            problem = f"must be unique in a run; positions {first[name]} and {place} hold one id."
            raise ParameterError("ids", f"<{n} entries>", problem)
    return names


def check_other_columns(keep: Collection[str] | None, *, keep_others: bool, drop_others: bool) -> None:
    """Raise `ParameterError` where two things are said of the columns that hold no text, or one is no yes or no."""
    said = {"keep": keep, "keep_others": keep_others, "drop_others": drop_others}
    for name in ("keep_others", "drop_others"):
        if not isinstance(said[name], bool):
            raise ParameterError(name, said[name], "must be True or False.")
    first, *more = [name for name, given in said.items() if given is not None and given is not False] or [""]
    if more:
        needless = (first, *more) == ("keep", "drop_others")
        remedy = "The other columns are left out without it." if needless else "Give one of the two."
        raise ParameterError(first, said[first], f"cannot be combined with {more[0]}=True. {remedy}")


def unnamed_columns(columns: Sequence[Any], others: Sequence[Any], where: str) -> ParameterError:
    """Return the error for columns of which nothing was said. Names are schema, so they are listed."""
    what = "column" if len(others) == 1 else "columns"
    return ParameterError(
        "columns",
        tuple(columns),
        f"leaves {len(others):,} other {what} of {where} unnamed: {listed_names(others)}. keep=[...] copies those it "
        "names, keep_others=True copies all, drop_others=True leaves them out.",
    )


class OtherColumns(TypedDict, total=False):
    """What becomes of the other columns of a table: none is copied unasked, so where there are any, one says so."""

    keep: Collection[Any] | None  # names of those to copy
    keep_others: bool  # copy all
    drop_others: bool  # leave out all


def copied_columns(
    columns: Sequence[Any],
    others: Sequence[Any],
    *,
    where: str,
    keep: Collection[Any] | None = None,
    keep_others: bool = False,
    drop_others: bool = False,
) -> list[Any]:
    """Return the other columns that are copied, in their order.

    Raises:
        ParameterError: If there are others and nothing was said of them, or one is named that is not there.
    """
    if isinstance(keep, str):
        raise ParameterError("keep", keep, "must be a list of names; put a single one in brackets.")
    check_other_columns(keep, keep_others=keep_others, drop_others=drop_others)
    for name in keep or ():
        if name in columns:
            raise ParameterError("keep", name, "is released already. Name only columns to copy unchanged.")
        if name not in others:
            raise ParameterError("keep", name, f"is no other column of {where}.{similar_name(name, others)}")
    if keep is None and not (keep_others or drop_others) and others:
        raise unnamed_columns(columns, others, where)
    return [name for name in others if keep_others or (keep is not None and name in keep)]


def similar_name(name: object, present: Collection[Any]) -> str:
    """Return a question that names what is most like a name that is not there, or ""."""
    by_letters = {str(other).casefold(): str(other) for other in present}
    found = get_close_matches(str(name).casefold(), by_letters, n=1)
    return f" Did you mean {by_letters[found[0]]!r}?" if found else ""


def listed_names(names: Sequence[Any]) -> str:
    """Return names between commas, the first of many."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(printable(str(name)) for name in names[:NAMED]) + more
