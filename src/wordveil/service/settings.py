"""The settings that an operator opens, each under a name: clients choose among them, and choose nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar, get_type_hints

from wordveil.arrays import PrivateText
from wordveil.denoising.denoiser import Denoiser
from wordveil.errors import ParameterError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.plugins import mechanism_class, python_value
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.release import TextOptions
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.sentences.rephrasing import Rephraser
from wordveil.sentences.stock import Stock
from wordveil.service.costs import promise_of
from wordveil.service.messages import DEFAULT_SETTING, ReleaseAnswer
from wordveil.vocabulary.table import Embeddings
from wordveil.withholding.claim import MAY_SAY, MUST_SAY
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.rule import Rule
from wordveil.withholding.words import PACKS, PublicWords

T = TypeVar("T")

_REPHRASE, _REDACT = "rephrase", "redact"
"""What a setting names in the place of a mechanism to release whole public sentences, or public words in their places.
"""

_SENTENCES = {"epsilon": float, "prototypes": int}
_WITHHELD = {"common": int, "pack": str, "strict": bool, "sensitive": bool}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What releases, as an operator writes it: `neighbours:epsilon=6,unknown=mask` or `rephrase:epsilon=8`."""

    releases: str = DEFAULT_MECHANISM  # name of a mechanism, "rephrase" or "redact"
    # its parameters; for a mechanism also `vocabulary`, `unknown` and `casing`, for sentences `stock`, and to redact
    # `common`, `pack`, `strict` and `sensitive`
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def read(cls, text: str) -> Setting:
        releases, _, listed = text.partition(":")
        pairs = [pair.partition("=") for pair in listed.split(",")] if listed else []
        names = [name.strip().replace("-", "_") for name, _, _ in pairs]
        if not releases or not all(sign and name for name, sign, _ in pairs) or len({*names}) < len(names):
            raise ParameterError("--setting", text, "must be MECHANISM:NAME=VALUE,... with each name once.")
        values = zip(names, (python_value(value.strip()) for _, _, value in pairs), strict=True)
        return cls(releases=releases.strip(), values=tuple(sorted(values)))

    def open(self, vocabularies: Mapping[str, Embeddings], stocks: Mapping[str, Stock]) -> Opened | OpenedRedactor:
        values = dict(self.values)
        if self.releases == _REDACT:
            return OpenedRedactor(_redactor(_fitting(_REDACT, values, _WITHHELD)))
        if self.releases == _REPHRASE:
            stock = listed("stock", values.pop("stock", "general"), stocks)
            return Opened(Rephraser(stock, **_fitting(_REPHRASE, values, _SENTENCES)).sanitizer)
        table = listed("vocabulary", values.pop("vocabulary", "default"), vocabularies)
        around = {"unknown": "typed"} | {name: values.pop(name) for name in ("unknown", "casing") if name in values}
        return Opened(Sanitizer(table, _mechanism(self.releases, values), options=TextOptions(**around)))


