"""[TL] What the models trained behind the noise of TrLaplace show, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wordveil.api import round_up
from wordveil_lab.evaluation.base import Summary
from wordveil_lab.evaluation.overlap import MINILM, ROBERTA
from wordveil_lab.package import told
from wordveil_lab.papers.base import Comparison, labelled, shown, verdict
from wordveil_lab.papers.trlaplace import CERTIFIED, CODE, LARGEST, NONE, PUBLISHED, printed
from wordveil_lab.plots import Plotted, point

Found = dict[tuple[str, str, float | None], Mapping[str, Summary]]
"""(cell, mechanism, epsilon) -> scores; epsilon is None without noise."""
TITLES = {"yelp": "Yelp", "yahoo": "Yahoo", "sst2": "SST-2", "agnews": "AG News"}
OWN = {"Gaussian, analytic": "Gaussian", "Laplacian": "Laplacian", PUBLISHED: "TrLaplacian", NONE: NONE}
"""Our name -> the paper's."""
REWRITTEN = ("yelp", "yahoo")
PANELS = {"ROUGE-1": REWRITTEN, "N_w": REWRITTEN, "best guess": ("yelp",), "accuracy": ("sst2", "agnews")}
"""Score -> the sets whose curves are drawn."""
DIGITS = {"loss": 2, "ROUGE-1": 1, "BLEU": 1, "words left": 0, "of": 0, "half-width": 1, "exact delta": 5}
CLEAN = {"sst2": 0.8997, "agnews": 0.9161}
"""The paper's accuracies without noise, with GloVe."""
LEARNT, KEPT = 0.7, 0.95
"""Shares of a score without noise: of the paper's, below which our model has learnt too little to show anything; and of
ours, above which nothing is lost."""


def curve(found: Found, cell: str, name: str, score: str) -> dict[float | None, Summary]:
    """Return a score by epsilon."""
    return {e: scores[score] for (where, own, e), scores in found.items() if (where, own) == (cell, name)}


def _range(values: list[float], digits: int) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def results(found: Found, *, full: bool) -> Iterator[Comparison]:
    """Yield a row for each table and figure that was run.

    Rewriters are another model than the paper's, and seconds another machine's: they refute nothing at any size.
    """
    for data in REWRITTEN:
        cell, title = f"rewrite {data}, glove", TITLES[data]
        for what, score in (("tables 2 and 3, figure 3", "ROUGE-1"), ("figures 2 and 5", "N_w")):
            own, clean = curve(found, cell, PUBLISHED, score), curve(found, cell, NONE, score)
            if own:
                yield _kept(f"{what}, {title}: {score} of TrLaplacian", data, score, own, clean[None].mean)
    for data in ("sst2", "agnews"):
        own = curve(found, f"classify {data}, glove", PUBLISHED, "accuracy")
        if own:
            yield _figure_four(found, data, [score.mean for score in own.values()], full)
    yield _table_five({n: s["beyond none"].mean for (cell, n, _), s in found.items() if cell == "seconds"})


def _table_five(beyond: Mapping[str, float]) -> Comparison:
    """Return how much longer an epoch takes with the truncated noise than with each other, from shares beyond none."""
    over = {name: (1 + beyond[CERTIFIED]) / (1 + share) - 1 for name, share in beyond.items() if name != CERTIFIED}
    listed = ", ".join(f"{100 * share:.1f} % ({name})" for name, share in over.items())
    return Comparison(
        what="table 5: one epoch with TrLaplacian takes longer by",
        paper="9 to 21 % than with the Gaussian and the Laplacian at the same epsilon",
        ours=f"{listed}, by inversion instead of rejection",
        verdict=verdict(all(0.11 <= share <= 0.21 for name, share in over.items() if name != NONE), full=False),
    )


