"""The three domains of the league `together`: what is released, what scores it, what its attackers have read."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

import wordveil.api as wv
from wordveil_lab.clone import ROOT
from wordveil_lab.corpora import encode as read_words
from wordveil_lab.court.utility import log_likelihoods
from wordveil_lab.evaluation.bert_score import matching_scores, read_by_minilm
from wordveil_lab.evaluation.data import plain
from wordveil_lab.evaluation.evidence import content_words
from wordveil_lab.evaluation.models import as_numbers, bag_of_words, fit_quietly, linear_model, standardized
from wordveil_lab.evaluation.subjects import centroids
from wordveil_lab.leagues.trial_texts import table
from wordveil_lab.rows import data_folder, locate, read_rows
from wordveil_lab.told import told

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
        self.labels = as_numbers([asked[text] for text in self.texts], self.classes)
        self.learnt = as_numbers([known[text] for text in self.training], self.classes)

    def _labelled(self, files: Sequence[str], label: str) -> dict[str, str]:
        """Return each sentence of four words or more with the label of its text."""
        return {
            sentence: str(row[label])
            for file in files
            for row in read_rows(file, [self.column, label])
            for sentence in wv.split_sentences(wv.PrivateText(row[self.column]))
            if len(sentence.split()) > 3
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
        cut = [
            one
            for text in self.public[:600]
            for one in wv.split_sentences(wv.PrivateText(text))
            if len(one.split()) > 3
        ]
        return public_order(cut)[:PUBLIC]

    @cached_property
    def counts(self) -> Any:
        """Which content words each of these holds, shape (n, v)."""
        corpus = read_words(table(), self.sentences)
        found = bag_of_words(np.where(self.content[corpus.tokens], corpus.tokens, -1), corpus, len(table()))
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
                own = wv.StockSettings(
                    encoder="minilm", each=6000, name=self.name, documents=wv.DocumentSettings(columns=("text",))
                )
                wv.build_stock([locate(self.source)], folder, own, resume=True, progress=shown)
            else:
                sets = wv.gathered_recipe(self.source, _data())
                wv.build_stock(sets, folder, wv.followed_recipe(self.source, settings), resume=True, progress=shown)
        return wv.load_stock(folder)

    @cached_property
    def _told(self) -> Callable[[Sequence[str]], wv.IdArray]:
        means, model = self._means(self.training), linear_model("logistic")
        fit_quietly(model, standardized(means)[0], self.learnt)
        return lambda texts: np.asarray(model.predict(standardized(means, self._means(texts))[1]))

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


def _data() -> Path:
    folder = data_folder()
    assert folder is not None, "WORDVEIL_DATA must name the data folder"
    return folder


def picked(near: wv.Float64Array) -> wv.Float64Array:
    """Return how likely each release's original is picked out of all by the largest score, ties at random."""
    best = near == near.max(axis=1, keepdims=True)
    return np.asarray(np.diagonal(best) / best.sum(axis=1), dtype=np.float64)
