"""From a request to a release: find the setting, count the tokens, charge, and only then draw noise."""

from __future__ import annotations

import hmac
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, fields
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.denoising.denoiser import Denoiser, Style
from wordveil.errors import ParameterError
from wordveil.mechanisms.common import Mechanism
from wordveil.pipeline.explanations import Explanation, explain
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.vectors.binding import bind
from wordveil.pipeline.vectors.releasing import release_vectors
from wordveil.plugins import mechanism_class, mechanism_names
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import Provenance, TextOptions
from wordveil.randomness import RandomSource
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.stock import Stock
from wordveil.service.access import Caller, Secret
from wordveil.service.charges import Charge, Charged
from wordveil.service.costs import Cost, cost_of, nats
from wordveil.service.ledger import Ledger
from wordveil.service.messages import (
    BatchRequest,
    DenoiseAnswer,
    DenoiseRequest,
    ExplainRequest,
    HidesAmong,
    HidesRequest,
    How,
    ReleaseAnswer,
    RephraseRequest,
    Setting,
    TextRequest,
    VectorsAnswer,
    VectorsRequest,
)
from wordveil.text.encoding import tokens_per_text
from wordveil.vocabulary.table import Embeddings

__all__ = ["Releaser"]

T = TypeVar("T")

KEPT = 8  # settings whose sanitizers, or denoisers, are kept
SETTING = tuple(field.name for field in fields(How))
SIZES = ("stock", "epsilon", "prototypes", "crowd")
SHOWN = 24  # words shown of a list


class Kept(Generic[T]):
    """What was made for settings lately, the one used least lately forgotten first.

    What is being made holds up those who wait for it, and nobody else.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._made: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return what was made under a name, or make it."""
        found = self._found(name)
        if found is None:
            with self._lock:
                making = self._making.setdefault(name, threading.Lock())
            with making:
                found = self._found(name)
                if found is None:
                    try:
                        found = self._made[name] = make()
                    finally:
                        self._making.pop(name, None)
            with self._lock:
                while len(self._made) > KEPT:
                    self._made.popitem(last=False)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._made

    def _found(self, name: str) -> T | None:
        with self._lock:
            if name in self._made:
                self._made.move_to_end(name)
            return self._made.get(name)


class Tables:
    """Vocabularies and stocks, and what was made of them: exchanged as one, so that no request sees two of them.

    Args:
        vocabularies: By name.
        stocks: By name.
    """

    def __init__(self, vocabularies: Mapping[str, Embeddings], stocks: Mapping[str, Stock]) -> None:
        self.vocabularies, self.stocks = vocabularies, stocks
        self.kept, self.readers = Kept[Sanitizer](), Kept[Denoiser]()

    def rephraser(self, how: RephraseRequest) -> Rephraser:
        """Make a rephraser."""
        if how.stock not in self.stocks:
            raise ParameterError("stock", "<hidden>", f"must be one of {', '.join(self.stocks)}.")
        chosen = {name: getattr(how, name) for name in ("epsilon", "prototypes", "crowd")}
        return Rephraser(self.stocks[how.stock], **chosen)

    def sanitizer(self, how: How) -> Sanitizer:
        """Make a sanitizer."""
        if how.vocabulary not in self.vocabularies:
            listed = ", ".join(self.vocabularies)
            raise ParameterError("vocabulary", "<hidden>", f"must be one of {listed}.")
        settings = dict(how.settings) if how.epsilon is None else {**how.settings, "epsilon": how.epsilon}
        options = TextOptions(unknown=how.unknown, casing=how.casing)
        return Sanitizer(self.vocabularies[how.vocabulary], _mechanism(how.mechanism, settings), options=options)


