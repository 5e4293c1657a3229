"""Words, denoised words and whole sentences measured together: one axis, nats of a sentence at most, on three domains.

Writes docs/results/together.json, .md and .svg. Finished cells lie in build/together.cells, stocks in build/together,
so that an interrupted run goes on where it stopped. Needs the data folder (WORDVEIL_DATA), scikit-learn, matplotlib and
MiniLM; about twenty minutes of one core.

    python -m wordveil_lab.leagues.together [--page | --only SERIES ...]     as in `stored`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

import wordveil.api as wv
from wordveil_lab.corpora import released_texts
from wordveil_lab.evaluation.report import new_report
from wordveil_lab.leagues import together_page
from wordveil_lab.leagues.stored import StoredRun, Work, rounded_score, rows_from
from wordveil_lab.leagues.together_domains import DOMAINS, TEXTS, Domain, Scores, lists, picked, random_words, tells
from wordveil_lab.leagues.together_page import ORIGINAL, PERSONS, RELEASES
from wordveil_lab.leagues.trial_texts import table
from wordveil_lab.package import told

VERSION = 3  # raised whenever a score's meaning changes
SEEDS = (0, 1)
RATES: Mapping[str, list[float]] = told("leagues/together.toml")["rates"]
GROUPS = {"TEM": "metric"}
NATS: list[float] = told("leagues/together.toml")["nats"]
ENCODERS = ("static", "minilm")
OPTIONS = wv.TextOptions(unknown="typed")
MARK = 1 << 20  # added to the state of a place where a word stands that carries content


class Words:
    """A word mechanism at one rate, its denoiser, and the attacks on it."""

    def __init__(self, mechanism: wv.WordMechanism) -> None:
        self.denoiser = wv.Denoiser(table(), mechanism, options=OPTIONS, least=0.0)
        self.randomizer: wv.WordRandomizer = self.denoiser.randomizer
        self.mechanism, self.reader = mechanism, wv.ReleaseReader(table())

    def released(self, domain: Domain, seed: int, blind: bool) -> list[wv.ReleasedText]:
        """Return a release of a domain, or uniform outputs in its layout."""
        source = wv.RandomSource.seeded_for_tests(seed)
        texts = released_texts(wv.Sanitizer(table(), self.mechanism, options=OPTIONS, source=source), domain.texts)
        return random_words(texts, self.denoiser, seed) if blind else texts

    def run(self, domain: Domain, seed: int, blind: bool) -> tuple[Scores, Scores]:
        """Return the scores of a release, and of the same denoised; attackers see the same of both."""
        texts = self.released(domain, seed, blind)
        layouts = self.reader.read(texts)
        raw = domain.kept(texts)
        read = domain.kept([str(one.text) for one in self.denoiser.read(texts)])
        attack = {"picked: law": picked(self._likelihoods(domain, layouts))}
        attack |= {"picked: MiniLM": picked(raw.pop("near")), "picked: MiniLM, denoised": picked(read.pop("near"))}
        return raw | attack, read | attack

    def named(self, domain: Domain, seed: int, blind: bool) -> Scores:
        """Return what attackers name who know which words carry content, and guess such words there, no others."""
        layouts = self.reader.read(self.released(domain, seed, blind))
        content = [
            domain.content[true.ids] if len(true.ids) == len(own.ids) else own.ids >= 0
            for own, true in zip(layouts, domain.layouts, strict=True)
        ]
        seen = [own.ids[there] for own, there in zip(layouts, content, strict=True)]
        common, rare = self._evidence(domain)
        alone, in_context = [], []
        for own in seen:
            states, likelihoods = rare(own)
            weights = likelihoods * rare.prior.frequency[states]
            alone.append((states, weights / weights.sum(axis=1, keepdims=True)))
        marked = [
            own.states + MARK * (there[own.places] & (own.places >= 0))
            for own, there in zip(layouts, content, strict=True)
        ]
        found = wv.posteriors(marked, lambda states: _either(states, common, rare), domain.prior)
        ends = np.cumsum([0, *map(len, marked)])
        for first, own in zip(ends, marked, strict=False):
            there = first + np.flatnonzero(own >= MARK)
            in_context.append((found.states[there], found.chances[there]))
        return {
            "named: naming": domain.named([own.tolist() for own in seen]),
            "named: each alone": domain.named(_likeliest(alone, domain)),
            "named: triples": domain.named(_likeliest(in_context, domain)),
        }

    @cache  # noqa: B019 (as for a domain's stock)
    def _evidence(self, domain: Domain) -> list[wv.ChannelEvidence]:
        """Return what may stand behind an output where a common word stands, and where one stands that says much."""
        prior, content = domain.prior, np.append(domain.content[:-1], np.zeros(wv.TOKEN_STATES, bool))
        sentences = np.append(np.asarray(domain.counts.sum(axis=0)).ravel(), np.zeros(wv.TOKEN_STATES))
        rare = prior.frequency * content
        weights = (prior.frequency * ~content, rare / rare.sum() + sentences / sentences.sum())
        return [
            wv.ChannelEvidence(self.randomizer, replace(prior, frequency=own.astype(np.float32)), np.empty(0, np.int32))
            for own in weights
        ]

    def _likelihoods(self, domain: Domain, layouts: Sequence[wv.ReleaseLayout]) -> wv.Float64Array:
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


def _either(
    seen: wv.IdArray, common: wv.ChannelEvidence, rare: wv.ChannelEvidence
) -> tuple[wv.IdArray, wv.Float32Array]:
    """Return candidates: words that carry content where the place is marked, others elsewhere."""
    there = seen >= MARK
    states, likelihoods = common(np.where(there, seen - MARK, seen))
    states[there], likelihoods[there] = rare(seen[there] - MARK)
    return states, likelihoods


def _likeliest(read: Sequence[tuple[wv.IdArray, wv.Float32Array]], domain: Domain) -> list[list[int]]:
    """Return as many different words as each text has, the likeliest to stand in any of its places.

    Of each text candidates and their chances are given, each of shape (m, c).
    """
    guesses = []
    for (states, chances), own in zip(read, domain.own, strict=True):
        words, places = np.unique(states, return_inverse=True)
        missed = np.bincount(places.ravel(), np.log1p(-np.minimum(chances, 1 - 1e-6)).ravel(), len(words))
        guesses.append(words[np.argsort(missed, kind="stable")[: len(own)]].tolist())
    return guesses


class Sentences:
    """Rephrasing at one epsilon, and the attacks on it."""

    def __init__(self, domain: Domain, stock: str, encoder: str, epsilon: float) -> None:
        self.domain, self.epsilon = domain, epsilon
        self.rephraser = wv.Rephraser(domain.stock(stock), epsilon=epsilon, encoder=encoder)
        self.ids = self.rephraser.sanitizer.parts.encoder.nearest(domain.texts)  # type: ignore[attr-defined]
        rows = _public_rows(domain, stock if encoder == "static" else "general", encoder)  # MiniLM needs no map
        self.behind = (rows @ self.rephraser.embeddings.vectors.T).argmax(axis=1)  # prototypes of public sentences

    def run(self, seed: int, blind: bool) -> Scores:
        """Return the scores of a release, or of prototypes drawn at random."""
        drawn, source = self.rephraser.sanitizer.parts.randomizer, wv.RandomSource.seeded_for_tests(seed)
        size, domain = len(self.rephraser.embeddings), self.domain
        if blind:
            released = np.random.default_rng(seed).integers(size, size=len(self.ids)).astype(np.int32)
        else:
            released = drawn.randomize(self.ids, drawn.sample(source.stream("together"), len(self.ids)))
        texts = [wv.fill_slots(self.rephraser.embeddings.words[i]) for i in released.tolist()]
        scores = domain.kept(texts)
        near = scores.pop("near")
        layouts = wv.ReleaseReader(table()).read([wv.ReleasedText(text) for text in texts])
        words = [layout.ids[domain.content[layout.ids]].tolist() for layout in layouts]
        scores["named: naming"] = domain.named([w[: len(own)] for w, own in zip(words, domain.own, strict=True)])
        scores["named: counts"] = domain.named(self._counted(released))
        scores["picked: MiniLM"] = picked(near)
        scores["picked: law"] = picked((self.ids[None] == released[:, None]) + 1e-6 * near)
        return scores

    def _counted(self, released: wv.IdArray) -> list[list[int]]:
        """Return as many words as each text has, the likeliest behind its prototype by the law and public sentences."""
        ranked = {}
        for prototype in np.unique(released).tolist():
            weights = 1 + np.expm1(self.epsilon) * (self.behind == prototype)
            ranked[prototype] = np.argsort(-(weights @ self.domain.counts), kind="stable")[:60]
        pairs = zip(released.tolist(), self.domain.own, strict=True)
        return [ranked[prototype][: len(own)].tolist() for prototype, own in pairs]


@cache
def _public_rows(domain: Domain, stock: str, encoder: str) -> wv.Float32Array:
    return domain.stock(stock).encoder(encoder).rows(domain.sentences, together=True)


def summary(runs: Sequence[Scores]) -> dict[str, list[float]]:
    """Return the mean of every score over texts and runs, and its standard error over texts."""
    found: dict[str, list[float]] = {}
    for name in runs[0].keys() - {"likely", "states"}:
        each = np.mean([run[name] for run in runs], axis=0)
        each = each[~np.isnan(each)]
        found[name] = [float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))]
    if "likely" in runs[0]:
        likely, states = (np.sum([run[name] for run in runs], axis=0) for name in ("likely", "states"))
        rate = likely.sum() / states.sum()
        error = np.sqrt(np.square(likely - rate * states).sum()) / states.sum()
        found["perplexity"] = [float(np.exp(-rate)), float(np.exp(-rate) * error)]
    return dict(sorted(found.items()))


def kept_cell(facts: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a cell that was finished before, or compute and keep it."""
    return RUN.once({"version": VERSION, "texts": TEXTS, "seeds": SEEDS, **facts}, compute)


