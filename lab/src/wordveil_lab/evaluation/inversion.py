"""Inversion of whole texts: how many of their words are found by the best of four attackers, on the same releases.

    naming     the released word itself, or the word nearest to the released vector
    alone      the likeliest word given its own release and public frequencies
    pairs      the likeliest word given the whole release and a public model of pairs of words, over all words
    triples    the same with triples, over the likeliest words of each token: what `wordveil denoise` reads, by the
               same code

Every attacker is scored token by token on the same tokens, those of the vocabulary. The best one is chosen by its
score: whoever attacks in earnest knows as well which of them works. Words that carry content are counted apart, as
function words are guessed whatever the noise; there, `alone`, `pairs` and `triples` name no other word than such.

The model of pairs is joined with what each release says of its original (`evidence`) by forward-backward: the posterior
of every token given the whole released text, exact under the model, over all words. Naming the likeliest word of each
posterior is what maximizes the expected number of tokens named; the likeliest *sequence* does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import wordveil.api as wv
from wordveil.api import Float64Array, FloatArray
from wordveil_lab.corpora import Corpus, encode
from wordveil_lab.evaluation.base import Task
from wordveil_lab.evaluation.evidence import content_words, observe, word_prior
from wordveil_lab.evaluation.subjects import Entrant, place_unknown
from wordveil_lab.rows import read_texts


@dataclass(frozen=True)
class PairModel:
    """Frequencies and pair counts of public text, each smoothed by Witten and Bell's estimate of the unseen.

    State v, the last one, stands for every token outside the vocabulary.
    """

    unigram: Float64Array = field(repr=False)  # P(w), shape (v + 1,), positive
    pairs: csr_array = field(repr=False)  # P(right | left) of pairs that were seen, shape (v + 1, v + 1)
    trust: Float64Array = field(repr=False)  # weight of `pairs` for each left word; the rest is the unigram's

    @classmethod
    def of(cls, corpus: Corpus, prior: Float64Array) -> PairModel:
        """Count a corpus; nothing is learnt from one text's end to the next one's beginning.

        What words the corpus lacks are taken from the prior, shape (v,), positive.
        """
        v, tokens = len(prior), np.where(corpus.tokens < 0, len(prior), corpus.tokens)
        counts = np.bincount(tokens, minlength=v + 1).astype(np.float64)
        unknown = (counts[v] + 0.5) / (len(tokens) + 1)
        kinds = np.count_nonzero(counts) or 1
        unigram = (counts + kinds * np.append(prior * (1 - unknown), unknown)) / (len(tokens) + kinds)
        inside = np.ones(len(tokens), dtype=bool)
        starts = corpus.offsets[:-1]
        inside[starts[starts < len(tokens)]] = False
        left, right = tokens[:-1][inside[1:]], tokens[1:][inside[1:]]
        pairs = csr_array((np.ones(len(left)), (left, right)), shape=(v + 1, v + 1))
        pairs.sum_duplicates()
        followed, distinct = np.bincount(left, minlength=v + 1), np.diff(pairs.indptr)
        pairs.data /= np.repeat(np.maximum(followed, 1), distinct)
        return cls(unigram, pairs, followed / np.maximum(followed + distinct, 1))

    def single(self) -> PairModel:
        """Return the model in single precision: half the time and memory of an attack, and ample."""
        parts: list[Any] = [part.astype(np.float32) for part in (self.unigram, self.pairs, self.trust)]
        return PairModel(*parts)

    def following(self, states: FloatArray) -> FloatArray:
        """Return sum over left of states[left] P(right | left), shape (v + 1,) or (v + 1, n) as the states are."""
        found = self.pairs.T @ (self.trust * states.T).T
        found += np.multiply.outer(self.unigram, (1 - self.trust) @ states)
        return np.asarray(found)

    def preceding(self, states: FloatArray) -> FloatArray:
        """Return sum over right of P(right | left) states[right], shape (v + 1,) or (v + 1, n) as the states are."""
        found = (self.trust * (self.pairs @ states).T).T
        found += np.multiply.outer(1 - self.trust, self.unigram @ states)
        return np.asarray(found)


def pair_posteriors(likelihoods: FloatArray, model: PairModel) -> FloatArray:
    """Return P(state of token i | the whole release) of one text, or of n texts of equal length.

    Args:
        likelihoods: P(release of token i | state) up to a factor per token, shape (t, v + 1) or (t, v + 1, n); no
            column is all zero. Ones after a shorter text's end say nothing of its tokens.
        model: The pair model.

    Returns:
        An array of that shape.
    """
    found = np.empty_like(likelihoods)
    expected: FloatArray = model.unigram.reshape(-1, *[1] * (likelihoods.ndim - 2))
    for i in range(len(found)):  # forward: given the releases up to i
        np.multiply(expected, likelihoods[i], out=found[i])
        found[i] /= found[i].sum(axis=0)
        expected = model.following(found[i])
    after = np.ones_like(found[0]) if len(found) else found
    for i in range(len(found) - 2, -1, -1):  # backward: times what the later releases say
        after = model.preceding(likelihoods[i + 1] * after)
        after /= after.max(axis=0)
        found[i] *= after
        found[i] /= found[i].sum(axis=0)
    return found


ENTRIES = 1 << 25  # evidence held at a time: 128 MiB
WEIGHED = 256, 64, 16  # for each token: words, words that carry content, and those of both that triples are read of
STORED = 10_000_000  # pairs, and triples, of the public model: none that was seen twice is dropped
ATTACKERS = ("naming", "alone", "pairs", "triples")


@dataclass(frozen=True)
class Attack:
    """The texts to invert, which of their tokens count, and the models of public text."""

    corpus: Corpus = field(repr=False)
    known: NDArray[np.bool_] = field(repr=False)
    content_words: wv.IdArray = field(repr=False)
    pairs: PairModel = field(repr=False)
    prior: wv.Prior = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class _Inversion(Task):
    """Share of a text's words that are found from its release."""

    path: str = "sentences/sst2.dev.tsv"  # file whose texts are attacked
    text: str = "text"
    # File of public text for the attackers' models; texts that are attacked are left out of it.
    public: str = "documents/imdb.train.jsonl.gz"
    public_text: str = "text"
    limit: int = 200  # texts attacked
    length: int | None = None  # words of each that are attacked, as white space parts them; None for all
    public_limit: int = 10_000  # public texts for the model of pairs and triples

    def prepare(self, embeddings: wv.Embeddings) -> Attack:
        texts = read_texts(self.path, column=self.text, limit=self.limit)
        corpus = encode(embeddings, [" ".join(text.split()[: self.length]) for text in texts])
        known = corpus.tokens >= 0
        if not known.any():
            raise wv.ParameterError("path", self.path, "must hold at least one word of the vocabulary.")
        attacked, known_texts = set(texts), read_texts(self.public, column=self.public_text, limit=self.public_limit)
        public = encode(embeddings, [text for text in known_texts if text not in attacked])
        states, base = np.concatenate(segments_of(public, len(embeddings))), word_prior(embeddings)
        prior = wv.prior_of(states, embeddings, pairs=STORED, triples=STORED, base=base)
        rarer = np.flatnonzero(content_words(embeddings)).astype(np.int32)
        return Attack(corpus, known, rarer, PairModel.of(public, base).single(), prior)

    def applies(self, subject: Entrant) -> bool:
        return subject.vectors is None or subject.law_known

    def run(self, prepared: Attack, subject: Entrant, source: wv.RandomSource) -> Mapping[str, float]:
        corpus = prepared.corpus
        guesses = dict.fromkeys(ATTACKERS, np.stack((corpus.tokens, corpus.tokens)))
        if not subject.is_baseline:
            guesses = _guesses(prepared, subject, source, self.name)
        found: dict[str, float] = {}
        content = np.isin(corpus.tokens, prepared.content_words)
        for i, (part, counted) in enumerate((("", prepared.known), ("-content", content))):
            right = {name: (guess[i] == corpus.tokens)[counted] for name, guess in guesses.items()}
            shares = {name + part: float(hits.mean()) if hits.size else 0.0 for name, hits in right.items()}
            found |= {"best" + part: max(shares.values()), **shares}
        commonest = prepared.prior.frequency[: len(subject.embeddings)].argmax()
        found["guessing"] = float((corpus.tokens[prepared.known] == commonest).mean())
        return {score.name: found[score.name] for score in self.scores}


