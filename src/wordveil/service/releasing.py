"""From a request to a release: find the setting, count the tokens, charge, and only then draw noise."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from wordveil.arrays import PrivateText
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
from wordveil.service.access import Caller, Secret
from wordveil.service.costs import Cost, cost_of, nats
from wordveil.service.ledger import Charge, Charged, Ledger
from wordveil.service.messages import (
    ExplainRequest,
    HidesAmong,
    HidesRequest,
    How,
    ReleaseAnswer,
    Setting,
    VectorsAnswer,
    VectorsRequest,
)
from wordveil.text.encoding import tokens_per_text
from wordveil.vocabulary.table import Embeddings

__all__ = ["Releaser"]

KEPT = 8  # settings whose sanitizers are kept
SHOWN = 24  # words shown of a list


class Releaser:
    """Releases what is paid for.

    Args:
        ledger: Pays.
        secret: What idempotent noise is drawn under.
        vocabularies: By name; "default" is the one used where none is named.
    """

    def __init__(self, ledger: Ledger, secret: Secret, vocabularies: Mapping[str, Embeddings]) -> None:
        self.ledger, self.vocabularies = ledger, vocabularies
        self._secret = secret
        self._kept: OrderedDict[str, Sanitizer] = OrderedDict()
        self._lock = threading.Lock()

    def sanitizer(self, how: How) -> Sanitizer:
        """Return the sanitizer of a setting.

        Raises:
            ParameterError: If there is no such mechanism or vocabulary, or a setting does not fit.
        """
        chosen = {field.name: getattr(how, field.name) for field in fields(How)}
        name = json.dumps(chosen, sort_keys=True)
        with self._lock:
            if name not in self._kept:
                self._kept[name] = self._made(how)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(name)
            return self._kept[name]

    def _made(self, how: How) -> Sanitizer:
        if how.vocabulary not in self.vocabularies:
            listed = ", ".join(self.vocabularies)
            raise ParameterError("vocabulary", "<hidden>", f"must be one of {listed}.")
        settings = dict(how.settings) if how.epsilon is None else {**how.settings, "epsilon": how.epsilon}
        options = TextOptions(unknown=how.unknown, casing=how.casing)
        return Sanitizer(self.vocabularies[how.vocabulary], _mechanism(how.mechanism, settings), options=options)

    def texts(
        self, texts: Sequence[str], how: How, caller: Caller, *, subject: str | None = None, retry: str | None = None
    ) -> ReleaseAnswer:
        """Release texts, charged to the caller's account and the subject's.

        Args:
            texts: The private texts, charged together.
            how: The setting.
            caller: Whose key pays.
            subject: Whose texts they are.
            retry: The name under which the same request gives the same release again, charged once.

        Raises:
            BudgetSpentError: If an account has too little left; no noise was drawn.
            RetryError: If the name was used for another request.
        """
        kept = self.sanitizer(how)
        private = [PrivateText(text) for text in texts]
        tokens = int(tokens_per_text(list(kept.parts.encoder.encode_parts(private))).sum())
        guarantee = kept.guarantee
        again = {}
        if retry is not None:
            again = {
                "retry": self._secret.digest("retry", caller.id, retry),
                "fingerprint": self._secret.digest("request", repr(how), repr(subject), *texts),
                "setting": self._secret.digest("setting", kept.parts.domain, repr(guarantee)),
            }
        cost = cost_of(guarantee, tokens)
        charged = self._charge(cost, tokens, guarantee, kept.provenance, (caller, subject), again)
        drawn = copy(kept)  # with a fresh source, which goes with this request
        if charged.salt is not None:
            drawn.source = RandomSource(self._secret.noise_key(charged.salt))
        ids = None if charged.salt is None else [str(number) for number in range(len(texts))]
        release = drawn.release_batch(private, ids=ids)
        return ReleaseAnswer(
            release=charged.release,
            texts=list(release.texts),
            tokens=tokens,
            cost=nats(cost.units),
            left=charged.left,
            repeated=charged.repeated,
            guarantee=guarantee.as_dict(),
            disclosed=list(release.disclosed),
            provenance=asdict(release.provenance),
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
        charged = self._charge(cost, len(rows), guarantee, origin, (caller, asked.subject), {})
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

    def _charge(
        self,
        cost: Cost,
        count: int,
        guarantee: Guarantee,
        origin: Provenance,
        payers: tuple[Caller, str | None],
        again: dict[str, str],
    ) -> Charged:
        caller, subject = payers
        accounts = [caller.account, *([] if subject is None else [f"subject:{subject}"])]
        return self.ledger.charge(
            Charge(
                accounts=accounts,
                cost=cost,
                tokens=count,
                mechanism=origin.mechanism,
                vocabulary=origin.checksum,
                guarantee=guarantee.sentence(),
                assumptions=getattr(guarantee, "assumptions", ()),
                **again,
            )
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