class Releaser:
    """Releases what is paid for.

    Args:
        ledger: Pays.
        secret: What idempotent noise is drawn under.
        vocabularies: By name; "default" is the one used where none is named.
        stocks: Of public sentences, by name; "general" is the one used where none is named.
    """

    def __init__(
        self,
        ledger: Ledger,
        secret: Secret,
        vocabularies: Mapping[str, Embeddings] | None = None,
        stocks: Mapping[str, Stock] | None = None,
    ) -> None:
        self.ledger, self.secret = ledger, secret
        self._tables = Tables(vocabularies or {}, stocks or {})

    def use(self, other: Releaser) -> None:
        """Release with another's vocabularies from now on; what is on its way ends with those it began with."""
        self._tables = other._tables

    @property
    def vocabularies(self) -> Mapping[str, Embeddings]:
        """The vocabularies by name."""
        return self._tables.vocabularies

    def sanitizer(self, how: How | RephraseRequest) -> Sanitizer:
        """Return the sanitizer, or rephraser, of a setting.

        Raises:
            ParameterError: If there is no such mechanism, vocabulary or stock, or a setting does not fit.
        """
        tables = self._tables
        if isinstance(how, RephraseRequest):
            return tables.kept.get(_setting(how, SIZES), lambda: tables.rephraser(how))
        return tables.kept.get(_setting(how), lambda: tables.sanitizer(how))

    def made(self, how: How | RephraseRequest) -> bool:
        """Whether the sanitizer of a setting is at hand."""
        return not isinstance(how, RephraseRequest) and _setting(how) in self._tables.kept

    def begin(
        self,
        texts: Sequence[str],
        how: TextRequest | BatchRequest | RephraseRequest,
        caller: Caller,
        *,
        retry: str | None = None,
    ) -> tuple[Charge, Callable[[Charged], ReleaseAnswer]]:
        """Count the tokens of texts; return what to charge, and what draws the noise once that is charged.

        Args:
            texts: The private texts, charged together.
            how: The setting, and whose texts they are.
            caller: Whose key pays.
            retry: The name under which the same request gives the same release again, charged once.

        Raises:
            ParameterError: If the setting does not exist.
        """
        kept = self.sanitizer(how)
        private = [PrivateText(text) for text in texts]
        tokens = int(tokens_per_text(list(kept.parts.encoder.encode_parts(private))).sum())
        guarantee = kept.guarantee
        again = {}
        if retry is not None:
            again = {
                "retry": self.secret.digest("retry", caller.id, retry),
                "fingerprint": self.secret.digest("request", repr(how), *texts),
                "setting": self.secret.digest("setting", kept.parts.domain, repr(guarantee)),
            }
        cost = cost_of(guarantee, tokens)
        charge = _charge(cost, tokens, guarantee, kept.provenance, (caller, how.subject), again)
        return charge, partial(self._drawn, private, how, kept, charge)

    def _drawn(
        self,
        private: Sequence[PrivateText],
        how: TextRequest | BatchRequest | RephraseRequest,
        kept: Sanitizer,
        charge: Charge,
        charged: Charged,
    ) -> ReleaseAnswer:
        """Draw the noise of a release that is paid for."""
        drawn = copy(kept)  # with a fresh source, which goes with this request
        if charged.salt is not None:
            drawn.source = RandomSource(self.secret.noise_key(charged.salt))
        ids = None if charged.salt is None else [str(number) for number in range(len(private))]
        release = drawn.release_batch(private, ids=ids)
        return ReleaseAnswer(
            release=charged.release,
            texts=list(release.texts),
            tokens=charge.tokens,
            cost=nats(charge.cost.units),
            left=charged.left,
            repeated=charged.repeated,
            guarantee=_said(kept.guarantee),
            disclosed=list(release.disclosed),
            provenance=_origin(release.provenance),
            seal="" if isinstance(how, RephraseRequest) else self._seal(how, kept, release.texts),
        )

    def _seal(self, how: How, kept: Sanitizer, released: Sequence[str]) -> str:
        """Return what only this service can have put on texts that it released under a setting and its promise."""
        return self.secret.digest("seal", _setting(how), repr(kept.guarantee), *released)

    def denoised(self, asked: DenoiseRequest) -> DenoiseAnswer:
        """Read what a release may have said: post-processing, which costs nothing.

        Raises:
            ParameterError: If the texts are no release of this service, under this setting, to the last letter.
            UnreadableReleaseError: If the noise leaves too little.
        """
        tables = self._tables  # one for all that follows, whatever is read again meanwhile
        kept = tables.kept.get(_setting(asked), lambda: tables.sanitizer(asked))
        if not hmac.compare_digest(asked.seal.encode(), self._seal(asked, kept, asked.texts).encode()):
            requirement = "does not belong to these texts and this setting; only what this service released is read."
            raise ParameterError("seal", "<hidden>", requirement)
        reader = tables.readers.get(f"{asked.style} {_setting(asked)}", lambda: _reader(kept, asked.style))
        found = reader.read([ReleasedText(text) for text in asked.texts])
        return DenoiseAnswer(
            texts=[each.text for each in found],
            read=[not each.refused for each in found],
            attack=[float(each.named.mean()) if len(each.named) else 0.0 for each in found],
            named=[[*zip(each.released, each.guesses, each.named.tolist(), strict=True)] for each in found],
            guarantee=kept.guarantee.as_dict(),
            disclosed=list(kept.disclosed),
        )

    def vectors(self, asked: VectorsRequest, caller: Caller) -> VectorsAnswer:
        """Release vectors; every row is charged."""
        rows = _rows(asked.vectors)
        mechanism = _mechanism(asked.mechanism, {**asked.settings, "epsilon": asked.epsilon})
        if mechanism.releases != "vectors":
            raise ParameterError("mechanism", asked.mechanism, "selects words; choose one that adds noise to vectors.")
        binding = bind(mechanism, rows.shape[1], None)
        binding.checked(rows, 0)  # what cannot be released is not charged
        guarantee = binding.guarantee(test_source=False)
        cost = cost_of(guarantee, len(rows))
        origin = Provenance(version="", mechanism=repr(mechanism), vocabulary="", checksum="", candidates_checksum="")
        charged = self.ledger.charge(_charge(cost, len(rows), guarantee, origin, (caller, asked.subject), {}))
        release = release_vectors(rows, mechanism)
        return VectorsAnswer(
            release=charged.release,
            vectors=release.vectors.tolist(),
            cost=nats(cost.units),
            left=charged.left,
            guarantee=release.guarantee.as_dict(),
            disclosed=list(release.disclosed),
            provenance=asdict(release.provenance),
        )

    def explained(self, asked: ExplainRequest) -> Explanation:
        """Explain a setting on public words."""
        kept = self.sanitizer(asked)
        drawn = kept.parts.randomizer
        try:
            return explain(
                kept.embeddings,
                kept.guarantee,
                metric=drawn.metric,
                pairs=asked.pairs,
                tokens=asked.tokens,
                randomizer=drawn,
            )
        except ParameterError as error:
            if error.name == "pairs":
                raise ParameterError("pairs", "<hidden>", "must be words of the vocabulary.") from None
            raise

    def hides_among(self, asked: HidesRequest) -> HidesAmong:
        """Return what may be released for words, by the mechanism's own law; nothing of words nobody lists."""
        kept = self.sanitizer(asked)
        drawn, listed = kept.parts.randomizer, {}
        for word in asked.words:
            id_ = kept.embeddings.id(word)
            rows = None if id_ is None else drawn.law(np.array([id_], dtype=np.int32))
            if rows is not None:
                first = np.argsort(-rows[0], kind="stable")[:SHOWN]
                listed[word] = [(kept.embeddings.words[drawn.outputs[i]], float(rows[0][i])) for i in first]
        return HidesAmong(words=listed)

    def mechanisms(self) -> list[dict[str, Any]]:
        """Return every mechanism with its paper and its parameters."""
        return [
            {
                "name": name,
                "paper": mechanism_class(name).paper,
                "releases": mechanism_class(name).releases,
                "parameters": [field.name for field in fields(mechanism_class(name)) if field.init],
            }
            for name in mechanism_names()
        ]