def _guesses(attack: Attack, subject: Entrant, source: wv.RandomSource, label: str) -> dict[str, wv.IdArray]:
    """Return what each attacker takes every token for, and for what if it is a content word, each of shape (2, t)."""
    corpus, v = attack.corpus, len(subject.embeddings)
    frequencies = attack.prior.frequency[:v] / attack.prior.frequency[:v].sum()
    inputs = place_unknown(corpus.tokens, subject, source, label)
    seen = observe(subject, inputs, frequencies.astype(np.float64), source, label)
    found = {name: np.empty((2, len(corpus.tokens)), dtype=np.int32) for name in ATTACKERS}
    found["naming"][:] = seen.named
    for places in _batches(corpus, v):
        inside = places >= 0
        tokens = places[inside]
        kinds, which = np.unique(seen.kinds[tokens], return_inverse=True)
        # After the end of a shorter text stands a release that any token may have: it says nothing.
        rows = np.ones((len(kinds) + 1, v + 1), dtype=np.float32)
        rows[:-1] = seen.likelihoods(kinds)
        turned, rows = np.ascontiguousarray(rows.T), rows[:-1]
        found["alone"][:, tokens] = likeliest(rows[:, :-1] * frequencies, attack.content_words)[:, which]
        spread = np.full(places.shape, -1, np.int32)
        spread[inside] = which
        read = pair_posteriors(np.stack([np.take(turned, step, axis=1) for step in spread]), attack.pairs)
        found["pairs"][:, tokens] = likeliest(np.moveaxis(read, 1, 2)[inside][:, :-1], attack.content_words)
        texts = list(zip(places.T, spread.T, strict=True))
        here, read_ = np.concatenate([own[own >= 0] for own, _ in texts]), [kind[own >= 0] for own, kind in texts]
        found["triples"][:, here] = in_context(read_, rows, attack.prior, attack.content_words)
    return found


