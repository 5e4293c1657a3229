"""The two kinds of mechanism and the contract each fulfils.

    VectorMechanism --fit--> VectorRandomizer     vectors to vectors
    WordMechanism   --fit--> WordRandomizer       word ids to word ids

A mechanism is a frozen keyword-only dataclass of public parameters; `fit(embeddings)` returns a *new* object bound
to a public vocabulary, and nothing mutates. A randomizer carries its claim (`guarantee()`) beside its sampler, and
separates drawing from applying: `sample` consumes a document's stream, `randomize` is deterministic given the draws.
That separation is what makes a row's output independent of the batch it travels in.

Whatever else somebody wants to know of a mechanism is asked here too, and has an answer that errs to the safe side:
which pairs the claim speaks of and which to attack, the exact law, the loss to compose, the card it can run on. Nobody
asks for the class. A mechanism of a third party needs no more than the abstract methods.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wordveil.arrays import Float64Array, FloatArray, IdArray, PrivateIds, Progress, ReleasedIds, ReleasedVectors
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import NUMPY
from wordveil.mechanisms.common import Mechanism, Randomizer, check_mechanism
from wordveil.promises.certificates import Certificate
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.relations import Pair, Relation
from wordveil.promises.worked import WorkedPair
from wordveil.randomness import DocumentStreams, Draws, RandomSource, Stream
from wordveil.vocabulary.table import Embeddings

if TYPE_CHECKING:
    from wordveil.kernels.channel_rows import ChannelRows

LAW_ROWS = 64  # rows of a law held at a time

InputDomain = Literal["any vectors", "vocabulary vectors"]
"""Which vectors a claim covers."""


class VectorMechanism(Mechanism):
    """Parameters of a mechanism from vectors to vectors.

    Attributes:
        certifies_vocabulary: Whether words and matrix enter what is certified, rather than their dimension alone.
    """

    releases = "vectors"
    certifies_vocabulary: ClassVar[bool] = False

    def fit(self, embeddings: Embeddings) -> VectorRandomizer:
        """Bind to a public vocabulary, of which only the dimension counts where none is needed."""
        return self.for_dimensions(embeddings.dimensions)

    @property
    def needs_vocabulary(self) -> bool:
        """Whether `for_dimensions` has nothing to return."""
        return type(self).for_dimensions is VectorMechanism.for_dimensions

    def for_dimensions(self, dimensions: int) -> VectorRandomizer:
        """Return the randomizer for vectors of d >= 1 dimensions; a `ParameterError` where a vocabulary is needed."""
        why = f"must be given: {self.name} takes its noise from a public table. For any vectors take another, such as "
        raise ParameterError("vocabulary", None, f"{why}laplace or clipped-gaussian.")

    def constants(self, embeddings: Embeddings) -> Mapping[str, float]:
        """Return the numbers that fitting computes, for a certificate; none where `certificate_method` is empty."""
        return {}


def vector_mechanism(thing: object) -> VectorMechanism:
    """Return what was given if it is a mechanism of vectors; raise `ParameterError` otherwise."""
    if isinstance(thing, VectorMechanism):
        return thing
    raise ParameterError("mechanism", check_mechanism(thing).name, "must be a vector mechanism, such as laplace.")


class VectorRandomizer(Randomizer):
    """A vector mechanism ready to draw."""

    releases = "vectors"
    dimensions: int  # number of columns of what it releases: d, or m for a projection

    @property
    def inputs(self) -> InputDomain:
        """What inputs its claim covers."""
        return "any vectors"

    @property
    def clip_norm(self) -> float | None:
        """Radius of the ball that inputs are clipped to; None where they are not."""
        return None

    @property
    def largest_stretch(self) -> float:
        """By how much what noise is added to may lie farther apart than the inputs, as the rate of the noise has it."""
        return 1.0

    @property
    def input_dimensions(self) -> int:
        """Number of columns of what it is given."""
        return self.dimensions

    @property
    def grid(self) -> float | None:
        """The public grid, a power of two, that `randomize` rounds real sums to; None where it returns float sums."""
        return None

    @property
    def draw_width(self) -> int:
        """Eight-byte values drawn per row: callers bound memory with it."""
        return self.dimensions + 1

    @abstractmethod
    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw for the next n vectors of the document the stream is seated at, one lane for each law."""

    @abstractmethod
    def randomize(self, vectors: FloatArray, draws: Draws) -> ReleasedVectors:
        """Return the noisy vectors, shape (n, d) (or (n, m) for a projection), in row order."""

    def points(self, vectors: FloatArray, draws: Draws, grid: float) -> ReleasedVectors:
        """Return what `randomize` does, on another grid where it has one; float sums elsewhere."""
        return self.randomize(vectors, draws)

    def related(self, claim: Guarantee | None = None) -> Relation:
        from wordveil.mechanisms.worst_pairs import vector_relation  # loads kernels, which drawing does not need

        return vector_relation(self.published() if claim is None else claim, self.metric)

    def worst_pairs(
        self, n: int = 8, seed: int = 0, *, claim: Guarantee | None = None, embeddings: Embeddings | None = None
    ) -> list[Pair]:
        """Return pairs of input vectors, n >= 3 or fewer, at which a false claim is most likely to show.

        The claim is another one about this mechanism, None for `published()`; vectors are taken from a public
        vocabulary, where there is one, and random ones by the seed.
        """
        from wordveil.mechanisms.worst_pairs import worst_vectors

        return worst_vectors(
            self.related(claim),
            self.input_dimensions,
            embeddings,
            clip_norm=self.clip_norm if self.inputs == "any vectors" else None,
            metric=self.metric,
            count=n,
            seed=seed,
        )

    def log_density(self, outputs: Float64Array, vectors: FloatArray) -> Float64Array | None:
        """Return ln p(output | input) up to a constant that is the same for all inputs; None where it is not known.

        Of outputs, shape (n, dimensions), and inputs, shape (k, d), comes (n, k): -inf where an output is impossible,
        inf where an input without noise gives no other. Audits choose events by it and count them on real samples; it
        makes the best attack on vectors.
        """
        return None

    def decoding_space(self, embeddings: Embeddings) -> Embeddings:
        """Return the vocabulary as a decoder must see it: with its vectors where the noisy vectors live."""
        return embeddings

    def release(self, vectors: FloatArray, source: RandomSource) -> ReleasedVectors:
        """Randomize rows, shape (n, d), with a fresh stream of the source, `RandomSource()` for a release.

        The one-call form for small arrays: float64, in row order, multiples of `grid` where there is one.
        """
        return self.randomize(vectors, self.sample(source.fresh_stream(), len(vectors)))


