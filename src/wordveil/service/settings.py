"""The settings that an operator opens, each under a name: clients choose among them, and choose nothing else."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar, get_type_hints

from wordveil.denoising.denoiser import Denoiser
from wordveil.errors import ParameterError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.plugins import mechanism_class
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.release import TextOptions
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.stock import Stock
from wordveil.service.costs import promise_of
from wordveil.service.messages import DEFAULT_SETTING
from wordveil.vocabulary.table import Embeddings

__all__ = ["Opened", "Setting", "listed", "settings_of"]

T = TypeVar("T")

REPHRASE = "rephrase"
"""What a setting names in the place of a mechanism to release whole public sentences."""

SENTENCES = {"epsilon": float, "prototypes": int}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What releases, as an operator writes it: `neighbours:epsilon=6,unknown=mask` or `rephrase:epsilon=8`.

    Attributes:
        releases: Name of a mechanism, or "rephrase".
        values: Its parameters; for a mechanism also `vocabulary`, `unknown` and `casing`, for sentences `stock`.
    """

    releases: str = DEFAULT_MECHANISM
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def read(cls, text: str) -> Setting:
        """Read what an operator wrote.

        Raises:
            ParameterError: If it is not MECHANISM or MECHANISM:NAME=VALUE,..., or says something twice.
        """
        releases, _, listed = text.partition(":")
        pairs = [pair.partition("=") for pair in listed.split(",")] if listed else []
        names = [name.strip().replace("-", "_") for name, _, _ in pairs]
        if not releases or not all(sign and name for name, sign, _ in pairs) or len({*names}) < len(names):
            raise ParameterError("--setting", text, "must be MECHANISM:NAME=VALUE,... with each name once.")
        values = zip(names, (_value(value.strip()) for _, _, value in pairs), strict=True)
        return cls(releases=releases.strip(), values=tuple(sorted(values)))

    def open(self, vocabularies: Mapping[str, Embeddings], stocks: Mapping[str, Stock]) -> Opened:
        """Make what releases.

        Raises:
            ParameterError: If there is no such mechanism, vocabulary or stock, or a parameter does not fit.
        """
        values = dict(self.values)
        if self.releases == REPHRASE:
            stock = listed("stock", values.pop("stock", "general"), stocks)
            return Opened(Rephraser(stock, **_fitting(REPHRASE, values, SENTENCES)).sanitizer)
        table = listed("vocabulary", values.pop("vocabulary", "default"), vocabularies)
        around = {"unknown": "typed"} | {name: values.pop(name) for name in ("unknown", "casing") if name in values}
        return Opened(Sanitizer(table, _mechanism(self.releases, values), options=TextOptions(**around)))


class Opened:
    """A sanitizer with what is said of each of its releases; one that no budget pays for is refused.

    Args:
        sanitizer: What releases.

    Attributes:
        rephrases: Whether it releases sentences, which nothing reads.
        soon_done: Whether it draws words from lists, which takes no longer than asking for them.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        # The service's log is not for the owner of the texts, so nothing in it may warn of them.
        self.sanitizer, self.guarantee = sanitizer.looking(), sanitizer.guarantee
        promise_of(self.guarantee)
        self.rephrases = self.guarantee.unit is PrivacyUnit.SENTENCE
        self.sentence, self.promised = self.guarantee.sentence(), self.guarantee.as_dict()
        self.origin, self.explained = asdict(sanitizer.provenance), sanitizer.explained(10 if self.rephrases else 50)
        self.soon_done = not self.rephrases and sanitizer.mechanism.name == DEFAULT_MECHANISM
        self._reader: Denoiser | None = None
        self._making = threading.Lock()

    def reader(self) -> Denoiser:
        """Return what reads releases, made when the first one is read."""
        drawn = self.sanitizer
        with self._making:
            self._reader = self._reader or Denoiser(
                drawn.embeddings, drawn.mechanism, options=drawn.options, certificate=drawn.certificate
            )
            return self._reader


def settings_of(given: Iterable[str]) -> dict[str, Setting]:
    """Read settings that an operator opens, each NAME=MECHANISM:...; the default is open without any.

    Raises:
        ParameterError: If one has another form, or a name comes twice.
    """
    opened = {DEFAULT_SETTING: Setting()}
    named: set[str] = set()
    for text in given:
        name, _, setting = text.partition("=")
        if not name.isidentifier() or name in named:
            raise ParameterError("--setting", text, "must be NAME=MECHANISM:..., with each NAME once, a plain word.")
        named.add(name)
        opened[name] = Setting.read(setting)
    return opened


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def listed(kind: str, name: Any, among: Mapping[str, T]) -> T:
    """Return what has a name, which an error does not show."""
    if name not in among:
        raise ParameterError(kind, "<hidden>", f"must be one of {', '.join(among)}.")
    return among[name]


def _mechanism(name: str, values: dict[str, Any]) -> Any:
    """Return a mechanism; a calibration that is refuted is never made."""
    chosen = mechanism_class(name)
    hints = get_type_hints(chosen)
    kinds = {field.name: hints[field.name] for field in fields(chosen) if field.init}
    kinds = {each: kind for each, kind in kinds.items() if each not in ("allow_refuted", "metric")}
    try:
        return chosen(**_fitting(name, values, kinds))
    except TypeError:
        raise ParameterError("--setting", name, "lacks a parameter, or has one of another type.") from None


def _fitting(name: str, values: dict[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of the parameters that there are, whole numbers as such only where they are meant."""
    if not kinds.keys() >= values.keys():
        raise ParameterError("--setting", name, f"has the parameters {', '.join(sorted(kinds))}.")
    real = {each for each, kind in kinds.items() if kind in (float, float | None)}
    return {each: float(value) if each in real and type(value) is int else value for each, value in values.items()}
