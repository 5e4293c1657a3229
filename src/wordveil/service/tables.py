"""Vocabularies and stocks, and what is made of them for the settings that are asked for."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Generic, TypeVar

from wordveil.denoising.denoiser import Denoiser
from wordveil.errors import ParameterError
from wordveil.mechanisms.common import Mechanism
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.plugins import mechanism_class, mechanism_names
from wordveil.promises.release import TextOptions
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.stock import Stock
from wordveil.service.messages import How, RephraseRequest, Setting
from wordveil.vocabulary.table import Embeddings

__all__ = ["Made", "Tables", "mechanism_of", "setting_of"]

T = TypeVar("T")

KEPT = 8  # settings whose sanitizers, or denoisers, are kept
SETTING = tuple(field.name for field in fields(How))
ENCODE = json.JSONEncoder(sort_keys=True).encode
SIZES = ("stock", "epsilon", "prototypes", "crowd")


class Made:
    """A sanitizer, or rephraser, with what is said of each of its releases.

    Args:
        setting: Its name.
        sanitizer: What releases.
    """

    def __init__(self, setting: str, sanitizer: Sanitizer) -> None:
        self.setting = setting
        self.sanitizer, self.guarantee = sanitizer, sanitizer.guarantee
        self.sentence, self.promised = self.guarantee.sentence(), self.guarantee.as_dict()
        self.origin = asdict(sanitizer.provenance)


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
        self.kept, self.readers = Kept[Made](), Kept[Denoiser]()

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
        return Sanitizer(self.vocabularies[how.vocabulary], mechanism_of(how.mechanism, settings), options=options)

    def made(self, how: How | RephraseRequest) -> Made:
        """Return what a setting is released with; it warns of no text, because the service's log is not for its owner.

        Raises:
            ParameterError: If there is no such mechanism, vocabulary or stock, or a setting does not fit.
        """
        if isinstance(how, RephraseRequest):
            name = setting_of(how, SIZES)
            return self.kept.get(name, lambda: Made(name, self.rephraser(how).looking()))
        name = setting_of(how)
        return self.kept.get(name, lambda: Made(name, self.sanitizer(how).looking()))


def setting_of(how: Any, names: Sequence[str] = SETTING) -> str:
    """Return the name of a setting: equal for equal ones."""
    return ENCODE({name: getattr(how, name) for name in names})


def mechanism_of(name: str, settings: Mapping[str, Setting]) -> Any:
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
