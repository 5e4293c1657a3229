"""What goes over the wire, and what becomes of each field. No error echoes one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

DEFAULT_SETTING = "default"
"""The setting that is open without any option, and meant where a request names none."""

_MOST_CHARACTERS = 100_000
_MOST_TEXTS = 1_000
_EXACTLY = ConfigDict(extra="forbid")


class Fate(Enum):
    """What becomes of what stands in a place of a request; a field of a request that says nothing else is public."""

    RELEASED = "released"
    REFUSED = "refused"
    PUBLIC = "public by declaration"
    UNSEEN = "not seen"


Name = Annotated[str, Field(max_length=64)]
Setting = Annotated[str, Field(max_length=64, description="A name from /v1/settings: what the operator opened.")]
Text = Annotated[str, Field(max_length=_MOST_CHARACTERS, examples=["Maria was diagnosed with depression in March."])]
Subject = Annotated[
    str | None,
    Field(pattern=r"^[A-Za-z0-9_.@+-]{1,128}$", description="Whose text it is: pays for the release with the key."),
]


@dataclass(frozen=True, kw_only=True)
class TextRequest:
    """One text to release, by a setting that the operator opened."""

    __pydantic_config__ = _EXACTLY
    text: Annotated[Text, Fate.RELEASED]
    setting: Setting = DEFAULT_SETTING
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """Texts to release together: all are paid for, or none is released."""

    __pydantic_config__ = _EXACTLY
    texts: Annotated[list[Text], Field(max_length=_MOST_TEXTS), Fate.RELEASED]
    setting: Setting = DEFAULT_SETTING
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class HidesRequest:
    """Words whose lists or classes are asked for."""

    __pydantic_config__ = _EXACTLY
    words: Annotated[list[Name], Field(max_length=50, examples=[["depression"]])]
    setting: Setting = DEFAULT_SETTING


@dataclass(frozen=True, kw_only=True)
class DenoiseRequest:
    """Released texts as the service gave them, with their setting: what they may have said is read off them."""

    __pydantic_config__ = _EXACTLY
    texts: Annotated[
        list[Text], Field(max_length=_MOST_TEXTS, examples=[["Clara was seen with depression."]]), Fate.REFUSED
    ]
    seal: Annotated[str, Field(max_length=64, description="Of the release: only what was released is read.")]
    setting: Setting = DEFAULT_SETTING


@dataclass(frozen=True, kw_only=True)
class DenoiseAnswer:
    """What released texts may have said, and what an attacker with the same public text makes of them."""

    texts: list[str]  # one for each released text; that text itself where too little of it can be read
    read: list[bool]  # whether it was read
    attack: list[float]  # share of its words that an attacker is expected to name
    # for each word that was drawn: the released word, the attacker's guess, and how likely that is right
    named: list[list[tuple[str, str, float]]]
    guarantee: dict[str, Any]  # the release's; nothing is charged, because only the release was read
    disclosed: list[str]  # the release's


@dataclass(frozen=True, kw_only=True)
class ReleaseAnswer:
    """Released texts, what they promise, what they cost, and what each paying account has left, in nats.

    Only with the `seal`, which tells the service its own release, are they denoised; "" where they cannot be.
    """

    release: str
    texts: list[str]
    tokens: int
    cost: str
    left: dict[str, str]
    repeated: bool
    guarantee: dict[str, Any]
    disclosed: list[str]
    provenance: dict[str, Any]
    seal: str = ""


@dataclass(frozen=True, kw_only=True)
class HidesAmong:
    """Of each word that the vocabulary lists: what may be released for it, the likeliest first, with its chance."""

    words: dict[str, list[tuple[str, float]]]


@dataclass(frozen=True, kw_only=True)
class Error:
    """Why there is no release; of the same shape always, and without anything that was sent."""

    code: str
    message: str
    account: str | None = None
    left: str | None = None
