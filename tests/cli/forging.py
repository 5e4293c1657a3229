"""Reports and their facts, taken apart and edited one by one."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from worlds import told

FORGERIES = told(__file__, "forgeries")


def facts_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))
    else:
        yield path


def named(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)[1:]


def forged(facts: dict[str, Any], path: tuple[Any, ...], *chosen: Any) -> dict[str, Any]:
    """Return the facts with another value at a place: the one that is chosen, or one of the same type."""
    other = copy.deepcopy(facts)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    if chosen:
        inner[path[-1]] = chosen[0]
        return other
    value = inner[path[-1]]
    if isinstance(value, bool):
        value = not value
    elif isinstance(value, int | float):
        value = value / 4 if value else 1
    elif isinstance(value, str):
        value = (
            re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), value, count=1)
            if value[:1].isdigit()
            else value + " x"
        )
    elif isinstance(value, dict | list):
        value = ["x"] if isinstance(value, list) else {"x": 1}
    else:
        value = "x"
    inner[path[-1]] = value
    return other
