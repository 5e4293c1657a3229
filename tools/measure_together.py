"""Words, denoised words and whole sentences measured together: one axis, exact nats of a sentence, on three domains.

Writes docs/results/together.json, .md and .svg. Finished cells lie in build/together.cells, stocks in build/together,
so that an interrupted run goes on where it stopped. Needs the data folder (WORDVEIL_DATA), scikit-learn, matplotlib and
MiniLM; about twenty minutes of one core.

    python tools/measure_together.py [--page | --only SERIES]

--page writes the page and the figure again from the stored run; --only computes the cells of some series.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import together_page
import wordveil as wv
from together_domains import DOMAINS, TEXTS, Domain, Scores, picked, table
from together_persons import RELEASES, random_words, told
from wordveil.arrays import Float32Array, Float64Array, IdArray, PrivateText, ReleasedText
from wordveil.denoising.denoiser import Denoiser
from wordveil.denoising.posterior import posteriors
from wordveil.denoising.prior import Prior
from wordveil.denoising.reading import Layout, ReleaseReader
from wordveil.files.atomic import write_whole
from wordveil.mechanisms.base import WordMechanism, WordRandomizer
from wordveil.randomness import RandomSource
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.slots import fill

CACHE = together_page.ROOT / "build/together.cells"
VERSION = 1  # raised whenever a score's meaning changes
SEEDS = (0, 1)
RATES: Mapping[str, tuple[float, ...]] = {
    "neighbours": (2.0, 4.0, 6.0, 8.0),
}
NATS = (4.0, 6.0, 8.0, 10.0)
ENCODERS = ("static", "minilm")
OPTIONS = wv.TextOptions(unknown="typed")


class Words:
    """A word mechanism at one rate, its denoiser, and the attacks on it.

    Args:
        mechanism: The mechanism.
    """

    def __init__(self, mechanism: WordMechanism) -> None:
        self.denoiser = Denoiser(table(), mechanism, options=OPTIONS, least=0.0)
        self.mechanism, self.reader = mechanism, ReleaseReader(table())

    @property
    def randomizer(self) -> WordRandomizer:
        """The law."""
        return self.denoiser.randomizer

    def released(self, domain: Domain, seed: int, blind: bool) -> list[ReleasedText]:
        """Return a release of a domain, or uniform outputs in its layout."""
        sanitizer = wv.Sanitizer(table(), self.mechanism, options=OPTIONS, source=RandomSource.seeded_for_tests(seed))
        texts = list(sanitizer.release_batch([PrivateText(text) for text in domain.texts]).texts)
        return random_words(texts, self.denoiser, seed) if blind else texts

    def run(self, domain: Domain, seed: int, blind: bool) -> tuple[Scores, Scores]:
        """Return the scores of a release, and of the same denoised; attackers see the same of both."""
        texts = self.released(domain, seed, blind)
        layouts = self.reader.read(texts)
        raw = domain.kept(texts)
        read = domain.kept([str(one.text) for one in self.denoiser.read(texts)])
        attack = {"named: naming": domain.named(self._guesses(domain, layouts, None))}
        for name, prior in (("triples", self.denoiser.prior), ("triples of the domain", domain.prior)):
            attack[f"named: {name}"] = domain.named(self._guesses(domain, layouts, prior))
        attack["picked: law"] = picked(self._likelihoods(domain, layouts))
        attack |= {"picked: MiniLM": picked(raw.pop("near")), "picked: MiniLM, denoised": picked(read.pop("near"))}
        return raw | attack, read | attack

    def _guesses(self, domain: Domain, layouts: Sequence[Layout], prior: Prior | None) -> list[list[int]]:
        """Return what an attacker takes the content words for: the released words, or the likeliest by a prior."""
        guesses = [layout.ids.copy() for layout in layouts]
        if prior is not None:
            found = posteriors([layout.states for layout in layouts], self.denoiser._evidence, prior).states[:, 0]
            ends = np.cumsum([len(layout.states) for layout in layouts])[:-1]
            for guess, layout, own in zip(guesses, layouts, np.split(found, ends), strict=True):
                guess[layout.places[layout.places >= 0]] = own[layout.places >= 0]
        pairs = zip(guesses, domain.layouts, strict=True)
        return [
            guess[domain.content[true.ids]].tolist() if len(guess) == len(true.ids) else guess.tolist()
            for guess, true in pairs
        ]

    def _likelihoods(self, domain: Domain, layouts: Sequence[Layout]) -> Float64Array:
        """Return ln P(release | original) of all pairs, shape (n, n): the length is disclosed."""
        seen = np.unique(np.concatenate([layout.ids for layout in domain.layouts]))
        seen, outputs = seen[seen >= 0], self.randomizer.outputs
        law = self.randomizer.law(seen)
        assert law is not None
        logs = np.log(np.maximum(law, 1e-300)).astype(np.float32)
        found = np.full((len(layouts), len(layouts)), -np.inf)
        for j, true in enumerate(domain.layouts):
            for i, own in enumerate(layouts):
                if len(own.ids) == len(true.ids):
                    both = (own.ids >= 0) & (true.ids >= 0)
                    rows, columns = np.searchsorted(seen, true.ids[both]), np.searchsorted(outputs, own.ids[both])
                    found[i, j] = logs[rows, np.minimum(columns, len(outputs) - 1)].sum(dtype=np.float64)
        return found


class Sentences:
    """Rephrasing at one epsilon, and the attacks on it."""

    def __init__(self, domain: Domain, stock: str, encoder: str, epsilon: float) -> None:
        self.domain, self.epsilon = domain, epsilon
        self.rephraser = Rephraser(domain.stock(stock), epsilon=epsilon, encoder=encoder)
        self.ids = self.rephraser.parts.encoder.nearest(domain.texts)  # type: ignore[attr-defined]
        self.behind = self._behind(stock, encoder)

    def _behind(self, stock: str, encoder: str) -> IdArray:
        """Return the prototypes of the attacker's public sentences."""
        rows = _public_rows(self.domain, stock if encoder == "static" else "general", encoder)  # MiniLM needs no map
        return np.asarray((rows @ self.rephraser.embeddings.vectors.T).argmax(axis=1), dtype=np.int32)

    def run(self, seed: int, blind: bool) -> Scores:
        """Return the scores of a release, or of prototypes drawn at random."""
        drawn, source = self.rephraser.parts.randomizer, RandomSource.seeded_for_tests(seed)
        size, domain = len(self.rephraser.embeddings), self.domain
        if blind:
            released = np.random.default_rng(seed).integers(size, size=len(self.ids)).astype(np.int32)
        else:
            released = drawn.randomize(self.ids, drawn.sample(source.stream("together"), len(self.ids)))
        texts = [fill(self.rephraser.embeddings.words[i]) for i in released.tolist()]
        scores = domain.kept(texts)
        near = scores.pop("near")
        layouts = ReleaseReader(table()).read([ReleasedText(text) for text in texts])
        words = [
            layout.ids[domain.content[layout.ids]].tolist()[: len(own)]
            for layout, own in zip(layouts, domain.own, strict=True)
        ]
        scores["named: naming"] = domain.named(words)
        scores["named: counts"] = domain.named(self._counted(released))
        scores["picked: MiniLM"] = picked(near)
        scores["picked: law"] = picked((self.ids[None] == released[:, None]) + 1e-6 * near)
        return scores

    def _counted(self, released: IdArray) -> list[list[int]]:
        """Return as many words as each text has, the likeliest behind its prototype by the law and public sentences."""
        ranked = {}
        for prototype in np.unique(released).tolist():
            weights = 1 + np.expm1(self.epsilon) * (self.behind == prototype)
            ranked[prototype] = np.argsort(-(weights @ self.domain.counts), kind="stable")[:60]
        pairs = zip(released.tolist(), self.domain.own, strict=True)
        return [ranked[prototype][: len(own)].tolist() for prototype, own in pairs]


