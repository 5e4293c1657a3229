"""Build docs/mechanisms: one page and one plot for every mechanism and decoder, and the index.

    python -m wordveil_lab.pages.mechanisms

Pages come from docstrings, from advice.toml beside this file, and from docs/mechanisms/figures.json, which
`mechanism_figures` measures. Nothing in a page is written by hand: to change one, change the docstring, the advice or
the figure.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from wordveil.api import DECODERS, EXPORTS, MECHANISMS, build_app, round_down, round_up
from wordveil_lab.package import told
from wordveil_lab.pages import mechanism_figures
from wordveil_lab.pages.figure_values import Figure, Series
from wordveil_lab.plots import SETTINGS, svg
from wordveil_lab.tables import markdown_table

STYLES: dict[str, dict[str, Any]] = told("pages/styles.toml")
DASHES = ("--", (0, (5, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("^", "v", "D")


def draw(figure: Figure, title: str) -> bytes:
    """Return the SVG of a figure, text as text, without a date."""
    return svg((7.2, 4.3), partial(_paint, figure, title), SETTINGS)


def _paint(figure: Figure, title: str, canvas: Any) -> None:
    axes = canvas.add_subplot()
    for series in figure.series:
        _add(axes, series, sum(s.kind == series.kind for s in figure.series[: figure.series.index(series)]))
    if figure.log:
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=figure.axis, ylabel="privacy loss (nats)", title=title)
    axes.legend(fontsize=8, loc="best")


def _add(axes: Any, series: Series, earlier: int) -> None:
    """Draw one series; `earlier` counts those of its kind already drawn, which it must differ from."""
    style = dict(STYLES[series.kind])
    if series.line:
        dashes = DASHES[earlier % len(DASHES)] if series.kind == "certified" else style["linestyle"]
        width = style.get("linewidth", 1.5)  # a broad claim stays visible under a certified line that equals it
        axes.plot(series.x, series.y, color=style["color"], linestyle=dashes, linewidth=width, label=series.label)
        return
    if series.kind == "audited":
        style["marker"] = MARKERS[earlier % len(MARKERS)]
    label = f"{series.label} (at least)" if series.kind in ("audited", "unpromised") else series.label
    axes.plot(series.x, series.y, **{**style, "linestyle": "none"}, label=label)
    for x, y, note in zip(series.x, series.y, series.notes, strict=False):
        if series.kind == "refuted":
            place = {"xytext": (0, -15), "textcoords": "offset points", "ha": "center"}
            axes.annotate(note, (x, y), fontsize=8, color=style["color"], **place)


FOLDER = mechanism_figures.STORED.parent
NAMES: dict[str, str] = {**MECHANISMS, **DECODERS}
SECTION = re.compile(r"^(Guarantee|Attributes|Raises|Edge cases|Reference|Example):$", re.MULTILINE)
FROM_BELOW = ("audited", "unpromised")
"""Kinds of series that bound the true loss from below."""


def public_class(name: str) -> Any:
    """Return the class of a mechanism or decoder name."""
    return getattr(importlib.import_module(EXPORTS[NAMES[name]]), NAMES[name])


def sections(kind: Any) -> dict[str, str]:
    """Cut a docstring into its sections; what stands before the first is "Summary"."""
    parts = ["Summary", *SECTION.split(inspect.cleandoc(kind.__doc__))]
    return {title: inspect.cleandoc("\n" + body).strip() for title, body in zip(*[iter(parts)] * 2, strict=True)}


def example_code(kind: Any) -> str:
    """Return a docstring's example as a script: imports first, and what it shows in comments."""
    imports, lines = [f"from {EXPORTS[kind.__name__]} import {', '.join(_names_used(kind))}"], []
    for example in doctest.DocTestParser().get_examples(sections(kind)["Example"]):
        source = re.sub(r"\s*# doctest: .*", "", example.source.rstrip("\n"))
        if source.startswith(("import ", "from ")):
            imports.append(source)
            continue
        lines.append(source)
        lines += [f"# {line}" for line in example.want.rstrip("\n").split("\n") if example.want]
    outside = sorted(line for line in imports if "wordveil" not in line)
    own = sorted(line for line in imports if "wordveil" in line)
    return "\n".join([*outside, *([""] if outside else []), *own, "", *lines])


def _names_used(kind: Any) -> list[str]:
    """Return the public names of the class's module that its example uses."""
    text = sections(kind)["Example"]
    members = inspect.getmembers(inspect.getmodule(kind), lambda one: getattr(one, "__module__", "") == kind.__module__)
    return [name for name, _ in members if not name.startswith("_") and re.search(rf"\b{name}\b", text)]