def likeliest(scores: wv.FloatArray, content_words: wv.IdArray) -> wv.IdArray:
    """Return the likeliest word of each row, and the likeliest that carries content, shape (2, rows)."""
    best = scores.argmax(axis=1)
    if len(content_words):
        others = np.ones(scores.shape[1], dtype=bool)
        others[content_words] = False
        scores[:, others] = -1.0  # the scores are at least 0
    return np.stack((best, scores.argmax(axis=1))).astype(np.int32)


def in_context(
    texts: Sequence[wv.IdArray],
    likelihoods: wv.Float32Array,
    prior: wv.Prior,
    content_words: wv.IdArray,
    weighed: tuple[int, int, int] = WEIGHED,
) -> wv.IdArray:
    """Return the likeliest word of every token, and the likeliest that carries content, shape (2, tokens).

    Args:
        texts: Of every text, which rows of `likelihoods` its tokens were released as.
        likelihoods: P(release | state) of every word and, last, of an unknown token, shape (kinds, v + 1).
        prior: The model.
        content_words: Which words carry content.
        weighed: How many words are weighed for each token, how many of those, and of how many triples are read.
    """
    v = likelihoods.shape[1] - 1
    content = np.zeros(v + 1, dtype=bool)
    content[content_words] = True
    joint = likelihoods * prior.frequency[: v + 1]
    states = np.concatenate((_top(joint, weighed[0]), _top(np.where(content, joint, 0), weighed[1])), axis=1)
    chances = np.take_along_axis(likelihoods, states, axis=1)
    size = min(weighed[0], v + 1)
    again = (states[:, size:, None] == states[:, None, :size]).any(axis=2)
    chances[:, size:][again | ~content[states[:, size:]]] = 0.0
    # The last row stands for the stops around a text.
    states = np.append(states, np.full((1, states.shape[1]), v + wv.STOP_WORD), axis=0)
    chances = np.append(chances, np.eye(1, states.shape[1], dtype=np.float32), axis=0)
    ends = np.full(1, -1, np.int32)
    segments = [np.concatenate((ends, own, ends)) for own in texts]
    listed: tuple[wv.IdArray, wv.Float32Array] = (np.asarray(states, dtype=np.int32), chances)
    read = wv.posteriors(segments, lambda seen: (listed[0][seen], listed[1][seen]), prior, width=weighed[2])
    inside = np.concatenate(segments) >= 0
    return np.stack((_best_of(read, inside, np.arange(v + 1) < v), _best_of(read, inside, content)))


def _top(joint: wv.FloatArray, n: int) -> NDArray[np.intp]:
    """Return the places of the n largest of each row."""
    n = min(n, joint.shape[1])
    return np.argpartition(-joint, n - 1, axis=1)[:, :n]


def _best_of(read: wv.Posterior, inside: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> wv.IdArray:
    """Return of some places the likeliest state among those wanted."""
    states = read.states[inside]
    chances = np.where(np.append(wanted, np.zeros(wv.STOP_WORD, dtype=bool))[states], read.chances[inside], -1.0)
    return np.asarray(states[np.arange(len(states)), chances.argmax(axis=1)], dtype=np.int32)


def segments_of(corpus: Corpus, v: int) -> list[wv.IdArray]:
    """Return each text's states between two stops: layout is not read here."""
    states = np.where(corpus.tokens < 0, v + wv.OTHER_WORD, corpus.tokens).astype(np.int32)
    stop = np.full(1, v + wv.STOP_WORD, np.int32)
    return [np.concatenate((stop, text, stop)) for text in np.split(states, corpus.offsets[1:-1]) if len(text)]


def _batches(corpus: Corpus, v: int) -> Iterator[NDArray[np.intp]]:
    """Yield the tokens of texts of about equal length, shape (longest, texts), -1 where a text has ended.

    What is held of a batch fits into memory; one text always does.
    """
    lengths = np.diff(corpus.offsets)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        longest = int(lengths[order[0]])
        texts, order = np.split(order, [max(1, ENTRIES // (longest * v))])
        steps = np.arange(longest)[:, None]
        yield np.where(steps < lengths[texts], corpus.offsets[texts] + steps, -1)


@dataclass(frozen=True, kw_only=True)
class ReviewInversion(_Inversion):
    """Inversion of film reviews' sentences by attackers who have read other reviews."""

    name: ClassVar[str] = "inversion-reviews"


@dataclass(frozen=True, kw_only=True)
class SentenceInversion(_Inversion):
    """Inversion of captions and headlines by attackers who have read others of their kind."""

    name: ClassVar[str] = "inversion-sentences"
    path: str = "sentences/stsb.dev.tsv"
    text: str = "sentence1"
    public: str = "sentences/stsb.train.tsv"
    public_text: str = "sentence1"
