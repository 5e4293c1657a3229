"""Scores published word-level methods beside wordveil's on the same originals.

Writes docs/results/court.json and the table of court.md. Needs the data folder (WORDVEIL_DATA), scikit-learn and
MiniLM; ten minutes of one core.

The methods of others are written anew here from their papers, on public data alone: the embedded vocabulary and the
public word frequencies. They stand for the papers' ideas, not for anybody's code, and no setting was tuned.

    custext      each word one of its 20 nearest ("aggressive"), by the exponential mechanism on its min-max distance;
                 words not known stay (Chen et al. 2023)
    santext+     words rarer than 2e-4 by the exponential mechanism on distance, others so with probability .3, else
                 they stay (Yue et al. 2021, algorithm 2)
    diffractor   a place on one public line of words that runs from neighbour to neighbour, moved by the two-sided
                 geometric law and cut off at the ends (after Meisenbacher et al. 2024, who use several lines)
    budgets      the exponential mechanism, 9.36 a word in the mean, divided by -ln of public frequency (after
                 Meisenbacher et al. 2025)

    python -m wordveil_lab.leagues.court [--page | --only ROW ...]     as in `stored`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil.api import Float64Array, IdArray, ReleasedText, ReleaseReader
from wordveil_lab.corpora import Corpus, encode, released_texts
from wordveil_lab.court.pairs import PairedTexts
from wordveil_lab.court.scoring import score
from wordveil_lab.evaluation.evidence import COMMON, word_prior
from wordveil_lab.evaluation.report import new_report
from wordveil_lab.evaluation.subjects import as_texts, distances, released_tokens, subject_of
from wordveil_lab.leagues.stored import StoredRun, rows_from
from wordveil_lab.package import told
from wordveil_lab.rows import read_labelled
from wordveil_lab.tables import markdown_table

RATE = 9.36  # per unit of distance
SOURCE = "sentences/mr.tsv"
SENTENCES = 500
SEED = 0
COLUMNS: dict[str, str] = told("leagues/court.toml")["columns"]
"""Column of the page -> measure of `wordveil score`."""
Method = Callable[[Sequence[str], wv.Embeddings, np.random.Generator], list[str]]
ByTokens = Callable[[Corpus, wv.Embeddings, np.random.Generator], IdArray]


def known_blocks(tokens: IdArray, table: wv.Embeddings) -> Iterator[tuple[NDArray[np.int64], Float64Array]]:
    """Yield places of known tokens, and the distance of each of these to each word that may be released."""
    other = table.vectors[table.candidates].astype(np.float64)
    for places in np.array_split(np.flatnonzero(tokens >= 0), max(1, len(tokens) // 256)):
        yield places, distances(table.vectors[tokens[places]].astype(np.float64), other)


def drawn(law: Float64Array, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a column for each row of probabilities."""
    bounds = np.cumsum(law, axis=1)
    return np.asarray((bounds < generator.random((len(law), 1)) * bounds[:, -1:]).sum(axis=1))


def by_distance(tokens: IdArray, rates: Float64Array, table: wv.Embeddings, generator: np.random.Generator) -> IdArray:
    """Return a word for each token, with probability proportional to exp(-rate/2 distance); -1 gives a uniform one."""
    outputs = table.candidates
    released = outputs[generator.integers(len(outputs), size=len(tokens))].astype(np.int32)
    for places, gaps in known_blocks(tokens, table):
        weights = np.exp(-rates[places, None] / 2 * (gaps - gaps.min(axis=1, keepdims=True)))
        released[places] = outputs[drawn(weights, generator)]
    return released


