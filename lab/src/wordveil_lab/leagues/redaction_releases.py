"""What the league of redaction compares, lists of words, laws, mechanisms word by word, and a detector, and attacks.

Presidio is read where it is installed and `WORDVEIL_SPACY_MODEL` names a spaCy model for it. Attackers are who has the
original, who knows words of it, and who has read similar text.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

import wordveil.api as wv
from wordveil_lab.corpora import released_texts
from wordveil_lab.evaluation.models import load_sklearn
from wordveil_lab.package import told

COMMON = (1000, 2000, 4000, 8000)
MODEL = "WORDVEIL_SPACY_MODEL"
WORD_BY_WORD, TEM_ROW, DETECTOR = "word by word, the default", "word by word, TEM at 9.36", "Presidio"
"""Names of rows that withhold by no list."""

Release = Callable[[Sequence[str]], Sequence[str]]
Places = Sequence[tuple[list[str], str]]
"""What is shown around hidden words, and the words."""
Token = tuple[int, int, bool]
"""Where a token begins and ends, and whether it is kept."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Something that releases texts."""

    name: str  # what it is called on the page
    release: Release
    tokens: Callable[[str], list[Token]] | None = field(default=None, repr=False)  # None where words are exchanged
    redactor: wv.Redactor | None = None  # what withholds by a list
    image: Release = list  # what an original looks like to who knows all that is public of the release


def redacting(name: str, redactor: wv.Redactor) -> Row:
    """Return the row of a redactor."""

    def release(texts: Sequence[str]) -> list[str]:
        rows = redactor.release_rows([[wv.PrivateText(text)] for text in texts], judged=False)
        return [text or "" for row in rows for text in row]

    @cache
    def tokens(text: str) -> list[Token]:
        return [(span.start, span.end, span.kept) for span in redactor.spans(text)]

    return Row(name=name, release=release, tokens=tokens, redactor=redactor)


def exchanging(name: str, redactor: wv.Redactor, sanitizer: wv.Sanitizer) -> Row:
    """Return a row in which each hidden word in small letters is drawn word by word: a law of neighbours."""

    def release(texts: Sequence[str]) -> list[str]:
        pieces: list[str] = []
        words: dict[int, str] = {}  # hidden ones, by the place of their piece
        ends = []
        for text in texts:
            end = 0
            for span in redactor.spans(text):
                token = text[span.start : span.end]
                if not span.kept and span.kind.printed == "word":
                    words[len(pieces) + 1] = token
                pieces += [text[end : span.start], token if span.kept else f"[{span.kind.printed}]"]
                end = span.end
            pieces.append(text[end:])
            ends.append(len(pieces))
        for place, drawn in zip(words, released_texts(sanitizer, list(words.values())), strict=True):
            pieces[place] = drawn
        return ["".join(pieces[low:high]) for low, high in pairwise([0, *ends])]

    return Row(name=name, release=release)


def detecting() -> Row | None:
    """Return the row of Presidio with all that it finds hidden, None where it is not installed."""
    model = os.environ.get(MODEL)
    if not model:
        return None
    presidio, engines = (importlib.import_module(f"presidio_analyzer{part}") for part in ("", ".nlp_engine"))
    chosen = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    engine = engines.NlpEngineProvider(nlp_configuration=chosen).create_engine()
    analyzer, cut = presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"]), wv.Redactor()

    @cache
    def tokens(text: str) -> list[Token]:
        found = [(one.start, one.end) for one in analyzer.analyze(text, language="en")]
        return [
            (span.start, span.end, not any(low < span.end and high > span.start for low, high in found))
            for span in cut.spans(text)
        ]

    def released(text: str) -> str:
        marked = tokens(text)
        stops = [*(start for start, _, _ in marked), len(text)]
        pieces = [text[: stops[0]]]
        for (start, end, kept), (_, following) in zip(marked, pairwise(stops), strict=True):
            pieces += [text[start:end] if kept else "[name]", text[end:following]]
        return "".join(pieces)

    meta = engine.nlp["en"].meta
    name = f"{DETECTOR} {version('presidio-analyzer')} with spaCy's {meta['lang']}_{meta['name']} {meta['version']}"
    return Row(name=name, release=lambda texts: [released(text) for text in texts], tokens=tokens)


