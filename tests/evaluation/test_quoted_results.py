"""The numbers quoted in README.md and docs/results/README.md are those of the stored run, docs/results/league.json."""

import json
import math
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REPORT = json.loads((ROOT / "docs/results/league.json").read_text(encoding="utf-8"))


def row(label):
    """The row of this label; the same label in another group of promises is another row, metric DP comes first."""
    return next(row for row in REPORT["rows"] if row["label"] == label)


def score(label, task, name):
    return row(label)["cells"][task]["scores"][name]["mean"]


def similarity(label):
    return score(label, "word-similarity", "spearman")


def bayes(label):
    return score(label, "bayes", "success")


def written(value):
    return f"{value:.2f}".removeprefix("0")  # .05, but 1.00


# A phrase with {} where a number stands, and the numbers.
QUOTED = [
    ("keep a word with probability {}", [score("santext @ 4", "deniability", "n_w")]),
    ("keep a word with probability {}", [score("tem @ 4", "deniability", "n_w")]),
    ("is right {} of the time; decoded Laplace noise leaves him {}", [bayes("tem @ 4"), bayes("laplace @ 4")]),
    ("leaves the attacker {}, Laplace at epsilon 10 {}", [bayes("santext @ 4"), bayes("laplace @ 10")]),
    ("word similarity {} against {}", [similarity("santext @ 4"), similarity("laplace @ 10")]),
    ("nDCG {} against {}", [score(label, "retrieval", "ndcg") for label in ("santext @ 4", "laplace @ 10")]),
    ("before decoding, Laplace at epsilon 10 leaves {}", [score("laplace @ 10", "bayes-vectors", "success")]),
    (
        f"truly loses {math.ceil(row('santext @ 4')['audit']['epsilon_at_least'] * 100) / 100:.2f}, certified "
        f"{math.ceil(row('santext-certified @ 4')['audit']['epsilon_at_least'] * 100) / 100:.2f}",
        [],
    ),
    ("similarity from {} to {}", [similarity("santext @ 4"), similarity("santext-certified @ 4")]),
    ("attacker's success from {} to {}", [bayes("santext @ 4"), bayes("santext-certified @ 4")]),
    (
        "(similarity {} against {} and {})",
        [similarity(label) for label in ("projection-principal @ 4", "projection @ 4", "laplace @ 4")],
    ),
    ("the attacker on vectors is right {}", [score("nadp @ 50", "bayes-vectors", "success")]),
    ("the attacker's success, at {}", [bayes("santext-certified @ 50")]),
    (
        "at epsilon 4 recovers {} of the words of sentences, where words alone and public frequencies give {}",
        [score("laplace @ 4", "masked-inversion", "success"), score("laplace @ 4", "bayes-vectors", "success")],
    ),
    (
        "linked {} of the time without noise (150 authors, chance .007), {} behind SanText at epsilon 4 and {}",
        [score(label, "authorship", "success") for label in ("no noise", "santext @ 4", "laplace @ 4")],
    ),
]


@pytest.mark.parametrize(("phrase", "values"), QUOTED)
def test_the_page_of_results_quotes_the_stored_run(phrase, values):
    page = " ".join((ROOT / "docs/results/README.md").read_text(encoding="utf-8").split())
    assert phrase.format(*map(written, values)) in page


def test_the_page_of_results_counts_rows_and_tasks():
    page = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
    assert f"{len(REPORT['rows']) - 1} rows and a baseline on {len(REPORT['tasks'])} tasks" in page


def audited(label):
    """The smallest true epsilon rounded up where it is exact, a lower bound rounded down."""
    audit = row(label)["audit"]
    if audit is None:
        return ""
    value = audit["epsilon_at_least"]
    return (
        f"{math.ceil(value * 100) / 100:.2f}"
        if audit["method"] == "exact"
        else f"at least {int(value * 100) / 100:.2f}"
    )


@pytest.mark.parametrize(
    ("start", "label"),
    [
        ("| no noise | |", "no noise"),
        ("| Laplace, nearest word | 4 |", "laplace @ 4"),
        ("| Laplace, nearest word | 10 |", "laplace @ 10"),
        ("| TEM | 4 |", "tem @ 4"),
        ("| TEM, certified rate | 4 |", "tem-certified @ 4"),
    ],
)
def test_the_table_of_the_readme_quotes_the_stored_run(start, label):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in readme.splitlines() if line.startswith(start)]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    scores = [similarity(label), score(label, "text-classification", "logistic"), bayes(label)]
    assert cells[2:] == [audited(label), *map(written, scores)]


def test_a_wrong_number_would_be_noticed():
    page = "word similarity .60 against .50"
    assert "word similarity {} against {}".format(*map(written, (0.604, 0.497))) in page
    assert "word similarity {} against {}".format(*map(written, (0.606, 0.497))) not in page
