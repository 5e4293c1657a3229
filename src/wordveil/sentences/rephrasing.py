"""Sentences to public sentences, top to bottom: text, sentences, nearest prototypes, response, prototypes, text.

    texts --split--> sentences --encode, nearest--> ids --neighbour response--> released ids --write--> released texts

A rephraser has a sanitizer whose vocabulary is a stock and whose tokens are sentences: keys, runs, resuming, reports
and the response itself are those of words.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wordveil import __version__
from wordveil.arrays import IdArray, PrivateIds, PrivateText, ReleasedIds, ReleasedText
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError
from wordveil.kernels.arithmetic import arithmetic_name
from wordveil.kernels.compiled.library import kernel_engine
from wordveil.kernels.nearest import NearestWords
from wordveil.meaning.explanations import Explanation, explain
from wordveil.mechanisms.neighbours import FittedNeighbourResponse, NeighbourResponse
from wordveil.parameters import check_kind
from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.number_grids import NumberGrid
from wordveil.promises.release import BatchRelease, Provenance, Release, TextOptions, grid_disclosure
from wordveil.promises.worked import InWords
from wordveil.randomness import RandomSource
from wordveil.runs.digests import file_digests
from wordveil.runs.sanitize import RunReport, sanitize_documents
from wordveil.sanitizing.assembly import Assembled, answering
from wordveil.sanitizing.places import shown, text_domain
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.sentences.encoding import STATIC, SentenceEncoder
from wordveil.sentences.slots import fill
from wordveil.sentences.splitting import split_sentences
from wordveil.sentences.stock import Stock, load_stock
from wordveil.text.amounts import amount
from wordveil.text.encoding import EncodedBatch
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS, kind
from wordveil.text.readings import UNKNOWN
from wordveil.text.surrogates import Surrogates
from wordveil.text.tokenizer import Tokenizer
from wordveil.vocabulary.table import Embeddings

EPSILON = 6.0
"""Nats per sentence, unless something else is asked for."""

TOGETHER = 1 << 13  # sentences whose rows are held at once
PROBES = 8  # public sentences whose rows tell how a model rounds


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(TextOptions):
    """What a report says was chosen."""

    chosen: dict[str, Any] = field(default_factory=dict, compare=False)

    def choices(self) -> dict[str, Any]:
        grids = {"grids": [vars(grid) for grid in self.grids]} if self.grids else {}
        return {**self.chosen, "public_words": [], **grids}


class Rephraser:
    """Releases for each sentence of a text a public sentence near it. Its attributes are for reading.

    Args:
        stock: The public sentences; None for the general stock that comes with wordveil.
        epsilon: Largest loss between any two sentences, nats, in (0, inf).
        prototypes: Size of the stock; None for the one that its public curve says is best for this epsilon.
        encoder: Name of what brings sentences to prototypes: "static", "minilm" or a model of sentence-transformers.
        grids: Grids for numbers of the sentences that keep their magnitude, each at an epsilon of its own that adds to
            the sentence's. A sentence releases the first number of the kind, or the middle of the grid where it has
            none; it is seen where the released sentence has a slot of the kind.
        source: Randomness; a fresh secure source unless given.
        threads: Threads for the search, None for one per processor; the output does not depend on it.

    Raises:
        ParameterError: If an argument is outside its domain.

    Example:
        >>> release = Rephraser(epsilon=8.0)("She was diagnosed with depression. We told nobody.")
        >>> release.tokens, release.guarantee.unit.value
        (2, 'one sentence of a text with a fixed number of sentences')
    """

    def __init__(
        self,
        stock: Stock | None = None,
        *,
        epsilon: float = EPSILON,
        prototypes: int | None = None,
        encoder: str = STATIC,
        grids: Sequence[NumberGrid] = (),
        source: RandomSource | None = None,
        threads: int | None = None,
    ) -> None:
        self.stock = load_stock() if stock is None else stock
        check_kind("stock", self.stock, Stock)
        source = RandomSource() if source is None else source
        check_kind("source", source, RandomSource)
        size = self.stock.choose(epsilon, encoder) if prototypes is None else prototypes
        self.mechanism: NeighbourResponse = NeighbourResponse(epsilon=epsilon, k=1, outputs=None)
        chosen, choices = self.stock.encoder(encoder), {"prototypes": size, "encoder": encoder}
        self.embeddings = self.stock.level(size, chosen)
        self.options = SentenceOptions(
            unknown="typed" if grids else "random",
            numbers="metric" if grids else "unknown",
            grids=tuple(grids),
            chosen={"stock": self.stock.embeddings.header.name, **choices},
        )
        given = {**choices, "epsilon": epsilon, "grids": self.options.grids}
        parts = _assembled(self.embeddings, self.mechanism.fit(self.embeddings), self.options, chosen, threads)
        parts = replace(parts, rebuild=partial(_sanitizer, self.stock, **given))
        self.sanitizer = Sanitizer.of_parts(parts, self.mechanism, source=source, threads=threads)

    def __call__(self, text: str, *, document_id: str | None = None) -> Release:
        """Rephrase one text; as `Sanitizer` does, with a sentence for a token."""
        return self.sanitizer(text, document_id=document_id)

    def release_batch(self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None) -> BatchRelease:
        """Rephrase a batch of documents of one text each."""
        return self.sanitizer.release_batch(texts, ids=ids)

    @property
    def guarantee(self) -> Guarantee:
        """What every release promises."""
        return self.sanitizer.guarantee

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What every release discloses whatever the noise, a sentence each."""
        return self.sanitizer.disclosed

    @property
    def in_words(self) -> InWords:
        """How strong the guarantee is, in one sentence."""
        return self.sanitizer.in_words

    def explained(self, tokens: int = 10, **how: Any) -> Explanation:
        """Work the guarantee out on a text of so many sentences; `how` is as for `explain`."""
        return self.sanitizer.explained(tokens, **how)

    @property
    def encoder(self) -> str:
        """Name of what brings sentences to prototypes."""
        return str(self.options.chosen["encoder"])

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild: Any = self.sanitizer.parts.rebuild
        return partial(Rephraser, **rebuild.keywords, threads=self.sanitizer.threads), rebuild.args

    def __repr__(self) -> str:
        return f"Rephraser({self.embeddings.header.name!r}, {self.mechanism!r}, encoder={self.encoder!r})"


