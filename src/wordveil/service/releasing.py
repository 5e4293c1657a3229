"""From requests to releases: find the settings, count the tokens, charge, and only then draw noise."""

from __future__ import annotations

import hmac
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from typing import Any

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.denoising.denoiser import Denoiser, Style
from wordveil.errors import ParameterError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.pipeline.explanations import Explanation, explain
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.vectors.binding import bind
from wordveil.pipeline.vectors.releasing import release_vectors
from wordveil.plugins import mechanism_class, mechanism_names
from wordveil.promises.guarantees import Guarantee
from wordveil.randomness import RandomSource
from wordveil.sentences.stock import Stock
from wordveil.service.access import Caller, Secret
from wordveil.service.charges import Charge, Charged
from wordveil.service.costs import cost_of, nats
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
    TextRequest,
    VectorsAnswer,
    VectorsRequest,
)
from wordveil.service.tables import Made, Tables, mechanism_of, setting_of
from wordveil.text.encoding import tokens_per_document, tokens_per_text
from wordveil.vocabulary.table import Embeddings

__all__ = ["Asked", "Counted", "Releaser"]

SHORT = 2000  # characters
SHOWN = 24  # words shown of a list


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Texts to release together.

    Attributes:
        texts: The private texts.
        how: The setting, and whose texts they are.
        caller: Whose key pays.
        retry: The name under which the same request gives the same release again, charged once.
    """

    texts: Sequence[str] = field(repr=False)
    how: TextRequest | BatchRequest | RephraseRequest = field(repr=False)
    caller: Caller
    retry: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What is to be released, with its charge.

    Attributes:
        asked: The texts.
        made: What releases them.
        charge: What they cost.
    """

    asked: Asked
    made: Made
    charge: Charge


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
        return self._tables.made(how).sanitizer

    def soon_done(self, asked: Asked) -> bool:
        """Whether a request is released at once: a short text by the default mechanism, its setting at hand."""
        how = asked.how
        if isinstance(how, RephraseRequest) or how.mechanism != DEFAULT_MECHANISM or sum(map(len, asked.texts)) > SHORT:
            return False
        return setting_of(how) in self._tables.kept

    def count(self, asked: Sequence[Asked]) -> list[Counted]:
        """Count the tokens of texts, those of one setting together; return what to charge for each request.

        Raises:
            ParameterError: If a setting does not exist.
        """
        made = [self._tables.made(each.how) for each in asked]
        found: dict[int, Counted] = {}
        for places in _alike([id(each) for each in made]):
            own = made[places[0]]
            documents = [[PrivateText(text) for text in asked[place].texts] for place in places]
            parts = [*own.sanitizer.parts.encoder.encode_parts([*chain.from_iterable(documents)])]
            tokens = tokens_per_document(tokens_per_text(parts), documents).tolist()
            for place, count in zip(places, tokens, strict=True):
                found[place] = Counted(asked=asked[place], made=own, charge=self._charge(asked[place], own, count))
        return [found[place] for place in range(len(asked))]

    def _charge(self, asked: Asked, made: Made, tokens: int) -> Charge:
        again = {}
        if asked.retry is not None:
            domain = made.sanitizer.parts.domain
            again = {
                "retry": self.secret.digest("retry", asked.caller.id, asked.retry),
                "fingerprint": self.secret.digest("request", repr(asked.how), *asked.texts),
                "setting": self.secret.digest("setting", domain, repr(made.guarantee)),
            }
        return Charge(
            accounts=_payers(asked.caller, asked.how.subject),
            cost=cost_of(made.guarantee, tokens),
            tokens=tokens,
            mechanism=made.origin["mechanism"],
            vocabulary=made.origin["checksum"],
            guarantee=made.sentence,
            assumptions=_assumptions(made.guarantee),
            key=asked.caller.id,
            **again,
        )

    def draw(self, paid: Sequence[tuple[Counted, Charged]]) -> list[ReleaseAnswer]:
        """Draw the noise of releases that are paid for, of those without a retry name together.

        Each text has draws of its own: what is released together depends on nothing that it is released with.
        """
        answers: dict[int, ReleaseAnswer] = {}
        salts = [charged.salt for _, charged in paid]
        alone = [None if salt is None else place for place, salt in enumerate(salts)]
        for places in _alike([(id(counted.made), each) for (counted, _), each in zip(paid, alone, strict=True)]):
            private = [PrivateText(text) for place in places for text in paid[place][0].asked.texts]
            drawn, salt = copy(paid[places[0]][0].made.sanitizer), salts[places[0]]  # a copy has a fresh source
            if salt is not None:
                drawn.source = RandomSource(self.secret.noise_key(salt))
            release = drawn.release_batch(private, ids=None if salt is None else [*map(str, range(len(private)))])
            texts = iter(release.texts)
            for place in places:
                own = [next(texts) for _ in paid[place][0].asked.texts]
                answers[place] = self._answer(*paid[place], release.disclosed, own)
        return [answers[place] for place in range(len(paid))]

    def _answer(
        self, counted: Counted, charged: Charged, disclosed: Sequence[str], texts: Sequence[ReleasedText]
    ) -> ReleaseAnswer:
        how, charge, made = counted.asked.how, counted.charge, counted.made
        return ReleaseAnswer(
            release=charged.release,
            texts=list(texts),
            tokens=charge.tokens,
            cost=nats(charge.cost.units),
            left=charged.left,
            repeated=charged.repeated,
            guarantee=made.promised,
            disclosed=list(disclosed),
            provenance=made.origin,
            seal="" if isinstance(how, RephraseRequest) else self._seal(made, texts),
        )

    def _seal(self, made: Made, released: Sequence[str]) -> str:
        """Return what only this service can have put on texts that it released under a setting, promise and law."""
        law = [str(made.origin[name]) for name in ("checksum", "candidates_checksum", "public_data")]
        return self.secret.digest("seal", made.setting, repr(made.guarantee), *law, *released)

    def denoised(self, asked: DenoiseRequest) -> DenoiseAnswer:
        """Read what a release may have said: post-processing, which costs nothing.

        Raises:
            ParameterError: If the texts are no release of this service, under this setting, to the last letter.
            UnreadableReleaseError: If the noise leaves too little.
        """
        tables = self._tables  # one for all that follows, whatever is read again meanwhile
        made = tables.made(asked)
        if not hmac.compare_digest(asked.seal.encode(), self._seal(made, asked.texts).encode()):
            requirement = "does not belong to these texts and this setting; only what this service released is read."
            raise ParameterError("seal", "<hidden>", requirement)
        kept = made.sanitizer
        reader = tables.readers.get(f"{asked.style} {made.setting}", lambda: _reader(kept, asked.style))
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
        mechanism = mechanism_of(asked.mechanism, {**asked.settings, "epsilon": asked.epsilon})
        if mechanism.releases != "vectors":
            raise ParameterError("mechanism", asked.mechanism, "selects words; choose one that adds noise to vectors.")
        binding = bind(mechanism, rows.shape[1], None)
        binding.checked(rows, 0)  # what cannot be released is not charged
        guarantee = binding.guarantee(test_source=False)
        cost = cost_of(guarantee, len(rows))
        charged = self.ledger.charge(
            Charge(
                accounts=_payers(caller, asked.subject),
                cost=cost,
                tokens=len(rows),
                mechanism=repr(mechanism),
                vocabulary="",
                guarantee=guarantee.sentence(),
                assumptions=_assumptions(guarantee),
                key=caller.id,
            )
        )
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


def _alike(keys: Sequence[Hashable]) -> Iterable[list[int]]:
    """Return the places of each key."""
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places.values()


def _payers(caller: Caller, subject: str | None) -> list[str]:
    return [caller.account, *([] if subject is None else [f"subject:{subject}"])]


def _assumptions(guarantee: Guarantee) -> tuple[str, ...]:
    return getattr(guarantee, "assumptions", ())


def _reader(kept: Sanitizer, style: Style) -> Denoiser:
    return Denoiser(kept.embeddings, kept.mechanism, options=kept.options, style=style, certificate=kept.certificate)


def _rows(vectors: list[list[float]]) -> Any:
    if len({len(row) for row in vectors}) != 1:
        raise ParameterError("vectors", "<hidden>", "must be rows of one length.")
    return np.array(vectors, dtype=np.float64)
