"""A release: the output, what it promises, what it discloses anyway, and where it came from.

A release cannot be built without a guarantee; `NoGuarantee(reason)` is a legal one. `TextOptions` are the choices
around the mechanism that change what is disclosed; `disclosures` turns them into sentences, and `effective_guarantee`
into what the promise assumes: it compares texts that agree in all that is disclosed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from html import escape
from textwrap import shorten
from typing import Any, ClassVar, Literal, get_args

from wordveil.arrays import ReleasedText
from wordveil.errors import ParameterError, printable
from wordveil.parameters import check_choice
from wordveil.promises.guarantees import Guarantee, NoGuarantee, PrivacyUnit, Standing, within_scope
from wordveil.promises.html import items
from wordveil.promises.number_grids import NumberGrid
from wordveil.promises.rounding import round_up

MASK = "[unknown]"
_KEYED = (
    "whether a document changed between two releases under one key and id: an unchanged one comes out as before and a "
    "changed one is drawn afresh, on the same version and, where provenance names one, arithmetic; on others each is "
    "one more release"
)
KEYED = f"{_KEYED} (in a run the id is the file name without its folder, the chosen columns and the record number)"
"""What a release with an id of the caller's discloses; losses of such releases do not simply add."""


def keyed_by(column: str) -> str:
    """Return the same for a run in which a column names each document."""
    return f"{_KEYED} (the id is the value of the column {printable(column)}, with the chosen columns)"


Unknown = Literal["random", "typed", "drop", "mask"]
Per = Literal["token", "document"]
Casing = Literal["sentence", "vocabulary", "shape"]
Numbers = Literal["unknown", "vocabulary", "metric"]
Markup = Literal["none", "html"]


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Choices around the mechanism.

    Attributes:
        unknown: What stands for a token outside the vocabulary: "random" replaces it by a uniform public word before
            the mechanism; "typed" does the same with words, but writes a public surrogate of the same kind for a
            number, date, e-mail and so on, whether the vocabulary lists it or not, and discloses the kinds; "drop" and
            "mask" disclose which tokens were unknown.
        per: "token" draws afresh for each occurrence; "document" draws once per distinct known word of a document,
            which is a whole record with all its texts.
        casing: "sentence" is computed from the released text; "vocabulary" writes entries as they are; "shape" copies
            the casing of each token, which is disclosed.
        numbers: "unknown" treats every token with a digit as unknown; "vocabulary" looks it up; "metric", with
            unknown="typed", keeps the magnitude of the kinds that have a grid.
        grids: For numbers="metric": the public grids, one a kind, each with an epsilon of its own.
        markup: "html" keeps a fixed list of tags in place, in lower case.
        public_words: Words that are exempt: found without regard to case, written in the form listed here, but for a
            capital at the beginning of a sentence.

    Raises:
        ParameterError: If a choice does not exist or needs another, or the public words are no collection of strings.
    """

    unknown: Unknown = "random"
    per: Per = "token"
    casing: Casing = "sentence"
    numbers: Numbers = "unknown"
    grids: tuple[NumberGrid, ...] = ()
    markup: Markup = "none"
    public_words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        choices = {"unknown": Unknown, "per": Per, "casing": Casing, "numbers": Numbers, "markup": Markup}
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), get_args(allowed))
        given: Any = self.public_words
        if isinstance(given, str) or not all(isinstance(word, str) for word in given):
            raise ParameterError("public_words", f"<{type(given).__name__}>", "must be a collection of str.")
        object.__setattr__(self, "public_words", frozenset(given))
        object.__setattr__(self, "grids", tuple(self.grids))
        metric = self.numbers == "metric"
        if metric != bool(self.grids):
            sentence = "numbers='metric' requires at least one grid, and a grid requires numbers='metric'."
            raise ParameterError("numbers", self.numbers, sentence=sentence)
        if metric and self.unknown != "typed":
            raise ParameterError("unknown", self.unknown, "must be 'typed' where numbers keep their magnitude.")
        if len({grid.kind for grid in self.grids}) < len(self.grids):
            raise ParameterError("grids", f"<{len(self.grids)} grids>", "must be of different kinds.")

    def choices(self) -> dict[str, Any]:
        """Return the choices as plain values that JSON can hold; equal choices give equal values."""
        plain = asdict(self) | {"public_words": sorted(self.public_words)}
        del plain["grids"]
        # Left out where there is none: without grids, noise keeps the place it had before there were any.
        return plain | ({"grids": list(map(asdict, self.grids))} if self.grids else {})


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a reader needs to repeat or check a claim."""

    version: str  # wordveil's version
    mechanism: str  # the mechanism with its parameters, as Python that rebuilds it; arrays by their SHA-256
    vocabulary: str  # the vocabulary's name
    checksum: str  # SHA-256 of its words and matrix, as they are in use
    candidates_checksum: str  # SHA-256 of the ids that may be output
    # what computed: "numpy", a compiled kernel's instruction set or a graphics card; words drawn on the processor are
    # the same on each, and a card is named in `arithmetic` too, where it draws others
    engine: str = "numpy"
    test_source: bool = False  # True if the noise came from a seeded test source: such a release protects nothing
    certificate: str = ""  # SHA-256 of the certificate's JSON form, "" where the mechanism needs none
    # SHA-256 of what the law is made of beyond vocabulary and parameters: what fitting computed, lists or classes that
    # lay beside the vocabulary; "" where there is nothing
    public_data: str = ""
    # what else the words drawn depend on: BLAS, NumPy and its instruction sets, the C library and who made the
    # processor, or the card; "" where they do not
    arithmetic: str = ""


