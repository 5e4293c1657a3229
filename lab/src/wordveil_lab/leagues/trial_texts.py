"""The sets of texts of the league `default`: what is released, what is learnt from it, what its attackers have read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.api import Prior, PrivateText, load_embeddings, prior_of, split_sentences
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.evidence import word_prior
from wordveil_lab.evaluation.inversion import segments_of
from wordveil_lab.evaluation.models import as_numbers
from wordveil_lab.package import ROOT, told
from wordveil_lab.rows import mixed_order, plain, read_labelled

WORK = ROOT / "build/default.models"
REVIEWS = "documents/imdb.train.jsonl.gz"
CUT = (re.compile(r"(?<=\w)(n't)\b", re.IGNORECASE), re.compile(r"(?<=\w)('(?:s|re|ve|ll|d|m))\b", re.IGNORECASE))
LEAST = 20  # texts of a class: a smaller one is left out


@dataclass(frozen=True, kw_only=True)
class TextSet:
    """A set of labelled texts."""

    name: str
    path: str  # file of the texts; where there is no other for the test, a fixed fifth of it is tested
    test: str | None = None  # file of the test texts
    text: str = "text"  # column of the text; several joined by "+"
    label: str = "label"
    limits: tuple[int, int] = (8000, 2000)  # texts learnt from and tested at most
    words: int | None = None  # of each text, so many at most, as white space parts them
    attacked: int = 100  # test texts that are attacked
    reads: int = 40  # words of each that are attacked
    # Files that the attackers have read, with their columns and the number of texts at most; of the set's own files all
    # texts but those attacked.
    public: Sequence[tuple[str, str, int]] = ((REVIEWS, "text", 25_000),)
    sentences: bool = False  # whether they cut them into sentences, as the set is
    search: bool = False  # whether texts of one class are sought, too
    skipped: tuple[str, ...] = ()  # classes that say nothing

    @cached_property
    def texts(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Texts and classes, to learn from and to test."""
        rows = _rows(self.path, self.text, self.label, self.words)
        common = Counter(label for _, label in rows)
        rows = [(text, label) for text, label in rows if common[label] >= LEAST and label not in self.skipped]
        rows = [rows[i] for i in mixed_order(len(rows))]
        if self.test is None:
            fifth = len(rows) // 5
            return rows[fifth:][: self.limits[0]], rows[:fifth][: self.limits[1]]
        learnt = set(rows)
        tested = [row for row in _rows(self.test, self.text, self.label, self.words) if row not in learnt]
        tested = [tested[i] for i in mixed_order(len(tested))]
        return rows[: self.limits[0]], tested[: self.limits[1]]

    @cached_property
    def classes(self) -> list[str]:
        """The classes."""
        return sorted({label for _, label in self.texts[0]})

    def labels(self, part: int) -> NDArray[np.int64]:
        """Return the classes of the texts to learn from (0) or to test (1), by number."""
        return as_numbers([label for _, label in self.texts[part]], self.classes)

    @cached_property
    def corpora(self) -> tuple[Corpus, Corpus]:
        """Texts to learn from and to test as ids."""
        first, second = (encode(table(), [text for text, _ in part]) for part in self.texts)
        return first, second

    @cached_property
    def attack(self) -> Corpus:
        """What is attacked."""
        attacked = self.texts[1][: self.attacked]
        return encode(table(), [" ".join(text.split()[: self.reads]) for text, _ in attacked])

    @property
    def readings(self) -> list[Sequence[tuple[str, str, int]]]:
        """What attackers may have read: all of it, or all but the film reviews, which can dilute what it says."""
        near = [one for one in self.public if one[0] != REVIEWS]
        return [self.public, near] if 0 < len(near) < len(self.public) else [self.public]

    @cached_property
    def priors(self) -> list[Prior]:
        """What each of these readers knows of such text."""
        return [self.prior_from(one) for one in self.readings]

    def prior_from(self, public: Sequence[tuple[str, str, int]]) -> Prior:
        """Return what attackers know who have read some files; kept beside the cells."""
        path = WORK / f"{self.name} {' '.join(f'{Path(name).stem}-{most}' for name, _, most in public)}.npz"
        if not path.exists():
            WORK.mkdir(parents=True, exist_ok=True)
            self.read(public).save(path)
        return Prior.load(path)

    def read(self, public: Sequence[tuple[str, str, int]]) -> Prior:
        """Count public text, less what is attacked, with its contractions cut as those attacked are."""
        attacked = {text for text, _ in self.texts[1][: self.attacked]}
        texts: list[str] = []
        for name, column, most in public:
            own = [text for text, _ in _rows(name, column, None, None)]
            own = [own[i] for i in mixed_order(len(own))][:most]
            texts += own
        texts = [text for text in texts if " ".join(text.split()[: self.words]) not in attacked]
        if self.sentences:
            texts = [sentence for text in texts for sentence in split_sentences(PrivateText(text))]
        if any(" n't " in f"{text} " for text in attacked):
            for contraction in CUT:
                texts = [contraction.sub(r" \1", text) for text in texts]
        states = np.concatenate(segments_of(encode(table(), texts), len(table())))
        return prior_of(states, table(), pairs=None, triples=None, base=word_prior(table()))


table = cache(load_embeddings)
"""The embedded vocabulary, once."""


@cache
def _rows(path: str, text: str, label: str | None, words: int | None) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for item in read_labelled(path, text=text, label=label or text.partition("+")[0]):
        found.setdefault(" ".join(plain(item.text).split()[:words]), item.label.partition(",")[0] if label else "")
    return list(found.items())


def _fixed(value: Any) -> Any:
    """Return a value of the file with tuples for lists, as a set must not change."""
    if isinstance(value, dict):
        return {key: _fixed(item) for key, item in value.items()}
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


PLAN = _fixed(told("leagues/default.toml"))
"""What default.toml says: rows and sets."""
CHOICE, REPORTED = (tuple(TextSet(**one) for one in PLAN[part]) for part in ("choice", "reported"))
SETS: Mapping[str, TextSet] = {one.name: one for one in (*CHOICE, *REPORTED)}
GROWTH: Mapping[str, Mapping[str, Any]] = PLAN["growth"]
"""Set -> what some attackers have read of it."""