def _sanitizer(stock: Stock, **given: Any) -> Sanitizer:
    return Rephraser(stock, **given).sanitizer


def _explained(
    embeddings: Embeddings, randomizer: FittedNeighbourResponse, guarantee: Guarantee, **how: Any
) -> Explanation:
    advice = "several releases of one sentence show its prototype, at epsilon each, and nothing beyond it"
    procedure = randomizer.procedure().replace("words", "sentences")
    return replace(explain(embeddings, guarantee, **how), procedure=procedure, advice=advice)


def _assembled(
    embeddings: Embeddings,
    randomizer: FittedNeighbourResponse,
    options: SentenceOptions,
    encoder: SentenceEncoder,
    threads: int | None,
) -> Assembled:
    typed = Surrogates(first=len(embeddings), grids=options.grids) if options.grids else None
    provenance = Provenance(
        version=__version__,
        mechanism=shown(randomizer.mechanism),
        vocabulary=embeddings.header.name,
        checksum=embeddings.checksum_in_use,
        candidates_checksum=embeddings.candidates_checksum,
        engine=kernel_engine("nearest.c"),
        public_data=randomizer.public_data,
        arithmetic=_arithmetic(encoder, embeddings),
    )
    claim: Any = randomizer.guarantee()
    # With that of the numbers that a sentence releases, over their whole ranges.
    losses = [grid.guarantee().loss(grid.points - 1) for grid in options.grids]
    promise = replace(
        claim,
        epsilon=math.nextafter(math.fsum([claim.epsilon, *losses]), math.inf) if losses else claim.epsilon,
        unit=PrivacyUnit.SENTENCE,
        assumptions=(
            *claim.assumptions,
            "both texts have the same number of sentences, as wordveil's public rules cut them",
            "the stock and its size are public: made and chosen without these texts",
        ),
    )
    return Assembled(
        encoder=SentenceReader(embeddings=embeddings, encoder=encoder, typed=typed, threads=threads),
        randomizer=answering(randomizer, options, typed),
        writer=SentenceWriter(words=embeddings.words, typed=typed),
        promise=promise,
        options=options,
        disclosed=_disclosures(options.grids) + (() if options.grids else randomizer.disclosed()),
        provenance=provenance,
        domain=text_domain(randomizer.mechanism, randomizer, options, provenance),
        explain=partial(_explained, embeddings, randomizer),
        words=encoder.words,
        width=1 + len(options.grids),
    )


def _arithmetic(encoder: SentenceEncoder, embeddings: Embeddings) -> str:
    """Return the name of what rounds the rows of a model, since these choose the prototype; "" where nothing does.

    A library of models has kernels of its own, known by what they make of public sentences.
    """
    if encoder.name == STATIC:
        return ""
    rows = encoder.rows([fill(word) for word in embeddings.words[:PROBES]])
    return f"{arithmetic_name()}; rows {hashlib.blake2b(rows.tobytes(), digest_size=4).hexdigest()}"


def _disclosures(grids: Sequence[NumberGrid]) -> tuple[str, ...]:
    apart = " but by their numbers on the grids" if grids else ""
    return (
        "the number of sentences of each text, as public rules cut them, and nothing else of its length or layout",
        "a sentence without any word that the encoder knows becomes a prototype drawn uniformly: no output "
        f"distinguishes two such sentences{apart}, and the loss to any other is at most that of two",
        "values in the released sentences (numbers, dates, names) are made up by a public rule from the release alone"
        + (", but where magnitude is kept" if grids else ""),
        *(f"{grid_disclosure(grid)}; this is part of the sentence's epsilon" for grid in grids),
    )


