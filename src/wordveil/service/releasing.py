"""From requests to releases: find the settings, count the tokens, charge, and only then draw noise."""

from __future__ import annotations

import hmac
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError
from wordveil.files.secret import Secret
from wordveil.randomness import RandomSource
from wordveil.sanitizing.ids import Prepared
from wordveil.service import messages
from wordveil.service.access import Caller
from wordveil.service.charges import Charge, Charged
from wordveil.service.costs import cost_of, nats
from wordveil.service.ledger import Ledger
from wordveil.service.refusals import NOTHING_DRAWN, RequestRefusedError
from wordveil.service.settings import Opened, OpenedRedactor, listed

_SHORT = 2000  # characters
_SHOWN = 24  # words shown of a list


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Texts to release together."""

    texts: Sequence[str] = field(repr=False)  # the private texts
    how: messages.TextRequest | messages.BatchRequest = field(repr=False)  # the setting, and whose texts they are
    caller: Caller  # whose key pays
    retry: str | None = field(default=None, repr=False)  # the name under which the request is charged once
    # what only the client that made the request knows, with a name always: whoever knows the name alone could else ask
    # with guesses of the text, for free
    nonce: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What is to be released, with its charge."""

    asked: Asked  # the texts
    opened: Opened  # what releases them
    prepared: Prepared = field(repr=False)  # the texts as it reads them
    charge: Charge  # what they cost


