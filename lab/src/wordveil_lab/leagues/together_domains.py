"""The three domains of the league `together`, and what releases tell of persons: author, sex, values that survive.

Of a domain: what is released, what scores it, what its attackers have read. Authors are three novelists (sentences of
documents/spooky-author.tsv), sexes those of made-up profiles (comments of privacy/llmprivacy-synthetic.jsonl.gz),
values those that Presidio's generator marked in made-up sentences.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import wordveil.api as wv
from wordveil_lab.corpora import encode as read_words
from wordveil_lab.corpora import released_texts
from wordveil_lab.court.pairs import shifted
from wordveil_lab.court.utility import log_likelihoods
from wordveil_lab.evaluation import models
from wordveil_lab.evaluation.authors import cross_validated
from wordveil_lab.evaluation.evidence import content_words
from wordveil_lab.evaluation.overlap import matching_scores, read_by_minilm
from wordveil_lab.evaluation.subjects import centroids
from wordveil_lab.leagues.trial_texts import table
from wordveil_lab.package import ROOT, told
from wordveil_lab.rows import data_folder, locate, mixed_order, plain, read_labelled, read_rows, read_spans, thinned

WORK = ROOT / "build/together"
TEXTS, TRAINING, PUBLIC, JUDGED = 150, 3000, 3000, 3000
DOMAINS: Mapping[str, Any] = told("leagues/together.toml")["domains"]
Scores = dict[str, wv.Float64Array]


@cache
def glove() -> wv.Embeddings:
    """Return vectors that no mechanism uses."""
    return wv.load_embeddings(locate("embeddings/glove.6B.50d.top100k.npz"))


@cache
def judge() -> wv.Prior:
    """Return a model of text that nothing else here has read: reviews, complaints, conversations with doctors."""
    texts = [plain(row["text"]) for row in read_rows("documents/imdb.test10k.jsonl.gz", ["text"])][:JUDGED]
    texts += [row["text"] for row in read_rows("documents/cfpb-complaints.jsonl.gz", ["text"])]
    rows = [row for row in read_rows("privacy/aci-bench.jsonl.gz", ["note"]) if row["split"] != "train"]
    return wv.build_prior([*texts, *(row[name] for row in rows for name in ("note", "dialogue"))], table())


def public_order(sentences: Sequence[str]) -> list[str]:
    """Return different sentences in an order that a public hash gives."""
    return sorted(set(sentences), key=lambda one: hashlib.blake2b(one.encode(), digest_size=8).digest())


class Domain:
    """The sentences of one domain that are released, and everything public that scores and attackers need."""

    def __init__(self, name: str) -> None:
        self.name = name
        facts = DOMAINS[name]
        self.source, self.column, same = facts["source"], facts["text"], facts["learnt"] == facts["released"]
        known, asked = (self._labelled(facts[files], facts["label"]) for files in ("learnt", "released"))
        self.texts = [text for text in public_order(list(asked)) if same or text not in known][:TEXTS]
        kept = {*self.texts, *self.stock("domain").embeddings.words}  # nothing learns from what is released
        rest = [text for text in public_order(list(known)) if kept.isdisjoint((text, wv.clean_slots(text).sentence))]
        self.training, self.classes = rest[:TRAINING], sorted(set(known.values()))
        self.labels = models.as_numbers([asked[text] for text in self.texts], self.classes)
        self.learnt = models.as_numbers([known[text] for text in self.training], self.classes)

    def _labelled(self, files: Sequence[str], label: str) -> dict[str, str]:
        """Return each sentence of four words or more with the label of its text."""
        return {
            sentence: str(row[label])
            for file in files
            for row in read_rows(file, [self.column, label])
            for sentence in _sentences(row[self.column])
        }

    @cached_property
    def public(self) -> list[str]:
        """Text of the domain that attackers have read."""
        if self.name == "reviews":
            return [plain(row["text"]) for row in read_rows(self.source, ["text"])][:4000]
        return [
            text for one in wv.gathered_recipe(self.source, _data()) for path in one.files for text in one.texts(path)
        ]

    @cached_property
    def prior(self) -> wv.Prior:
        """What an attacker knows who has read text of the domain."""
        return wv.build_prior(self.public, table())

    @cached_property
    def sentences(self) -> list[str]:
        """Public sentences from which an attacker of rephrased text learns which words stand behind a prototype."""
        if self.name != "reviews":
            return self.training
        return public_order([one for text in self.public[:600] for one in _sentences(text)])[:PUBLIC]

    @cached_property
    def counts(self) -> Any:
        """Which content words each of these holds, shape (n, v)."""
        corpus = read_words(table(), self.sentences)
        found = models.bag_of_words(np.where(self.content[corpus.tokens], corpus.tokens, -1), corpus, len(table()))
        found.data[:] = 1
        return found

    @cached_property
    def content(self) -> Any:
        """Which words carry content, and False for what is no word, shape (v + 1,)."""
        return np.append(content_words(table()), False)

    @cached_property
    def layouts(self) -> list[wv.ReleaseLayout]:
        """The texts as the vocabulary reads them."""
        return wv.ReleaseReader(table()).read([wv.ReleasedText(text) for text in self.texts])

    @cached_property
    def own(self) -> list[set[int]]:
        """The content words of each text."""
        return [set(layout.ids[self.content[layout.ids]].tolist()) for layout in self.layouts]

    @cached_property
    def meant(self) -> tuple[wv.Float32Array, list[wv.Float32Array]]:
        """What MiniLM reads in the texts."""
        return read_by_minilm(self.texts)

    @cache  # noqa: B019 (a domain lives as long as the program)
    def stock(self, name: str) -> wv.Stock:
        """Return a stock, built where it is not there yet: "general", or "domain" from the training parts."""
        if name == "general":
            return wv.load_stock()
        folder, shown = WORK / self.name, lambda *said: print(*said, file=sys.stderr, flush=True)
        if not folder.exists():
            WORK.mkdir(parents=True, exist_ok=True)
            settings = wv.StockSettings(encoder="minilm", each=wv.RECIPE_SENTENCES, name=self.name)
            if self.name == "reviews":
                own = replace(settings, each=6000, documents=wv.DocumentSettings(columns=("text",)))
                wv.build_stock([locate(self.source)], folder, own, resume=True, progress=shown)
            else:
                sets = wv.gathered_recipe(self.source, _data())
                wv.build_stock(sets, folder, wv.followed_recipe(self.source, settings), resume=True, progress=shown)
        return wv.load_stock(folder)

    @cached_property
    def _told(self) -> Callable[[Sequence[str]], wv.IdArray]:
        means, model = self._means(self.training), models.linear_model("logistic")
        models.fit_quietly(model, models.standardized(means)[0], self.learnt)
        return lambda texts: np.asarray(model.predict(models.standardized(means, self._means(texts))[1]))

    @staticmethod
    def _means(texts: Sequence[str]) -> wv.Float64Array:
        corpus = read_words(glove(), [text.lower() for text in texts])
        return centroids(corpus.tokens, corpus, glove().vectors)

    def kept(self, texts: Sequence[str]) -> Scores:
        """Return what some releases keep, for each text; the last is how near each comes to each original."""
        rows, states = read_by_minilm(texts)
        likely = log_likelihoods(texts, judge(), table())
        return {
            "similarity": (rows * self.meant[0]).sum(axis=1).astype(np.float64),
            "BERTScore": matching_scores(states, self.meant[1]).f1,
            "task": (self._told(texts) == self.labels).astype(np.float64),
            "likely": likely[:, 0],
            "states": likely[:, 1],
            "near": np.asarray(rows @ self.meant[0].T, dtype=np.float64),
        }

    def named(self, guesses: Sequence[Sequence[int]]) -> wv.Float64Array:
        """Return the share of each text's content words that are among some guesses; NaN where there are none."""
        pairs = zip(self.own, guesses, strict=True)
        return np.array([len(own & set(some)) / len(own) if own else np.nan for own, some in pairs])