def _setting(how: Any, names: Sequence[str] = SETTING) -> str:
    """Return the name of a setting: equal for equal ones."""
    return json.dumps({name: getattr(how, name) for name in names}, sort_keys=True)


def _charge(
    cost: Cost,
    count: int,
    guarantee: Guarantee,
    origin: Provenance,
    payers: tuple[Caller, str | None],
    again: dict[str, str],
) -> Charge:
    caller, subject = payers
    accounts = [caller.account, *([] if subject is None else [f"subject:{subject}"])]
    return Charge(
        accounts=accounts,
        cost=cost,
        tokens=count,
        mechanism=origin.mechanism,
        vocabulary=origin.checksum,
        guarantee=guarantee.sentence(),
        assumptions=getattr(guarantee, "assumptions", ()),
        key=caller.id,
        **again,
    )


@lru_cache(maxsize=64)
def _said(guarantee: Guarantee) -> dict[str, Any]:
    return guarantee.as_dict()


@lru_cache(maxsize=64)
def _origin(provenance: Provenance) -> dict[str, Any]:
    return asdict(provenance)


def _reader(kept: Sanitizer, style: Style) -> Denoiser:
    return Denoiser(kept.embeddings, kept.mechanism, options=kept.options, style=style, certificate=kept.certificate)


def _mechanism(name: str, settings: Mapping[str, Setting]) -> Any:
    """Return a mechanism with its parameters; a calibration that is refuted is never made."""
    if name not in mechanism_names():
        raise ParameterError("mechanism", "<hidden>", f"must be one of {', '.join(mechanism_names())}.")
    chosen: type[Mechanism] = mechanism_class(name)
    allowed = {field.name for field in fields(chosen) if field.init} - {"allow_refuted", "metric"}  # type: ignore[arg-type]
    if not allowed.issuperset(settings):
        raise ParameterError("settings", "<hidden>", f"must be among {', '.join(sorted(allowed))}.")
    try:
        return chosen(**settings)
    except TypeError:
        raise ParameterError("settings", "<hidden>", f"of {name} are missing or of another type.") from None


def _rows(vectors: list[list[float]]) -> Any:
    if len({len(row) for row in vectors}) != 1:
        raise ParameterError("vectors", "<hidden>", "must be rows of one length.")
    return np.array(vectors, dtype=np.float64)