class Releaser:
    """Releases what is paid for."""

    def __init__(self, ledger: Ledger, secret: Secret, settings: Mapping[str, Opened | OpenedRedactor]) -> None:
        self.ledger, self.secret, self.settings = ledger, secret, settings

    def named(self, setting: str) -> Opened:
        opened = listed("setting", setting, self.settings)
        if isinstance(opened, OpenedRedactor):
            raise ParameterError("setting", "<hidden>", "redacts: nothing is drawn, so there is nothing to read.")
        return opened

    def soon_done(self, asked: Asked) -> bool:
        """Whether a request is released at once: a short text whose words are drawn from lists."""
        opened = listed("setting", asked.how.setting, self.settings)
        return isinstance(opened, Opened) and opened.soon_done and sum(map(len, asked.texts)) <= _SHORT

    def release(self, asked: Asked) -> messages.ReleaseAnswer:
        """Release what takes longer; what its accounts cannot pay one token of is refused before it is read.

        Raises:
            BudgetSpentError: If an account has less left than the cost.
            TooLittleKeptError: If a setting redacts, and would keep too little.
            RequestRefusedError: If it redacts, and the request has a name under which it is to be charged once.
        """
        opened = listed("setting", asked.how.setting, self.settings)
        if isinstance(opened, OpenedRedactor):
            if asked.retry is not None:
                raise RequestRefusedError(422, "idempotency-key", NOTHING_DRAWN)
            return opened.answer(asked.texts)
        self.ledger.check_paying(self._charge(asked, opened, 1))
        (counted,) = self.count([asked])
        (answer,) = self.draw([(counted, self.ledger.charge(counted.charge))])
        return answer

    def count(self, asked: Sequence[Asked]) -> list[Counted]:
        """Read the texts of each request; return what to charge for it."""
        return [self._counted(each, self.named(each.how.setting)) for each in asked]

    def _counted(self, asked: Asked, opened: Opened) -> Counted:
        prepared = opened.sanitizer.prepare([[PrivateText(text)] for text in asked.texts])
        charge = self._charge(asked, opened, int(prepared.cost.sum()))
        return Counted(asked=asked, opened=opened, prepared=prepared, charge=charge)

    def _charge(self, asked: Asked, opened: Opened, tokens: int) -> Charge:
        again = {}
        if asked.retry is not None:
            domain = opened.sanitizer.parts.domain
            again = {
                "retry": self.secret.digest("retry", asked.caller.id, asked.retry),
                "fingerprint": self.secret.digest("request", str(asked.nonce), repr(asked.how), *asked.texts),
                "setting": self.secret.digest("setting", domain, repr(opened.guarantee)),
            }
        payers = [asked.caller.account] + ([f"subject:{asked.how.subject}"] if asked.how.subject is not None else [])
        return Charge(
            accounts=payers,
            cost=cost_of(opened.guarantee, max(tokens, 1)),  # who can pay nothing opens no account and fills no ledger
            tokens=tokens,
            mechanism=opened.origin["mechanism"],
            vocabulary=opened.origin["checksum"],
            guarantee=opened.sentence,
            assumptions=opened.guarantee.assumptions,
            key=asked.caller.id,
            **again,
        )

    def draw(self, paid: Sequence[tuple[Counted, Charged]]) -> list[messages.ReleaseAnswer]:
        """Draw the noise of releases that are paid for, of those without a retry name together.

        Each text has draws of its own: what is released together depends on nothing that it is released with.
        """
        answers: dict[int, messages.ReleaseAnswer] = {}
        together: dict[Hashable, list[int]] = {}
        for place, (counted, charged) in enumerate(paid):
            alone = None if charged.salt is None else place
            together.setdefault((id(counted.opened), alone), []).append(place)
        for places in together.values():
            counted, charged = paid[places[0]]
            prepared = Prepared.joined([paid[place][0].prepared for place in places])
            drawn, where = copy(counted.opened.sanitizer), None  # a copy has a fresh source
            if charged.salt is not None:
                drawn.source = RandomSource(self.secret.noise_key(charged.salt))
                where = drawn.places(map(str, range(len(prepared.documents))))
            release = drawn.release(prepared, where)
            texts = iter(release.texts)
            for place in places:
                own = [next(texts) for _ in paid[place][0].asked.texts]
                answers[place] = self._answer(*paid[place], release.disclosed, own)
        return [answers[place] for place in range(len(paid))]

    def _answer(
        self, counted: Counted, charged: Charged, disclosed: Sequence[str], texts: Sequence[ReleasedText]
    ) -> messages.ReleaseAnswer:
        charge, opened = counted.charge, counted.opened
        return messages.ReleaseAnswer(
            release=charged.release,
            texts=list(texts),
            tokens=charge.tokens,
            cost=nats(charge.cost.units),
            left=charged.left,
            repeated=charged.repeated,
            guarantee=opened.promised,
            disclosed=list(disclosed),
            provenance=opened.origin,
            seal="" if opened.rephrases else self._seal(opened, texts),
        )

    def _seal(self, opened: Opened, released: Sequence[str]) -> str:
        """Return what only this service can have put on texts that it released under a setting, promise and law."""
        law = [opened.origin[name] for name in ("mechanism", "checksum", "candidates_checksum", "public_data")]
        around = repr(opened.sanitizer.options)
        return self.secret.digest("seal", around, repr(opened.guarantee), *law, *released)

    def denoised(self, asked: messages.DenoiseRequest) -> messages.DenoiseAnswer:
        """Read what a release may have said: post-processing, which costs nothing.

        Raises:
            ParameterError: If the texts are no release of this service, under this setting, to the last letter.
            UnreadableReleaseError: If the noise leaves too little.
        """
        opened = self.named(asked.setting)
        if opened.rephrases or not hmac.compare_digest(asked.seal.encode(), self._seal(opened, asked.texts).encode()):
            requirement = "does not belong to these texts and this setting; only what this service released is read."
            raise ParameterError("seal", "<hidden>", requirement)
        found = opened.reader().read([ReleasedText(text) for text in asked.texts])
        return messages.DenoiseAnswer(
            texts=[each.text for each in found],
            read=[not each.refused for each in found],
            attack=[float(each.named.mean()) if len(each.named) else 0.0 for each in found],
            named=[[*zip(each.released, each.guesses, each.named.tolist(), strict=True)] for each in found],
            guarantee=opened.promised,
            disclosed=list(opened.sanitizer.disclosed),
        )

    def hides_among(self, asked: messages.HidesRequest) -> messages.HidesAmong:
        """Return what may be released for words, by the mechanism's own law; nothing of words nobody lists."""
        opened = listed("setting", asked.setting, self.settings)
        if isinstance(opened, OpenedRedactor):
            return messages.HidesAmong(words={word: opened.becomes(word) for word in asked.words if word})
        kept = opened.sanitizer
        drawn, among = kept.parts.randomizer, {}
        for word in dict.fromkeys(asked.words):
            id_ = kept.embeddings.id(word)
            rows = None if id_ is None else drawn.law(np.array([id_], dtype=np.int32))
            if rows is not None:
                first = np.argsort(-rows[0], kind="stable")[:_SHOWN]
                among[word] = [(kept.embeddings.words[drawn.outputs[i]], float(rows[0][i])) for i in first]
        return messages.HidesAmong(words=among)

    def listed(self) -> list[dict[str, Any]]:
        return [{"name": name, **opened.described()} for name, opened in self.settings.items()]