def _sentences(text: str) -> list[str]:
    return [one for one in wv.split_sentences(wv.PrivateText(text)) if len(one.split()) > 3]


def _data() -> Path:
    folder = data_folder()
    assert folder is not None, "WORDVEIL_DATA must name the data folder"
    return folder


def picked(near: wv.Float64Array) -> wv.Float64Array:
    """Return how likely each release's original is picked out of all by the largest score, ties at random."""
    best = near == near.max(axis=1, keepdims=True)
    return np.asarray(np.diagonal(best) / best.sum(axis=1), dtype=np.float64)


AUTHORS, COMMENTS, LONGEST, MARKED = 600, 300, 60, 500
DRAWN = 24  # releases of each text that an attacker on words has read; on sentences more than one tell no more
OPTIONS = wv.TextOptions(unknown="typed")
Score = list[float]


def lists(epsilon: float) -> wv.NeighbourResponse:
    """Return neighbour response as it was the default when the league ran: 16 of 4 000 words."""
    return wv.NeighbourResponse(epsilon=epsilon, k=16, outputs=4000)


@cache
def denoiser(epsilon: float) -> wv.Denoiser:
    """Return what reads neighbour response."""
    return wv.Denoiser(table(), lists(epsilon), options=OPTIONS, least=0.0)


