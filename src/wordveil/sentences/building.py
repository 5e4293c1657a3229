"""Builds a stock from public text: split, make fit, choose, encode, cluster, measure the curve.

    public files -> sentences -> with slots, or dropped -> different ones -> a sample -> rows -> prototypes -> curve

Everything is a function of the files and the settings, so that an interrupted build goes on where it stopped: rows grow
in the unfinished folder, and prototypes of each size lie there once found. The text must be public: a stock is part of
every release made with it, word by word.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.arrays import Float32Array, Int64Array, PrivateText, Progress
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError
from wordveil.files.atomic import open_private, sync, write_whole
from wordveil.files.journal import file_identity
from wordveil.parameters import check_whole
from wordveil.runs.engine import Notice, Position, Run, silent
from wordveil.sentences.encoding import STATIC, SentenceEncoder, StaticEncoder, encoder_named, fitted_map
from wordveil.sentences.slots import clean, fill, slots_of
from wordveil.sentences.splitting import split_sentences
from wordveil.sentences.stock import MAP_FILE, NOTICE_FILE, Level, Stock, StockFacts, load_stock
from wordveil.vocabulary.classes import nearest_centres
from wordveil.vocabulary.storage import require_free
from wordveil.vocabulary.table import Embeddings

_WHOLE, _ROWS = "whole", "rows"
ROUNDS = 20  # of spherical k-means
_TOGETHER = 2048  # sentences encoded between two points where a build can go on

Shown = Callable[[int, int, str], None]
"""Called with what is done, how much there is in all, and what it is."""


@dataclass(frozen=True, kw_only=True)
class StockSettings:
    """How a stock is built.

    Attributes:
        prototypes: Sizes, each at least 2: the stock has prototypes of its own for each.
        encoder: Name of the encoder; see `encoding`.
        judge: Name of the encoder that measures the curve; "" for the same.
        each: Sentences taken from each file, or set of files, at most, so that none outweighs the others.
        held_out: Sentences on which the curve is measured, none of which becomes a prototype.
        name: Short name shown to users.
        source: Where the text comes from; "" names the files.
        licence: Licence of the text.
        notice: Whom to credit, for a file NOTICE in the stock; "" for none.
        documents: How the files are read.
    """

    prototypes: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024)
    encoder: str = STATIC
    judge: str = ""
    each: int = 30_000
    held_out: int = 2_000
    name: str = "stock"
    source: str = ""
    licence: str = ""
    notice: str = ""
    documents: DocumentSettings = field(default_factory=DocumentSettings)

    def __post_init__(self) -> None:
        if not self.prototypes:
            raise ParameterError("prototypes", (), "must be at least one size.")
        for n in self.prototypes:
            check_whole("prototypes", n, least=2)
        object.__setattr__(self, "prototypes", tuple(sorted(set(self.prototypes))))
        check_whole("each", self.each)
        check_whole("held_out", self.held_out)


@dataclass(frozen=True, kw_only=True)
class PublicSet:
    """Files of public text that count as one, and what reads them."""

    files: tuple[Path, ...]
    texts: Callable[[Path], Iterator[str]]


def build_stock(
    public: Sequence[str | os.PathLike[str] | PublicSet],
    destination: str | os.PathLike[str],
    settings: StockSettings | None = None,
    *,
    resume: bool = False,
    progress: Shown | None = None,
    notice: Notice | None = None,
) -> Stock:
    """Build a stock into a directory and return it from there.

    Args:
        public: Files of public text, in any document format, or sets of files.
        destination: The directory; must not exist, or be empty.
        settings: How it is built.
        resume: Go on with an interrupted build of the same files and settings.
        progress: Called as work goes on.
        notice: Told of a build that is continued or discarded.

    Raises:
        ParameterError: If there is no file, the destination is taken, or too few sentences are left.
        DocumentFormatError: If a file is malformed.
        ResumeError: If the interrupted build had other files or settings.
    """
    settings = settings or StockSettings()
    own = partial(_texts, settings=settings.documents)
    sets = [one if isinstance(one, PublicSet) else PublicSet(files=(Path(one),), texts=own) for one in public]
    if not sets:
        raise ParameterError("public", "no file", "must name at least one file of public text.")
    target = Path(destination)
    require_free(target)
    encoder = encoder_named(settings.encoder)
    sources = [file_identity(path) for one in sets for path in one.files]
    facts = {**asdict(settings), "documents": settings.documents.fingerprint()}
    shown = progress or (lambda *_: None)
    work = _Build(sets=sets, sources=sources, settings=settings, encoder=encoder, shown=shown)
    identity = {"sources": sources, "settings": facts, "encoder": encoder.identity}
    Run(destination=target, work=work, identity=identity, source=None, resume=resume, notice=notice or silent).execute()
    return load_stock(target)


@dataclass(kw_only=True)
class _Build:
    """A stock on its way; a `Work`. Positions name the rows encoded and the sizes clustered."""

    sets: Sequence[PublicSet]
    sources: Sequence[Mapping[str, Any]]
    settings: StockSettings
    encoder: SentenceEncoder
    shown: Shown
    _encoded: int = 0

    def restore(self, tally: Mapping[str, Any]) -> str:
        return f"{tally.get('encoded', 0):,} encoded sentences"

    def tally(self) -> Mapping[str, Any]:
        return {"encoded": self._encoded}

    def steps(self, folder: Path | None, position: Position) -> Generator[Position | None, None, str]:
        if folder is None:
            raise ParameterError("destination", "a device or a pipe", "must be a directory to be made.")
        kept, held, counted = self._sentences()
        most = max(self.settings.prototypes)
        if len(kept) < most or not held:
            left = f"{len(kept):,} sentences are left besides those of the curve"
            raise ParameterError("prototypes", most, f"must be at most the number of sentences; {left}.")
        for done in self._encode(folder, [*kept, *held], int(position.get("encoded", 0))):
            self._encoded = done
            yield {"encoded": done}
        rows = np.fromfile(folder / _ROWS, dtype="<f4").reshape(len(kept) + len(held), -1)
        chosen = list(position.get("chosen", ()))
        for i, n in enumerate(self.settings.prototypes):
            if i >= len(chosen):
                shown = self._counted(ROUNDS, f"rounds of clustering for {n:,} prototypes")
                chosen.append(prototypes(rows[: len(kept)], n, shown).tolist())
                yield {"encoded": len(rows), "chosen": list(chosen)}
        self._write(folder / _WHOLE, kept, held, rows, chosen, counted)
        return _WHOLE

    def _counted(self, total: int, what: str) -> Progress:
        done = 0

        def progress(more: int) -> None:
            nonlocal done
            done += more
            self.shown(done, total, what)

        return progress

    def _sentences(self) -> tuple[list[str], list[str], dict[str, Counter[str]]]:
        counted = {"dropped": Counter[str](), "slots": Counter[str]()}
        seen, taken = set[str](), list[str]()
        for number, public in enumerate(self.sets):
            own = list[str]()
            texts = (text for path in public.files for text in public.texts(path))
            for sentence in (each for text in texts for each in split_sentences(PrivateText(text))):
                found, why = clean(sentence)
                plain = "" if found is None else "".join(filter(str.isalnum, found.casefold()))
                if found is None or plain in seen:
                    counted["dropped"][why or "repeated"] += 1
                    continue
                seen.add(plain)
                own.append(found)
                counted["slots"].update(slots_of(found))
            taken += sorted(own, key=_place)[: self.settings.each]
            self.shown(number + 1, len(self.sets), "files read")
        taken.sort(key=_place)
        held = min(self.settings.held_out, max(1, len(taken) // 5))
        return taken[held:], taken[:held], counted

    def _encode(self, folder: Path, sentences: Sequence[str], done: int) -> Iterator[int]:
        width = self.encoder.rows(["a"]).nbytes
        with open_private(folder / _ROWS, start=done * width if done else None) as file:
            for low in range(done, len(sentences), _TOGETHER):
                part = [fill(sentence) for sentence in sentences[low : low + _TOGETHER]]
                file.write(self.encoder.rows(part, together=True).astype("<f4").tobytes())
                sync(file)
                self.shown(low + len(part), len(sentences), "sentences encoded")
                yield low + len(part)

    def _write(
        self,
        folder: Path,
        kept: list[str],
        held: list[str],
        rows: Float32Array,
        chosen: list[list[int]],
        counted: Mapping[str, Counter[str]],
    ) -> None:
        settings = self.settings
        union = sorted({i for ids in chosen for i in ids})
        place = {i: number for number, i in enumerate(union)}
        levels = [[place[i] for i in ids] for ids in chosen]
        table = Embeddings.from_arrays(
            [kept[i] for i in union],
            rows[union],
            name=settings.name,
            source=settings.source or ", ".join(path.name for one in self.sets for path in one.files),
            licence=settings.licence,
            casing="cased",
            candidate_rule="all",
        )
        texts = [fill(sentence) for sentence in (*kept, *held)]
        into, space = None, self.encoder.identity
        queries = {self.encoder.name: rows[len(kept) :]}
        if settings.encoder != STATIC:
            into = fitted_map(texts[: len(kept)], rows[: len(kept)])
            queries[STATIC] = StaticEncoder(into, space).rows(texts[len(kept) :])
        judged = rows[[*union, *range(len(kept), len(rows))]]
        if settings.judge not in ("", settings.encoder):
            of_curve = [texts[i] for i in (*union, *range(len(kept), len(texts)))]
            shown = self._counted(len(of_curve), "sentences judged")
            judged = encoder_named(settings.judge).rows(of_curve, shown, together=True)
        facts = StockFacts(
            encoder=settings.encoder,
            identity=space,
            judge=settings.judge or settings.encoder,
            levels=_levels(table, levels, queries, judged[: len(table)], judged[len(table) :]),
            sources=tuple(self.sources),
            kept=len(kept) + len(held),
            dropped=dict(counted["dropped"].most_common()),
            slots=dict(counted["slots"].most_common()),
        )
        if folder.exists():  # of a build that was interrupted here
            for left in folder.iterdir():
                left.unlink()
        table.save(folder)
        if into is not None:
            with (folder / MAP_FILE).open("wb") as file:
                np.save(file, into)
                sync(file)
        if settings.notice:
            write_whole(folder / NOTICE_FILE, settings.notice.encode())
        facts.save(folder)

    def finish(self, ended: str) -> None:
        """Nothing is left to report."""


def _levels(
    table: Embeddings,
    levels: Sequence[Sequence[int]],
    queries: Mapping[str, Float32Array],
    those: Float32Array,
    these: Float32Array,
) -> tuple[Level, ...]:
    """Return the stock of each size, given as rows of a table of all prototypes at length 1, with its curve.

    That is how near public sentences, none of which is a prototype, come to the prototypes, exactly, without a draw.
    The judge may be another encoder than finds them: measured by its own, each looks better than it is. Queries are, by
    the name of an encoder, the rows of n public sentences that compare with the table's; those and these are the rows
    of the prototypes, and of the n sentences, by the judge.
    """
    found = []
    for ids in map(list, levels):
        words = [table.words[i] for i in ids]
        own = Embeddings.from_arrays(words, table.vectors[ids], casing="cased", candidate_rule="all")
        similar = these @ those[ids].T
        near = {
            name: float(similar[np.arange(len(rows)), (rows @ own.vectors.T).argmax(axis=1)].mean())
            for name, rows in queries.items()
        }
        found.append(Level(ids=tuple(map(int, ids)), near=near, anywhere=float(similar.mean())))
    return tuple(found)


def _texts(path: Path, settings: DocumentSettings) -> Iterator[str]:
    with settings.open_texts(str(path)) as reader:
        yield from reader.texts()


def _place(sentence: str) -> bytes:
    """Return what sorts sentences as if at random, the same way always."""
    return hashlib.blake2b(sentence.encode(), digest_size=8).digest()


def prototypes(rows: Float32Array, n: int, progress: Progress | None = None) -> Int64Array:
    """Return n different rows such that each row is near one of them, ascending: the nearest to centres of k-means."""
    if n > len(rows):
        raise ParameterError("prototypes", n, f"must be at most {len(rows)}, the number of different sentences.")
    centres = rows[_spread(rows, n)]
    owner = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        before = owner
        owner, score = nearest_centres(rows, centres)
        centres = _centres(rows, owner, score, n)
        if progress is not None:
            progress(1)
        if np.array_equal(owner, before):
            break
    owner, score = nearest_centres(rows, centres)
    order = np.lexsort((-score, owner))
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    chosen = order[first]  # of each centre that has any, the row nearest to it; the worst served make up for the others
    left = np.setdiff1d(np.argsort(score, kind="stable")[:n], chosen, assume_unique=True)
    return np.sort(np.concatenate([chosen, left[: n - len(chosen)]]))


def _spread(rows: Float32Array, n: int) -> Int64Array:
    """Return n rows to begin with, each drawn with a chance that grows with its distance from those before it.

    Reference:
        Arthur, Vassilvitskii (2007), k-means++: The Advantages of Careful Seeding; the draws are public and fixed.
    """
    draws = np.random.default_rng(n).random(n)
    chosen, apart = np.empty(n, np.int64), np.ones(len(rows))
    for i, draw in enumerate(draws):
        running = np.cumsum(apart)
        chosen[i] = min(int(np.searchsorted(running, draw * running[-1], side="right")), len(rows) - 1)
        apart = np.minimum(apart, np.maximum(1 - rows @ rows[chosen[i]], 0.0))
    return chosen


def _centres(rows: Float32Array, owner: Int64Array, score: Float32Array, n: int) -> Float32Array:
    """Return the mean directions of the groups; an empty one starts anew at a row that is served worst."""
    order = np.argsort(owner, kind="stable")
    held, starts = np.unique(owner[order], return_index=True)
    centres = rows[np.argsort(score, kind="stable")[:n]].copy()
    sums = np.add.reduceat(rows[order], starts, axis=0)
    centres[held] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return centres