domain_named = cache(Domain)


@cache
def words_at(name: str, rate: float) -> Words:
    """Return a word mechanism at a rate, prepared once."""
    return Words(wv.TEM(epsilon=rate) if name == "TEM" else lists(rate))


def words_cell(name: str, rate: float, domain: str) -> dict[str, Any]:
    """Return the rows of a word mechanism as released and denoised, random outputs beside each."""
    mechanism, own = words_at(name, rate), domain_named(domain)
    found: dict[str, Any] = {"tokens": drawn(own)}
    for kind, blind in (("scores", False), ("random", True)):
        runs = [mechanism.run(own, seed, blind) for seed in SEEDS]
        named = summary([mechanism.named(own, seed, blind) for seed in SEEDS]) | unseen(domain)
        found[kind] = [summary([run[i] for run in runs]) | named for i in (0, 1)]
    return found


@cache
def unseen(domain: str) -> dict[str, list[float]]:
    """Return how many words are named by who has seen no release: the commonest of public sentences."""
    own = domain_named(domain)
    ranked = np.argsort(-np.asarray(own.counts.sum(axis=0)).ravel(), kind="stable").tolist()
    return summary([{"named: blind": own.named([ranked[: len(words)] for words in own.own])}])


def sentences_cell(stock: str, encoder: str, epsilon: float, domain: str) -> dict[str, Any]:
    """Return the row of rephrasing, prototypes drawn at random beside it."""
    one = Sentences(domain_named(domain), stock, encoder, epsilon)
    runs = {blind: summary([one.run(seed, blind) for seed in SEEDS]) | unseen(domain) for blind in (False, True)}
    return {"prototypes": len(one.rephraser.embeddings), "scores": runs[False], "random": runs[True]}


