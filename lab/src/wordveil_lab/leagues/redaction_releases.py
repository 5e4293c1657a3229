"""What the league of redaction compares: lists of words, laws, mechanisms word by word, and a detector.

Presidio is read where it is installed and `WORDVEIL_SPACY_MODEL` names a spaCy model for it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from itertools import pairwise

from wordveil.api import TEM, NeighbourResponse, PrivateText, PublicWords, Redactor, Sanitizer, load_embeddings
from wordveil_lab.corpora import released_texts

COMMON = (1000, 2000, 4000, 8000)
MODEL = "WORDVEIL_SPACY_MODEL"
WORD_BY_WORD, TEM_ROW, DETECTOR = "word by word, the default", "word by word, TEM at 9.36", "Presidio"
"""Names of rows that withhold by no list."""

Release = Callable[[Sequence[str]], Sequence[str]]
Token = tuple[int, int, bool]
"""Where a token begins and ends, and whether it is kept."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Something that releases texts."""

    name: str  # what it is called on the page
    release: Release
    tokens: Callable[[str], list[Token]] | None = field(default=None, repr=False)  # None where words are exchanged
    redactor: Redactor | None = None  # what withholds by a list


def redacting(name: str, redactor: Redactor) -> Row:
    """Return the row of a redactor."""

    def release(texts: Sequence[str]) -> list[str]:
        rows = redactor.release_rows([[PrivateText(text)] for text in texts], judged=False)
        return [text or "" for row in rows for text in row]

    @cache
    def tokens(text: str) -> list[Token]:
        return [(span.start, span.end, span.kept) for span in redactor.spans(text)]

    return Row(name=name, release=release, tokens=tokens, redactor=redactor)


def exchanging(name: str, redactor: Redactor, sanitizer: Sanitizer) -> Row:
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
    analyzer, cut = presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"]), Redactor()

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
    words = {n: PublicWords(common=n) for n in COMMON}
    embeddings = load_embeddings()
    default, tem = (Sanitizer(embeddings, made) for made in (NeighbourResponse(), TEM(epsilon=9.36)))
    packs = PublicWords(packs=("spoken", "clinic", "bank", "food"))
    detector = detecting()
    return [
        Row(name="as they are", release=list),
        *(redacting(f"common:{n}", Redactor(words=words[n])) for n in COMMON),
        redacting("common:4000 and all packs", Redactor(words=packs)),
        *(redacting(f"common:{n}, surrogates", Redactor(words=words[n], law="surrogate")) for n in COMMON),
        *(exchanging(f"common:{n}, neighbours", Redactor(words=words[n]), default) for n in COMMON),
        Row(name=WORD_BY_WORD, release=partial(released_texts, default)),
        Row(name=TEM_ROW, release=partial(released_texts, tem)),
        *([detector] if detector else []),
    ]