class Reported:
    """A dataclass with a promise that can be written down: all its fields, as JSON can hold them."""

    guarantee: Guarantee
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise ParameterError("guarantee", self.guarantee, "must be a Guarantee; NoGuarantee(reason=...) is one.")

    def as_dict(self) -> dict[str, Any]:
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, Guarantee):
        return value.as_dict()
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(Reported):
    """One released text.

    Attributes:
        text: What leaves.
        guarantee: What it promises.
        disclosed: What it discloses whatever the noise, one sentence each.
        tokens: Number of tokens randomized (disclosed anyway).
        provenance: Where it came from.
    """

    text: ReleasedText
    guarantee: Guarantee
    disclosed: tuple[str, ...]
    tokens: int
    provenance: Provenance

    def __repr__(self) -> str:
        promised = f"{self.guarantee.promise}, epsilon={self.guarantee.epsilon}"
        return f"Release({shorten(self.text, 60)!r}, tokens={self.tokens}, {promised}, {self.guarantee.standing})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the text, its promise and what it discloses."""
        disclosed = items(f"Discloses {what}" for what in self.disclosed)
        return f"<blockquote>{escape(self.text)}</blockquote>{self.guarantee._repr_html_()}{disclosed}"


@dataclass(frozen=True, kw_only=True)
class BatchRelease:
    """Released texts of one batch, in order.

    Attributes:
        texts: What leaves.
        guarantee: What each document promises.
        disclosed: What the batch discloses whatever the noise, one sentence each.
        tokens: Number of tokens randomized.
        exempt: Number of public words that stand in their places.
        longest: Tokens randomized of the longest document.
        provenance: Where it came from.
    """

    texts: Sequence[ReleasedText] = field(repr=False)
    guarantee: Guarantee
    disclosed: tuple[str, ...]
    tokens: int
    exempt: int
    longest: int
    provenance: Provenance


def unprotected(unit: PrivacyUnit) -> NoGuarantee:
    """Return what a release promises whose noise comes from a test source."""
    reason = "the noise comes from a seeded test source, so anyone can remove it; use RandomSource()"
    return NoGuarantee(reason=reason, unit=unit, standing=Standing.REFUTED)


def effective_guarantee(guarantee: Guarantee, options: TextOptions) -> Guarantee:
    """Return what the whole pipeline promises, given what the mechanism alone does.

    What is one token to one reading of a text may be several to another: the choices that decide it are the promise's
    scope. It is the same promise under the privacy unit that `per` leaves, between texts that agree in what the
    pipeline discloses.
    """
    if isinstance(guarantee, NoGuarantee):
        return guarantee
    bounded: Any = guarantee
    unit = PrivacyUnit.DOCUMENT_WORD if options.per == "document" else guarantee.unit
    read = options.choices() | {"grids": [grid.guarantee().scope for grid in options.grids]}
    del read["casing"]  # of what is written
    reading = f"reading {hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()}"
    return within_scope(replace(bounded, unit=unit), reading, assuming=[_agreement(options, guarantee)])


