"""The tables and figures of the TrLaplace page, from the stored run.

    python -m wordveil_lab.trlaplace.page

A table stands below its comment; everything else of the page is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wordveil_lab.leagues.stored import StoredRun
from wordveil_lab.papers.base import told
from wordveil_lab.plots import SETTINGS, svg
from wordveil_lab.tables import markdown_table
from wordveil_lab.trlaplace.contenders import CERTIFIED, CODE, GAUSSIAN, LAPLACE, METRIC, NONE, PUBLISHED

Run = dict[str, Any]
Row = tuple[str, float | None, Mapping[str, Any]]

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


GROUPS = dict.fromkeys(METRIC, "metric")


def cells(report: Run, cell: str) -> list[Row]:
    """Return the rows that have a cell, as name, epsilon and cell, in the order of the tables."""
    rows = [(row["name"], row["epsilon"], row["cells"][cell]) for row in report["rows"] if cell in row["cells"]]
    return sorted(rows, key=lambda row: ([NONE, *STYLES].index(row[0]), row[1] or 0.0))


def _mean(cell: Mapping[str, Any], name: str, digits: int, factor: float = 1.0) -> str:
    """Return a mean, with its standard error where it was measured several times."""
    score = cell["scores"].get(name)
    if score is None:
        return ""
    mean = f"{factor * score['mean']:.{digits}f}"
    return mean if score["runs"] == 1 else f"{mean} ± {factor * score['standard_error']:.{digits}f}"


def _epsilon(epsilon: float | None) -> str:
    return "" if epsilon is None else f"{epsilon:g}"


def _papers(data: str, name: str, epsilon: float | None) -> tuple[str, str]:
    found = PAPER.get((data, name))
    if found is None or epsilon not in (None, *EPSILONS):
        return "", ""
    place = 0 if epsilon is None else EPSILONS.index(epsilon)
    return f"{found[0][place]:.1f}", f"{found[1][place]:.3f}"


def _rewriting(report: Run, data: str, table: str = "glove") -> list[str]:
    head = ["mechanism", "epsilon", "n", "loss", "ROUGE-1", "BLEU", "BERTScore", "N_w", "best guess"]
    with_paper, body = table == "glove", []
    for name, epsilon, cell in cells(report, f"rewrite {data}, {table}"):
        own = [name, _epsilon(epsilon), str(cell["scores"]["loss"]["runs"]), _mean(cell, "loss", 2)]
        own += [_mean(cell, "rouge1", 1, 100), _mean(cell, "bleu", 1), _mean(cell, "bert", 3), _mean(cell, "n_w", 3)]
        body.append([*own, _mean(cell, "best_guess", 3), *(_papers(data, name, epsilon) if with_paper else ())])
    return markdown_table([*head, *(("paper: ROUGE-1", "paper: N_w") if with_paper else ())], body)


def _classification(report: Run, data: str) -> list[str]:
    columns = {table: cells(report, f"classify {data}, {table}") for table in ("glove", "embedded", "random")}
    body: dict[tuple[str, float | None], dict[str, str]] = {}
    for table, rows in columns.items():
        for name, epsilon, cell in rows:
            shown = f"{_mean(cell, 'accuracy', 3)} ({cell['scores']['accuracy']['runs']})"
            body.setdefault((name, epsilon), {})[table] = shown
    return markdown_table(
        ["mechanism", "epsilon", *columns],
        ([name, _epsilon(e), *(own.get(table, "") for table in columns)] for (name, e), own in body.items()),
    )


def _support(report: Run) -> list[str]:
    body = []
    for name, epsilon, cell in cells(report, "support"):
        delta = re.search(r"exact delta in \d+ dimensions is ([0-9.e-]+)", cell["guarantee"])
        exact = delta[1] if delta else "1e-5 or less, proved"
        left = f"{_mean(cell, 'words_left', 0)} of {cell['of']}"
        body.append([name, _epsilon(epsilon), f"{cell['scores']['half_width']['mean']:.3g}", left, exact])
    return markdown_table(["mechanism", "epsilon", "half-width, in C", "words still possible", "exact delta"], body)


def _seconds(report: Run) -> list[str]:
    body = [
        [name, _mean(cell, "seconds", 3), f"{cell['scores']['over']['mean']:+.1%}"]
        for name, _, cell in cells(report, "seconds")
    ]
    return markdown_table(
        ["mechanism", "processor seconds of an epoch, least", "beyond none, median of seven rounds"], body
    )


def _lines(axes: Any, rows: list[Row], score: str, factor: float = 1.0, names: Iterable[str] = STYLES) -> None:
    """Draw one line a mechanism against epsilon, and the level without noise."""
    for name in names:
        own = [(epsilon, factor * cell["scores"][score]["mean"]) for row, epsilon, cell in rows if row == name]
        if own:
            axes.plot(*zip(*own, strict=True), label=name, **STYLES[name])
    for name, _, cell in rows:
        if name == NONE:
            axes.axhline(factor * cell["scores"][score]["mean"], color="#444444", linewidth=1, label="no noise")
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


def _rewriting_figure(report: Run, score: str, label: str, factor: float = 1.0) -> bytes:
    def panel(axes: Any, data: str) -> None:
        _lines(axes, cells(report, f"rewrite {data}, glove"), score, factor)
        if score == "rouge1":
            values = PAPER[data, PUBLISHED][0]
            axes.plot(EPSILONS, values, color="#bbbbbb", linewidth=3, zorder=0, label="paper, TrLaplacian")

    return _drawn([(TITLES[data], label, partial(panel, data=data)) for data in ("yelp-short", "yahoo")])


def _guesses(report: Run) -> bytes:
    """The share of words kept: by the trained rewriter, and by the best guess word by word."""
    rows, honest = cells(report, "rewrite yelp-short, glove"), (GAUSSIAN, LAPLACE, CERTIFIED, PUBLISHED)
    return _drawn(
        [
            ("trained rewriter", "N_w", lambda axes: _lines(axes, rows, "n_w", names=honest)),
            (
                "best guess at each word",
                "share of words",
                lambda axes: _lines(axes, rows, "best_guess", names=honest),
            ),
        ]
    )


def _accuracy(report: Run) -> bytes:
    def panel(axes: Any, data: str) -> None:
        _lines(axes, cells(report, f"classify {data}, glove"), "accuracy")

    return _drawn([(TITLES[data], "accuracy", partial(panel, data=data)) for data in ("sst2", "agnews")])


def tables(report: Run) -> dict[str, list[str]]:
    """Return the tables of the page, each by the comment above it."""
    found = {
        "yelp": _rewriting(report, "yelp-short"),
        "yahoo": _rewriting(report, "yahoo"),
        "wide": _rewriting(report, "yelp-short", "word2vec"),
        "sst2": _classification(report, "sst2"),
        "agnews": _classification(report, "agnews"),
        "support": _support(report),
        "seconds": _seconds(report),
    }
    return {f"<!-- table: {name} -->": lines for name, lines in found.items()}


RUN = StoredRun(
    name="trlaplace/runs",
    tables=tables,
    pictures={
        "loss.svg": partial(_rewriting_figure, score="loss", label="loss, nats a word"),
        "rouge.svg": partial(_rewriting_figure, score="rouge1", label="ROUGE-1", factor=100.0),
        "guesses.svg": _guesses,
        "accuracy.svg": _accuracy,
    },
    shown="trlaplace/README",
)

if __name__ == "__main__":
    RUN.write()
