"""Puts the numbers of the stored runs into the sentences and tables that quote them.

The runs are league.json, local.json, neighbours.json and together.json of docs/results. The pages are README.md,
docs/which.md, docs/results/README.md, docs/rephrase.md, and the notes on the default and on crowds. A quotation is a
phrase with {} where a number stands: the words are written by hand, and must be read again when a number moves. The
tests check that running this changes nothing.

    python -m wordveil_lab.pages.quotes
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wordveil_lab.clone import ROOT
from wordveil_lab.evaluation.curves import read_at
from wordveil_lab.leagues import default_page
from wordveil_lab.leagues import neighbours as reviews
from wordveil_lab.leagues import together_page as together
from wordveil_lab.leagues.stored import read_run
from wordveil_lab.leagues.trial_texts import REPORTED

RESULTS, PAGE, README, WHICH = (
    ROOT / name for name in ("docs/results", "docs/results/README.md", "README.md", "docs/which.md")
)
REPHRASE = ROOT / "docs/rephrase.md"
NOTE, LISTS = (ROOT / f"docs/design/2026-11-22-neighbour-{name}.md" for name in ("response", "lists"))
NUMBER = r"-?\d*\.?\d+"
SHOWN = {
    "sentiment": ("SST-2 sentiment", "accuracy"),
    "topic": ("topic", "accuracy"),
    "search": ("retrieval", "ndcg"),
    "similarity": ("SST-2 similarity", "content"),
    "named": ("SST-2 attack", "best"),
    "rarer": ("SST-2 attack", "best-content"),
}
"""Columns of the table of docs/which.md -> task and score."""
WORDS = "projection-principal+nearest"
DEFAULT, SHORT, PLAIN = (f"neighbours-{k}-of-4000 @ 8" for k in (16, 8, 1))
EIGHT, WIDE = "neighbours-8-of-4000 @ 9", "neighbours-64 @ 8"
RIVALS = ("tem", "santext", WORDS)
ERROR = ("mean", "standard_error")


@dataclass(frozen=True)
class Runs:
    """The stored runs."""

    league: dict[str, Any]
    default: dict[str, Any]
    local: dict[str, Any]
    neighbours: dict[str, Any]
    together: dict[str, Any]

    @classmethod
    def stored(cls) -> Runs:
        """Return those of the repository."""
        return cls(**{run.name: read_run(RESULTS / f"{run.name}.json") for run in fields(cls)})

    def row(self, label: str) -> dict[str, Any]:
        """Return the league's row of this label; that of another group is another row, metric DP comes first."""
        return _row(self.league, label)

    def score(self, label: str, task: str, name: str) -> str:
        """Return a score of the league as it is written: two digits."""
        return _score(self.league, label, task, name)

    def best(self, label: str) -> str:
        """Return the share of the reviews' words that the best attacker of the league finds."""
        return self.score(label, "inversion-reviews", "best")

    def of(self, label: str, *columns: str) -> list[str]:
        """Return some columns of the table of docs/which.md for a row of the run at equal promise."""
        return [_score(self.local, label, *SHOWN[column]) for column in columns]

    def plain_beside(self, label: str, column: str) -> str:
        """Return what plain randomized response keeps where as many of the rarer words are named as of a row."""
        curve = [
            tuple(
                _summary(self.local, f"{PLAIN[:-1]}{nats}", *SHOWN[name])[part]
                for name in ("rarer", column)
                for part in ERROR
            )
            for nats in (8, 9)
        ]
        found = read_at(curve, _summary(self.local, label, *SHOWN["rarer"])["mean"])
        assert found is not None
        return written(found.value)

    def of_4000(self) -> str:
        """Return the similarity of uniform outputs of the 4 000 common words."""
        return self.of("neighbours-16-of-4000 @ 0.001", "similarity")[0]

    def audited(self, label: str) -> str:
        """Return the smallest true epsilon, rounded up where it is exact, a lower bound rounded down; "" without."""
        audit = self.row(label)["audit"]
        if audit is None or "+" in label:  # decoded words: the audit is that of the vectors
            return ""
        value = audit["epsilon_at_least"]
        exact = audit["method"] == "exact"
        return f"{math.ceil(value * 100) / 100:.2f}" if exact else f"at least {int(value * 100) / 100:.2f}"


def _row(report: dict[str, Any], label: str) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in report["rows"] if row["label"] == label)
    return found


