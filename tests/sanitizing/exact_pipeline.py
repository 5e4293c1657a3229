"""The exact law of a whole pipeline on a tiny vocabulary: every draw there can be, through the real code.

A document is released once for each assignment of draws. `Everything` is a source that hands out the assignments,
`Channel` a mechanism whose output is the assigned one and which adds up its probability. What reads, groups, places
stand-ins, spreads and writes is the sanitizer itself.
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

import seeds
import wordveil as wv
from wordveil.mechanisms.base import WordMechanism, WordRandomizer
from wordveil.mechanisms.exponential import FittedExponential
from wordveil.mechanisms.grids import noise_counts
from wordveil.mechanisms.wrappers import StandIns, Typed
from wordveil.randomness import RandomSource, random_bits
from wordveil.sanitizing.ids import once_per_document
from wordveil.text.kinds import KINDS

GRID = np.linspace(-60.0, 60.0, 20_001)


def channel(fitted):
    """P(output id | input id), shape (v, v): exact for selection, else integrated over one grid of noisy values.

    A mechanism that answers for unknown tokens has one more row, the last: index -1 reads it.

    One grid, and one draw of the decoder for each of its points, serve all inputs: the quotient of two rows is then a
    mixture of quotients of two densities, as it is in truth.
    """
    embeddings = fitted.embeddings
    v = len(embeddings)
    found = np.zeros((v, v))
    if fitted.answers_unknown:
        rows = fitted.law(np.array([*range(v), -1], np.int32))
        found = np.zeros((v + 1, v))
        found[:, fitted.outputs] = rows  # of classes, their faces alone
        return found
    if isinstance(fitted, FittedExponential):
        weights = fitted.rows.weights(np.arange(v, dtype=np.int32))  # of the rows that draw
        found[:, embeddings.candidates] = weights / weights.sum(axis=1, keepdims=True)
        return found
    draws = fitted.decoder.sample(seeds.source(1).stream("grid"), len(GRID))
    decoded = fitted.decoder.decode(GRID[:, None], draws)
    for word in range(v):
        law = np.exp(_log_density(fitted.randomizer, word, float(embeddings.vectors[word, 0])))
        np.add.at(found[word], decoded, law / law.sum())
    return found


def _log_density(randomizer, word, place):
    """ln of the density of the noisy value on the grid, up to a constant, in one dimension."""
    mechanism = randomizer.mechanism
    if isinstance(mechanism, wv.NADP):
        return -0.5 * ((GRID - place) / randomizer.sigmas[word]) ** 2
    if isinstance(mechanism, wv.ClippedGaussian):
        return -0.5 * ((GRID - np.clip(place, -1, 1)) / randomizer.sigma) ** 2
    if isinstance(mechanism, wv.ClippedLaplace):
        return -np.abs(GRID - np.clip(place, -1, 1)) / randomizer.scale
    return -mechanism.epsilon * np.abs(GRID - place)  # laplace; mahalanobis, whose matrix is (1) in one dimension


@dataclass(frozen=True)
class Ready(WordMechanism):
    """A mechanism that was fitted before."""

    real: WordRandomizer
    name = "ready"

    def fit(self, embeddings):
        return self.real


@dataclass(frozen=True)
class Channel(WordMechanism):
    """A fitted mechanism whose draws are assigned; its promise stays its own."""

    real: WordRandomizer
    matrix: np.ndarray = field(compare=False)
    log: np.ndarray = field(compare=False)  # of each document's draws
    name = "channel"

    def fit(self, embeddings):
        return Assigned(self, embeddings)


@dataclass(frozen=True)
class Assigned(WordRandomizer):
    parameters: Channel
    embeddings: wv.Embeddings
    draw_width: int = 1

    @property
    def answers_unknown(self):
        return self.parameters.real.answers_unknown

    def guarantee(self):
        return self.parameters.real.guarantee()

    def disclosed(self):
        return self.parameters.real.disclosed()

    def sample(self, stream, n):
        return np.full(n, stream.document), np.array(stream.outputs[:n])

    def randomize(self, ids, draws, *, threads=None, progress=None):
        documents, outputs = draws
        released = self.embeddings.candidates[outputs]
        with np.errstate(divide="ignore"):
            # Assigned outputs that nobody draws are summed over: each of the candidates counts equally.
            gained = np.log(self.parameters.matrix[ids, released]) + np.log(len(self.embeddings.candidates))
        np.add.at(self.parameters.log, documents, gained)
        return released


@dataclass(frozen=True)
class Assignment:
    """What one document draws: stand-ins for its unknown tokens, then outputs; the words of its typed tokens."""

    numbers: tuple
    typed: tuple = ()


class Everything(RandomSource):
    """A source whose document k draws assignment k, for tokens with these ids."""

    def __init__(self, assignments, ids, stand_ins):
        super().__init__(seeds.key(16))
        self.assignments, self.ids, self.stand_ins = assignments, ids, stand_ins

    def nonces(self, ids, contents):
        return list(range(len(self.assignments)))

    def documents(self, nonces, counts):
        return _Drawing(self, list(zip(nonces, counts, strict=True)))


@dataclass(frozen=True)
class _Drawing:
    source: Everything
    documents: list

    def chunks(self, sample, size):
        drawn = [sample(_Stream(self.source, nonce), count) for nonce, count in self.documents if count]
        if drawn:
            yield tuple(map(np.concatenate, zip(*drawn, strict=True)))

    def lane_bits(self, lane, size, width=1, _=None):
        return (drawn for (drawn,) in self.chunks(lambda stream, n: (random_bits(stream.lane(lane), (n,)),), size))


class _Stream:
    """Stands for the stream of one document, with the lanes that stand-ins and surrogates are drawn from."""

    def __init__(self, source, document):
        self.document = document
        chosen, places = source.assignments[document], np.flatnonzero(source.ids == -1)
        stand_ins = [-(-(number << 64) // source.stand_ins) for number in chosen.numbers]  # the first words that pick
        self._words = {StandIns.lane: np.zeros(len(source.ids), np.uint64)}
        self._words[Typed.lane] = self._words[StandIns.lane].copy()
        for place, word in zip(places, stand_ins, strict=False):
            self._words[StandIns.lane][place] = word
        for place, word in zip(np.flatnonzero(source.ids < -1), chosen.typed, strict=True):
            self._words[Typed.lane][place] = word
        self.outputs = chosen.numbers[len(places) :]

    def lane(self, index):
        return _Lane(self._words[index])


@dataclass(frozen=True)
class _Lane:
    words: np.ndarray

    @property
    def bit_generator(self):
        return self

    def random_raw(self, size):
        assert size == len(self.words)
        return self.words


def surrogate_words(code, options):
    """Words that stand for all a typed token can draw, with the probability of each: generators have two members."""
    points = -2 - len(KINDS) - code
    for grid in options.grids:
        if 0 <= points < grid.points:
            counts = noise_counts(grid.points, grid.epsilon)
            law = [*counts[:0:-1], *counts]
            return [(sum(law[:i]), count / 2**64) for i, count in enumerate(law)]
        points -= grid.points
    return [(0, 0.5), (1 << 63, 0.5)]


def law(fitted, matrix, options, document):
    """The exact law of what a document becomes: each tuple of released texts with its probability, and the promise.

    Args:
        fitted: The mechanism, fitted.
        matrix: Its channel, shape (v, v).
        options: The choices around it.
        document: Its texts.
    """
    embeddings = fitted.embeddings
    candidates = len(embeddings.candidates)
    reader = wv.Sanitizer(embeddings, Channel(fitted, matrix, np.zeros(0)), options=options).parts.encoder
    ids = np.concatenate([np.empty(0, np.int32), *(encoded.ids for encoded in reader.encode(document))])
    if options.unknown not in ("random", "typed"):
        ids = ids[ids >= 0]  # nothing is drawn for the others
    if options.per == "document":
        ids = ids[once_per_document(ids, np.array([len(ids)]))[0]]  # what is drawn for, in its order
    if fitted.answers_unknown:
        ids = np.where(ids == -1, 0, ids)  # no stand-ins are drawn
    spent = int((ids == -1).sum()) + len(ids)
    typed = [surrogate_words(code, options) for code in ids[ids < -1].tolist()]
    drawn = [tuple(zip(*chosen, strict=True)) or ((), ()) for chosen in itertools.product(*typed)]
    numbers = list(itertools.product(range(candidates), repeat=spent))
    assignments = [Assignment(n, words) for words, _ in drawn for n in numbers]
    logs = [np.log(chances).sum() - np.log(candidates) * spent for _, chances in drawn for _ in numbers]
    made = Channel(fitted, matrix, np.array(logs))
    sanitizer = wv.Sanitizer(embeddings, made, options=options, source=Everything(assignments, ids, candidates))
    batch = sanitizer.release_documents([document] * len(assignments), ids=list(map(str, range(len(assignments)))))
    found = defaultdict(float)
    for k, probability in enumerate(np.exp(made.log).tolist()):
        found[tuple(batch.texts[k * len(document) : (k + 1) * len(document)])] += probability
    assert abs(sum(found.values()) - 1) < 1e-9
    return {texts: probability for texts, probability in found.items() if probability > 0}, sanitizer


def largest_loss(one, other):
    """max ln P/P' over all outputs, infinite where only one law has it."""
    return max(np.log(p / other[texts]) if texts in other else np.inf for texts, p in one.items())


def excess(one, other, epsilon):
    """Hockey-stick delta: sum of (P - e^epsilon P')+ over all outputs."""
    return sum(max(0.0, p - np.exp(epsilon) * other.get(texts, 0.0)) for texts, p in one.items())
