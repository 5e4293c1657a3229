"""A stock of public sentences: a vocabulary whose words are sentences, and how well each size of it serves.

    DIR/header.json, words.txt, vectors.npy, ...   the vocabulary of all prototypes; see `vocabulary.storage`
    DIR/stock.json                                 which of them make the stock of each size, the curve, the sources
    DIR/map.npy                                    from rows of the static encoder to those of the stock's, where it has
                                                   another
    DIR/NOTICE                                     whom to credit, of stocks built by a recipe

For each size there are prototypes of its own. Which size an epsilon is best served by is read off the curve, measured
on public sentences when the stock was built: nothing here ever sees a private text. What comes inside the package is
in the layout of `vocabulary.packaged`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from wordveil.arrays import Float32Array
from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.files.atomic import write_whole
from wordveil.parameters import check_positive
from wordveil.sentences.encoding import STATIC, SentenceEncoder, StaticEncoder, encoder_named, unit_rows
from wordveil.sentences.slots import fill
from wordveil.sentences.splitting import RULES
from wordveil.vocabulary.packaged import read_packaged
from wordveil.vocabulary.table import Embeddings, load_embeddings

GENERAL = Path(__file__).parent / "general"
FACTS_FILE, MAP_FILE, NOTICE_FILE = "stock.json", "map.npy", "NOTICE"
_REMEDY = "Build one with: wordveil sentences build."
_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class Level:
    """The stock of one size."""

    ids: tuple[int, ...] = field(repr=False)  # its prototypes, as rows of the stock
    # by the name of an encoder, the mean similarity of a public sentence to the prototype nearest to it
    near: Mapping[str, float]
    anywhere: float  # the mean similarity to a prototype drawn at random

    def expected(self, epsilon: float, encoder: str) -> float:
        """Return the mean similarity of a public sentence to its release."""
        near = self.near.get(encoder) or next(iter(self.near.values()))
        weight = math.exp(-epsilon)  # of any other prototype, if the nearest has 1
        anywhere = len(self.ids) * weight / (1 + (len(self.ids) - 1) * weight)
        return anywhere * self.anywhere + (1 - anywhere) * near


@dataclass(frozen=True, kw_only=True)
class StockFacts:
    """What a stock says of itself beside its vocabulary."""

    encoder: str  # name of the encoder that its rows come from
    identity: str  # the encoder's identity then: rows of another version are computed anew
    judge: str  # name of the encoder that the curve is measured with
    levels: tuple[Level, ...]  # the stock of each size, ascending
    sources: tuple[Mapping[str, Any], ...]  # name, size and SHA-256 of each public file it was built from
    kept: int  # number of different public sentences it was chosen from
    dropped: Mapping[str, int]  # why others were left out, and how many
    slots: Mapping[str, int]  # kinds of typed slots in the sentences kept, and how many of each

    def save(self, folder: Path) -> None:
        text = json.dumps({"version": _VERSION, **asdict(self)}, indent=1, ensure_ascii=False)
        write_whole(folder / FACTS_FILE, (text + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / FACTS_FILE
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            if read.pop("version") != _VERSION:
                raise ValueError("another version")
            levels = tuple(
                Level(
                    ids=tuple(map(int, level["ids"])),
                    near={name: float(near) for name, near in level["near"].items()},
                    anywhere=float(level["anywhere"]),
                )
                for level in read.pop("levels")
            )
            return cls(levels=levels, **{**read, "sources": tuple(read["sources"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise EmbeddingFormatError(path, f"is no stock of sentences ({error}).", remedy=_REMEDY) from None


@dataclass(frozen=True, kw_only=True, eq=False)
class Stock:
    """A stock of public sentences.

    Attributes:
        embeddings: All prototypes with their rows.
        facts: What is known of them.
        into: From rows of the static encoder to those of the stock's; None where that is the static one.
    """

    embeddings: Embeddings
    facts: StockFacts
    into: Float32Array | None = field(default=None, repr=False)

    @cached_property
    def levels(self) -> dict[int, Level]:
        """The stock of each size."""
        return {len(level.ids): level for level in self.facts.levels}

    def encoder(self, name: str = STATIC) -> SentenceEncoder:
        """Return what brings sentences to the prototypes, by name; see `encoding`."""
        if name == STATIC and self.into is not None:
            return self._mapped
        return encoder_named(name)

    @cached_property
    def _mapped(self) -> SentenceEncoder:
        return StaticEncoder(self.into, self.facts.identity)

    def choose(self, epsilon: float, encoder: str = STATIC) -> int:
        """Return the number of prototypes that serves an epsilon > 0 best, by the public curve and by nothing else.

        Epsilon is in nats per sentence. An encoder that was not measured counts as the stock's own.

        Example:
            >>> stock = load_stock()
            >>> stock.choose(2.0) <= stock.choose(8.0) <= stock.choose(20.0)
            True
        """
        check_positive("epsilon", epsilon)
        return max((level.expected(epsilon, encoder), n) for n, level in self.levels.items())[1]

    def level(self, prototypes: int, encoder: SentenceEncoder) -> Embeddings:
        """Return the stock of one size as a vocabulary, rows by an encoder; a `ParameterError` if there is none."""
        if prototypes not in self.levels:
            sizes = ", ".join(map(str, sorted(self.levels)))
            raise ParameterError("prototypes", prototypes, f"must be one of {sizes}, the sizes of this stock.")
        ids = list(self.levels[prototypes].ids)
        words, header = [self.embeddings.words[i] for i in ids], self.embeddings.header
        rows = unit_rows(self.embeddings.vectors[ids].astype(np.float64))
        if encoder.space != self.facts.identity:
            rows = encoder.rows([fill(word) for word in words], together=True)
        made = self.embeddings.of_rows(words, rows, name=f"{header.name}, {prototypes} sentences", casing="cased")
        return made.with_header(tokenizer=f"{RULES}, {encoder.identity}", normalisation="length 1")


def load_stock(path: str | PathLike[str] | None = None) -> Stock:
    """Return a stock: the general one that comes with wordveil, or a directory that `wordveil sentences build` wrote.

    Raises:
        EmbeddingFormatError: If it is no stock, or damaged.
        FileNotFoundError: If there is nothing at the path.
    """
    folder = GENERAL if path is None else Path(path)
    facts = StockFacts.load(folder)
    into = folder / MAP_FILE
    if path is None:
        header, words, vectors = read_packaged(GENERAL)
        known = {"name": header.name, "source": header.source, "licence": header.licence}
        embeddings = Embeddings.from_arrays(list(words), vectors, casing="cased", candidate_rule="all", **known)
        if embeddings.header.checksum != header.checksum:
            raise EmbeddingFormatError(GENERAL, "differs from its checksum.", remedy="Reinstall wordveil.")
    else:
        embeddings = load_embeddings(folder)
    found = Stock(
        embeddings=embeddings,
        facts=facts,
        into=np.load(into, allow_pickle=False).astype(np.float32) if into.exists() else None,
    )
    if any(not 0 <= i < len(found.embeddings) for level in facts.levels for i in level.ids):
        raise EmbeddingFormatError(folder / FACTS_FILE, "names prototypes that are not there.", remedy=_REMEDY)
    return found
