"""The names and kinds of what a report says of its run, which no mechanism can compute again.

Whoever edits such a fact can lie in numbers and names, as everywhere where nobody signs, but cannot add a fact or a
sentence that no run writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Literal, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from wordveil.denoising.denoiser import Style
from wordveil.documents.base import FormatDetails, Missing

_TIME = "%Y-%m-%dT%H:%M:%SZ"


class _Settings(TypedDict):
    format: str | None
    columns: tuple[str, ...]
    keep: tuple[str, ...] | None
    keep_others: bool
    drop_others: bool
    missing: Missing
    encoding: str | None
    details: FormatDetails
    pattern: str


class _Budget(TypedDict):
    user: str
    max_nats: float
    over: Literal["stop", "drop", "truncate"]
    sentence: str
    users_over: int
    documents_left_out: int


class _OnPublicText(TypedDict):
    words: int
    named: float
    content: float
    random: float


class _Denoised(TypedDict):
    style: Style
    least: float
    marked: bool
    prior: str
    calibrated_on: str
    words: int
    refused_texts: int
    confidence: float
    attack: float
    on_public_text: _OnPublicText


_HELD = ("guarantee", "provenance", "options")
"""Computed again, to the letter."""
_OBJECTS: dict[str, Any] = {"settings": _Settings, "budget": _Budget | None, "denoised": _Denoised | None}


def misfits(facts: Mapping[str, Any], report: type) -> list[str]:
    """Return the places of facts that no report of this class holds, or holds as another kind of value."""
    hints = get_type_hints(report) | _OBJECTS
    places = [each.name for each in fields(report) if each.default is MISSING and each.name not in facts]
    places += [
        place
        for name, hint in hints.items()
        if name not in _HELD and name in facts
        for place in _unlike(facts[name], hint, name)
    ]
    try:
        datetime.strptime(facts["finished"], _TIME)  # the form alone is asked
    except ValueError:
        places.append("finished")
    return places


def _unlike(value: Any, hint: Any, place: str) -> Iterator[str]:
    """Yield the places in which a JSON value is none of a type."""
    arms = get_args(hint)
    if isinstance(hint, UnionType):
        if all(any(_unlike(value, arm, place)) for arm in arms):
            yield next(_unlike(value, arms[0], place))
    elif get_origin(hint) is Literal:
        yield from () if value in arms else (place,)
    elif get_origin(hint) is tuple and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unlike(item, arms[0], f"{place}[{number}]")
    elif (is_dataclass(hint) or is_typeddict(hint)) and isinstance(value, Mapping):
        names = get_type_hints(hint)
        yield from (f"{place}.{name}" for name in sorted(names.keys() ^ value.keys()))
        for name in names.keys() & value.keys():
            yield from _unlike(value[name], names[name], f"{place}.{name}")
    elif get_origin(hint) is dict and isinstance(value, Mapping):
        for name, item in value.items():
            yield from _unlike(item, get_args(hint)[1], f"{place}.{name}")
    elif hint is float:
        yield from () if type(value) in (int, float) else (place,)
    elif (type(value) is not hint and not (value is None and hint is type(None))) or (hint is int and value < 0):
        yield place  # no number of a report is negative