@cache
def _public_rows(domain: Domain, stock: str, encoder: str) -> Float32Array:
    return domain.stock(stock).encoder(encoder).rows(domain.sentences, together=True)


def summary(runs: Sequence[Scores]) -> dict[str, list[float]]:
    """Return the mean of every score over texts and runs, and its standard error over texts."""
    found: dict[str, list[float]] = {}
    for name in runs[0].keys() - {"likely", "states"}:
        each = np.mean([run[name] for run in runs], axis=0)
        each = each[~np.isnan(each)]
        found[name] = [float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))]
    likely, states = (np.sum([run[name] for run in runs], axis=0) for name in ("likely", "states"))
    rate = likely.sum() / states.sum()
    error = np.sqrt(np.square(likely - rate * states).sum()) / states.sum()
    found["perplexity"] = [float(np.exp(-rate)), float(np.exp(-rate) * error)]
    return dict(sorted(found.items()))


def kept_cell(facts: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a cell that was finished before, or compute and keep it."""
    said = json.dumps({"version": VERSION, "texts": TEXTS, "seeds": SEEDS, **facts}, sort_keys=True)
    path = CACHE / f"{hashlib.sha256(said.encode()).hexdigest()[:24]}.json"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(compute()).encode(), shared=True)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@cache
def domain_named(name: str) -> Domain:
    """Return a domain, prepared once."""
    return Domain(name)


@cache
def words_at(name: str, rate: float) -> Words:
    """Return a word mechanism at a rate, prepared once."""
    return Words(wv.TEM(epsilon=rate) if name == "TEM" else wv.NeighbourResponse(epsilon=rate))


def words_cell(name: str, rate: float, domain: str) -> dict[str, Any]:
    """Return the rows of a word mechanism as released and denoised, random outputs beside each."""
    mechanism, own = words_at(name, rate), domain_named(domain)
    runs = {blind: [mechanism.run(own, seed, blind) for seed in SEEDS] for blind in (False, True)}
    both = {blind: [summary([run[i] for run in runs[blind]]) for i in (0, 1)] for blind in runs}
    tokens = float(np.mean([len(layout.ids) for layout in own.layouts]))
    return {"tokens": tokens, "scores": both[False], "random": both[True]}


def sentences_cell(stock: str, encoder: str, epsilon: float, domain: str) -> dict[str, Any]:
    """Return the row of rephrasing, prototypes drawn at random beside it."""
    one = Sentences(domain_named(domain), stock, encoder, epsilon)
    runs = {blind: summary([one.run(seed, blind) for seed in SEEDS]) for blind in (False, True)}
    return {"prototypes": len(one.rephraser.embeddings), "scores": runs[False], "random": runs[True]}


def original_cell(domain: str) -> dict[str, Any]:
    """Return the scores of the texts as they are."""
    own = domain_named(domain)
    scores = own.kept(own.texts)
    near = scores.pop("near")
    return {
        "scores": summary([scores | {"picked: MiniLM": picked(near)}]),
        "texts": len(own.texts),
        "classes": len(own.classes),
    }


def commonest(domain: str) -> dict[str, float]:
    """Return the share of the commonest class."""
    labels = domain_named(domain).labels
    return {"commonest": float(np.bincount(labels).max() / len(labels))}


def plan() -> list[tuple[dict[str, Any], Callable[[], dict[str, Any]]]]:
    """Return what is to be computed: mechanisms outside, domains inside, since a law is tabled once for all."""
    cells: list[tuple[dict[str, Any], Callable[[], dict[str, Any]]]] = []
    for domain in DOMAINS:
        cells.append(({"series": "original", "domain": domain}, lambda d=domain: original_cell(d)))
        for stock in ("domain", "general"):
            for encoder in ENCODERS:
                for epsilon in NATS:
                    facts = {"series": f"rephrase, {encoder}, {stock}", "domain": domain, "epsilon": epsilon}
                    cells.append((facts, lambda s=stock, c=encoder, e=epsilon, d=domain: sentences_cell(s, c, e, d)))
    for name, rates in RATES.items():
        for rate in rates:
            for domain in DOMAINS:
                facts = {"series": name, "domain": domain, "epsilon": rate}
                cells.append((facts, lambda n=name, r=rate, d=domain: words_cell(n, r, d)))
    for name, given in RELEASES:
        facts = {"series": f"persons: {name}", "domain": "persons", "epsilon": given}
        cells.append((facts, lambda n=name, e=given: persons_cell(n, e)))
    return cells


def persons_cell(series: str, epsilon: float | None) -> dict[str, Any]:
    """Return what a pipeline's releases tell of persons, and what its random outputs do."""
    return {"scores": told(series, epsilon, False)} | ({"random": told(series, epsilon, True)} if epsilon else {})


def measure(only: str = "") -> dict[str, Any]:
    """Return the run, or that of the series that begin so."""
    rows, cells = [], [cell for cell in plan() if cell[0]["series"].startswith(only)]
    for done, (facts, compute) in enumerate(cells):
        print(f"{done:4} of {len(cells)} cells: {facts}", file=sys.stderr, flush=True)
        row = {**facts, **kept_cell(facts, compute)}
        if facts["series"] == "original":
            row |= kept_cell({**facts, "series": "commonest"}, lambda d=facts["domain"]: commonest(d))
        rows.append(row)
    known = json.loads((together_page.ROOT / "docs/results/neighbours.json").read_text(encoding="utf-8"))["nats"]
    of_tem = {f"{rate:g}": known[f"tem @ {rate:g}"] for rate in RATES.get("TEM", ())}
    return {"texts": TEXTS, "seeds": len(SEEDS), "nats of TEM": of_tem, "rows": rows}


def main() -> None:
    """Measure, or take the stored run, and write the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--only", metavar="SERIES")
    asked = parser.parse_args()
    if asked.only:
        measure(asked.only)
        return
    if not asked.page:
        together_page.store(measure())
    together_page.write()


if __name__ == "__main__":
    main()
