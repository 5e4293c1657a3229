"""Fill the tables of the TrLaplace page from rows.jsonl and draw its figures.

    python -m wordveil_lab.trlaplace.page docs/results/trlaplace

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; everything else of the page is written by hand. The
same rows and the same Matplotlib give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordveil_lab.papers.base import told
from wordveil_lab.plots import SETTINGS, svg
from wordveil_lab.tables import markdown_table, refilled
from wordveil_lab.trlaplace.contenders import CERTIFIED, CODE, GAUSSIAN, LAPLACE, METRIC, NONE, PUBLISHED

Row = dict[str, Any]

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
PAPER = {(data, name): (rouge, kept) for data, name, rouge, kept in told("numbers.toml")["trlaplace"]["tables"]}
"""(set, mechanism) -> ROUGE-1 and N_w of the paper's tables 2 and 3 (GloVe), at `EPSILONS`."""

TITLES = {"yelp-short": "Yelp", "yahoo": "Yahoo", "sst2": "SST-2", "agnews": "AG News"}
STYLES: dict[str, dict[str, Any]] = {
    GAUSSIAN: {"color": "#1f6fb4", "marker": "o"},
    LAPLACE: {"color": "#d9730d", "marker": "^"},
    CERTIFIED: {"color": "#3a7d44", "marker": "s"},
    PUBLISHED: {"color": "#b3261e", "marker": "X", "linestyle": "-."},
    CODE[0]: {"color": "#d9a679", "marker": "^", "linestyle": ":"},
    CODE[1]: {"color": "#777777", "marker": "X", "linestyle": ":"},
    METRIC[0]: {"color": "#6a51a3", "marker": "v", "linestyle": "--"},
    METRIC[1]: {"color": "#b07aa1", "marker": "D", "linestyle": "--"},
    METRIC[2]: {"color": "#1b7f79", "marker": "P", "linestyle": "--"},
}