def released(series: str, epsilon: float | None, texts: Sequence[str], blind: bool, seed: int = 0) -> list[str]:
    """Return what a pipeline releases of some texts, or what it makes of random outputs."""
    if epsilon is None:
        return list(texts)
    source = wv.RandomSource.seeded_for_tests(seed)
    if series.startswith("rephrase"):
        _, encoder, _ = series.split(", ")
        size = wv.Rephraser(epsilon=epsilon, encoder=encoder).options.chosen["prototypes"]
        if blind:
            epsilon, encoder = 1e-9, "static"
        return [*released_texts(wv.Rephraser(prototypes=size, source=source, epsilon=epsilon, encoder=encoder), texts)]
    read = denoiser(epsilon)
    found = released_texts(wv.Sanitizer(table(), read.mechanism, options=OPTIONS, source=source), texts)
    if blind:
        found = random_words(found, read, seed)
    return [str(one.text) for one in read.read(found)] if series.endswith("denoised") else [str(one) for one in found]


def random_words(texts: Sequence[wv.ReleasedText], read: wv.Denoiser, seed: int = 0) -> list[wv.ReleasedText]:
    """Return uniform outputs of a mechanism in the layout of some releases."""
    generator, reader, outputs = np.random.default_rng(seed), wv.ReleaseReader(read.embeddings), read.randomizer.outputs
    return [
        reader.write(own, np.where(own.ids < 0, -1, generator.choice(outputs, len(own.ids))))
        for own in reader.read(texts)
    ]


def tells(series: str, epsilon: float | None, blind: bool) -> dict[str, Score]:
    """Return what an attacker tells of persons from a pipeline's releases: shares with standard errors."""
    authors = read_labelled("documents/spooky-author.tsv")
    authors = [authors[i] for i in mixed_order(len(authors))]
    rows = read_labelled("privacy/llmprivacy-synthetic.jsonl.gz", label="profile.sex")
    sexes = [row for row in rows if row.label]
    found = {}
    for name, items, count in (("author", authors, AUTHORS), ("sex", sexes, COMMENTS)):
        texts, labels = [" ".join(one.text.split()[:LONGEST]) for one in items], [one.label for one in items]
        others = texts[count:]  # of the same persons; whoever attacks draws releases of these again and again
        behind = partial(released, series.removesuffix(", denoised"), epsilon, blind=blind)
        draws = range(1, 1 + (DRAWN if series.startswith("neighbours") else 1))
        read = [text for seed in draws for text in behind(others, seed=seed)], labels[count:] * len(draws)
        texts, labels = texts[:count], labels[:count]
        guesses = _inferred(texts, released(series, epsilon, texts, blind), labels), _told(read, behind(texts), labels)
        found[name] = _share(max(guesses), len(labels))
        found[f"{name}, guessing"] = _share(Counter(labels).most_common(1)[0][1] / len(labels), len(labels))
    return found | _surviving(series, epsilon, blind)


def _inferred(before: Sequence[str], after: Sequence[str], labels: Sequence[str]) -> float:
    """Return the accuracy of the better of two attackers: who has learnt from releases, and from originals."""
    numbers = models.as_numbers(labels, sorted(set(labels)))
    bags = [models.bag_of_texts(table(), texts) for texts in (before, after)]
    return max(cross_validated(learnt, bags[1], numbers, folds=5) for learnt in bags)


def _told(read: tuple[Sequence[str], Sequence[str]], after: Sequence[str], labels: Sequence[str]) -> float:
    """Return the share that naive Bayes tells, having read releases of other texts and whose they are."""
    bags = [models.bag_of_texts(table(), texts) for texts in (read[0], after)]
    fitted = models.fit_quietly(models.load_sklearn("naive_bayes").MultinomialNB(), bags[0], read[1])
    return float((fitted.predict(bags[1]) == np.array(labels)).mean())


def _surviving(series: str, epsilon: float | None, blind: bool) -> dict[str, Score]:
    """Return the shares of marked values that stand in the release of their own text, and in another text's."""
    items = thinned(read_spans("privacy/presidio-synth.jsonl.gz"), MARKED)
    after = [text.lower() for text in released(series, epsilon, [item.text for item in items], blind)]
    hits: dict[str, list[bool]] = {}
    for i, other in enumerate(shifted(len(items))):
        for _, start, end in items[i].spans:
            value = items[i].text[start:end].lower()
            typed = bool(re.search(r"[\d@]", value))
            for part in [value] if typed else re.findall(r"[^\W\d_]{3,}", value):
                for place, text in (("", after[i]), (", another's", after[other])):
                    hits.setdefault(("values" if typed else "names") + place, []).append(
                        re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None
                    )
    return {name: _share(float(np.mean(own)), len(own)) for name, own in hits.items()}


def _share(value: float, n: int) -> Score:
    return [value, float(np.sqrt(value * (1 - value) / n))]
