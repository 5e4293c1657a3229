"""What goes over the wire, for the service and its client. No error echoes a field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from wordveil.names import DEFAULT_MECHANISM

__all__ = [
    "BatchRequest",
    "DenoiseAnswer",
    "DenoiseRequest",
    "Error",
    "ExplainRequest",
    "GuardrailAnswer",
    "GuardrailRequest",
    "HidesAmong",
    "HidesRequest",
    "How",
    "ReleaseAnswer",
    "RephraseRequest",
    "Setting",
    "TextRequest",
    "VectorsAnswer",
    "VectorsRequest",
]

MOST_CHARACTERS = 100_000
MOST_TEXTS = 1_000
EXACTLY = ConfigDict(extra="forbid")

Setting = (
    bool
    | Annotated[int, Field(ge=-(10**9), le=10**9)]
    | Annotated[float, Field(allow_inf_nan=False)]
    | Annotated[str, Field(max_length=256)]
)
Name = Annotated[str, Field(max_length=64)]
PrivateField = Annotated[
    str, Field(max_length=MOST_CHARACTERS, examples=["Maria was diagnosed with depression in March."])
]
Subject = Annotated[
    str | None,
    Field(pattern=r"^[A-Za-z0-9_.@+-]{1,128}$", description="Whose text it is: pays for the release with the key."),
]
Epsilon = Annotated[float | None, Field(gt=0, le=1e6, allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True)
class How:
    """How to release: a mechanism over a vocabulary; what is left out is the service's default."""

    __pydantic_config__ = EXACTLY
    mechanism: Name = DEFAULT_MECHANISM
    epsilon: Epsilon = None
    settings: Annotated[dict[Name, Setting], Field(max_length=16)] = field(default_factory=dict)
    vocabulary: Name = "default"
    unknown: Literal["random", "typed", "drop", "mask"] = "typed"
    casing: Literal["sentence", "vocabulary", "shape"] = "sentence"


@dataclass(frozen=True, kw_only=True)
class TextRequest(How):
    """One text to release."""

    text: PrivateField
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class BatchRequest(How):
    """Texts to release together: all are paid for, or none is released."""

    texts: Annotated[list[PrivateField], Field(max_length=MOST_TEXTS)]
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(How):
    """A setting to explain, on pairs of public words."""

    pairs: Annotated[list[tuple[Name, Name]], Field(max_length=10, examples=[[["diabetes", "asthma"]]])] = field(
        default_factory=list
    )
    tokens: Annotated[int, Field(ge=1, le=100_000)] = 50


@dataclass(frozen=True, kw_only=True)
class HidesRequest(How):
    """Words whose lists or crowds are asked for."""

    words: Annotated[list[Name], Field(max_length=500, examples=[["depression"]])]


@dataclass(frozen=True, kw_only=True)
class VectorsRequest:
    """Rows to release with noise of their own, each a vector."""

    __pydantic_config__ = EXACTLY
    vectors: Annotated[
        list[Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=1, max_length=10_000)]],
        Field(min_length=1, max_length=10_000, examples=[[[0.1, 0.2], [0.3, 0.4]]]),
    ]
    epsilon: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    mechanism: Name = "laplace"
    settings: Annotated[dict[Name, Setting], Field(max_length=16)] = field(default_factory=dict)
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class RephraseRequest:
    """Texts whose sentences become public sentences of a stock; the promise is per sentence, see docs/rephrase.md."""

    __pydantic_config__ = EXACTLY
    texts: Annotated[list[PrivateField], Field(max_length=MOST_TEXTS)]
    epsilon: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, description="Nats a sentence.")] = 6.0
    prototypes: Annotated[int | None, Field(ge=2, le=100_000, description="Size of the stock.")] = None
    crowd: Annotated[int, Field(ge=1, le=10_000)] = 1
    stock: Name = "general"
    subject: Subject = None


@dataclass(frozen=True, kw_only=True)
class DenoiseRequest(How):
    """Released texts as the service gave them, with their setting: what they may have said is read off them."""

    texts: Annotated[list[PrivateField], Field(max_length=MOST_TEXTS, examples=[["Clara was seen with depression."]])]
    seal: Annotated[str, Field(max_length=64, description="Of the release: only what was released is read.")]
    style: Literal["fluent", "faithful", "balanced"] = "fluent"


@dataclass(frozen=True, kw_only=True)
class DenoiseAnswer:
    """What released texts may have said, and what an attacker with the same public text makes of them.

    Attributes:
        texts: One for each released text; that text itself where too little of it can be read.
        read: Whether it was read.
        attack: Share of its words that an attacker is expected to name.
        named: For each word that was drawn: the released word, the attacker's guess, and how likely that is right.
        guarantee: The release's; nothing is charged, because only the release was read.
        disclosed: The release's.
    """

    texts: list[str]
    read: list[bool]
    attack: list[float]
    named: list[list[tuple[str, str, float]]]
    guarantee: dict[str, Any]
    disclosed: list[str]


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
class VectorsAnswer:
    """Released rows, and all that a release of texts says."""

    release: str
    vectors: list[list[float]]
    cost: str
    left: dict[str, str]
    guarantee: dict[str, Any]
    disclosed: list[str]
    provenance: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class HidesAmong:
    """Of each word that the vocabulary lists: what may be released for it, the likeliest first, with its chance."""

    words: dict[str, list[tuple[str, float]]]


@dataclass(frozen=True, kw_only=True)
class GuardrailRequest:
    """What LiteLLM's Generic Guardrail API sends; other fields are ignored."""

    __pydantic_config__ = ConfigDict(extra="ignore")
    texts: Annotated[list[PrivateField], Field(max_length=MOST_TEXTS)] = field(default_factory=list)
    input_type: Literal["request", "response"] = "request"
    litellm_call_id: Annotated[str | None, Field(max_length=256)] = None
    request_data: dict[str, Any] | None = None
    structured_messages: list[Any] | None = None
    images: list[Any] | None = None
    tool_calls: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class GuardrailAnswer:
    """What LiteLLM is to do: go on with `texts`, or refuse."""

    action: Literal["NONE", "GUARDRAIL_INTERVENED", "BLOCKED"]
    texts: list[str] | None = None
    blocked_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Error:
    """Why there is no release; of the same shape always, and without anything that was sent."""

    code: str
    message: str
    account: str | None = None
    left: str | None = None