def rows() -> list[Row]:
    """Return all that is compared; the first releases texts as they are."""
    words = {n: wv.PublicWords(common=n) for n in COMMON}
    embeddings = wv.load_embeddings()
    default, tem = (wv.Sanitizer(embeddings, made) for made in (wv.NeighbourResponse(), wv.TEM(epsilon=9.36)))
    classes = wv.ClassMap(default)
    packs = wv.PublicWords(packs=("spoken", "clinic", "bank", "food"))
    detector = detecting()
    return [
        Row(name="as they are", release=list),
        *(redacting(f"common:{n}", wv.Redactor(words=words[n])) for n in COMMON),
        redacting("common:4000 and all packs", wv.Redactor(words=packs)),
        *(redacting(f"common:{n}, surrogates", wv.Redactor(words=words[n], law="surrogate")) for n in COMMON),
        *(exchanging(f"common:{n}, neighbours", wv.Redactor(words=words[n]), default) for n in COMMON),
        Row(
            name=WORD_BY_WORD, release=partial(released_texts, default), image=lambda texts: [*map(classes.map, texts)]
        ),
        Row(name=TEM_ROW, release=partial(released_texts, tem)),
        *([detector] if detector else []),
    ]


PLACEHOLDER = re.compile(r"\[(?:name|number|link|word|other)\]")
KNOWN = 3  # words of a text that an attacker knows
BESIDE = (-3, -2, -1, 1, 2, 3)
SMOOTHING, PENALTY = 0.01, 0.1  # of naive Bayes and of the linear reader, chosen on a fifth of the questions that teach
FEATURES = 1 << 18
SEEN = 2  # a word of which a linear reader is taught

FACTS = told("leagues/redaction.toml")
CONDITIONS: Mapping[str, str] = FACTS["conditions"]
"""Words of posts, and the condition that each names."""


def found_again(originals: Sequence[str], releases: Sequence[str]) -> float:
    """Return the share of releases whose original, or its image, is the nearest of all, by words."""
    words = load_sklearn("feature_extraction.text").TfidfVectorizer(sublinear_tf=True)
    there = words.fit_transform(originals)
    here = words.transform([PLACEHOLDER.sub(" ", text) for text in releases])
    nearest = (here @ there.T).toarray().argmax(axis=1)
    return float((nearest == np.arange(len(originals))).mean())


def singled_out(releases: Sequence[str], *, rarest: bool = True) -> float:
    """Return the share of releases that three kept words, the rarest of the set or any, tell from all others."""
    sets = [set(re.findall(r"[a-z']+", PLACEHOLDER.sub(" ", text.lower()))) for text in releases]
    spread = Counter(word for words in sets for word in words)
    order, alone = np.random.Generator(np.random.PCG64(0)), 0
    for words in sets:
        drawn = {word: order.random() for word in sorted(words)}
        known = sorted(words, key=lambda word: (spread[word], word) if rarest else (drawn[word], word))[:KNOWN]
        alone += len(known) == KNOWN and sum(all(word in other for word in known) for other in sets) == 1
    return alone / len(sets)


def places(redactor: wv.Redactor, text: str) -> Iterator[tuple[list[str], str]]:
    """Yield what is shown around each hidden word in small letters, and the word."""
    spans = redactor.spans(text)
    shown = [text[s.start : s.end].lower() if s.kept else f"[{s.kind.printed}]" for s in spans]
    padded, bag = [*"^^^", *shown, *"$$$"], sorted(set(shown))
    for i, span in enumerate(spans):
        if not span.kept and span.kind.printed == "word":
            near = {step: padded[i + 3 + step] for step in BESIDE}
            pairs = [f"{near[-1]} {near[1]}", f"<{near[-2]} {near[-1]}", f">{near[1]} {near[2]}"]
            beside = [f"{step}{token}" for step, token in near.items()]
            yield [*beside, *pairs, *bag], text[span.start : span.end].lower()


