"""Authorship linkage: whose released text is it, for an attacker who has other texts of the same authors?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Embeddings, ParameterError, RandomSource
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Score, Task, TaskKind
from wordveil_lab.evaluation.corpora import as_texts, released_tokens
from wordveil_lab.evaluation.models import load_sklearn
from wordveil_lab.evaluation.newsgroups import Post, parse_post
from wordveil_lab.evaluation.subjects import Entrant
from wordveil_lab.rows import read_rows

__all__ = ["AuthorshipLinkage", "closest_author"]

_FEATURES: tuple[dict[str, Any], ...] = (
    {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\S+"},
    {"analyzer": "char_wb", "ngram_range": (3, 4)},
)


@dataclass(frozen=True)
class Suspects:
    """Released-to-be texts with the number of their author, and each author's profile in every feature space."""

    texts: Corpus = field(repr=False)
    truth: NDArray[np.int64] = field(repr=False)
    spaces: tuple[tuple[Any, Any], ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class AuthorshipLinkage(Task):
    """Share of released texts whose author is named, among all authors, by the nearest profile.

    A profile is the TF-IDF of the words, word pairs and character n-grams of an author's known texts, which were never
    released: the attacker has them from elsewhere. (Profiles of texts that they sent through the public mechanism
    themselves linked no better for most mechanisms tried.) Style and content both help them, as they would in earnest;
    headers, quotations, signatures and the author's own name are stripped, as far as simple rules find them.

    Attributes:
        path: Posts with headers in a column text; or texts with another column that names their author.
        author: That column; "" for posts, whose author is in the From header.
        authors: Authors at most.
        known: Known texts of each.
        linked: Released texts of each.
        words: Words of each text at most; texts of fewer than a quarter are left out.
    """

    name: ClassVar[str] = "authorship"
    reads_words: ClassVar[bool] = True
    kind: ClassVar[TaskKind] = TaskKind.ATTACK
    scores: ClassVar[tuple[Score, ...]] = (
        Score(name="success", meaning="share of released texts linked to their author", better="lower"),
        Score(name="guessing", meaning="one over the number of authors", better="neither"),
    )
    needs: ClassVar[tuple[str, ...]] = ("sklearn",)
    path: str = "documents/20news.train.jsonl.gz"
    author: str = ""
    authors: int = 200
    known: int = 4
    linked: int = 2
    words: int = 100

    def prepare(self, embeddings: Embeddings) -> Suspects:
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
        return Suspects(linked, np.repeat(np.arange(len(chosen)), self.linked), _spaces(profiles))

    def _texts(self) -> dict[str, list[str]]:
        """Return the distinct long enough texts of every author, cut to the first words."""
        found: dict[str, list[str]] = {}
        for row in read_rows(self.path, ("text", self.author) if self.author else ("text",)):
            text = str(row["text"])
            post = Post(author=str(row[self.author]), body=text) if self.author else parse_post(text)
            words = post.body.split()
            cut = " ".join(words[: self.words])
            own = found.setdefault(post.author, [])
            if post.author and 4 * len(words) >= self.words and cut not in own:
                own.append(cut)
        return found

    def run(self, prepared: Suspects, subject: Entrant, source: RandomSource) -> Mapping[str, float]:
        tokens = released_tokens(prepared.texts, subject, source, self.name)
        released = as_texts(tokens, prepared.texts, subject.embeddings)
        guesses = _closest(prepared.spaces, released)
        authors = prepared.spaces[0][1].shape[0]
        return {"success": float((guesses == prepared.truth).mean()), "guessing": 1 / authors}


def closest_author(profiles: list[str], texts: list[str]) -> NDArray[np.int64]:
    """Return for each text the number of the profile (an author's known texts, joined) that is nearest."""
    return _closest(_spaces(profiles), texts)


def _closest(spaces: tuple[tuple[Any, Any], ...], texts: list[str]) -> NDArray[np.int64]:
    closeness = sum((space.transform(texts) @ profiles.T).toarray() for space, profiles in spaces)
    return np.asarray(np.asarray(closeness).argmax(axis=1))


def _spaces(profiles: list[str]) -> tuple[tuple[Any, Any], ...]:
    """Return each feature space fitted to the profiles, and the profiles in it, rows of norm 1."""
    vectorizer = load_sklearn("feature_extraction.text").TfidfVectorizer
    fitted = [vectorizer(sublinear_tf=True, **settings).fit(profiles) for settings in _FEATURES]
    return tuple((space, space.transform(profiles)) for space in fitted)