def _kept(what: str, data: str, score: str, own: Mapping[float | None, Summary], clean: float) -> Comparison:
    """Return whether the paper's noise leaves a score as it is without noise."""
    digits, means = DIGITS.get(score, 3), [summary.mean for summary in own.values()]
    theirs = [row[score] for row in (printed(data, "TrLaplacian", e) for e in own) if row]
    bare = printed(data, NONE, None)[score]
    return Comparison(
        what=what,
        paper=f"{_range(theirs, digits)}, without noise {bare:.{digits}f}",
        ours=f"{_range(means, digits)}, without noise {clean:.{digits}f}",
        verdict=verdict(clean >= LEARNT * bare and min(means) >= KEPT * clean, full=False),
    )


def _figure_four(found: Found, data: str, means: list[float], full: bool) -> Comparison:
    clean = {table: found.get((f"classify {data}, {table}", NONE, None)) for table in ("glove", "embedded", "random")}
    vectors = {table: scores["accuracy"].mean for table, scores in clean.items() if scores}
    bare = ", ".join(f"{mean:.3f} ({table})" for table, mean in vectors.items())
    return Comparison(
        what=f"figure 4, {TITLES[data]}: accuracy of TrLaplacian",
        paper=f"near one accuracy at every epsilon from .01, with random vectors too; without noise {CLEAN[data]:.3f}",
        ours=f"{_range(means, 3)} with GloVe; without noise {bare}",
        verdict=verdict(
            vectors["glove"] >= LEARNT * CLEAN[data] and min(*means, *vectors.values()) >= KEPT * vectors["glove"],
            full=full,
        ),
    )


def numbers(found: Found) -> Iterator[Comparison]:
    """Yield all scores of each row."""
    for (cell, name, epsilon), scores in found.items():
        data, table = cell.removeprefix("rewrite ").removeprefix("classify ").partition(", ")[::2]
        theirs = printed(data, OWN.get(name, ""), epsilon) if table == "glove" else {}
        panels = {score: f"{score}, {TITLES.get(data)}" for score in (*scores, *theirs)}
        drawn = [score for score in scores if table == "glove" and data in PANELS.get(score, ())]
        points = [point(panels[score], name, epsilon, scores[score]) for score in drawn]
        if name == PUBLISHED:
            points += [Plotted(panels[s], OWN[name], epsilon, value, paper=True) for s, value in theirs.items()]
        yield Comparison(
            what=f"{cell}: {labelled(name, epsilon)}",
            paper=", ".join(f"{score} {value:.{DIGITS.get(score, 3)}f}" for score, value in theirs.items()),
            ours=", ".join(f"{score} {shown(summary, DIGITS.get(score, 3))}" for score, summary in scores.items()),
            remark=f"n = {max(summary.runs for summary in scores.values())}" if data in TITLES else "",
            points=tuple(points),
            scores=scores,
        )


def findings(found: Found) -> tuple[str, ...]:
    """Return the findings that are computed."""
    guesses = {(n, e): s["best guess"].mean for (cell, n, e), s in found.items() if cell == "rewrite yelp, glove"}
    honest = {key: share for key, share in guesses.items() if key[0] not in (NONE, PUBLISHED, *CODE)}
    low = [share for (_, epsilon), share in honest.items() if epsilon is not None and epsilon <= 5]
    high = [share for (_, epsilon), share in honest.items() if epsilon is not None and epsilon > LARGEST]
    words, lines = told("papers/about.toml")["trlaplace-neural"]["told"], []
    if low:
        beyond = words["beyond"].format(_range(high, 3)) if high else ""
        lines.append(words["guess"].format(_range(low, 3)) + beyond)
    for (cell, name, epsilon), scores in found.items():
        if cell == "support" and name == PUBLISHED:
            left, of, delta = (scores[score].mean for score in ("words left", "of", "exact delta"))
            lines.append(words["support"].format(labelled(name, epsilon), left, of, round_up(delta)))
    return tuple(lines)


def absent(found: Found) -> tuple[str, ...]:
    """Return which scores no row has for want of a package or its weights."""
    had = {score for scores in found.values() for score in scores}
    return tuple(
        f"{score}: its package or weights are not here." for score in ("BLEU", MINILM, ROBERTA) if score not in had
    )