def guessed(redactor: wv.Redactor, attacked: Sequence[str], read: Sequence[str], *, linear: bool) -> float:
    """Return the share of hidden words that the better of two readers names.

    One reads three tokens on either side, and the words of the text: linear, or naive Bayes where it has read more text
    than a linear one can. The other says the commonest word of the longest context that it has read.
    """
    taught, asked = ([pair for text in texts for pair in places(redactor, text)] for texts in (read, attacked))
    if not taught or not asked:
        return 0.0
    hasher = load_sklearn("feature_extraction").FeatureHasher(FEATURES, input_type="string", alternate_sign=False)
    seen, shown = (hasher.transform([features for features, _ in pairs]) for pairs in (taught, asked))
    words, right = (np.array([word for _, word in pairs]) for pairs in (taught, asked))
    readers = (_linear if linear else _bayes)(seen, words, shown), _by_longest(taught, asked)
    return max(float((said == right).mean()) for said in readers)


def _by_longest(taught: Places, asked: Places) -> Any:
    """Return the commonest word read between the same two tokens, else after or before the same ones, else of all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for features, word in taught:
        for context in ("", *features[len(BESIDE) : len(BESIDE) + 3], *features[2:4]):
            counts[context][word] += 1
    best = {context: found.most_common(1)[0][0] for context, found in counts.items()}
    longest = ([*features[len(BESIDE) : len(BESIDE) + 3], *features[2:4], ""] for features, _ in asked)
    return np.array([next(best[context] for context in contexts if context in best) for contexts in longest])


def _linear(seen: Any, words: Any, shown: Any) -> Any:
    counts = Counter(words.tolist())
    often = np.array([counts[word] >= min(SEEN, max(counts.values())) for word in words.tolist()])
    if len(set(words[often].tolist())) == 1:
        return np.full(shown.shape[0], words[often][0])
    reader = load_sklearn("svm").LinearSVC(C=PENALTY, tol=0.1, max_iter=200)
    return reader.fit(seen[often], words[often]).predict(shown)


def _bayes(seen: Any, words: Any, shown: Any) -> Any:
    """Return the word of the largest posterior: log P(w) + sum over features of log((n(f, w) + a) / (n(w) + a F))."""
    labels, ids = np.unique(words, return_inverse=True)
    each = sparse.csr_matrix((np.ones(len(ids)), (np.arange(len(ids)), ids)), shape=(len(ids), len(labels)))
    counts = (seen.T @ each).tocsr()
    totals, features = np.asarray(counts.sum(axis=0)).ravel(), (counts.getnnz(axis=1) > 0).sum()
    level, prior = -np.log(totals / SMOOTHING + features), np.log(np.bincount(ids) / len(ids))
    counts.data = np.log1p(counts.data / SMOOTHING)
    best = []
    for low in range(0, shown.shape[0], 500):
        part = shown[low : low + 500]
        best.append(((part @ counts).toarray() + np.asarray(part.sum(axis=1)) * level + prior).argmax(axis=1))
    return labels[np.concatenate(best)]


def told_share(
    words: Any, learnt: Sequence[str], classes: Sequence[str], asked: Sequence[str], right: Sequence[str]
) -> float:
    """Return the share of texts whose class a linear classifier tells, by features that a vectorizer takes."""
    reader = load_sklearn("pipeline").make_pipeline(words, load_sklearn("svm").LinearSVC(tol=0.01))
    return float((reader.fit(learnt, classes).predict(asked) == np.array(right)).mean())


def named_conditions(text: str) -> list[str]:
    """Return the condition of each word of a text that names one."""
    return [CONDITIONS[word] for word in re.findall("[a-z]+", text.lower()) if word in CONDITIONS]


def conditions(posts: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return the posts that name one condition only, each with its author and the condition."""
    named = [(text, author, set(named_conditions(text))) for text, author in posts]
    return [(text, author, condition.pop()) for text, author, condition in named if len(condition) == 1]
