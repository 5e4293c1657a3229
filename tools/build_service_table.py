"""Writes into docs/service.md what becomes of what stands in a request, field by field, from the types of the routes.

python tools/build_service_table.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from fastapi.routing import APIRoute

from wordveil.service.app import Service, build_routes
from wordveil.service.messages import Fate

PAGE = Path(__file__).parents[1] / "docs" / "service.md"
BEGIN, END = "<!-- from tools/build_service_table.py -->\n", "<!-- end of it -->\n"
UNLESS = {
    "authorization": " unless it is a key",
    "texts": " unless the service released it",
    "idempotency": " but as a digest",
}


def routes() -> list[Any]:
    """Return the routes, in the order of the service."""
    return [route for route in build_routes(object.__new__(Service)).routes if isinstance(route, APIRoute)]


def places(route: Any) -> Iterator[tuple[str, str, Fate]]:
    """Yield where something can stand in a request of a route: the kind of the place, its name, and its fate."""
    for header in (route.openapi_extra or {}).get("parameters", ()):
        yield "header", header["name"], Fate.REFUSED if header["name"] == "authorization" else Fate.UNSEEN
    for each in route.param_convertors:
        yield "path", each, Fate.PUBLIC
    body = next((hint for hint in get_type_hints(route.endpoint).values() if is_dataclass(hint)), None)
    if body is None or "POST" not in route.methods:
        yield "body", "a body", Fate.UNSEEN
    else:
        hints = get_type_hints(body, include_extras=True)
        for field in fields(body):
            marks = getattr(hints[field.name], "__metadata__", ())
            yield "field", field.name, next((mark for mark in marks if isinstance(mark, Fate)), Fate.PUBLIC)
        yield "field", "any other field", Fate.REFUSED
    yield "query", "the query", Fate.UNSEEN
    yield "header", "any other header", Fate.UNSEEN


def table() -> str:
    """Return the table."""
    lines = [f"| route | {' | '.join(fate.value for fate in Fate)} |", "|---" * (1 + len(Fate)) + "|"]
    for route in routes():
        cells: dict[Fate, list[str]] = {fate: [] for fate in Fate}
        for kind, name, fate in places(route):
            shown = name if " " in name else f"`{name}`"
            unless = UNLESS.get(name.partition("-")[0], "") if fate in (Fate.REFUSED, Fate.UNSEEN) else ""
            cells[fate].append(shown + (unless if kind in ("field", "header") else ""))
        (method,) = route.methods
        lines.append(f"| `{method} {route.path}` | {' | '.join(', '.join(cells[fate]) for fate in Fate)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")
