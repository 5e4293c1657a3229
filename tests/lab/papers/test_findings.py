"""What the pages of reproductions say is computed: their sentences on made-up numbers, and the stored pages quoted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from wordveil.errors import ParameterError
from wordveil.mechanisms.truncated_law import escape, published_half_width
from wordveil_lab.evaluation.base import Summary, summarize
from wordveil_lab.papers import curse, privemb, tem
from wordveil_lab.papers.base import FAILS, HOLDS, UNTESTED, standing
from wordveil_lab.papers.trlaplace import Published

RESULTS = Path(__file__).resolve().parents[3] / "docs/results"


def accuracies(**values):
    scores = {("baseline", 0.0): 0.78} | {(name, 2.0): value for name, value in values.items()}
    return {key: {"accuracy": summarize([v, v]), "auc": summarize([0.5, 0.5])} for key, v in scores.items()}


@pytest.mark.parametrize(
    ("reached", "full", "said"),
    [(0.53, False, UNTESTED), (0.53, True, FAILS), (0.75, False, HOLDS), (0.75, True, HOLDS)],
)
def test_a_reduced_run_of_tem_refutes_nothing(reached, full, said):
    found = accuracies(tem=reached, laplace=0.52)
    rows = list(tem.results(found, full=full))
    assert [row.verdict for row in rows] == [said, HOLDS]
    assert "at 1 of 1 epsilons" in tem.findings(found)[0]


def over(mean, error=0.01):
    return Summary(mean=mean, standard_error=error, low=mean, high=mean, runs=3)


def test_privemb_counts_by_two_standard_errors_who_is_ahead():
    assert standing([(over(0.6), over(0.5)), (over(0.5), over(0.51)), (over(0.4), over(0.5))]) == (1, 1, 1)
    assert standing([(over(4.0), over(5.0))], lower=True) == (1, 0, 0)
    pairs = {key: [] for key in ("figure 1", "figure 2", "table 1", "table 1, fresh noise for every token")}
    pairs |= {"figure 3": [("a", over(0.6), over(0.5))], "figure 4": [("b", over(0.6), over(0.5))]}
    rows = {row.what: row.verdict for row in privemb.results(pairs, full=False)}
    assert (rows["figure 3"], rows["figure 4"], rows["table 1"]) == (HOLDS, UNTESTED, UNTESTED)
    assert {row.what: row.verdict for row in privemb.results(pairs, full=True)}["figure 4"] == FAILS


def test_curse_names_the_largest_shares():
    names = list(curse.CLAIMS)
    near = dict(zip(names, (0.2, 0.6, 0.1), strict=True))
    shares = {("t", name, e): [0.0, near[name] / (e / 8), 0.0] for name in names for e in (8.0, 16.0)}
    found = curse.findings(shares, {"t": (0.005, 0.6, 0.3)})
    assert f"0.200 at epsilon 8 (figure 2, Laplace), 0.600 at epsilon 8 ({names[1]})" in found[0]
    assert "c = 0.005 gives them most: 0.60 in the mean over the epsilons tried, c = .04 0.30." in found[0]


@pytest.mark.parametrize(("epsilon", "d"), [(0.1, 300), (5.0, 300), (10.0, 425)])
def test_the_published_noise_is_theorem_three_where_its_delta_is_a_float(epsilon, d):
    fitted = Published(epsilon=epsilon, padded_dimensions=d, clip_norm=3.0).for_dimensions(50)
    assert fitted.half_width == pytest.approx(3.0 * published_half_width(d, epsilon, 4.0**-d))
    assert fitted.alpha == pytest.approx(epsilon / (2 * np.sqrt(d) * 3.0))


def test_the_published_noise_of_1700_dimensions_needs_no_float_delta():
    """By hand: 1/alpha = 2 sqrt(1700)/20 = 4.12311, 1 - 20/(2 (1/4) sqrt(1700)) = .0298575, A = 14.48 C."""
    fitted = Published(epsilon=20.0, padded_dimensions=1700).for_dimensions(300)
    assert fitted.half_width == pytest.approx(4.1231056 * 3.5113, rel=1e-4)
    shift = np.full(300, 2 / np.sqrt(300))
    exact = 1 - np.prod(1 - escape(shift, fitted.alpha, fitted.half_width))
    said = float(re.search(r"exact delta in 300 dimensions is ([0-9.]+)", fitted.guarantee().reason)[1])
    assert exact <= said * (1 + 1e-9)
    with pytest.raises(ParameterError, match="theorem 3"):
        Published(epsilon=20.0, padded_dimensions=1600).for_dimensions(300)


def cell(page, start):
    text = (RESULTS / page).read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [part.strip() for part in line.strip("|").split("|")]


def summary_of(paper):
    text = " ".join((RESULTS.parent / "explanation" / "literature.md").read_text(encoding="utf-8").split())
    return re.search(rf"- \*\*{paper}\*\*[^:]*: (.*?)(?= - \*\*| ## |$)", text)[1]


def finding(page, pattern):
    return re.search(pattern, (RESULTS / page).read_text(encoding="utf-8")).groups()


def test_the_papers_in_one_line_quote_their_pages():
    nadp = summary_of("NADP")
    silent = cell("nadp.md", "share of words released without noise, tau 0.5")[2]
    (kept,) = finding("nadp.md", r"With noise for all, NADP keeps at most (\d+) % of its lead")
    assert f"({silent} of" in nadp
    assert f"at most {kept} % of its lead" in nadp
    laplace, tem = finding("tem.md", r"\| figure 1a, epsilon 2 \|.*\| ([\d.]+) \+- \S+ and ([\d.]+) \+- ")
    assert f"TEM reaches {float(tem):.2f} and Laplace {float(laplace):.2f}" in summary_of("TEM").replace(" .", " 0.")
    ahead, sets = finding("privemb.md", r"\| table 1 \|.*\| ahead in (\d+), .* of (\d+) \(")
    (fresh,) = finding("privemb.md", r"\| table 1, fresh noise for every token \|.*\| ahead in (\d+),")
    said = f"on {ahead} of {sets} sets with one noisy vector a word and on {fresh} with fresh noise"
    assert said in summary_of("PrivEmb")
    means = cell("curse.md", "table 2, GloVe-Wiki 50")[2].split(" / ")
    listed = ", ".join(mean.split(" ")[0].removeprefix("0") for mean in means)
    assert listed in summary_of("Curse of dimensionality")