def custext(
    texts: Sequence[str], table: wv.Embeddings, generator: np.random.Generator, epsilon: float = 8.0
) -> list[str]:
    """Return releases by lists of each word's own; what is no word of the table stays."""
    reader = ReleaseReader(table)
    layouts = reader.read([ReleasedText(text) for text in texts])
    tokens = np.concatenate([layout.ids for layout in layouts])
    released, outputs = tokens.copy(), table.candidates
    for places, gaps in known_blocks(tokens, table):
        near = np.argpartition(gaps, 20, axis=1)[:, :20]
        own = np.take_along_axis(gaps, near, axis=1)
        low, high = own.min(axis=1, keepdims=True), own.max(axis=1, keepdims=True)
        law = np.exp(-epsilon / 2 * (own - low) / np.maximum(high - low, 1e-12))
        released[places] = outputs[near[np.arange(len(places)), drawn(law, generator)]]
    ends = np.cumsum([len(layout.ids) for layout in layouts])[:-1]
    return [str(reader.write(*both)) for both in zip(layouts, np.split(released, ends), strict=True)]


def santext_plus(corpus: Corpus, table: wv.Embeddings, generator: np.random.Generator) -> IdArray:
    """Return releases that keep most common words."""
    tokens = corpus.tokens
    common = (tokens >= 0) & (word_prior(table)[tokens] >= COMMON) & (generator.random(len(tokens)) >= 0.3)
    changed = by_distance(tokens, np.full(len(tokens), RATE), table, generator)
    return np.where(common, tokens, changed).astype(np.int32)


def diffractor(corpus: Corpus, table: wv.Embeddings, generator: np.random.Generator, epsilon: float = 1.0) -> IdArray:
    """Return releases by places on a public line."""
    line = public_line(table)
    place = np.full(len(table), -1)
    place[line] = np.arange(len(line))
    at = np.where(corpus.tokens >= 0, place[corpus.tokens], -1)
    at = np.where(at >= 0, at, generator.integers(len(line), size=len(at)))  # no place on the line: anywhere
    moved = at + (
        generator.geometric(1 - np.exp(-epsilon), len(at)) - generator.geometric(1 - np.exp(-epsilon), len(at))
    )
    return np.asarray(line[np.clip(moved, 0, len(line) - 1)], dtype=np.int32)


def public_line(table: wv.Embeddings, count: int = 10_000) -> IdArray:
    """Return common words in an order where each is followed by its nearest that has not been named."""
    ids = table.candidates[:count]
    rows = np.asarray(table.vectors[ids], dtype=np.float32)
    squares, free, now = np.square(rows).sum(axis=1), np.ones(len(ids), dtype=bool), 0
    order = []
    for _ in range(len(ids)):
        order.append(now)
        free[now] = False
        now = int(np.where(free, squares - 2 * rows @ rows[now], np.inf).argmin())
    return ids[order]


def budgets(corpus: Corpus, table: wv.Embeddings, generator: np.random.Generator) -> IdArray:
    """Return releases at rates that the words of each text divide."""
    worth = np.where(corpus.tokens >= 0, -np.log(word_prior(table))[corpus.tokens], 0.0)
    lengths = np.diff(corpus.offsets)
    some = lengths > 0
    total = np.zeros(len(lengths))
    total[some] = np.add.reduceat(worth, corpus.offsets[:-1][some])
    rates = RATE * worth * np.repeat(lengths / np.maximum(total, 1e-12), lengths)
    return by_distance(corpus.tokens, rates, table, generator)


def random_words(corpus: Corpus, table: wv.Embeddings, generator: np.random.Generator) -> IdArray:
    """Return uniform words."""
    return table.candidates[generator.integers(len(table.candidates), size=len(corpus.tokens))].astype(np.int32)


def of_tokens(method: ByTokens) -> Method:
    """Return a method that releases a word for each token."""

    def run(texts: Sequence[str], table: wv.Embeddings, generator: np.random.Generator) -> list[str]:
        corpus = encode(table, list(texts))
        return as_texts(method(corpus, table, generator), corpus, table)

    return run


def ours(mechanism: wv.TEM | wv.NeighbourResponse) -> Method:
    """Return a mechanism of wordveil's as a method."""

    def run(corpus: Corpus, table: wv.Embeddings, generator: np.random.Generator) -> IdArray:
        source = wv.RandomSource.seeded_for_tests(int(generator.integers(1 << 60)))
        return released_tokens(corpus, subject_of(mechanism.fit(table)), source, "court")

    return of_tokens(run)


