"""Attacks on authors: whose released text is it, and what does it tell of who wrote it?

Newsgroup posts are read without what names their authors, by heuristics on public data: nothing here protects a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.api import Embeddings, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation import models
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.subjects import Entrant, as_texts, released_tokens
from wordveil_lab.rows import mixed_order, read_labelled

_BREAK = re.compile(r"[\t\n]")
_HEADER = re.compile(r"[A-Z][\w-]+:\s|<[^<>\s]+@")
_QUOTED = re.compile(r"\s*(?:[A-Za-z]{0,3}>|[|:}#])")
_ATTRIBUTION = re.compile(r"\bwr(?:ites|ote)\s*:|\bsays\s*:|^In article\b|<[^<>\s]+@[^<>\s]+>")
_SIGNATURE = re.compile(r"\s*-{2,}\s*$|\s*_{3,}|\s*={3,}|\s*\*{4,}")
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")
_NAME = re.compile(r"[^\W\d_]{3,}")


def parse_post(text: str) -> tuple[str, str]:
    """Return the author of a post with headers, and what they wrote, lines joined by spaces, without their own name.

    The author is the address in the From header, lower case, or "". All after a signature's rule is dropped.
    """
    head, _, rest = _BREAK.sub("\n", text).partition("\n\n")
    sender = next((line[5:] for line in head.split("\n") if line.lower().startswith("from:")), "")
    address = _ADDRESS.search(sender)
    kept: list[str] = []
    for line in rest.split("\n"):
        if kept and _SIGNATURE.match(line):
            break
        if not kept and _HEADER.match(line):  # some posts have a blank line among their headers
            continue
        if line.strip() and not _QUOTED.match(line) and not _ATTRIBUTION.search(line):
            kept.append(line.strip())
    names = {name.lower() for name in _NAME.findall(sender)}
    body = _NAME.sub(lambda found: "" if found.group().lower() in names else found.group(), " ".join(kept))
    return address.group().lower() if address else "", " ".join(body.split())


_FEATURES: tuple[dict[str, Any], ...] = (
    {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\S+"},
    {"analyzer": "char_wb", "ngram_range": (3, 4)},
)


Spaces = tuple[tuple[Any, Any], ...]
"""Feature spaces fitted to some profiles, and the profiles in each."""


@dataclass(frozen=True, kw_only=True)
class AuthorshipLinkage(Task):
    """Share of released texts whose author is named, among all authors, by the nearest profile.

    A profile is the TF-IDF of the words, word pairs and character n-grams of an author's known texts, which were never
    released: the attacker has them from elsewhere. (Profiles of texts that they sent through the public mechanism
    themselves linked no better for most mechanisms tried.) Style and content both help them, as they would in earnest;
    headers, quotations, signatures and the author's own name are stripped, as far as simple rules find them.
    """

    name: ClassVar[str] = "authorship"
    # Posts with headers in a column text; or texts with another column that names their author.
    path: str = "documents/20news.train.jsonl.gz"
    author: str = ""  # that column; "" for posts, whose author is in the From header
    authors: int = 200
    known: int = 4
    linked: int = 2
    words: int = 100  # words of each text at most; texts of fewer than a quarter are left out

    def prepare(self, embeddings: Embeddings) -> tuple[Corpus, NDArray[np.int64], Spaces]:
        """Return texts to be released, the number of each one's author, and each author's profile."""
        if min(self.authors - 1, self.known, self.linked, self.words) < 1:
            raise ParameterError("authors", self.authors, "must be at least 2; known, linked and words at least 1.")
        texts = self._texts()
        each = self.known + self.linked
        chosen = sorted(author for author, own in texts.items() if len(own) >= each)[: self.authors]
        if len(chosen) < 2:
            raise ParameterError("path", self.path, f"must hold two authors with {each} long enough texts each.")
        known = encode(embeddings, [" ".join(texts[author][: self.known]) for author in chosen])
        profiles = as_texts(known.tokens, known, embeddings)
        linked = encode(embeddings, [text for author in chosen for text in texts[author][self.known : each]])
        return linked, np.repeat(np.arange(len(chosen)), self.linked), _spaces(profiles)

    def _texts(self) -> dict[str, list[str]]:
        """Return the distinct long enough texts of every author, cut to the first words."""
        found: dict[str, list[str]] = {}
        for text, label in read_labelled(self.path, label=self.author or "text"):
            author, body = (label, text) if self.author else parse_post(text)
            words = body.split()
            cut = " ".join(words[: self.words])
            own = found.setdefault(author, [])
            if author and 4 * len(words) >= self.words and cut not in own:
                own.append(cut)
        return found

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        texts, truth, spaces = prepared
        released = as_texts(released_tokens(texts, subject, source, self.name), texts, subject.embeddings)
        right = _closest(spaces, released) == truth
        return {"success": float(right.mean()), "guessing": 1 / (int(truth.max()) + 1)}


def closest_author(profiles: list[str], texts: list[str]) -> NDArray[np.int64]:
    """Return for each text the number of the profile (an author's known texts, joined) that is nearest."""
    return _closest(_spaces(profiles), texts)


def _closest(spaces: Spaces, texts: list[str]) -> NDArray[np.int64]:
    closeness = sum((space.transform(texts) @ profiles.T).toarray() for space, profiles in spaces)
    return np.asarray(np.asarray(closeness).argmax(axis=1))


def _spaces(profiles: list[str]) -> Spaces:
    """Return each feature space fitted to the profiles, and the profiles in it, rows of norm 1."""
    vectorizer = models.load_sklearn("feature_extraction.text").TfidfVectorizer
    fitted = [vectorizer(sublinear_tf=True, **settings).fit(profiles) for settings in _FEATURES]
    return tuple((space, space.transform(profiles)) for space in fitted)


@dataclass(frozen=True, kw_only=True)
class AttributeInference(Task):
    """Accuracy of a classifier for an author's attribute, trained on texts released by the same mechanism.

    The attacker runs the public mechanism on labelled texts of their own: the other folds of a cross-validation. The
    score to compare with is that of always guessing the commonest value. In the default set an author writes several
    texts, so that recognizing the author helps too.
    """

    name: ClassVar[str] = "attribute-inference"
    path: str = "privacy/llmprivacy-synthetic.jsonl.gz"  # file with a text and a label
    text: str = "text"
    label: str = "profile.sex"  # column of the attribute, a.b for nested
    model: str = "logistic"  # "logistic" or "svm"
    folds: int = 5  # parts of the cross-validation, at least 2

    def prepare(self, embeddings: Embeddings) -> Any:
        items = [item for item in read_labelled(self.path, text=self.text, label=self.label) if item.label]
        classes = sorted({item.label for item in items})
        if self.folds < 2 or len(classes) < 2 or len(items) < 2 * self.folds:
            raise ParameterError("folds", self.folds, "must be at least 2, with two values and two texts a fold.")
        return models.encode_labelled(embeddings, items, classes)

    def run(self, prepared: Any, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        corpus, labels = prepared
        tokens = released_tokens(corpus, subject, source, self.name)
        counts = models.bag_of_words(tokens, corpus, len(subject.embeddings))
        commonest = Counter(labels.tolist()).most_common(1)[0][1]
        right = cross_validated(counts, counts, labels, model=self.model, folds=self.folds)
        return {"accuracy": right, "guessing": commonest / len(labels)}


def cross_validated(
    learnt: csr_array, asked: csr_array, labels: NDArray[np.int64], *, model: str = "logistic", folds: int
) -> float:
    """Return the accuracy of a linear model that learns each text's class from the other folds.

    Both count tokens, shape (n, v): `learnt` in the texts to learn from, `asked` in the same as the test reads them.

    Raises:
        ParameterError: If some folds leave texts of one class alone to learn from.
    """
    fold = np.array(mixed_order(len(labels))) % folds
    right = 0
    if any(len(np.unique(labels[fold != held])) < 2 for held in range(folds)):
        raise ParameterError(
            "label", len(np.unique(labels)), "classes are too few, or too rare, to learn from: two are needed."
        )
    for held in range(folds):
        train, weights = models.weighted_bag(learnt[fold != held])
        fitted = models.fit_quietly(models.linear_model(model), train, labels[fold != held])
        guesses = fitted.predict(models.weighted_bag(asked[fold == held], weights)[0])
        right += int((guesses == labels[fold == held]).sum())
    return right / len(labels)