def _summary(report: dict[str, Any], label: str, task: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = _row(report, label)["cells"][task]["scores"][name]
    return found


def _score(report: dict[str, Any], label: str, task: str, name: str) -> str:
    return written(_summary(report, label, task, name)["mean"])


def written(value: float) -> str:
    """Return .05, -.05 or 1.00."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{value + 0.0:.2f}")


_Phrases = list[tuple[str, list[str]]]


def quotations(runs: Runs) -> list[tuple[Path, str, list[str]]]:
    """Return the phrases of all pages, each with its page and its numbers."""
    found = {
        PAGE: _of_league(runs) + _of_rivals(runs) + _of_promises(runs),
        README: _of_needs(runs, short=True),
        WHICH: [*_of_needs(runs, short=False), *_of_default(runs), *_of_gist(runs)],
        NOTE: _of_choice(runs),
        REPHRASE: _of_recipes(runs),
    }
    return [(path, phrase, numbers) for path, phrases in found.items() for phrase, numbers in phrases]


def _of_league(runs: Runs) -> _Phrases:
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


def _of_rivals(runs: Runs) -> _Phrases:
    """Return how often neighbour response is ahead and behind at equal attack, and what the fifth attacker adds."""
    ours = [row["cells"]["SST-2 attack"]["scores"] for row in runs.local["rows"] if "neighbours" in row["name"]]
    more = max(found["triples-content"]["mean"] - found["pairs-content"]["mean"] for found in ours)
    return [
        ("they name at most {} more of the rarer words than pairs do", [written(math.ceil(more * 100) / 100)]),
        (
            "In sentiment neighbour response is ahead of TEM at {} of {} points and behind at {}, of SanText at {} and "
            "{}, of words decoded from principal Laplace noise at {} and {}",
            [
                *_counted(runs, "tem", "sentiment", True),
                *_counted(runs, "santext", "sentiment"),
                *_counted(runs, WORDS, "sentiment"),
            ],
        ),
        (
            "in similarity it is behind TEM at {}, SanText at {}, the decoded words at {}, and ahead of any at {}",
            [
                *(_counted(runs, rival, "similarity")[1] for rival in RIVALS),
                str(sum(int(_counted(runs, rival, "similarity")[0]) for rival in RIVALS)),
            ],
        ),
    ]


def _of_promises(runs: Runs) -> _Phrases:
    """Return what is left, and named, at equal promise."""
    ours, plain = "neighbours-16-of-4000 @ 8", "neighbours-1 @ 12"
    return [
        (
            "at 8 nats certified TEM and SanText tell a topic with accuracy {} and {} (random words {}, no noise {})",
            [
                *runs.of("tem-certified @ 8", "topic"),
                *runs.of("santext-certified @ 8", "topic"),
                *runs.of("random words", "topic"),
                *runs.of("no noise", "topic"),
            ],
        ),
        (
            "neighbour response, 16 of 4 000 words, {}, with {} of the content words named beside their {} and {}",
            [
                *runs.of(ours, "topic", "rarer"),
                *runs.of("tem-certified @ 8", "rarer"),
                *runs.of("santext-certified @ 8", "rarer"),
            ],
        ),
        ("Vector noise reaches {} at 12 nats", runs.of("projection-principal-profile-vectors @ 12", "topic")),
        (
            "at 12 nats SanText reaches {} with {} named, and randomized response (k = 1) {} with {}",
            [*runs.of("santext-certified @ 12", "topic", "rarer"), *runs.of(plain, "topic", "rarer")],
        ),
    ]


def _counted(runs: Runs, rival: str, score: str, points: bool = False) -> list[str]:
    found = [reviews.compare(reviews.rows_of(runs.neighbours, name), score, rival) for name in reviews.SETS]
    ahead, near, behind = (sum(len(one[key]) for one in found) for key in ("ahead", "near", "behind"))
    return [f"{ahead}", *[f"{ahead + near + behind}"] * points, f"{behind}"]


def _of_default(runs: Runs) -> _Phrases:
    old = "tem @ 9.36"
    return [
        (
            "beside that of random words: {} where any word may be released, {} where only the 4 000 common ones are",
            [*runs.of("random words", "similarity"), runs.of_4000()],
        ),
        (
            "the attacker of TEM at 9.36 finds {} of the rarer words where the default's finds {}",
            [*runs.of(old, "rarer"), *runs.of(DEFAULT, "rarer")],
        ),
        (
            "Of all words it is the default that gives away more: {} for {}",
            [*runs.of(DEFAULT, "named"), *runs.of(old, "named")],
        ),
    ]


def _of_chosen(runs: Runs) -> _Phrases:
    rows = {default_page.label(row): row for row in runs.default["rows"]}
    own, names = rows[default_page.chosen(runs.default)], [one.name for one in REPORTED]
    topics = [default_page.scores(row, "news")["released"][0] for row in (own, rows["no noise", None])]
    named = [default_page.mean(own, score, names)[0] for score in ("named", "rarer")]
    return [
        ("topic {} (originals {})", [written(value) for value in topics]),
        ("{} of all words, {} of rarer ones", [written(value) for value in named]),
    ]


def _of_needs(runs: Runs, *, short: bool) -> _Phrases:
    """Return what stands in the rows by need: of the README, or of the page that says more."""
    vectors = "laplace-vectors @ 10"
    search = [runs.score(label, "retrieval", "ndcg") for label in (vectors, "no noise", "random words")]
    told = [*runs.of(DEFAULT, "topic"), *runs.of("no noise", "topic"), *runs.of("random words", "topic")]
    intents = [_redacted("Use", name)[1].split(" / ")[0] for name in ("common:4000", "as they are", "nothing (the")]
    gaps = _redacted("Gaps, and what still identifies", "common:4000")
    league = [f"{len(runs.league['rows']) - 2}", f"{len(runs.league['tasks'])}"]
    marked = _redacted("Marked values that pass", "common:4000")[5]
    if short:
        return [
            ("intent, of 77: {} (originals {})", intents[:2]),
            ("{} of the hidden words, with the bank's own questions", gaps[5:6]),
            ("{} of the unmarked words", [marked]),
            ("search {} (originals {})", search[:2]),
            ("| {} of the words |", [runs.best(vectors)]),
            *_of_chosen(runs),
            ("{} rows on {} tasks", league),
        ]
    return [
        ("of 77, told in {} of cases (originals {}, commonest {})", intents),
        ("{} of the hidden words by whoever has the bank's own questions, {} with public text", gaps[5:7]),
        (
            "topic, of four, {} (originals {}, chance {}) | {} of all words, {} of the rarer ones",
            [*told, *runs.of(DEFAULT, "named", "rarer")],
        ),
        ("{} of the words outside marked values", [marked]),
        ("search, nDCG {} (originals {}, random words {}) | {} of the words |", [*search, runs.best(vectors)]),
        (
            "sentiment {} (originals {}), search {} (originals {}) | {} of all words, {} of the rarer ones",
            [
                *runs.of(DEFAULT, "sentiment"),
                *runs.of("no noise", "sentiment"),
                *runs.of(DEFAULT, "search"),
                *runs.of("no noise", "search"),
                *runs.of(DEFAULT, "named", "rarer"),
            ],
        ),
        ("{} rows and two baselines on {} tasks", league),
    ]


def _redacted(heading: str, name: str) -> list[str]:
    """Return the cells of a row of the page on redaction, numbers of three digits as two."""
    table = (RESULTS / "redaction.md").read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    row = next(line for line in table.splitlines() if line.startswith(f"| {name}"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    return [re.sub(r"(?<![\d.])\.\d{3}", lambda number: written(float(number[0])), cell) for cell in cells]


def _of_choice(runs: Runs) -> _Phrases:
    old = "tem @ 9.36"
    return [
        ("the default keeps sentiment ({}) and search ({})", runs.of(DEFAULT, "sentiment", "search")),
        ("truly at most 13.81: {}, {})", runs.of(old, "sentiment", "search")),
        (
            "the best attacker finds {} of the rarer words where they found {}",
            [*runs.of(DEFAULT, "rarer"), *runs.of(old, "rarer")],
        ),
        (
            "({} of the 4 000, {} of all) it keeps {} and the default {}",
            [
                runs.of_4000(),
                *runs.of("random words", "similarity"),
                beyond(*runs.of(old, "similarity"), *runs.of("random words", "similarity")),
                beyond(runs.of(DEFAULT, "similarity")[0], runs.of_4000()),
            ],
        ),
        ("certified TEM is at chance ({}, {})", runs.of("tem-certified @ 8", "sentiment", "search")),
        ("of five the least: {} of all words and {} of the rarer", runs.of(DEFAULT, "named", "rarer")),
        (
            "k = 8 at the same 8 nats buys search ({}) and similarity ({}) with {} of all words, but of the rarer {}",
            runs.of(SHORT, "search", "similarity", "named", "rarer"),
        ),
        (
            "Lists of 64 over all words, at 8 nats, keep sentiment {}, search {} and, beyond random words, similarity "
            "{}; their attacker finds {} of all words and {} of the rarer",
            [
                *runs.of(WIDE, "sentiment", "search"),
                beyond(*runs.of(WIDE, "similarity"), *runs.of("random words", "similarity")),
                *runs.of(WIDE, "named", "rarer"),
            ],
        ),
        ("Nine nats with k = 8 buy search ({}) with rarer words ({})", runs.of(EIGHT, "search", "rarer")),
        (
            "with k = 16 buy little (sentiment {}, search {}) for {} of all words",
            runs.of("neighbours-16-of-4000 @ 9", "sentiment", "search", "named"),
        ),
        (
            "at 8 nats, keeps sentiment {}, search {} and similarity {}, and its attacker finds {} of all words and {} "
            "of the rarer",
            runs.of(PLAIN, "sentiment", "search", "similarity", "named", "rarer"),
        ),
        (
            "sixteen neighbours keep {} more sentiment and {} more search for {} more of the rarer words",
            [beyond(*runs.of(DEFAULT, name), *runs.of(PLAIN, name)) for name in ("sentiment", "search", "rarer")],
        ),
        (
            "it keeps sentiment {}, search {} and similarity {}: at equal attack",
            [runs.plain_beside(DEFAULT, name) for name in ("sentiment", "search", "similarity")],
        ),
        ("as many as with k = 8 at 8 nats, it keeps search {}", [runs.plain_beside(SHORT, "search")]),
    ]


def _of_recipes(runs: Runs) -> _Phrases:
    """Return what the stocks of two domains keep at 6 nats by MiniLM, with random prototypes beside it."""
    return [
        (
            "at 6 nats a similarity of {} on clinical notes (random prototypes: {}), where the general stock keeps {} "
            "({}), and of {} ({}) on questions to a bank, where the general stock keeps {} ({})",
            [*_kept_by_stocks(runs, "clinical"), *_kept_by_stocks(runs, "support")],
        )
    ]


def _of_gist(runs: Runs) -> _Phrases:
    return [
        (
            "similarity {} on clinical notes at 6 nats with a stock of the domain (random {})",
            _kept_by_stocks(runs, "clinical")[:2],
        )
    ]


def _kept_by_stocks(runs: Runs, domain: str) -> list[str]:
    """Return the similarity of the domain's stock and of the general one, each before that of random prototypes."""
    numbers = []
    for stock in ("domain", "general"):
        row = next(
            row
            for row in together.rows_of(runs.together, domain)
            if (row.series, row.epsilon) == (f"rephrase, minilm, {stock}", 6.0)
        )
        numbers += [written(row.scores["similarity"][0]), written(row.random["similarity"][0])]
    return numbers


def beyond(value: str, base: str) -> str:
    """Return the difference of two scores as they are written."""
    return written(float(value) - float(base))


TABLE = (
    ("no noise", "", "no noise"),
    ("random words", "0", "random words"),
    ("neighbours, 16 of 4 000 (the default before)", "8", "neighbours-16-of-4000 @ 8"),
    ("neighbours, 8 of 4 000", "9", "neighbours-8-of-4000 @ 9"),
    ("randomized response, 4 000 words", "8", "neighbours-1-of-4000 @ 8"),
    ("TEM, certified local DP", "8", "tem-certified @ 8"),
    ("TEM at epsilon 9.36 (metric DP)", "34.56 (truly at most 13.81)", "tem @ 9.36"),
    ("neighbours, 16 of 4 000", "12", "neighbours-16-of-4000 @ 12"),
    ("randomized response, all words", "12", "neighbours-1 @ 12"),
    ("TEM, certified local DP", "12", "tem-certified @ 12"),
)
"""Rows of the table of docs/which.md: name, nats that any two words may lose, label in the run."""


def table_lines(runs: Runs) -> list[str]:
    """Return the lines of the table of docs/which.md below its head."""
    lines = []
    for name, nats, label in TABLE:
        cells = [name, nats, *runs.of(label, *SHOWN)]
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


def with_table(page: str, lines: list[str]) -> str:
    """Return the page with these lines in its table of results."""
    start = page.index("|---", page.index("| mechanism | nats a word |"))
    start = page.index("\n", start) + 1
    end = page.index("\n\n", start)
    return page[:start] + "\n".join(lines) + page[end:]


def pages(runs: Runs) -> dict[Path, str]:
    """Return the pages with the numbers of the runs."""
    found = {path: path.read_text(encoding="utf-8") for path in (PAGE, README, WHICH, NOTE, LISTS, REPHRASE)}
    for path, phrase, numbers in quotations(runs):
        found[path] = quoted(found[path], phrase, numbers)
    return found | {WHICH: with_table(found[WHICH], table_lines(runs))}


def main() -> None:
    """Writes the pages."""
    for path, text in pages(Runs.stored()).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