@dataclass(frozen=True, kw_only=True)
class SentenceReader:
    """Texts to ids of prototypes, one a sentence, -1 where the encoder knows nothing of it.

    With grids each sentence has an id more for each, of a point of the grid, in the codes of `Surrogates`.
    """

    embeddings: Embeddings
    encoder: SentenceEncoder
    typed: Surrogates | None = None
    threads: int | None = None
    _search: NearestWords = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_search", NearestWords(self.embeddings.vectors, self.embeddings.candidates))

    def encode_parts(self, texts: Iterable[PrivateText]) -> Iterator[EncodedBatch]:
        """Yield all texts as one batch: there are far fewer sentences than words."""
        cut = [split_sentences(text) for text in texts]
        every, grids = [each for sentences in cut for each in sentences], () if self.typed is None else self.typed.grids
        ids = np.empty((len(every), 1 + len(grids)), np.int32)
        ids[:, 0] = self.nearest(every)
        first = UNKNOWN - 1 - len(KINDS)
        for column, grid in enumerate(grids, 1):
            ids[:, column] = [first - _point(sentence, grid) for sentence in every]
            first -= grid.points
        counts = np.fromiter((len(sentences) * ids.shape[1] for sentences in cut), np.int64, len(cut))
        yield EncodedBatch(
            gaps=["", " "],
            ids=PrivateIds(ids.ravel()),
            before=np.empty(0, np.int32),
            closing=np.zeros(len(cut), np.int32),
            counts=counts,
            exempt=np.zeros(len(cut), np.int64),
            shapes=None,
            last=np.ones(len(cut), np.bool_),
        )

    def nearest(self, sentences: Sequence[str]) -> IdArray:
        """Return the prototype nearest to each sentence, lowest id on ties, -1 where nothing of it is known."""
        found = dict.fromkeys(sentences, UNKNOWN)
        different = list(found)
        for low in range(0, len(different), TOGETHER):
            part = different[low : low + TOGETHER]
            rows = self.encoder.rows(part)
            ids = np.where(rows.any(axis=1), self._search.nearest(rows, threads=self.threads), UNKNOWN)
            found.update(zip(part, ids.tolist(), strict=True))
        return np.array([found[sentence] for sentence in sentences], dtype=np.int32)


def _point(sentence: str, grid: NumberGrid) -> int:
    """Return the grid point of the first number of the kind in a sentence, the middle one where there is none."""
    for token in Tokenizer().split(joined(PrivateText(sentence)))[1::2]:
        if kind(token) == grid.kind:
            return grid.nearest(amount(token, grid.kind))
    return grid.points // 2


@dataclass(frozen=True, kw_only=True)
class SentenceWriter:
    """Released ids to released texts: prototypes with a space between them, their slots filled."""

    words: Sequence[str]
    typed: Surrogates | None = None

    def write_parts(self, parts: Sequence[EncodedBatch], released: ReleasedIds) -> list[ReleasedText]:
        """Return the released texts; what fills a slot is a function of the ids released before it in its text."""
        bounds = np.cumsum([0, *(count for part in parts for count in part.counts.tolist())]).tolist()
        return [self._text(released[low:high]) for low, high in pairwise(bounds)]

    def _text(self, released: IdArray) -> ReleasedText:
        grids = () if self.typed is None else self.typed.grids
        rows = released.reshape(-1, 1 + len(grids))
        sentences, before = list[str](), b""
        for first, *points in rows.tolist():
            prototype = self.words[first]
            before = hashlib.blake2b(before + first.to_bytes(4, "big"), digest_size=16).digest()
            given = dict[str, str]()
            if self.typed is not None and "[" in prototype:
                texts = map(self.typed.text, points)
                given = {grid.kind: text for grid, text in zip(grids, texts, strict=True)}
            sentences.append(fill(prototype, before, given))
        return ReleasedText(" ".join(sentences))


def rephrase_documents(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    rephraser: Rephraser,
    *,
    settings: DocumentSettings | None = None,
    **how: Any,
) -> RunReport:
    """Rephrase a file, a directory tree or standard input in its own format; `how` is as for `sanitize_documents`.

    Raises:
        ParameterError: Besides what is said there, if the stock was built from a file of the input: its sentences
            would be released as they are.
    """
    public = {file["sha256"] for file in rephraser.stock.facts.sources}
    if any(file.sha256 in public for file in file_digests(Path(source), settings or DocumentSettings())):
        problem = "is text that the stock was built from; build one from public text alone."
        raise ParameterError("source", os.fspath(source), problem)
    return sanitize_documents(source, destination, rephraser.sanitizer, settings=settings, **how)
