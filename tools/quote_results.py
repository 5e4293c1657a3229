"""Puts the numbers of the stored runs into the sentences and tables that quote them.

The runs are docs/results/default.json, league.json and equal-attack.json, with docs/explanation/facts.json; the pages
README.md, docs/results/README.md and those that explain. A quotation is a phrase with {} where a number stands: the
words are written by hand, and must be read again when a number moves. The tests check that running it changes nothing.

    python tools/quote_results.py
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil.lab.evaluation.curves import LEVELS, equal_attack

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE, README = (ROOT / name for name in ("docs/results", "docs/results/README.md", "README.md"))
EXPLAINED, EPSILON = ROOT / "docs" / "explanation", ROOT / "docs" / "guides" / "epsilon.md"
NUMBER = r"-?\d*\.?\d+"
HUNDREDTH = 4  # place of rank 100 among the ranks of the facts
REVIEWS = ("inversion-reviews: best", "centroid-classification: accuracy")


@dataclass(frozen=True)
class Runs:
    """The stored runs."""

    league: dict[str, Any]
    curves: dict[str, Any]
    default: dict[str, Any]
    facts: dict[str, Any]

    @classmethod
    def stored(cls) -> Runs:
        """Return those of the repository."""
        files = [
            *(RESULTS / f"{name}.json" for name in ("league", "equal-attack", "default")),
            EXPLAINED / "facts.json",
        ]
        return cls(*(json.loads(file.read_text()) for file in files))

    def row(self, label: str) -> dict[str, Any]:
        """Return the row of this label; the same label in another group is another row, metric DP comes first."""
        found: dict[str, Any] = next(row for row in self.league["rows"] if row["label"] == label)
        return found

    def score(self, label: str, task: str, name: str) -> str:
        """Return a score as it is written: two digits."""
        return written(self.row(label)["cells"][task]["scores"][name]["mean"])

    def best(self, label: str) -> str:
        """Return the share of the reviews' words that the best attacker finds."""
        return self.score(label, "inversion-reviews", "best")

    def reading(self, name: str, attack: str, utility: str, level: float) -> list[str]:
        """Return a row's utility at an attack success, and its standard error, rounded up."""
        found = next(
            one.rows[name][LEVELS.index(level)]
            for one in equal_attack(self.curves)
            if (one.group, one.attack, one.utility) == ("metric", attack, utility)
        )
        assert found is not None
        return [written(found.value), written(math.ceil(found.error * 100) / 100)]

    def audited(self, label: str) -> str:
        """Return the smallest true epsilon, rounded up where it is exact, a lower bound rounded down; "" without."""
        audit = self.row(label)["audit"]
        if audit is None or "+" in label:  # decoded words: the audit is that of the vectors
            return ""
        value = audit["epsilon_at_least"]
        exact = audit["method"] == "exact"
        return f"{math.ceil(value * 100) / 100:.2f}" if exact else f"at least {int(value * 100) / 100:.2f}"


