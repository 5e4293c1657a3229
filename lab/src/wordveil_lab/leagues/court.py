"""Scores published word-level methods beside wordveil's on the same originals: the page docs/results/court.md.

The methods of others are written anew here from their papers, on public data alone: the embedded vocabulary and the
public word frequencies. They stand for the papers' ideas, not for anybody's code, and no setting was tuned.

    custext      each word one of its 20 nearest, by the exponential mechanism on its min-max distance; unknown words
                 stay (Chen et al. 2023)
    santext+     words rarer than 2e-4 by the exponential mechanism on distance, others so with probability .3, else
                 they stay (Yue et al. 2021, algorithm 2)
    diffractor   a place on one public line of words that runs from neighbour to neighbour, moved by the two-sided
                 geometric law and cut off at the ends (after Meisenbacher et al. 2024, who use several lines)
    budgets      the exponential mechanism, 9.36 a word in the mean, divided by -ln of public frequency (after
                 Meisenbacher et al. 2025)

    WORDVEIL_DATA=... python -m wordveil_lab.leagues.court docs/results/court.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.api import (
    TEM,
    Embeddings,
    Float64Array,
    IdArray,
    NeighbourResponse,
    PrivateText,
    RandomSource,
    ReleasedText,
    ReleaseReader,
    Rephraser,
    load_embeddings,
)
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.court.pairs import Measure, PairedTexts
from wordveil_lab.court.scoring import score
from wordveil_lab.evaluation.corpora import as_texts, released_tokens
from wordveil_lab.evaluation.data import read_labelled
from wordveil_lab.evaluation.priors import COMMON, word_prior
from wordveil_lab.evaluation.subjects import subject_of

RATE = 9.36  # per unit of distance
SOURCE = "sentences/mr.tsv"
COLUMNS = {
    "content words": "survival",
    "original among {n}, minilm": "identification",
    "masked words, trigrams": "inference",
    "cosine, minilm": "similarity",
    "perplexity": "fluency",
    "label, 2 classes": "task",
}
Method = Callable[[Corpus, Embeddings, np.random.Generator], IdArray]


def lengths(table: Embeddings, tokens: IdArray) -> Float64Array:
    """Return the distance of each token to each word that may be released, up to rounding: enough for a score."""
    own = table.vectors[tokens].astype(np.float64)
    other = table.vectors[table.candidates].astype(np.float64)
    squares = np.square(own).sum(axis=1)[:, None] + np.square(other).sum(axis=1) - 2 * own @ other.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def drawn(law: Float64Array, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a column for each row of probabilities."""
    bounds = np.cumsum(law, axis=1)
    return np.asarray((bounds < generator.random((len(law), 1)) * bounds[:, -1:]).sum(axis=1))