def rephrased(texts: Sequence[str], _: wv.Embeddings, __: np.random.Generator) -> list[str]:
    """Return releases of whole sentences."""
    rephraser = wv.Rephraser(epsilon=8.0, source=wv.RandomSource.seeded_for_tests(SEED))
    return [*released_texts(rephraser, texts)]


LISTED: Mapping[str, Any] = {"k": 16, "outputs": 4000}
"""Of neighbour response: what the default was when the league ran."""
LISTS = "nothing between words of different lists, of which each has its own; unknown words stay"
METHODS: Mapping[str, tuple[str, Method]] = {
    "as it is": ("nothing", lambda texts, *_: list(texts)),
    "random words": ("everything, and says nothing", of_tokens(random_words)),
    f"SanText+, {RATE}": ("nothing for the words that stay; else metric DP", of_tokens(santext_plus)),
    "1-Diffractor, one line, 1": ("metric DP in places on the line", of_tokens(diffractor)),
    f"divided budgets, {RATE}": ("nothing: the division shows the text", of_tokens(budgets)),
    f"TEM, {RATE}": ("metric DP, proved", ours(wv.TEM(epsilon=RATE))),
    "neighbour response, 8": ("local DP, 8 nats a word, proved", ours(wv.NeighbourResponse(epsilon=8.0, **LISTED))),
    "neighbour response, 6": ("local DP, 6 nats a word, proved", ours(wv.NeighbourResponse(epsilon=6.0, **LISTED))),
    "CusText, 8": (LISTS, custext),
    "rephrase, 8": ("local DP, 8 nats a sentence, proved", rephrased),
}
"""Row -> what it promises, and what releases."""


def measure(names: Collection[str] = ()) -> dict[str, Any]:
    """Return the run, or that of some rows."""
    items, table = read_labelled(SOURCE, limit=SENTENCES), wv.load_embeddings()
    originals, labels = [item.text for item in items], [item.label for item in items]

    def compute(name: str) -> dict[str, Any]:
        generator = np.random.default_rng([SEED, max(list(METHODS).index(name) - 1, 0)])
        released = METHODS[name][1](originals, table, generator)
        return {"scores": scores(PairedTexts(originals=originals, released=released, facts={"label": labels}))}

    def cell(name: str) -> dict[str, Any]:
        return RUN.once([SOURCE, SENTENCES, SEED, name], partial(compute, name))

    rows = rows_from((name, None, None, SOURCE, partial(cell, name)) for name in names or METHODS)
    rows = [row | {"promise": METHODS[row["name"]][0]} for row in rows]
    return new_report("python -m wordveil_lab.leagues.court", rows, texts=len(originals), repeats=1, seed=SEED)


def scores(pairs: PairedTexts) -> dict[str, dict[str, Any]]:
    """Return the columns of the page, each the first measure of its name, with how many things were counted."""
    measures = {one.name: one for one in reversed(score(pairs).measures)}
    wanted = {column: name.format(n=len(set(pairs.originals))) for column, name in COLUMNS.items()}
    found = {column: measures[name] for column, name in wanted.items() if name in measures}
    return {column: {"mean": one.value, "standard_error": None, "n": one.n} for column, one in found.items()}


def shown(row: Mapping[str, Any]) -> list[str]:
    """Return a line of the table."""
    scored = row["cells"][SOURCE]["scores"]
    digits = {name: 0 if name == "perplexity" else 3 for name in COLUMNS}
    cells = [f"{scored[name]['mean']:.{digits[name]}f}" if name in scored else "-" for name in COLUMNS]
    return [row["name"], row["promise"], *cells]


def tables(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the table of the page."""
    head = ["method, epsilon", "promises", *COLUMNS]
    return {"# The court: methods side by side on the same texts": markdown_table(head, map(shown, report["rows"]))}


RUN = StoredRun(name="court", rows=METHODS, measure=measure, tables=tables)

if __name__ == "__main__":
    RUN.main(__doc__)