def original_cell(domain: str) -> dict[str, Any]:
    """Return the scores of the texts as they are."""
    own = domain_named(domain)
    scores = own.kept(own.texts)
    near = scores.pop("near")
    facts = {"texts": len(own.texts), "classes": len(own.classes)}
    commonest = float(np.bincount(own.labels).max() / len(own.labels))
    return {"scores": summary([scores | {"picked: MiniLM": picked(near)}]), **facts, "commonest": commonest}


def drawn(domain: Domain) -> float:
    """Return for how many tokens of a text a word is drawn, unknown words included: all but those of a kind."""
    typed = len(table()) + wv.TYPED_TOKEN
    counts = [(one.states[one.places >= 0] != typed).sum() for one in domain.layouts]
    return float(f"{np.mean(counts):.6g}")


def certified(rate: float) -> dict[str, float]:
    """Return what any two words lose by TEM at a rate a unit."""
    local = wv.TEM(epsilon=1.0, calibration="certified-local")
    return {"nats": wv.certify_rate(local, table(), rate / 2).numbers["epsilon"]}


def plan() -> Iterator[tuple[str, str, float | None, Callable[[], dict[str, Any]]]]:
    """Yield series, domain and epsilon of each cell, and what computes it.

    Mechanisms stand outside, domains inside, since a law is tabled once for all.
    """
    for domain in DOMAINS:
        yield ORIGINAL, domain, None, partial(original_cell, domain)
        for stock, encoder, nats in product(("domain", "general"), ENCODERS, NATS):
            compute = partial(sentences_cell, stock, encoder, nats, domain)
            yield f"rephrase, {encoder}, {stock}", domain, nats, compute
    for name, rates in RATES.items():
        for rate, domain in product(rates, DOMAINS):
            yield name, domain, rate, partial(words_cell, name, rate, domain)
    for name, given in RELEASES:
        yield f"{PERSONS}: {name}", PERSONS, given, partial(persons_cell, name, given)