def by_distance(tokens: IdArray, rates: Float64Array, table: Embeddings, generator: np.random.Generator) -> IdArray:
    """Return a word for each token, with probability proportional to exp(-rate/2 distance); -1 gives a uniform one."""
    outputs = table.candidates
    released = outputs[generator.integers(len(outputs), size=len(tokens))].astype(np.int32)
    for places in np.array_split(np.flatnonzero(tokens >= 0), max(1, len(tokens) // 256)):
        gaps = lengths(table, tokens[places])
        weights = np.exp(-rates[places, None] / 2 * (gaps - gaps.min(axis=1, keepdims=True)))
        released[places] = outputs[drawn(weights, generator)]
    return released


def custext(texts: list[str], table: Embeddings, generator: np.random.Generator, epsilon: float = 8.0) -> list[str]:
    """Return releases by lists of each word's own; what is no word of the table stays."""
    reader = ReleaseReader(table)
    layouts = reader.read([ReleasedText(text) for text in texts])
    tokens = np.concatenate([layout.ids for layout in layouts])
    released, outputs = tokens.copy(), table.candidates
    for places in np.array_split(np.flatnonzero(tokens >= 0), max(1, len(tokens) // 256)):
        gaps = lengths(table, tokens[places])
        near = np.argpartition(gaps, 20, axis=1)[:, :20]
        own = np.take_along_axis(gaps, near, axis=1)
        low, high = own.min(axis=1, keepdims=True), own.max(axis=1, keepdims=True)
        law = np.exp(-epsilon / 2 * (own - low) / np.maximum(high - low, 1e-12))
        released[places] = outputs[near[np.arange(len(places)), drawn(law, generator)]]
    ends = np.cumsum([len(layout.ids) for layout in layouts])[:-1]
    return [str(reader.write(*both)) for both in zip(layouts, np.split(released, ends), strict=True)]


def santext_plus(corpus: Corpus, table: Embeddings, generator: np.random.Generator) -> IdArray:
    """Return releases that keep most common words."""
    tokens = corpus.tokens
    common = (tokens >= 0) & (word_prior(table)[tokens] >= COMMON) & (generator.random(len(tokens)) >= 0.3)
    changed = by_distance(tokens, np.full(len(tokens), RATE), table, generator)
    return np.where(common, tokens, changed).astype(np.int32)


def diffractor(corpus: Corpus, table: Embeddings, generator: np.random.Generator, epsilon: float = 1.0) -> IdArray:
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


def public_line(table: Embeddings, count: int = 10_000) -> IdArray:
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


def budgets(corpus: Corpus, table: Embeddings, generator: np.random.Generator) -> IdArray:
    """Return releases at rates that the words of each text divide."""
    worth = np.where(corpus.tokens >= 0, -np.log(word_prior(table))[corpus.tokens], 0.0)
    lengths = np.diff(corpus.offsets)
    some = lengths > 0
    total = np.zeros(len(lengths))
    total[some] = np.add.reduceat(worth, corpus.offsets[:-1][some])
    rates = RATE * worth * np.repeat(lengths / np.maximum(total, 1e-12), lengths)
    return by_distance(corpus.tokens, rates, table, generator)


def random_words(corpus: Corpus, table: Embeddings, generator: np.random.Generator) -> IdArray:
    """Return uniform words."""
    return table.candidates[generator.integers(len(table.candidates), size=len(corpus.tokens))].astype(np.int32)


def ours(mechanism: TEM | NeighbourResponse) -> Method:
    """Return a mechanism of wordveil's as a method."""

    def run(corpus: Corpus, table: Embeddings, generator: np.random.Generator) -> IdArray:
        source = RandomSource.seeded_for_tests(int(generator.integers(1 << 60)))
        return released_tokens(corpus, subject_of(mechanism.fit(table)), source, "court")

    return run


METHODS: Mapping[str, tuple[str, Method]] = {
    "random words": ("everything, and says nothing", random_words),
    f"SanText+, {RATE}": ("nothing for the words that stay; else metric DP", santext_plus),
    "1-Diffractor, one line, 1": ("metric DP in places on the line", diffractor),
    f"divided budgets, {RATE}": ("nothing: the division shows the text", budgets),
    f"TEM, {RATE}": ("metric DP, proved", ours(TEM(epsilon=RATE))),
    "neighbour response, 8": ("local DP, 8 nats a word, proved", ours(NeighbourResponse(epsilon=8.0))),
    "neighbour response, 6": ("local DP, 6 nats a word, proved", ours(NeighbourResponse(epsilon=6.0))),
}


def releases(originals: list[str], seed: int) -> dict[str, tuple[str, list[str]]]:
    """Return what each method promises, and its releases."""
    table = load_embeddings()
    corpus = encode(table, originals)
    found = {"as it is": ("nothing", originals)}
    for number, (name, (promise, method)) in enumerate(METHODS.items()):
        released = method(corpus, table, np.random.default_rng([seed, number]))
        found[name] = (promise, as_texts(released, corpus, table))
    lists = "nothing between words of different lists, of which each has its own; unknown words stay"
    found["CusText, 8"] = (lists, custext(originals, table, np.random.default_rng([seed, len(METHODS)])))
    rephraser = Rephraser(epsilon=8.0, source=RandomSource.seeded_for_tests(seed))
    batch = rephraser.release_batch(list(map(PrivateText, originals)), ids=list(map(str, range(len(originals)))))
    found["rephrase, 8"] = ("local DP, 8 nats a sentence, proved", list(batch.texts))
    return found


def row(name: str, promise: str, pairs: PairedTexts) -> str:
    """Return a line of the table."""
    found = score(pairs)
    by_name: dict[str, Measure] = {}
    for measure in found.measures:
        by_name.setdefault(measure.name, measure)
    cells = []
    for wanted in COLUMNS:
        shown = by_name.get(wanted.format(n=len(set(pairs.originals))))
        digits = 0 if wanted == "perplexity" else 3
        cells.append("-" if shown is None else f"{shown.value:.{digits}f}")
    print(name, *cells, flush=True)
    return f"| {name} | {promise} | " + " | ".join(cells) + " |"


def page(lines: list[str], n: int) -> str:
    """Return the page."""
    shown = ("content words kept", "original named", "masked words named", "similarity", "perplexity", "accuracy")
    head = f"| method, epsilon | promises | {' | '.join(shown)} |"
    return "\n".join([
        "# The court: methods side by side on the same texts",
        "",
        "    WORDVEIL_DATA=... python -m wordveil_lab.leagues.court docs/results/court.md",
        "",
        f"{n} sentences of MR (film reviews), one release each, scored by [`wordveil score`](../guides/score.md):",
        "content words that a release still holds; releases whose original is named among all by MiniLM; words named",
        "from the released words around them; mean cosine of original and release by MiniLM; perplexity under the",
        "package's trigrams; accuracy of a logistic regression that learns the sentiment from releases and is asked",
        "about originals of other folds. Seeded test noise; a share of so many texts has a standard error of "
        f"{np.ceil(500 / n**0.5) / 1000:.3f} at most.",
        "",
        "The methods of others are re-implemented by us from their papers, on public data alone, untuned;",
        "`wordveil_lab.leagues.court` says how. They are not anybody's code. **The promises differ, and",
        "so do the units of epsilon: rows are not ranked.** Read what a row keeps beside what it gives away, and both",
        "beside the first two rows.",
        "",
        head,
        "|---" * 8 + "|",
        *lines,
        "",
    ])  # fmt: skip


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    items = read_labelled(SOURCE, limit=given.limit)
    originals, labels = [item.text for item in items], [item.label for item in items]
    lines = [
        row(name, promise, PairedTexts(originals=originals, released=texts, facts={"label": labels}))
        for name, (promise, texts) in releases(originals, given.seed).items()
    ]
    given.page.write_text(page(lines, len(originals)), encoding="utf-8")


if __name__ == "__main__":
    main()
