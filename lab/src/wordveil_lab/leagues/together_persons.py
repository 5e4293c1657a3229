"""What releases tell of persons, for wordveil_lab.leagues.together: author, sex, and personal values that survive.

Authors are three novelists (sentences of documents/spooky-author.tsv), sexes those of made-up profiles (comments of
privacy/llmprivacy-synthetic.jsonl.gz), values those that Presidio's generator marked in made-up sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.api import Denoiser, RandomSource, ReleasedText, ReleaseReader, Rephraser
from wordveil_lab.corpora import released_texts
from wordveil_lab.court.pairs import shifted
from wordveil_lab.evaluation.authors import cross_validated
from wordveil_lab.evaluation.data import mixed_order, read_labelled, read_spans
from wordveil_lab.evaluation.models import as_numbers, bag_of_texts
from wordveil_lab.leagues.trial_texts import table
from wordveil_lab.rows import thinned
from wordveil_lab.told import told

RELEASES: list[tuple[str, float | None]] = [
    (name, epsilon) for name, rates in told("leagues/together.toml")["persons"].items() for epsilon in rates or [None]
]
AUTHORS, COMMENTS, LONGEST, MARKED = 600, 300, 60, 500
OPTIONS = wv.TextOptions(unknown="typed")
Score = list[float]


def lists(epsilon: float) -> wv.NeighbourResponse:
    """Return neighbour response as it was the default when the league ran: 16 of 4 000 words."""
    return wv.NeighbourResponse(epsilon=epsilon, k=16, outputs=4000)


@cache
def denoiser(epsilon: float) -> Denoiser:
    """Return what reads neighbour response."""
    return Denoiser(table(), lists(epsilon), options=OPTIONS, least=0.0)


def released(series: str, epsilon: float | None, texts: Sequence[str], blind: bool) -> list[str]:
    """Return what a pipeline releases of some texts, or what it makes of random outputs."""
    if epsilon is None:
        return list(texts)
    source = RandomSource.seeded_for_tests(0)
    if series.startswith("rephrase"):
        _, encoder, _ = series.split(", ")
        size = Rephraser(epsilon=epsilon, encoder=encoder).options.chosen["prototypes"]
        given: dict[str, Any] = (
            {"epsilon": 1e-9, "encoder": "static"} if blind else {"epsilon": epsilon, "encoder": encoder}
        )
        return [*released_texts(Rephraser(prototypes=size, source=source, **given), texts)]
    read = denoiser(epsilon)
    found = released_texts(wv.Sanitizer(table(), read.mechanism, options=OPTIONS, source=source), texts)
    if blind:
        found = random_words(found, read)
    return [str(one.text) for one in read.read(found)] if series.endswith("denoised") else [str(one) for one in found]


def random_words(texts: Sequence[ReleasedText], read: Denoiser, seed: int = 0) -> list[ReleasedText]:
    """Return uniform outputs of a mechanism in the layout of some releases."""
    generator, reader, outputs = np.random.default_rng(seed), ReleaseReader(read.embeddings), read.randomizer.outputs
    return [
        reader.write(own, np.where(own.ids < 0, -1, generator.choice(outputs, len(own.ids))))
        for own in reader.read(texts)
    ]


def tells(series: str, epsilon: float | None, blind: bool) -> dict[str, Score]:
    """Return what an attacker tells of persons from a pipeline's releases: shares with standard errors."""
    authors = read_labelled("documents/spooky-author.tsv")
    authors = [authors[i] for i in mixed_order(len(authors))][:AUTHORS]
    rows = read_labelled("privacy/llmprivacy-synthetic.jsonl.gz", label="profile.sex")
    sexes = [row for row in rows if row.label][:COMMENTS]
    found = {}
    for name, items in (("author", authors), ("sex", sexes)):
        texts, labels = [" ".join(one.text.split()[:LONGEST]) for one in items], [one.label for one in items]
        after = released(series, epsilon, texts, blind)
        found[name] = _share(_inferred(texts, after, labels), len(labels))
        found[f"{name}, guessing"] = _share(Counter(labels).most_common(1)[0][1] / len(labels), len(labels))
    return found | _surviving(series, epsilon, blind)


def _inferred(before: Sequence[str], after: Sequence[str], labels: Sequence[str]) -> float:
    """Return the accuracy of the better of two attackers: who has learnt from releases, and from originals."""
    numbers = as_numbers(labels, sorted(set(labels)))
    bags = [bag_of_texts(table(), texts) for texts in (before, after)]
    return max(cross_validated(learnt, bags[1], numbers, folds=5) for learnt in bags)


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
