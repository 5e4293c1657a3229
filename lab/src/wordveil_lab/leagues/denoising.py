"""Denoised releases beside the releases themselves and beside random words through the same pipeline; and the speed.

Scores are means over texts: `words` and `rarer` (below 2e-4 in public text) are the shares that are the original's;
`similar` is the cosine of GloVe vectors of each rarer word and what stands in its place; `meaning` that of MiniLM's
sentence vectors; `perplexity` is a judge's, a trigram of film reviews; `sentiment` the accuracy of a classifier of
mean word vectors, trained on other originals. `attack` is what the posterior names, as told before and as found.

Usage: python -m wordveil_lab.leagues.denoising mr|mts [--texts N] [--prior PRIOR] ... [--style STYLE] ...
                                               [--mechanism "NeighbourResponse(epsilon=9.0, k=8)"] ...
       python -m wordveil_lab.leagues.denoising speed
Reads the shared data sets (WORDVEIL_DATA). Test noise, the same every time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

import wordveil as wv
from wordveil.api import MINILM_WIDTH as WIDTH
from wordveil.api import STOP_WORD as STOP
from wordveil.api import (
    Denoiser,
    Prior,
    PrivateText,
    ReleasedText,
    ReleaseReader,
    build_prior,
    load_prior,
)
from wordveil.api import load_minilm as load_model
from wordveil.api import minilm_installed as model_installed
from wordveil.api import minilm_pieces as sentence_pieces
from wordveil.api import minilm_states as encode
from wordveil_lab.evaluation.data import plain
from wordveil_lab.rows import locate, read_rows

JUDGE_TEXTS = 4000
TABLE = wv.load_embeddings()
OPTIONS = wv.TextOptions(unknown="typed")
Style = Literal["fluent", "faithful", "balanced"]
STYLES: tuple[Style, ...] = ("fluent", "balanced", "faithful")
MECHANISMS = ("NeighbourResponse()", "NeighbourResponse(epsilon=9.0, k=8)", "TEM(epsilon=9.36)")


def rows(name: str, *columns: str) -> list[dict[str, str]]:
    """Return the columns of a file of the shared data."""
    return [{column: str(row[column]) for column in columns} for row in read_rows(name, columns)]


class Scores:
    """Everything that is measured of texts, beside their originals."""

    def __init__(self, originals: Sequence[str], labels: Sequence[str], training: Sequence[dict[str, str]]) -> None:
        self._reader, self._labels = ReleaseReader(TABLE), list(labels)
        self._originals = self._reader.read(list(map(ReleasedText, originals)))
        self._rare = wv.load_prior().frequency[: len(TABLE)] < 2e-4
        glove = wv.load_embeddings(locate("embeddings/glove.6B.50d.top100k.npz"))
        ids = glove.ids(list(TABLE.words))
        self._glove = np.where(ids[:, None] >= 0, glove.vectors[np.maximum(ids, 0)], 0.0)
        self._glove /= np.maximum(np.linalg.norm(self._glove, axis=1, keepdims=True), 1e-9)
        self._mini = load_model() if model_installed() else None
        self._meant = self._meaning(originals)
        reviews = [plain(row["text"]) for row in rows("documents/imdb.train.jsonl.gz", "text")[:JUDGE_TEXTS]]
        self._judge = build_prior(reviews, TABLE)
        self._sentiment = self._classifier(training) if labels else None

    def _classifier(self, training: Sequence[dict[str, str]]) -> Callable[[np.ndarray], np.ndarray]:
        from sklearn.linear_model import LogisticRegression

        known = self._reader.read([ReleasedText(row["text"]) for row in training])
        model = LogisticRegression(max_iter=2000).fit(self._means(known), [row["label"] for row in training])
        return model.predict  # type: ignore[no-any-return]

    def _means(self, layouts: Sequence[object]) -> np.ndarray:
        return np.stack([TABLE.vectors[layout.ids[layout.ids >= 0]].sum(axis=0) for layout in layouts])  # type: ignore[attr-defined]

    def _meaning(self, texts: Sequence[str]) -> np.ndarray | None:
        if self._mini is None:
            return None
        found = np.empty((len(texts), WIDTH))
        for some, states in encode(self._mini, [sentence_pieces(self._mini, text) for text in texts]):
            found[some] = states.mean(axis=1)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

    def _perplexity(self, layouts: Sequence[object]) -> float:
        total, words = 0.0, 0
        for layout in layouts:
            own = layout.states.astype(np.int64)  # type: ignore[attr-defined]
            after, pairs = self._judge.pairs(own[:-1], own[1:])
            thrice = self._judge.triples(pairs[:-1], own[2:], after[1:])
            inside = (own[2:] < len(TABLE)) & (own[1:-1] != len(TABLE) + STOP)
            total, words = total - float(np.log(thrice[inside]).sum()), words + int(inside.sum())
        return float(np.exp(total / words))

    def __call__(self, texts: Sequence[str]) -> str:
        """Return the scores of some texts, in the order of the originals."""
        layouts = self._reader.read(list(map(ReleasedText, texts)))
        same, rare, similar = [], [], []
        for own, original in zip(layouts, self._originals, strict=True):
            if len(own.ids) != len(original.ids):
                continue  # two released words that the vocabulary also lists as one; a text in a hundred
            known = original.ids >= 0
            a, b = own.ids[known], original.ids[known]
            counted = self._rare[b]
            same += (a == b).tolist()
            rare += (a == b)[counted].tolist()
            similar += (self._glove[np.maximum(a, 0)] * self._glove[b]).sum(axis=1)[counted].tolist()
        meaning = self._meaning(texts)
        said = [f"{np.mean(part):.3f}" for part in (same, rare, similar)]
        said.append(
            "-" if meaning is None or self._meant is None else f"{(meaning * self._meant).sum(axis=1).mean():.3f}"
        )
        said.append(f"{self._perplexity(layouts):,.0f}")
        hits = [] if self._sentiment is None else self._sentiment(self._means(layouts)) == np.array(self._labels)
        said.append(f"{np.mean(hits):.3f}" if len(hits) else "-")
        return " | ".join(said)


def found_by_attack(denoiser: Denoiser, texts: Sequence[str], originals: Sequence[str]) -> str:
    """Return what the attacker names: as expected from the releases alone, and as it is."""
    read = denoiser.read(list(map(ReleasedText, texts)))
    expected = np.concatenate([own.named for own in read]).mean()
    reader = ReleaseReader(TABLE)
    right = []
    for text, original in zip(texts, originals, strict=True):
        seen, true = reader.read([ReleasedText(text)])[0], reader.read([ReleasedText(original)])[0]
        if len(seen.states) == len(true.states):
            found = denoiser.posterior(seen)
            right += (found.states[:, 0] == true.states)[true.states < len(TABLE)].tolist()
    return f"attack: {expected:.3f} expected, {np.mean(right):.3f} found"


def quality(name: str, texts: int, mechanisms: Sequence[str], prior: Path | None, styles: Sequence[Style]) -> None:
    """Print a table for each mechanism."""
    if name == "mr":
        every = rows("sentences/mr.tsv", "text", "label")
        order = np.random.default_rng(0).permutation(len(every))
        chosen, rest = [every[i] for i in order[:texts]], [every[i] for i in order[texts : texts + 4000]]
        originals, labels = [row["text"] for row in chosen], [row["label"] for row in chosen]
    else:
        originals = [row["note"] for row in rows("privacy/mts-dialog.test.jsonl.gz", "note")][:texts]
        labels, rest = [], []
    score = Scores(originals, labels, rest)
    print(f"{name}, {len(originals)} texts\n\n| text | words | rarer | similar | meaning | perplexity | sentiment |")
    print(f"|---|---|---|---|---|---|---|\n| original | {score(originals)} |", flush=True)
    for said in mechanisms:
        mechanism = eval(said, {name: getattr(wv, name) for name in wv.__all__})
        source = wv.RandomSource.seeded_for_tests(0)
        sanitizer = wv.Sanitizer(TABLE, mechanism, options=OPTIONS, source=source)
        released = sanitizer.release_batch(originals, ids=list(map(str, range(len(originals))))).texts
        outputs = sanitizer.parts.randomizer.outputs
        generator, reader = np.random.default_rng(1), ReleaseReader(TABLE)
        layouts = reader.read(released)
        blind = [
            reader.write(own, np.where(own.ids < 0, -1, generator.choice(outputs, len(own.ids)))) for own in layouts
        ]
        print(f"| {said}: released | {score(released)} |", flush=True)
        print(f"| random outputs | {score(blind)} |", flush=True)
        model = load_prior() if prior is None else Prior.load(prior)
        denoiser = Denoiser(TABLE, mechanism, options=OPTIONS, least=0.0, prior=model)
        for style in styles:
            denoiser.style = style
            for kind, given in (("denoised", released), ("random outputs, denoised", blind)):
                read = [own.text for own in denoiser.read(given)]
                print(f"| {kind}, {style} | {score(read)} |", flush=True)
        print(f"{said}: {found_by_attack(denoiser, released, originals)}", flush=True)
        print(f"{denoiser.calibration}\n", flush=True)


def speed() -> None:
    """Print tokens per second of processor time, and how many plain gathers of as many ids the same time would hold."""
    texts = [PrivateText(row["text"]) for row in rows("sentences/mr.tsv", "text")[:1000]]
    sanitizer = wv.Sanitizer(TABLE, wv.NeighbourResponse(), source=wv.RandomSource.seeded_for_tests(0))
    batch = sanitizer.release_batch(texts)
    for style in STYLES:
        denoiser = Denoiser(TABLE, wv.NeighbourResponse(), style=style)
        denoiser.denoise_batch(sanitizer.release_batch(texts[:1]))  # tables and calibration are made once
        best, gather = np.inf, np.inf
        table, places = np.arange(1 << 19), np.random.default_rng(0).integers(0, 1 << 19, batch.tokens)
        for _ in range(3):
            started = time.process_time()
            denoiser.denoise_batch(batch)
            best, started = min(best, time.process_time() - started), time.process_time()
            for _ in range(100):
                table[places]
            gather = min(gather, (time.process_time() - started) / 100)
        rate = batch.tokens / best
        print(f"{style:9s} {rate:7,.0f} tokens/s of processor time, {best / gather:,.0f} times a plain gather")


def main() -> None:
    """Parses what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("mr", "mts", "speed"))
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--mechanism", action="append")
    parser.add_argument("--prior", type=Path)
    parser.add_argument("--style", action="append")
    arguments = parser.parse_args()
    if arguments.what == "speed":
        speed()
    else:
        mechanisms, styles = arguments.mechanism or MECHANISMS, arguments.style or STYLES
        quality(arguments.what, arguments.texts, mechanisms, arguments.prior, styles)


if __name__ == "__main__":
    main()