class Opened:
    """A sanitizer with what is said of each of its releases; one that no budget pays for is refused."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        # The service's log is not for the owner of the texts, so nothing in it may warn of them.
        self.sanitizer, self.guarantee = sanitizer.looking(), sanitizer.guarantee
        promise_of(self.guarantee)
        self.rephrases = self.guarantee.unit is PrivacyUnit.SENTENCE  # nothing reads sentences
        self.sentence, self.promised = self.guarantee.sentence(), self.guarantee.as_dict()
        self.origin, self.explained = asdict(sanitizer.provenance), sanitizer.explained(10 if self.rephrases else 50)
        # Words are drawn from lists: that takes no longer than asking for them.
        self.soon_done = not self.rephrases and sanitizer.mechanism.name == DEFAULT_MECHANISM
        self._reader: Denoiser | None = None
        self._making = threading.Lock()

    def described(self) -> dict[str, Any]:
        table, told = self.sanitizer.embeddings, self.explained
        shown = {"vocabulary": table.header.name, "words": len(table)}
        return {**_origin_of(self), **shown, "how": told.procedure, "examples": told.examples, "advice": told.advice}

    def reader(self) -> Denoiser:
        """Return what reads releases, made when the first one is read."""
        drawn = self.sanitizer
        with self._making:
            self._reader = self._reader or Denoiser(
                drawn.embeddings, drawn.mechanism, options=drawn.options, certificate=drawn.certificate
            )
            return self._reader


class OpenedRedactor:
    """A redactor with what is said of each of its releases; nothing is drawn, so no budget pays."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor, self.origin, self.guarantee = redactor, asdict(redactor.provenance), redactor.guarantee
        self.promised = self.guarantee.as_dict()

    def answer(self, texts: Iterable[str]) -> ReleaseAnswer:
        rows = self.redactor.release_rows([[PrivateText(text)] for text in texts])
        return ReleaseAnswer(
            release=os.urandom(16).hex(),
            texts=[text for row in rows for text in row if text is not None],
            tokens=0,
            cost="0",
            left={},
            repeated=False,
            guarantee=self.promised,
            disclosed=list(self.redactor.disclosed),
            provenance=self.origin,
        )

    def becomes(self, word: str) -> list[tuple[str, float]]:
        """Return what a word becomes: itself where it is on the list and its place permits, or a placeholder."""
        spelling = self.redactor.words.spelling(word) if word else None
        if spelling is None:
            return []
        return [(word if spelling.listed or spelling.pronoun else f"[{spelling.kind.printed}]", 1.0)]

    def described(self) -> dict[str, Any]:
        words = self.redactor.words
        shown = {"vocabulary": f"public words, common:{words.common}", "words": len(words)}
        return {**_origin_of(self), **shown, "how": MAY_SAY, "examples": [], "advice": MUST_SAY}


def _origin_of(opened: Opened | OpenedRedactor) -> dict[str, Any]:
    names = ("mechanism", "checksum")
    return {**{name: opened.origin[name] for name in names}, "guarantee": opened.promised}


def _redactor(values: Mapping[str, Any]) -> Redactor:
    if any(type(value) is not _WITHHELD[name] for name, value in values.items()):  # "false" would count as true
        raise ParameterError("--setting", _REDACT, "takes common=N, pack=A+B, strict=True or False, and sensitive so.")
    packs = tuple(dict.fromkeys((PACKS[0], *values.get("pack", PACKS[0]).split("+"))))
    words = {name: values[name] for name in ("common", "sensitive") if name in values}
    return Redactor(words=PublicWords(packs=packs, **words), rule=Rule(strict=values.get("strict", False)))


def settings_of(given: Iterable[str]) -> dict[str, Setting]:
    """Read settings that an operator opens, each NAME=MECHANISM:...; the default is open without any."""
    opened = {DEFAULT_SETTING: Setting()}
    named: set[str] = set()
    for text in given:
        name, _, setting = text.partition("=")
        if not name.isidentifier() or name in named:
            raise ParameterError("--setting", text, "must be NAME=MECHANISM:..., with each NAME once, a plain word.")
        named.add(name)
        opened[name] = Setting.read(setting)
    return opened


def listed(kind: str, name: Any, among: Mapping[str, T]) -> T:
    """Return what has a name, which an error does not show."""
    if name not in among:
        raise ParameterError(kind, "<hidden>", f"must be one of {', '.join(among)}.")
    return among[name]


def _mechanism(name: str, values: dict[str, Any]) -> Any:
    chosen = mechanism_class(name)
    hints = get_type_hints(chosen)
    names = [field.name for field in fields(chosen) if field.init and field.name not in ("allow_refuted", "metric")]
    try:
        return chosen(**_fitting(name, values, {each: hints[each] for each in names}))
    except TypeError:
        raise ParameterError("--setting", name, "lacks a parameter, or has one of another type.") from None


def _fitting(name: str, values: dict[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of the parameters that there are, whole numbers as such only where they are meant."""
    if not kinds.keys() >= values.keys():
        raise ParameterError("--setting", name, f"has the parameters {', '.join(sorted(kinds))}.")
    real = {each for each, kind in kinds.items() if kind in (float, float | None)}
    return {each: float(value) if each in real and type(value) is int else value for each, value in values.items()}