def _attributes(kind: Any, body: str) -> list[str]:
    defaults = {f.name: f.default for f in fields(kind)}
    rows = []
    for name, meaning in re.findall(r"^(\w+): (.*?)(?=^\w+: |\Z)", body, re.MULTILINE | re.DOTALL):
        default = defaults.get(name, MISSING)
        shown = "" if default is MISSING else f"`{default!r}`"
        rows.append([f"`{name}`", shown, " ".join(meaning.replace("|", chr(92) + "|").split())])
    return markdown_table(["Parameter", "Default", "Meaning"], rows)


def cell(series: Series, place: float) -> str:
    """Return a series' value at a place: a bound from above rounded up, one from below rounded down."""
    value = value_at(series, place)
    if value is None:
        return ""
    note = series.notes[series.x.index(place)] if series.notes else ""
    if series.kind == "refuted" and note:
        return f"delta {note}"
    shown = round_down(max(value, 0.0)) if series.kind in FROM_BELOW else round_up(value)
    return f"{shown} ({note})" if note else shown


def value_at(series: Series, place: float) -> float | None:
    """Return a series' value at a place, along the line where it is one; None where it has none."""
    if place in series.x:
        return series.y[series.x.index(place)]
    if not (series.line and series.x[0] <= place <= series.x[-1]):
        return None
    i = next(i for i in range(1, len(series.x)) if series.x[i] >= place)
    share = (place - series.x[i - 1]) / (series.x[i] - series.x[i - 1])
    return series.y[i - 1] + share * (series.y[i] - series.y[i - 1])


def _table(figure: Figure) -> list[str]:
    places = sorted({x for s in figure.series if s.kind in FROM_BELOW for x in s.x})
    labels = [s.label + (" (at least)" if s.kind in FROM_BELOW else "") for s in figure.series]
    body = ([f"{place:.4g}", *(cell(series, place) for series in figure.series)] for place in places)
    return markdown_table([figure.axis, *labels], body)


def page(name: str, figure: Figure) -> str:
    """Return the Markdown page of a mechanism or decoder."""
    kind, parts = public_class(name), sections(public_class(name))
    decoder = name in DECODERS
    command = f"wordveil explain --mechanism {name} --epsilon 4{'' if decoder else _needed(kind)}"
    return _filled(
        "page.md",
        **told("pages/advice.toml")[name],
        name=name,
        title=kind.__name__,
        what="Decoder" if decoder else "Mechanism",
        paper=kind.paper,
        summary=re.sub(r'^ *(?=(?:\w+=)?"[\w-]+": )', "- ", parts["Summary"], flags=re.MULTILINE),  # choices as a list
        guarantee=parts["Guarantee"],
        parameters="\n".join(_attributes(kind, parts["Attributes"])) if "Attributes" in parts else "None.",
        edges=f"\n\n## Edge cases\n\n{parts['Edge cases']}" if "Edge cases" in parts else "",
        example=example_code(kind),
        command=f"wordveil sanitize --mechanism laplace --decoder {name}" if decoder else command,
        reading=figure.reading,
        setting=figure.setting,
        table="\n".join(_table(figure)),
        reference=parts["Reference"],
    )


def _filled(template: str, **words: str) -> str:
    return Path(__file__).with_name(template).read_text(encoding="utf-8").format(**words)


def _needed(kind: Any) -> str:
    """Return what a mechanism needs on the command line besides epsilon: what its first example has no default for."""
    example = kind.examples()[0]
    chosen = {f.name: getattr(example, f.name) for f in fields(kind) if f.default is not getattr(example, f.name)}
    said = ""
    for name, value in chosen.items():
        if name not in ("epsilon", "metric"):
            said += " --allow-refuted" if name == "allow_refuted" else f" --set {name}={value}"
    return said


def listing() -> list[dict[str, str]]:
    """Return the rows of `wordveil mechanisms --json`."""
    result = CliRunner().invoke(build_app(), ["mechanisms", "--json"])
    if result.exit_code:
        raise SystemExit(f"wordveil mechanisms failed: {result.output}")
    rows: list[dict[str, str]] = json.loads(result.stdout)
    return rows


def index(rows: list[dict[str, str]]) -> str:
    """Return the index page from the rows of `wordveil mechanisms`."""
    head = ["name", "calibration", "promise", "standing", "paper"]
    linked = ([f"[{row['name']}]({row['name']}.md)", *(row[key] for key in head[1:])] for row in rows)
    return _filled("index.md", table="\n".join(markdown_table(head, linked)))


def write(folder: Path, figures: dict[str, Figure]) -> None:
    """Write every page, plot and the index into a folder."""
    for name in NAMES:
        (folder / f"{name}.md").write_text(page(name, figures[name]), encoding="utf-8")
        (folder / f"{name}.svg").write_bytes(draw(figures[name], f"{NAMES[name]} ({name})"))
    (folder / "README.md").write_text(index(listing()), encoding="utf-8")


def main() -> None:
    """Build the pages."""
    write(FOLDER, mechanism_figures.stored_figures())


if __name__ == "__main__":
    main()