def written(value: float) -> str:
    """Return .05, -.05 or 1.00."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{value + 0.0:.2f}")


def quotations(runs: Runs) -> list[tuple[str, list[str]]]:
    """Return the phrases of the page of results, each with its numbers."""
    score, best = runs.score, runs.best
    return [
        ("{} rows and two baselines on {} tasks", [f"{len(runs.league['rows']) - 2}", f"{len(runs.league['tasks'])}"]),
        ("TEM and SanText keep a word (the mean of 300) with probability {}", [score("tem @ 4", "deniability", "n_w")]),
        (
            "finds {} of the words of film reviews; of Laplace noise they find {} from its vectors and {} from the "
            "words, where {} is found without seeing anything",
            [*map(best, ("tem @ 4", "laplace-vectors @ 4", "laplace+nearest @ 4", "random words"))],
        ),
        (
            "accuracy {} +- {} from words decoded from Laplace noise and {} +- {} from words selected by SanText",
            [
                *runs.reading("laplace+nearest", *REVIEWS, 0.6),
                *runs.reading("santext", *REVIEWS, 0.6),
            ],
        ),
        (
            "search in them (nDCG) reaches {} +- {} and {} +- {}. For search the noisy vectors of Laplace are the "
            "least useful release: {} +- {} there",
            [
                number
                for name in ("laplace+nearest", "santext", "laplace-vectors")
                for number in runs.reading(name, "inversion-sentences: best", "retrieval: ndcg", 0.6)
            ],
        ),
        (
            "accuracy {} +- {} from vectors in principal directions and {} +- {} from SanText's words",
            [
                number
                for name in ("projection-principal-vectors", "santext")
                for number in runs.reading(name, *REVIEWS, 0.2)
            ],
        ),
        (
            "textbook SanText at epsilon 4 truly loses {}, certified {}",
            [runs.audited("santext @ 4"), runs.audited("santext-certified @ 4")],
        ),
        (
            "similarity from {} to {} and what the best attacker finds from {} to {}",
            [
                *(score(label, "word-similarity", "spearman") for label in ("santext @ 4", "santext-certified @ 4")),
                *(best(label) for label in ("santext @ 4", "santext-certified @ 4")),
            ],
        ),
        (
            "vectors of Laplace noise at epsilon 10: naming the nearest word finds {}, public frequencies {}, pairs {}",
            [score("laplace-vectors @ 10", "inversion-reviews", name) for name in ("naming", "alone", "pairs")],
        ),
        (
            "NADP at epsilon 50 releases almost every word recognizably**: of its vectors the best attacker finds {}",
            [best("nadp-vectors @ 50")],
        ),
        (
            "linked {} of the time without noise (150 authors, chance .007), {} behind SanText at epsilon 4 and {}",
            [score(label, "authorship", "success") for label in ("no noise", "santext @ 4", "laplace+nearest @ 4")],
        ),
    ]


def explanations(facts: dict[str, Any]) -> dict[Path, list[tuple[str, list[str]]]]:
    """Return the phrases of the pages that explain, each with its numbers."""
    wide, flat = facts["spread"]["128"], facts["spread"]["2"]
    return {
        EXPLAINED / "dimensions.md": [
            ("hundredth neighbour lies at {} of the median distance", [written(flat[HUNDREDTH])]),
            ("With all 128, it lies at {}, and even", [written(wide[HUNDREDTH])]),
            ("the nearest neighbour lies at {}.", [written(wide[0])]),
            ("two typical words must lose {} nats against", [f"{facts['laplace_nats']:.0f}"]),
            ("There are {} words to choose from", [f"{facts['words']}"]),
            ("two typical words must lose {} nats.", [f"{facts['half_near_nats']:.1f}"]),
            ("half of the outputs are on the list at {} nats", [f"{facts['half_listed_nats']:.1f}"]),
        ],
        EXPLAINED / "sentences.md": [
            ("tell at most {} meanings apart", [f"{math.floor(math.exp(8.0)) + 1}"]),
            (
                "A million meanings take {} nats, a billion {} nats",
                [f"{math.log(n - 1):.1f}" for n in (10**6, 10**9)],
            ),
        ],
        EXPLAINED / "promises.md": [
            (
                "one that is {} % sure at most, 3 nats into {} %, and 8 nats into {} %",
                [f"{math.ceil(100 / (1 + math.exp(-nats)) * 10**digits) / 10**digits:.{digits}f}"
                 for nats, digits in ((1, 1), (3, 1), (8, 2))],
            ),
        ],
        ROOT / "docs" / "learn" / "tutorial.md": [
            ("may become up to {} % sure", [f"{math.ceil(1e4 / (1 + math.exp(-8))) / 100:.2f}"]),
        ],
        EPSILON: [("outputs are unrelated at {} nats", [f"{facts['half_listed_nats']:.2f}"])],
    }  # fmt: skip


def point_lines(facts: dict[str, Any]) -> list[str]:
    """Return the table of what the default epsilon comes to, for each k."""
    return [
        f"| {point['k']} | {point['epsilon']:g} | "
        + " | ".join(written(point[name]) for name in ("far", "attacker", "similarity"))
        + " |"
        for point in facts["points"]
    ]


TABLE = (
    ("no noise", "", "no noise"),
    ("random words", "0", "random words"),
    ("**neighbours, 16 of 4 000 (the default)**", "8", "neighbours-16-of-4000 @ 8"),
    ("neighbours, 8 of 4 000", "9", "neighbours-8-of-4000 @ 9"),
    ("TEM, certified local DP", "8", "tem-certified @ 8"),
    ("TEM at epsilon 9.36 (metric DP)", "34.56 (truly at most 13.88)", "tem @ 9.36"),
)
"""Rows of the README's table: name, nats that any two words may lose, label in the run."""


def table_lines(runs: Runs) -> list[str]:
    """Return the lines of the README's table below its head."""
    shown = (
        ("centroid-classification", "accuracy"),
        ("retrieval", "ndcg"),
        ("aligned-similarity", "content"),
        ("inversion-reviews", "best"),
        ("inversion-reviews", "best-content"),
    )
    rows = {row["label"]: row["cells"] for row in runs.default["rows"]}
    lines = []
    for name, nats, label in TABLE:
        cells = [name, nats, *(written(rows[label][task]["scores"][score]["mean"]) for task, score in shown)]
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return lines


def quoted(page: str, phrase: str, numbers: list[str]) -> str:
    """Return the page with these numbers in the place of those in its only occurrence of a phrase.

    Raises:
        ValueError: If the phrase does not stand there once.
    """
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in phrase.split("{}")]
    pattern = "(" + f"){NUMBER}(".join(parts) + ")"
    found = re.findall(pattern, page)
    if len(found) != 1:
        raise ValueError(f"{len(found)} places for: {phrase}")
    pieces = iter([*numbers, ""])
    return re.sub(pattern, lambda match: "".join(part + next(pieces) for part in match.groups()), page)


def with_table(page: str, head: str, lines: list[str]) -> str:
    """Return a page with these lines in the table that has this head."""
    start = page.index("|---", page.index(head))
    start = page.index("\n", start) + 1
    end = page.index("\n\n", start)
    return page[:start] + "\n".join(lines) + page[end:]


def pages(runs: Runs) -> dict[Path, str]:
    """Return every page that quotes, with the numbers of the runs."""
    found = {path: path.read_text(encoding="utf-8") for path in (PAGE, README, EPSILON)}
    found[README] = with_table(found[README], "| mechanism | nats a word |", table_lines(runs))
    found[EPSILON] = with_table(found[EPSILON], "| k | epsilon | far |", point_lines(runs.facts))
    for path, phrases in {PAGE: quotations(runs), **explanations(runs.facts)}.items():
        for phrase, numbers in phrases:
            found[path] = quoted(found.get(path) or path.read_text(encoding="utf-8"), phrase, numbers)
    return found


def main() -> None:
    """Writes the pages."""
    for path, text in pages(Runs.stored()).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
