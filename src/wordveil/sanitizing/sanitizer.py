"""The whole pipeline, top to bottom: text, tokens, ids, mechanism, words, text.

    texts --encode--> gaps and ids --release ids--> released ids --write--> released texts

Everything private happens between `encode` and the mechanism (in `ids`); everything after it is post-processing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from wordveil.arrays import PrivateIds, PrivateText, Progress, ReleasedIds
from wordveil.errors import ParameterError
from wordveil.kernels.compiled.library import pinned_engine
from wordveil.meaning.explanations import Explanation, in_words
from wordveil.mechanisms.base import VectorMechanism, WordMechanism
from wordveil.parameters import check_kind, strings, unique_ids
from wordveil.promises.certificates import Certificate
from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.release import KEYED, BatchRelease, Provenance, Release, TextOptions, unprotected
from wordveil.promises.rows import ReleasedRows, Rows, into_rows
from wordveil.promises.worked import InWords
from wordveil.randomness import RandomSource
from wordveil.sanitizing.assembly import Assembled, assemble
from wordveil.sanitizing.ids import Counts, Prepared, release_ids
from wordveil.sanitizing.input_watch import InputWatch, Look, Warn, unwatched, warn_caller
from wordveil.sanitizing.places import Place, nonces
from wordveil.vocabulary.table import Embeddings


class Sanitizer:
    """Sanitizes texts with one mechanism over one vocabulary. Its attributes are for reading.

    A copy, also by pickling, draws from a fresh secure source: no key travels. Texts that do not look like what the
    vocabulary is for give a `ForeignTextWarning` before they are released; fewer than 20 words are not judged.

    Args:
        embeddings: The public vocabulary.
        mechanism: A word mechanism, or a vector mechanism (which is then decoded to the nearest word).
        options: Choices around the mechanism; see `TextOptions`.
        source: Randomness; a fresh secure source unless given.
        threads: Threads for the mechanism, None for one per processor; the output does not depend on it.
        device: "cpu", or a graphics card for the search or the draw, "cuda" or "cuda:1" (extra: gpu): the same promise.
        certificate: For calibration="certified"; None looks among those shipped with the embedded vocabulary.
        engine: What may search and draw on the processor: "numpy", "avx2", "avx512", "amx" or "neon".
            The words are the same. None takes that of WORDVEIL_ENGINE, or the fastest here.

    Raises:
        ParameterError: If an argument is of another kind, or the engine cannot run here.

    Example:
        >>> import wordveil as wv
        >>> vocabulary = wv.Embeddings.from_arrays(["good", "great", "bad"], [[0.0], [0.1], [1.0]])
        >>> sanitizer = wv.Sanitizer(vocabulary, wv.SanText(epsilon=8.0))
        >>> release = sanitizer("A good film, 10/10!")
        >>> release.tokens, release.guarantee.standing.value
        (4, 'proved')
    """

    _look: Look | None = None  # None looks at each release by itself, and warns

    def __init__(
        self,
        embeddings: Embeddings,
        mechanism: WordMechanism | VectorMechanism,
        *,
        options: TextOptions | None = None,
        source: RandomSource | None = None,
        threads: int | None = None,
        certificate: Certificate | None = None,
        device: str = "cpu",
        engine: str | None = None,
    ) -> None:
        self.options = TextOptions() if options is None else options
        self.source = RandomSource() if source is None else source
        check_kind("embeddings", embeddings, Embeddings)
        check_kind("options", self.options, TextOptions)
        check_kind("source", self.source, RandomSource)
        self.embeddings, self.mechanism, self.threads = embeddings, mechanism, threads
        self.certificate, self.device, self.engine = certificate, device, engine
        if engine is not None and device != "cpu":
            raise ParameterError("engine", engine, f"is for the processor, and the device is {device}; leave out one.")
        with pinned_engine(engine):
            self.parts = assemble(embeddings, mechanism, self.options, certificate, device)

    @classmethod
    def of_parts(cls, parts: Assembled, mechanism: WordMechanism, **given: Any) -> Sanitizer:
        """Return the sanitizer of parts that were assembled elsewhere, such as those that read sentences."""
        made = object.__new__(cls)
        held = {"parts": parts, "mechanism": mechanism, "embeddings": parts.randomizer.embeddings}
        vars(made).update(held, options=parts.options, certificate=None, device="cpu", engine=None, **given)
        return made

    def __call__(self, text: str, *, document_id: str | None = None) -> Release:
        """Sanitize one text.

        Args:
            text: The private text.
            document_id: Give one to make a retry draw the same noise, so that it releases nothing new; without it
                every call draws afresh, and several releases of one text add up.

        Raises:
            ParameterError: If text or id is no string.
            WordveilError: If there is an id, and a fork gave this process a key of its own.
        """
        check_kind("text", text, str)
        if document_id is not None:
            check_kind("document_id", document_id, str)
        batch = self.release_batch([PrivateText(text)], ids=None if document_id is None else [document_id])
        said = {name: getattr(batch, name) for name in ("guarantee", "disclosed", "tokens", "provenance")}
        return Release(text=batch.texts[0], **said)

    def release_batch(
        self, texts: Sequence[PrivateText], *, ids: Sequence[str] | None = None, progress: Progress | None = None
    ) -> BatchRelease:
        """Sanitize a batch of documents of one text each; see `release_documents`."""
        return self.release_documents([[text] for text in strings("texts", texts)], ids=ids, progress=progress)

    def release_documents(
        self,
        documents: Sequence[Sequence[PrivateText]],
        *,
        ids: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> BatchRelease:
        """Sanitize a batch of documents of several texts each, such as a record's columns; no document changes another.

        Args:
            documents: The private texts of each document.
            ids: One id per document, unique within the run; None draws fresh ones.
            progress: Called with the number of tokens done since the last call.

        Returns:
            The released texts of all documents end to end.

        Raises:
            ParameterError: If texts or ids are no lists of strings, or the ids are too few, too many or not unique.
            WordveilError: If there are ids, and a fork gave this process a key of its own.
        """
        places = None if ids is None else self.places(unique_ids(ids, len(documents)))
        return self.release(self.prepare(documents), places, progress=progress)

    def prepare(self, documents: Sequence[Sequence[PrivateText]]) -> Prepared:
        """Read documents: what their release costs is known before any noise is drawn.

        Raises:
            ParameterError: If the documents are no lists of strings.
        """
        if any(isinstance(document, str) for document in documents):
            raise ParameterError("documents", f"<{len(documents)} entries>", "must be lists of str, one per document.")
        strings("texts", [*chain.from_iterable(documents)])
        return Prepared.read(self.parts.encoder, documents, self.parts.width)

    def places(self, ids: Iterable[str], part: str = "") -> list[Place]:
        """Return the places of documents under this setting, by their ids and what part of them is released."""
        return [Place(domain=self.parts.domain, document=name, part=part) for name in ids]

    def release(
        self, prepared: Prepared, places: Sequence[Place] | None = None, *, progress: Progress | None = None
    ) -> BatchRelease:
        """Release what was prepared.

        Args:
            prepared: Documents, as this setting reads them.
            places: Where the noise of each lies, as `places` gives them; None draws afresh.
            progress: Called with the number of tokens done since the last call.

        Raises:
            WordveilError: If there are places, and a fork gave this process a key of its own.
        """
        if places is not None:
            self.source.check_repeats()
        (self._look or self.watch().look)([*chain.from_iterable(prepared.documents)], prepared.tokens, prepared.exempt)
        placed = self.places(os.urandom(16).hex() for _ in prepared.documents) if places is None else places
        where = nonces(self.source, placed, prepared.documents)
        released = self.release_ids(prepared.tokens, prepared.cost * self.parts.width, where, progress)
        return BatchRelease(
            texts=self.parts.writer.write_parts(prepared.parts, released),
            guarantee=self.guarantee,
            disclosed=self.disclosed if places is None else (*self.disclosed, KEYED),
            tokens=int(prepared.cost.sum()),
            exempt=prepared.exempt,
            longest=int(prepared.cost.max(initial=0)),
            provenance=self.provenance,
        )

    def release_ids(
        self, ids: PrivateIds, counts: Counts, nonces: list[int], progress: Progress | None = None
    ) -> ReleasedIds:
        """Return the released id of every token of all documents end to end, -1 where it was unknown and stays so."""
        return release_ids(self.parts, self.source, self.threads, ids, counts, nonces, progress)

    @property
    def guarantee(self) -> Guarantee:
        """What every release of this sanitizer promises: nothing where a test source draws its noise."""
        return unprotected(PrivacyUnit.TOKEN) if self.source.is_test_source else self.parts.promise

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What every release of this sanitizer discloses whatever the noise, a sentence each."""
        return self.parts.disclosed

    @property
    def provenance(self) -> Provenance:
        """Where every release of this sanitizer comes from."""
        return replace(self.parts.provenance, test_source=self.source.is_test_source)

    @property
    def in_words(self) -> InWords:
        """How strong the guarantee is, in one sentence worked out on two typical public words."""
        return in_words(self.embeddings, self.guarantee, self.parts.randomizer.metric)

    def explained(self, tokens: int = 50, **how: Any) -> Explanation:
        """Work the guarantee out on public words, and on a text of so many tokens; `how` is as for `explain`."""
        return self.parts.explain(self.guarantee, tokens=tokens, **how)

    def watch(self, warn: Warn = warn_caller) -> InputWatch:
        """Return what looks at the texts of a run for their owner before they are released; see `InputWatch`."""
        sentences = self.parts.promise.unit is PrivacyUnit.SENTENCE
        return InputWatch(self.embeddings, self.parts.words, sentences=sentences, warn=warn)

    def for_batch_job(self, look: Look = unwatched) -> Sanitizer:
        """Return the same sanitizer with work kept from batch to batch: for one job on the owner's machine only.

        Args:
            look: Looks at the texts in the place of warnings.
        """
        other = self.looking(look)
        other.parts = replace(self.parts, randomizer=self.parts.randomizer.for_batch_job())
        return other

    def looking(self, look: Look = unwatched) -> Sanitizer:
        """Return the same sanitizer without its warnings, for whoever is not the owner of the texts."""
        other = copy(self)
        vars(other).update(source=self.source, _look=look)
        return other

    def __copy__(self) -> Sanitizer:
        other = object.__new__(type(self))
        vars(other).update(vars(self), source=RandomSource())
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Sanitizer:
        return copy(self)  # all but the source is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        if self.parts.rebuild is not None:
            return partial(self.parts.rebuild, threads=self.threads), ()
        chosen = {name: getattr(self, name) for name in ("options", "threads", "certificate", "device", "engine")}
        return partial(Sanitizer, **chosen), (self.embeddings, self.mechanism)

    def __repr__(self) -> str:
        return f"Sanitizer({self.embeddings!r}, {self.mechanism!r}, options={self.options!r})"


def release_rows(
    sanitizer: Sanitizer, rows: Rows, ids: Sequence[str] | None, part: str = ""
) -> tuple[ReleasedRows, BatchRelease]:
    """Return the released texts of rows, None where there was none, and their release."""
    documents = [[text for text in row if text is not None] for row in rows]
    filled = [row for row, texts in enumerate(documents) if texts]
    places = None if ids is None else sanitizer.places(unique_ids([ids[row] for row in filled], len(filled)), part)
    release = sanitizer.release(sanitizer.prepare([documents[row] for row in filled]), places)
    return into_rows(rows, release.texts), release