def _agreement(options: TextOptions, guarantee: Guarantee) -> str:
    """Return what two texts must have in common for the promise to speak of them: what it does not cover."""
    shared = ["the number and positions of tokens, punctuation and layout"]
    if options.markup == "html":
        shared.append("tags and entities")
    if options.unknown in _MISSING:
        shared.append("which tokens are unknown")
    if options.unknown == "typed":
        shared.append("which tokens are typed and of which kind")
    if guarantee.metric or guarantee.graph:  # which speak of words alone
        apart = "the magnitude of tokens of the kind {}, else its own loss is added"
        shared += [apart.format(grid.kind) for grid in options.grids]
    if options.casing == "shape":
        shared.append("the casing of every token")
    if options.public_words:
        shared.append("which listed public words stand where")
    if options.per == "document":
        shared.append("which positions of a document hold the same known word")
        shared.append("where documents begin and end, which is the same in all releases that are added up")
    return "both texts agree in " + "; ".join(shared)


_UNKNOWN_AND_KNOWN = {
    "metric DP": "the loss is at most that of the two most distant words",
    "local DP": "the loss is at most that of two known words",
}
_TYPED = (
    "which tokens are a number, date, e-mail and so on, by a public table, and of which kind: each is replaced by a "
    "value drawn uniformly from a public list for its kind, so that no output distinguishes two of a kind"
)
_MISSING = {
    "drop": "which tokens were unknown: they are missing",
    "mask": f"which tokens were unknown: they read {MASK}",
}


def grid_disclosure(grid: NumberGrid) -> str:
    """Return what a grid keeps of its numbers, with the loss for a step and for the whole range."""
    claim, steps = grid.guarantee(), grid.points - 1
    by = f"by factors of {grid.step:g}" if grid.scale == "log" else f"in steps of {grid.step:g}"
    unit = " days" if grid.kind == "date" else ""
    return (
        f"the magnitude of tokens of the kind {grid.kind}, on a public grid from {grid.text(0)} to {grid.text(steps)} "
        f"{by}{unit}: between two of them the loss is at most {round_up(claim.epsilon)} nats for each step of the "
        f"grid, {round_up(claim.loss(steps))} nats over the whole range ({steps} steps)"
    )


def disclosures(options: TextOptions, guarantee: Guarantee | None = None) -> tuple[str, ...]:
    """Return what any release with these options discloses, one sentence each."""
    said = [
        "the number of tokens, their positions, punctuation and layout",
        "whether a word with a hyphen or an apostrophe is in the vocabulary: there it stays whole, else it is cut",
    ]
    if options.unknown in _MISSING:
        said.append(_MISSING[options.unknown])
    else:
        said.append(
            "a token outside the vocabulary becomes a random word, by one law for all such tokens, so that no output "
            "distinguishes two of them"
        )
        if guarantee is not None:
            said[-1] += "; between an unknown and a known word "
            said[-1] += _UNKNOWN_AND_KNOWN.get(guarantee.promise, "nothing is promised")
    if options.unknown == "typed":
        said.append(_TYPED + (", but where its magnitude is kept" if options.grids else ""))
    said += [grid_disclosure(grid) for grid in options.grids]
    if options.casing == "shape":
        said.append("the casing of every token (lower, Capitalized, UPPER)")
    if options.numbers == "vocabulary":
        rest = "are typed" if options.unknown == "typed" else "count as unknown"
        said.append(f"tokens with digits are looked up like words; only those outside the vocabulary {rest}")
    if options.markup == "html":
        said.append("tags without attributes and entities, of a fixed list, stand in their places, tags in lower case")
    if options.public_words:
        said.append(
            f"tokens among {len(options.public_words)} listed public words stand in their places, in the form listed"
        )
    if options.per == "document":
        said.append(
            "which positions of a document, a record with all its texts, hold the same known word; unknown words are "
            "replaced one by one"
        )
    return tuple(said)
