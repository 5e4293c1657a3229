"""Draw a figure of the reference pages as SVG; the same values and the same Matplotlib give the same bytes."""

from __future__ import annotations

from functools import partial
from typing import Any

from wordveil_lab.pages.figure_values import Figure, Series
from wordveil_lab.plots import SETTINGS, svg

STYLES: dict[str, dict[str, Any]] = {
    "claimed": {"color": "#9a9a9a", "linestyle": "-", "linewidth": 3},
    "certified": {"color": "#1f6fb4", "linestyle": "--", "marker": "o", "markersize": 3.5},
    "textbook": {"color": "#7aa6cf", "linestyle": ":", "marker": "x", "markersize": 4},
    "audited": {"color": "#d9730d", "linestyle": ":", "marker": "^", "markersize": 7},
    "refuted": {"color": "#b3261e", "linestyle": "-.", "marker": "X", "markersize": 8},
    "unpromised": {"color": "#777777", "linestyle": ":", "marker": "^", "markersize": 7},
}
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
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(figure.axis)
    axes.set_ylabel("privacy loss (nats)")
    axes.set_title(title)
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
            axes.annotate(
                note, (x, y), textcoords="offset points", xytext=(0, -15), ha="center", fontsize=8, color=style["color"]
            )
