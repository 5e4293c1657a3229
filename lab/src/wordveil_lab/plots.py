"""Pictures, SVG or PDF: the same values and the same Matplotlib give the same bytes, text stays text, none has a date.

`svg` draws any; `draw` the points of reproductions and leagues against epsilon, the paper's own numbers beside them
where it prints any. Every point is also a number of the page or of its JSON.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordveil_lab.evaluation.base import Summary
from wordveil_lab.package import from_extra, told

SETTINGS, SMALL = (told("plots.toml")[use] for use in ("pages", "panels"))
"""Of the figures of pages, and of those with many panels."""
COLUMNS = 3
WIDE_RANGE = 20.0  # epsilons that differ by more are drawn on a logarithmic axis


@dataclass(frozen=True)
class Plotted:
    """One point of one figure."""

    figure: str  # name of the panel: which figure of the paper, and what goes upwards
    series: str
    epsilon: float | None  # where it lies; None draws a level across the panel, as for "no noise"
    value: float
    error: float = 0.0  # standard error; 0 where there is none
    paper: bool = False  # whether the number is the paper's own


def point(figure: str, series: str, epsilon: float | None, summary: Summary) -> Plotted:
    """Return the point of a summary over runs."""
    return Plotted(figure, series, epsilon, summary.mean, summary.standard_error)


def svg(
    size: tuple[float, float], paint: Callable[[Any], None], settings: Mapping[Any, Any], form: str = "svg"
) -> bytes:
    """Return what `paint` draws into a Matplotlib figure, inches; the setting `svg.hashsalt` makes the bytes repeat."""
    drawing = from_extra("matplotlib.figure", "A page with figures", "plots", "matplotlib")
    with drawing.mpl.rc_context({"backend": "svg", **settings}):
        canvas, out = drawing.Figure(figsize=size, layout="constrained"), io.BytesIO()
        paint(canvas)
        undated = {"svg": "Date", "pdf": "CreationDate"}[form]
        canvas.savefig(out, format=form, metadata={undated: None, "Creator": None})
    return out.getvalue()


def draw(points: Sequence[Plotted], title: str = "", across: str = "epsilon", form: str = "svg") -> bytes:
    """Return a picture, SVG or PDF, with one panel for each figure; what goes `across` need not be epsilon."""
    names = list(dict.fromkeys(p.figure for p in points))
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)

    def paint(canvas: Any) -> None:
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            _panel(axis, name, [p for p in points if p.figure == name], across)
        for axis in axes[len(names) :]:
            axis.set_axis_off()
        canvas.suptitle(title, fontsize=10)

    return svg((4.6 * columns, 3.9 * rows + 0.3), paint, SMALL, form)


def _panel(axis: Any, name: str, points: Sequence[Plotted], across: str) -> None:
    series = list(dict.fromkeys((p.series, p.paper) for p in points))
    places = {label: i for i, label in enumerate(dict.fromkeys(label for label, _ in series))}
    colours = {label: f"C{i % 10}" for label, i in places.items()}
    for label, paper in series:
        own = [p for p in points if (p.series, p.paper) == (label, paper)]
        own.sort(key=lambda p: (p.epsilon or 0.0, p.value))
        style: dict[str, Any] = {"color": colours[label], "label": f"{label} (paper)" if paper else label}
        if own[0].epsilon is None:
            axis.axhline(own[0].value, linestyle=":", **style)
            continue
        marker, filled = ("s", "none") if paper else ("o^v"[places[label] // 10 % 3], colours[label])
        style |= {"marker": marker, "markersize": 4, "markerfacecolor": filled}
        style |= {"linestyle": "--" if paper else "-", "linewidth": 1.2, "capsize": 2}
        errors = None if paper else [p.error for p in own]
        axis.errorbar([p.epsilon for p in own], [p.value for p in own], yerr=errors, **style)
    across_at = [p.epsilon for p in points if p.epsilon is not None]
    if across_at and max(across_at) > max(1.0, WIDE_RANGE * min(across_at)):  # shares are never drawn so
        axis.set_xscale("log")
    axis.set_title(name, fontsize=9)
    axis.set_xlabel(across)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=6.5, framealpha=0.6)