def main() -> None:
    """Rewrite the tables of the page and its figures."""
    directory = Path(sys.argv[1])
    lines = (directory / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = sorted(map(json.loads, lines), key=_place)
    page = directory / "README.md"
    tables = {f"<!-- table: {name} -->": make(rows) for name, make in TABLES.items()}
    page.write_text(refilled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, draw in FIGURES.items():
        (directory / f"{name}.svg").write_bytes(draw(rows))


def _place(row: Row) -> tuple[int, float]:
    """Return where a row stands in its table, whatever the order of the runs."""
    return [NONE, *STYLES, None].index(row.get("mechanism")), row.get("epsilon") or 0.0


def _mean(values: Any, digits: int, factor: float = 1.0) -> str:
    """Return the mean, with its standard error where it was measured several times."""
    if values is None or any(value is None for value in values):
        return ""
    scaled = factor * np.array(values)
    if len(scaled) == 1:
        return f"{scaled[0]:.{digits}f}"
    return f"{scaled.mean():.{digits}f} ± {scaled.std(ddof=1) / np.sqrt(len(scaled)):.{digits}f}"


def _epsilon(row: Row) -> str:
    return "" if row["epsilon"] is None else f"{row['epsilon']:g}"


def _of(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def _papers(data: str, row: Row) -> tuple[str, str]:
    found = PAPER.get((data, row["mechanism"]))
    if found is None or row["epsilon"] not in (None, *EPSILONS):
        return "", ""
    place = 0 if row["epsilon"] is None else EPSILONS.index(row["epsilon"])
    return f"{found[0][place]:.1f}", f"{found[1][place]:.3f}"


def _rewriting(data: str, table: str, *, with_paper: bool) -> Callable[[list[Row]], list[str]]:
    def make(rows: list[Row]) -> list[str]:
        head = ["mechanism", "epsilon", "n", "loss", "ROUGE-1", "BLEU", "BERTScore", "N_w", "best guess"]
        body = []
        for row in _of(rows, task="rewrite", data=data, table=table):
            cells = [row["mechanism"], _epsilon(row), str(len(row["loss"])), _mean(row["loss"], 2)]
            cells += [_mean(row["rouge1"], 1, 100), _mean(row["bleu"], 1), _mean(row["bert"], 3), _mean(row["n_w"], 3)]
            body.append([*cells, f"{row['best_guess']:.3f}", *(_papers(data, row) if with_paper else ())])
        return markdown_table([*head, *(("paper: ROUGE-1", "paper: N_w") if with_paper else ())], body)

    return make


def _classification(data: str) -> Callable[[list[Row]], list[str]]:
    def make(rows: list[Row]) -> list[str]:
        found = _of(rows, task="classify", data=data)
        tables = [name for name in ("glove", "embedded", "random") if _of(found, table=name)]
        settings = list(dict.fromkeys((row["mechanism"], row["epsilon"]) for row in found))
        body = []
        for mechanism, epsilon in settings:
            cells = [mechanism, "" if epsilon is None else f"{epsilon:g}"]
            for name in tables:
                there = _of(found, mechanism=mechanism, epsilon=epsilon, table=name)
                values = there[0]["accuracy"] if there else []
                cells.append(f"{_mean(values, 3)} ({len(values)})" if values else "")
            body.append(cells)
        return markdown_table(["mechanism", "epsilon", *tables], body)

    return make


def _support(rows: list[Row]) -> list[str]:
    body = []
    for row in _of(rows, task="support"):
        delta = re.search(r"exact delta in \d+ dimensions is ([0-9.e-]+)", row["guarantee"])
        exact = delta[1] if delta else "1e-5 or less, proved"
        left = f"{row['words_left']:.0f} of {row['of']}"
        body.append([row["mechanism"], _epsilon(row), f"{row['half_width']:.3g}", left, exact])
    return markdown_table(["mechanism", "epsilon", "half-width, in C", "words still possible", "exact delta"], body)


def _seconds(rows: list[Row]) -> list[str]:
    (row,) = _of(rows, task="seconds")
    body = [[name, f"{value:.3f}", f"{row['over'][name]:+.1%}"] for name, value in row["seconds"].items()]
    return markdown_table(
        ["mechanism", "processor seconds of an epoch, least", "beyond none, median of seven rounds"], body
    )


def _lines(axes: Any, rows: list[Row], value: Callable[[Row], float], *, names: Iterable[str]) -> None:
    """Draw one line a mechanism against epsilon, and the level without noise."""
    for name in names:
        own = sorted(_of(rows, mechanism=name), key=lambda row: row["epsilon"])
        if own:
            axes.plot([row["epsilon"] for row in own], [value(row) for row in own], label=name, **STYLES[name])
    for row in _of(rows, mechanism=NONE):
        axes.axhline(value(row), color="#444444", linewidth=1, label="no noise")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("epsilon per word")


def _drawn(panels: Sequence[tuple[str, str, Callable[[Any], None]]]) -> bytes:
    """Return an SVG with panels (title, y label, what draws it), a common legend below."""

    def paint(canvas: Any) -> None:
        for axes, (title, label, draw) in zip(canvas.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            draw(axes)
            axes.set_title(title)
            axes.set_ylabel(label)
        handles: dict[str, Any] = {}
        for axes in canvas.axes:
            handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        canvas.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)

    return svg((4.1 * len(panels), 4.2), paint, {**SETTINGS, "lines.markersize": 4, "lines.linewidth": 1.3})


def _rewriting_figure(name: str, label: str, factor: float) -> Callable[[list[Row]], bytes]:
    def draw(rows: list[Row]) -> bytes:
        panels = []
        for data in ("yelp-short", "yahoo"):

            def panel(axes: Any, data: str) -> None:
                own = _of(rows, task="rewrite", data=data, table="glove")
                _lines(axes, own, lambda row: factor * float(np.mean(row[name])), names=STYLES)
                if name == "rouge1":
                    values = PAPER[data, PUBLISHED][0]
                    axes.plot(EPSILONS, values, color="#bbbbbb", linewidth=3, zorder=0, label="paper, TrLaplacian")

            panels.append((TITLES[data], label, partial(panel, data=data)))
        return _drawn(panels)

    return draw


def _guesses(rows: list[Row]) -> bytes:
    """The share of words kept: by the trained rewriter, and by the best guess word by word."""
    own = _of(rows, task="rewrite", data="yelp-short", table="glove")
    honest = (GAUSSIAN, LAPLACE, CERTIFIED, PUBLISHED)
    return _drawn(
        [
            (
                "trained rewriter",
                "N_w",
                lambda axes: _lines(axes, own, lambda r: float(np.mean(r["n_w"])), names=honest),
            ),
            (
                "best guess at each word",
                "share of words",
                lambda axes: _lines(axes, own, lambda r: r["best_guess"], names=honest),
            ),
        ]
    )


def _accuracy(rows: list[Row]) -> bytes:
    panels = []
    for data in ("sst2", "agnews"):

        def panel(axes: Any, data: str) -> None:
            own = _of(rows, task="classify", data=data, table="glove")
            _lines(axes, own, lambda row: float(np.mean(row["accuracy"])), names=STYLES)

        panels.append((TITLES[data], "accuracy", partial(panel, data=data)))
    return _drawn(panels)


TABLES: dict[str, Callable[[list[Row]], list[str]]] = {
    "yelp": _rewriting("yelp-short", "glove", with_paper=True),
    "yahoo": _rewriting("yahoo", "glove", with_paper=True),
    "wide": _rewriting("yelp-short", "word2vec", with_paper=False),
    "sst2": _classification("sst2"),
    "agnews": _classification("agnews"),
    "support": _support,
    "seconds": _seconds,
}
FIGURES: dict[str, Callable[[list[Row]], bytes]] = {
    "loss": _rewriting_figure("loss", "loss, nats a word", 1.0),
    "rouge": _rewriting_figure("rouge1", "ROUGE-1", 100.0),
    "guesses": _guesses,
    "accuracy": _accuracy,
}


if __name__ == "__main__":
    main()
