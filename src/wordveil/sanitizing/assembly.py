"""Builds what a sanitizer is made of, once: reader, mechanism, writer, and all that every release says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from wordveil import __version__
from wordveil.arrays import PrivateText, ReleasedIds, ReleasedText
from wordveil.kernels.arithmetic import arithmetic_name
from wordveil.meaning.explanations import Explanation, explain
from wordveil.mechanisms.base import VectorMechanism, WordMechanism, WordRandomizer
from wordveil.mechanisms.wrappers import StandIns, Typed
from wordveil.promises.certificates import Certificate
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import MASK, Provenance, TextOptions, disclosures, effective_guarantee
from wordveil.sanitizing.fitting import certificate_in_use, fit_words
from wordveil.sanitizing.places import shown, text_domain
from wordveil.text.encoding import EncodedBatch, Encoder
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import tokenizer_for
from wordveil.text.writing import Writer
from wordveil.vocabulary.table import Embeddings


class TextReader(Protocol):
    """What reads private texts: `text.Encoder` words, `sentences.rephrasing` sentences."""

    @property
    def typed(self) -> Surrogates | None:
        """What stands for tokens of a kind; None where there are none."""

    def encode_parts(self, texts: Iterable[PrivateText]) -> Iterator[EncodedBatch]:
        """Yield a batch of texts as ids and gaps, a part at a time."""


class TextWriter(Protocol):
    """What writes released texts: `text.Writer` words, `sentences.rephrasing` sentences."""

    def write_parts(self, parts: Sequence[EncodedBatch], released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts of a batch that was encoded in parts."""


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """What a sanitizer is made of."""

    encoder: TextReader  # reads the private texts
    randomizer: WordRandomizer  # the mechanism, fitted, and around it what answers for unknown and typed tokens
    writer: TextWriter  # writes the released texts
    promise: Guarantee  # what every release promises
    options: TextOptions  # choices around the mechanism
    disclosed: tuple[str, ...]  # what every release discloses whatever the noise, a sentence each
    provenance: Provenance  # where every release comes from
    domain: str  # what sets this setting's noise apart from any other's under one key
    # works a guarantee out on public words; `explanations.explain` without what is known here
    explain: Callable[..., Explanation]
    words: Encoder | None  # reads texts as words, to warn their owner; None where nothing does
    width: int = 1  # ids of a token: one, and one more for each grid of a sentence
    # returns the sanitizer for a number of threads in another process; None where its constructor does
    rebuild: Callable[..., Any] | None = None


def assemble(
    embeddings: Embeddings,
    mechanism: WordMechanism | VectorMechanism,
    options: TextOptions,
    certificate: Certificate | None,
    device: str,
) -> Assembled:
    """Return the parts of a sanitizer; see there for the arguments."""
    header = embeddings.header
    typed = Surrogates(first=len(embeddings), grids=options.grids) if options.unknown == "typed" else None
    packed = embeddings.packed_words
    encoder = Encoder(
        lookup=embeddings.ids,
        index=packed,
        casing="cased" if header.casing == "cased" else "lower",
        tokenizer=tokenizer_for(header.tokenizer, markup=options.markup),
        numbers="vocabulary" if options.numbers == "vocabulary" else "unknown",
        public_words=options.public_words,
        keep_shapes=options.casing == "shape",
        typed=typed,
    )
    writer = Writer(
        words=embeddings.words,
        index=packed,
        casing=options.casing,
        cased=header.casing == "cased",
        mask=MASK if options.unknown == "mask" else "",
        typed=typed,
    )
    certificate = certificate_in_use(mechanism, embeddings, certificate)
    randomizer = answering(fit_words(mechanism, embeddings, certificate).on(device), options, typed)
    claim = randomizer.guarantee()
    provenance = Provenance(
        version=__version__,
        mechanism=shown(mechanism),
        vocabulary=header.name,
        checksum=embeddings.checksum_in_use,
        candidates_checksum=embeddings.candidates_checksum,
        engine=randomizer.engine if device == "cpu" else device,
        certificate="" if certificate is None else certificate.checksum,
        public_data=randomizer.public_data,
        arithmetic=_arithmetic(randomizer, device),
    )
    return Assembled(
        encoder=encoder,
        randomizer=randomizer,
        writer=writer,
        promise=effective_guarantee(claim, options),
        options=options,
        disclosed=disclosures(options, claim) + randomizer.disclosed(),
        provenance=provenance,
        domain=text_domain(mechanism, randomizer, options, provenance),
        explain=partial(explain, embeddings, metric=randomizer.metric, randomizer=randomizer),
        words=encoder,
    )


def answering(randomizer: WordRandomizer, options: TextOptions, typed: Surrogates | None) -> WordRandomizer:
    """Return a mechanism of words as one of all tokens that the options have it release."""
    if options.unknown in ("random", "typed") and not randomizer.answers_unknown:
        randomizer = StandIns.of(randomizer)
    return randomizer if typed is None else Typed(randomizer=randomizer, surrogates=typed)


def _arithmetic(randomizer: WordRandomizer, device: str) -> str:
    """Return the name of what rounds the weights, where words are drawn by them."""
    if not randomizer.draws_by_arithmetic:
        return ""
    if device == "cpu":
        return arithmetic_name()
    from wordveil.kernels.gpu.backend import card_name  # heavy, and an extra

    return card_name(device)
