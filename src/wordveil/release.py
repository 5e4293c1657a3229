"""A release: the output, what it promises, what it discloses anyway, and where it came from.

A release cannot be built without a guarantee; `NoGuarantee(reason)` is a legal one. `TextOptions` are the choices
around the mechanism that change what is disclosed; `disclosures` turns them into sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from wordveil.arrays import ReleasedText
from wordveil.errors import ParameterError
from wordveil.guarantees import Guarantee, NoGuarantee, PrivacyUnit, Standing

__all__ = ["BatchRelease", "Provenance", "Release", "TextOptions", "disclosures", "effective_guarantee"]

MASK = "[unknown]"

Unknown = Literal["random", "drop", "mask"]
Per = Literal["token", "document"]
Casing = Literal["sentence", "vocabulary", "shape"]
Numbers = Literal["unknown", "vocabulary"]
Markup = Literal["none", "html"]


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Choices around the mechanism.

    Attributes:
        unknown: What stands for a token outside the vocabulary: "random" replaces it by a uniform public word before
            the mechanism; "drop" and "mask" disclose which tokens were unknown.
        per: "token" draws afresh for each occurrence; "document" draws once per distinct word of a document.
        casing: "sentence" is computed from the released text; "vocabulary" writes entries as they are; "shape" copies
            the casing of each token, which is disclosed.
        numbers: "unknown" treats every token with a digit as unknown; "vocabulary" looks it up.
        markup: "html" keeps a fixed list of tags in place.
        public_words: Words that pass through verbatim, matched without case.

    Raises:
        ParameterError: If a choice does not exist.
    """

    unknown: Unknown = "random"
    per: Per = "token"
    casing: Casing = "sentence"
    numbers: Numbers = "unknown"
    markup: Markup = "none"
    public_words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, choices in (
            ("unknown", Unknown),
            ("per", Per),
            ("casing", Casing),
            ("numbers", Numbers),
            ("markup", Markup),
        ):
            if getattr(self, name) not in get_args(choices):
                raise ParameterError(name, getattr(self, name), f"must be one of {', '.join(get_args(choices))}.")
        object.__setattr__(self, "public_words", frozenset(self.public_words))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a reader needs to repeat or check a claim.

    Attributes:
        version: wordveil's version.
        mechanism: The mechanism with its parameters, as Python that rebuilds it.
        vocabulary: The vocabulary's name.
        checksum: SHA-256 of its words and matrix.
        candidates_checksum: SHA-256 of the ids that may be output.
        engine: What computed: "numpy", a compiled kernel or a graphics card. Words drawn by two engines can differ.
        test_source: True if the noise came from a seeded test source: such a release protects nothing.
    """

    version: str
    mechanism: str
    vocabulary: str
    checksum: str
    candidates_checksum: str
    engine: str = "numpy"
    test_source: bool = False


@dataclass(frozen=True, kw_only=True)
class Release:
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

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise ParameterError("guarantee", self.guarantee, "must be a Guarantee; NoGuarantee(reason=...) is one.")

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {
            "text": self.text,
            "guarantee": self.guarantee.as_dict(),
            "disclosed": list(self.disclosed),
            "tokens": self.tokens,
            "provenance": asdict(self.provenance),
        }


@dataclass(frozen=True, kw_only=True)
class BatchRelease:
    """Released texts of one batch, in order.

    Attributes:
        texts: What leaves.
        tokens: Number of tokens randomized.
        exempt: Number of public words that passed verbatim.
    """

    texts: Sequence[ReleasedText] = field(repr=False)
    tokens: int
    exempt: int


def effective_guarantee(guarantee: Guarantee, options: TextOptions, *, test_source: bool) -> Guarantee:
    """Return what the whole pipeline promises, given what the mechanism alone does.

    Args:
        guarantee: The mechanism's, per token.
        options: The choices around it.
        test_source: Whether the noise comes from a seeded test source.

    Returns:
        The same promise under the privacy unit that `per` leaves, or `NoGuarantee` for a test source.
    """
    if test_source:
        return NoGuarantee(
            reason="the noise comes from a seeded test source, so anyone can remove it; use RandomSource()",
            standing=Standing.REFUTED,
        )
    if options.per == "document" and not isinstance(guarantee, NoGuarantee):
        unit_changed: Any = guarantee
        guarantee = replace(unit_changed, unit=PrivacyUnit.DOCUMENT_WORD)
    return guarantee


def disclosures(options: TextOptions) -> tuple[str, ...]:
    """Return what any release with these options discloses, one sentence each."""
    said = ["the number of tokens, their positions, punctuation and layout"]
    said.append(
        {
            "random": "an unknown token is replaced by a uniform public word and then randomized: two unknown words "
            "cannot be told apart, and an unknown word is as protected as the farthest pair of known words",
            "drop": "which tokens were unknown: they are missing",
            "mask": f"which tokens were unknown: they read {MASK}",
        }[options.unknown]
    )
    if options.casing == "shape":
        said.append("the casing of every token (lower, Capitalized, UPPER)")
    if options.numbers == "vocabulary":
        said.append("tokens with digits are looked up like words; only those outside the vocabulary count as unknown")
    if options.public_words:
        said.append(f"tokens among {len(options.public_words)} listed public words stand verbatim in their places")
    if options.per == "document":
        said.append("which positions of a document hold the same known word; unknown words are replaced one by one")
    return tuple(said)
