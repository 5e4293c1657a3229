"""What a release is still good for: meaning, fluency, and classes; each beside what would be reached without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

import wordveil.api as wv
from wordveil_lab.corpora import encode
from wordveil_lab.court.identification import Rows
from wordveil_lab.court.pairs import ANOTHER, Measure, PairedTexts, shifted
from wordveil_lab.evaluation.authors import closest_author, cross_validated
from wordveil_lab.evaluation.models import as_numbers, bag_of_texts

FOLDS = 5
CANDIDATES = 5000  # commonest words that masked prediction chooses from
MASKED = 400  # words tried


def similarity(rows: Rows, n: int) -> list[Measure]:
    """Return the mean cosine of each original and its release, beside that of another text's release."""
    found = []
    for name, (own, released) in rows.items():
        true, other = (float((own * beside).sum(axis=1).mean()) for beside in (released, released[shifted(n)]))
        found.append(Measure("similarity", f"cosine, {name}", true, other, ANOTHER, n=n, better="higher"))
    return found


def fluency(pairs: PairedTexts) -> list[Measure]:
    """Return the perplexity of the releases under the public trigram model, beside that of the originals.

    Per word; sentence ends and pauses count as words, and all words outside the vocabulary as one.
    """
    prior, table = wv.load_prior(), wv.load_embeddings(every_output=True)
    sums = [log_likelihoods(texts, prior, table).sum(axis=0) for texts in (pairs.originals, pairs.released)]
    before, after = (float(np.exp(-total / max(count, 1))) for total, count in sums)
    return [Measure("fluency", "perplexity", after, before, "the originals", n=len(pairs))]


def log_likelihoods(texts: Sequence[str], prior: wv.Prior, table: wv.Embeddings) -> wv.Float64Array:
    """Return for each text ln P under a model of public text, and of how many states that is, shape (n, 2)."""
    found = np.zeros((len(texts), 2))
    for i, layout in enumerate(wv.ReleaseReader(table).read([wv.ReleasedText(text) for text in texts])):
        states = layout.states
        if len(states) > 1:
            after, pair = prior.pairs(states[:-1], states[1:])
            thrice = prior.triples(pair[:-1], states[2:], after[1:])
            found[i] = np.log(after[:1]).sum() + np.log(thrice).sum(), len(states) - 1
    return found


def classes(pairs: PairedTexts, column: str) -> list[Measure]:
    """Return how well a class is told from the texts: as a task of the release's reader, or as an attack.

    A "label" is learnt from releases and told from originals, as a model would be used; an "attribute" of the author is
    told from releases, by an attacker who learnt it from other texts' releases.
    """
    values = pairs.facts[column]
    names = sorted(set(values))
    labels = as_numbers(values, names)
    table = wv.load_embeddings(every_output=True)
    before, after = (bag_of_texts(table, texts) for texts in (pairs.originals, pairs.released))
    attack = column == "attribute"
    value = cross_validated(after, after if attack else before, labels, folds=FOLDS)
    commonest = Counter(labels.tolist()).most_common(1)[0][1] / len(labels)
    own = cross_validated(before, before, labels, folds=FOLDS)
    group, better = ("inference", "lower") if attack else ("task", "higher")
    return [
        Measure(group, f"{column}, {len(names)} classes", value, shown, told, n=len(labels), better=better)
        for shown, told in ((commonest, "the commonest class"), (own, "learnt from the originals"))
    ]


def authors(pairs: PairedTexts) -> list[Measure]:
    """Return how often the author is named by the nearest profile of their other originals.

    Every author with two texts or more takes part: half of their texts are known, of the other half the release.
    """
    texts: dict[str, list[int]] = {}
    for i, author in enumerate(pairs.facts["author"]):
        texts.setdefault(author, []).append(i)
    known = [own for own in texts.values() if len(own) > 1]
    if len(known) < 2:
        return []
    profiles = [" ".join(pairs.originals[i] for i in own[: len(own) // 2]) for own in known]
    asked = [(place, i) for place, own in enumerate(known) for i in own[len(own) // 2 :]]
    truth = np.array([place for place, _ in asked])
    guesses, unveiled = (
        closest_author(profiles, [source[i] for _, i in asked]) for source in (pairs.released, pairs.originals)
    )
    named = float((guesses == truth).mean())
    return [
        Measure("inference", f"author among {len(known)}", named, beside, told, n=len(asked))
        for beside, told in ((1 / len(known), "guess"), (float((unveiled == truth).mean()), "from the originals"))
    ]


def masked_words(pairs: PairedTexts) -> list[Measure]:
    """Return how often a word of an original is named from the released words around its place, not from its own.

    By the public trigram model: two words before it, one after. Only pairs with equally many tokens are read.
    """
    table, prior = wv.load_embeddings(every_output=True), wv.load_prior()
    texts = [" ".join(own) for own, _ in pairs.aligned], [" ".join(other) for _, other in pairs.aligned]
    original, released = (encode(table, part) for part in texts)
    if len(original.tokens) != len(released.tokens) or (original.offsets != released.offsets).any():
        return []
    v = len(table)
    seen = np.where(released.tokens < 0, v, released.tokens).astype(np.int64)
    owner = original.owners

    def beside(places: np.ndarray, step: int) -> np.ndarray:
        there = np.clip(places + step, 0, len(seen) - 1)
        same = (owner[there] == owner[places]) & (there == places + step)
        return np.where(same, seen[there], v + wv.STOP_WORD)

    candidates = np.argsort(-prior.frequency[:v], kind="stable")[:CANDIDATES].astype(np.int64)
    asked = np.flatnonzero(np.isin(original.tokens, candidates))
    asked = asked[np.linspace(0, len(asked) - 1, min(MASKED, len(asked))).astype(int)] if len(asked) else asked
    if not asked.size:
        return []
    hits = 0
    for place in asked:
        one = np.array([place])
        first, second, after = (beside(one, step) for step in (-2, -1, 1))
        guess = candidates[_fit(first, second, candidates, after).argmax()]
        hits += int(guess == original.tokens[place])
    common = float((original.tokens[asked] == candidates[0]).mean())
    share = hits / len(asked)
    return [Measure("inference", "masked words, trigrams", share, common, "the commonest word", n=len(asked))]


def _fit(first: np.ndarray, second: np.ndarray, words: np.ndarray, after: np.ndarray) -> wv.Float64Array:
    """Return ln P(word | two before) + ln P(next | word and the one before), for each candidate."""
    prior = wv.load_prior()
    _, pair = prior.pairs(first, second)
    here, joined = prior.pairs(second, words)
    following, _ = prior.pairs(words, after)
    return np.asarray(np.log(prior.triples(pair, words, here)) + np.log(prior.triples(joined, after, following)))