class WordMechanism(Mechanism):
    """Parameters of a mechanism from words to words."""

    releases = "words"

    @abstractmethod
    def fit(self, embeddings: Embeddings) -> WordRandomizer:
        """Bind to a public vocabulary."""

    def fitter(self, embeddings: Embeddings) -> Callable[[float], WordRandomizer]:
        """Return the function that fits it at an epsilon; what does not depend on epsilon is made once."""
        return lambda epsilon: self.with_epsilon(epsilon).fit(embeddings)

    def fit_certified(self, embeddings: Embeddings, certificate: Certificate | None) -> WordRandomizer:
        """Bind to a public vocabulary with the certificate that a calibration needs; None where it needs none.

        `CertificateError` if there is one and the mechanism takes none, or there is none and it needs one.
        """
        if certificate is not None:
            self.require(certificate, embeddings)
        return self.fit(embeddings)


class WordRandomizer(Randomizer):
    """A word mechanism bound to a vocabulary.

    Attributes:
        embeddings: The public vocabulary.
        draw_width: Eight-byte values drawn per token: callers bound memory with it.
        answers_unknown: Whether `randomize` and `law` take -1, a token outside the vocabulary, and its guarantee
            covers such tokens; otherwise `StandIns` around it does.
        engine: What its heaviest work runs on: "numpy", a compiled kernel's instruction set or a card.
        draws_by_arithmetic: Whether the words drawn can differ with the arithmetic of the machine, or of a card.
    """

    releases = "words"
    embeddings: Embeddings
    draw_width: int
    answers_unknown: ClassVar[bool] = False

    @property
    def engine(self) -> str:
        return NUMPY

    @property
    def draws_by_arithmetic(self) -> bool:
        return False

    @property
    def vectors(self) -> VectorRandomizer | None:
        """The vector randomizer whose noisy vectors it decodes; None where there are no vectors."""
        return None

    @property
    def selection(self) -> ChannelRows | None:
        """Its rows b(y) exp(-rate * min(dist(x, y), cap)), where its law is of this form; None elsewhere.

        What exact computations over whole vocabularies read, for which `law` takes too much memory.
        """
        return None

    @property
    def faces(self) -> IdArray | None:
        """The word that every word's class shows, shape (v,), where it releases public classes of words; else None."""
        return None

    @property
    def outputs(self) -> IdArray:
        """The ids it can return, sorted: the columns of `law`."""
        return self.embeddings.candidates

    @property
    def kinds(self) -> Sequence[WordRandomizer]:
        """The mechanisms of the kinds of tokens that are told apart, each with a law of its own; else itself."""
        return (self,)

    @property
    def ends(self) -> Sequence[WorkedPair]:
        """Its two most distant inputs, where it is that of numbers: what its whole range loses; else none."""
        return ()

    @abstractmethod
    def sample(self, stream: Stream, n: int) -> Draws:
        """Draw for the next n tokens of the document the stream is seated at, one lane for each law."""

    def draws(self, documents: DocumentStreams, size: int) -> Iterator[Draws]:
        """Yield what `sample` draws for a batch of documents, `size` tokens at a time.

        A mechanism that draws 64-bit words from lane 0 alone does better with `document_bits`: the same words.
        """
        return documents.chunks(self.sample, size)

    @abstractmethod
    def randomize(
        self, ids: PrivateIds, draws: Draws, *, threads: int | None = None, progress: Progress | None = None
    ) -> ReleasedIds:
        """Return the released ids, shape (n,), given input ids in [0, v) and their draws."""

    def law(self, ids: IdArray) -> Float64Array | None:
        """Return the exact rows P(output | input) of some inputs, shape (n, outputs), by the definition.

        For small vocabularies: the oracle that faster ways to draw are tested against. None where there is no closed
        form, as for decoded noise.
        """
        return None

    def _laws(self, ids: IdArray, size: int = LAW_ROWS) -> Iterator[tuple[IdArray, Float64Array]]:
        """Yield some inputs at a time, with their rows, where a law is stated."""
        for start in range(0, len(ids), size):
            rows = self.law(ids[start : start + size])
            assert rows is not None
            yield ids[start : start + size], rows

    def likelihoods(self, outputs: IdArray) -> Float64Array | None:
        """Return P(output | word) of some outputs for every word, shape (outputs, v): columns of `law`; or None."""
        if self.law(outputs[:0]) is None:
            return None
        wanted, found = np.searchsorted(self.outputs, outputs), np.empty((len(outputs), len(self.embeddings)))
        for part, rows in self._laws(np.arange(found.shape[1], dtype=np.int32)):
            found[:, part] = rows[:, wanted].T
        return found

    def keep_probabilities(self, ids: IdArray) -> Float64Array | None:
        """Return the exact probability that each word, one that may be output, stays unchanged; None as for `law`."""
        if self.law(ids[:0]) is None:
            return None
        own = (rows[np.arange(len(part)), np.searchsorted(self.outputs, part)] for part, rows in self._laws(ids))
        return np.concatenate([np.empty(0), *own])

    def likely_inputs(self, outputs: IdArray, weights: Float64Array, count: int) -> tuple[IdArray, Float64Array] | None:
        """Return for each of n outputs the `count` inputs x of largest weights[x] P(output | x), and that P.

        Outputs are ids, ascending; weights, shape (v,), positive, say how often each word is an input in public text.
        Ids and probabilities are of shape (n, count), or (n, v) where there are fewer words, in no order; None as for
        `law`.
        """
        if self.law(np.arange(0, dtype=np.int32)) is None:
            return None
        columns, every = np.searchsorted(self.outputs, outputs), np.arange(len(self.embeddings), dtype=np.int32)
        ids, chances = np.empty((0, len(outputs)), np.int32), np.empty((0, len(outputs)))
        for part, rows in self._laws(every, 4 * LAW_ROWS):
            ids = np.concatenate((ids, np.broadcast_to(part[:, None], (len(part), len(outputs)))))
            chances = np.concatenate((chances, rows[:, columns]))
            if len(ids) > count:
                best = np.argpartition(-weights[ids] * chances, count - 1, axis=0)[:count]
                ids, chances = np.take_along_axis(ids, best, 0), np.take_along_axis(chances, best, 0)
        return ids.T, chances.T

    def pair_loss(self, first: int, second: int) -> float | None:
        """Return the largest loss between two given words in nats, where more is known than the guarantee says."""
        return None

    def procedure(self) -> str:
        """How a word is drawn, in one sentence that anybody understands; empty where there is none."""
        return ""

    def related(self, claim: Guarantee | None = None) -> Relation:
        from wordveil.mechanisms.worst_pairs import word_relation  # loads kernels, which drawing may not need

        return word_relation(self.published() if claim is None else claim, self.embeddings, self.metric)

    def worst_pairs(self, n: int = 8, seed: int = 0, *, claim: Guarantee | None = None) -> list[Pair]:
        """Return pairs of word ids at which a false claim is most likely to show."""
        from wordveil.mechanisms.worst_pairs import worst_words

        return worst_words(self.embeddings, self.related(claim), metric=self.metric, count=n, seed=seed)

    def for_batch_job(self) -> WordRandomizer:
        """Return a randomizer that may keep work keyed by input words for one job on the owner's machine.

        The outputs are the same. Services must not use it: what is kept shows in the timing of later requests.
        """
        return self

    def trial(self, ids: IdArray, stream: Stream) -> ReleasedIds:
        """Return what public ids become by the next draws of a stream, as a check or a calibration asks."""
        return self.randomize(PrivateIds(ids), self.sample(stream, len(ids)))

    def release(self, ids: PrivateIds, source: RandomSource, *, threads: int | None = None) -> ReleasedIds:
        """Randomize ids with a fresh stream of the source: the one-call form for small batches."""
        return self.randomize(ids, self.sample(source.fresh_stream(), len(ids)), threads=threads)