def persons_cell(series: str, epsilon: float | None) -> dict[str, Any]:
    """Return what a pipeline's releases tell of persons, and what its random outputs do."""
    return {"scores": tells(series, epsilon, False)} | ({"random": tells(series, epsilon, True)} if epsilon else {})


def measure(names: Collection[str] = ()) -> dict[str, Any]:
    """Return the run, or that of some series."""

    def cells() -> Iterator[Work]:
        for series, domain, epsilon, compute in plan():
            if names and series not in names:
                continue
            group = GROUPS.get(series, None if series.endswith(ORIGINAL) else "local")
            found = cache(partial(kept_cell, {"series": series, "domain": domain, "epsilon": epsilon}, compute))
            for i, end in enumerate(("", ", denoised") if series in RATES else ("",)):
                name = series.removeprefix(f"{PERSONS}: ") + end
                yield name, group, epsilon, domain, partial(_part, found, i)

    nats = {f"TEM @ {rate:g}": kept_cell({"nats of TEM": rate}, partial(certified, rate)) for rate in RATES["TEM"]}
    known = {label: float(f"{found['nats']:.6g}") for label, found in nats.items()}
    return new_report(
        "python -m wordveil_lab.leagues.together", rows_from(cells()), texts=TEXTS, repeats=len(SEEDS), nats=known
    )


def _part(found: Callable[[], Mapping[str, Any]], i: int) -> dict[str, Any]:
    """Return what a cell found of one of the releases that it made."""
    cell = dict(found())
    for kind in cell.keys() & {"scores", "random"}:
        own = cell[kind][i] if isinstance(cell[kind], list) else cell[kind]
        cell[kind] = {name: rounded_score(*pair) for name, pair in own.items()}
    return cell


ROWS, PICTURES = list(dict.fromkeys(series for series, *_ in plan())), {"together.svg": together_page.picture}
RUN = StoredRun(name="together", rows=ROWS, measure=measure, tables=together_page.tables, pictures=PICTURES)

if __name__ == "__main__":
    RUN.main(__doc__)
