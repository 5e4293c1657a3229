"""Chat completions as many services speak them: what of a request leaves.

`FIELDS` says it, field by field, and is all that decides: what it does not list is refused, and the request goes
nowhere. Whatever a later version of the format adds is private until it is listed here. Refusals name what is listed,
never what stood in the request.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

from wordveil.errors import ParameterError, WordveilError
from wordveil.integrations.conversation import Conversation, Message

SHAPE = (
    "the model, settings and public tools that a request names, how many messages and parts it has, whose each message "
    "is, which public tools it calls, and which call each result answers"
)
"""What a request discloses beside its texts."""

RELEASED, REFUSED, LEFT_OUT = "released", "refused", "left out"
PASSED, UNSEEN = "passed on as it came", "not seen by us"
KIND, DECLARED, OURS = "public by its kind", "public by declaration", "replaced by ours"

_ROLES = ("system", "developer", "user", "assistant", "tool")
_NUMBERS = (
    "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "n", "presence_penalty",
    "frequency_penalty", "repetition_penalty", "seed", "stream", "parallel_tool_calls",
)  # fmt: skip
_REMOVED = ("user", "metadata", "safety_identifier", "prompt_cache_key", "store")
_REMOVED_OF_MESSAGE = ("name", "refusal", "annotations", "reasoning", "reasoning_content", "id")
_NOT_COVERED = "images, audio, files and other fields are not covered"
_MODEL = re.compile(r"[A-Za-z0-9._:/@+-]{1,128}")
_LARGEST = 2**63
_SPOKEN = 17  # texts kept of a reply: what it says, and sixteen calls


class RefusedError(WordveilError):
    """A request is not sent: it holds something that is neither released nor known to be public."""


class PublicTools:
    """Tools and JSON schemas that their owner declares public: they leave as declared, others are refused.

    They are declared as requests hold them: `{"type": "function", "function": {...}}`, or what stands under
    `response_format`, `{"type": "json_schema", "json_schema": {...}}`. `ParameterError` if one is neither.
    """

    def __init__(self, declared: Iterable[Any] = ()) -> None:
        self._declared = dict[str, Any]()
        self.names = set[str]()
        for each in declared:
            kind = each.get("type") if isinstance(each, dict) else None
            named = each.get(kind) if kind in ("function", "json_schema") else None
            if not isinstance(named, dict) or not isinstance(named.get("name"), str) or each.keys() != {"type", kind}:
                raise ParameterError("tools", "<hidden>", "must be tools, or response formats with a JSON schema.")
            self._declared[_canonical(each)] = each
            self.names |= {named["name"]} if kind == "function" else set()

    def declared(self, value: Any, kind: str) -> Any:
        """Return a tool or response format as it is declared."""
        each = self._declared.get(_canonical(value))
        if each is None or each["type"] != kind:
            raise RefusedError("tools and JSON schemas must be declared public, to the letter, with --public-tools.")
        return each


@dataclass(frozen=True, kw_only=True)
class _Way:
    """What the fields of one request go by."""

    text: Callable[[Message], str]
    wrote: Callable[[str, str], bool]
    tools: PublicTools
    place: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    role: str = ""


class Field(NamedTuple):
    """What becomes of a field."""

    fate: str  # one of those above, such as `RELEASED`
    rule: str  # what it must be, or what is done with it
    leaves: Callable[[Any, _Way], Any]  # what leaves of its value; refuses what it must not be


def released_request(body: Any, conversation: Conversation, tools: PublicTools) -> dict[str, Any]:
    """Return the request as it may leave.

    Raises:
        RefusedError: If it holds what is neither covered nor public, or anything goes wrong. Nothing may be sent then.
    """
    try:
        said = private_messages(body, conversation, tools)
        released = dict(zip(said, conversation.release(said), strict=True))
        return _object(body, "request", _Way(text=released.__getitem__, wrote=conversation.wrote, tools=tools))
    except WordveilError:
        raise
    except Exception as error:  # noqa: BLE001  # its message may hold private text, and callers log messages
        raise RefusedError(f"{type(error).__name__} while releasing.") from None


def private_messages(body: Any, conversation: Conversation, tools: PublicTools) -> list[Message]:
    """Return every text of a request that is to be released, once; errors as for `released_request`."""
    if not isinstance(body, dict) or not body.get("messages"):
        raise RefusedError("the request must be a JSON object with a list 'messages' that is not empty.")
    said = dict[Message, str]()
    _object(body, "request", _Way(text=lambda each: said.setdefault(each, ""), wrote=conversation.wrote, tools=tools))
    return [*said]


def _object(value: Any, place: str, way: _Way) -> dict[str, Any]:
    fields, out = FIELDS[place], dict[str, Any]()
    if not isinstance(value, Mapping):
        raise RefusedError(f"a {place} must be an object with {', '.join(fields)}; {_NOT_COVERED}.")
    if place == "message":
        way = replace(way, role=fields["role"].leaves(value.get("role"), way))
    for name, held in value.items():
        if held is None or held in ([], {}):
            continue
        if name not in fields:
            raise RefusedError(f"a {place} may hold {', '.join(fields)}; {_NOT_COVERED}.")
        if fields[name].fate != LEFT_OUT:
            out[name] = fields[name].leaves(held, way)
    return out


def _each(value: Any, place: str, way: _Way) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise RefusedError(f"there must be a list of objects, each a {place}; {_NOT_COVERED}.")
    places = turns(value) if place == "message" else (f"{way.place} {place} {i}" for i in range(len(value)))
    return [_object(each, place, replace(way, place=at)) for each, at in zip(value, places, strict=False)]


def _text(value: Any, way: _Way) -> str:
    if not isinstance(value, str):
        raise RefusedError(f"what is released must be text; {_NOT_COVERED}.")
    return way.text(Message(way.role, value, way.place))


def _content(value: Any, way: _Way) -> Any:
    return _each(value, "part of a message", way) if isinstance(value, list) else _text(value, way)


def _arguments(value: Any, way: _Way) -> str:
    """Return the arguments of a call as the vendor wrote them, or else an object with their release."""
    if isinstance(value, str) and way.wrote(value, way.place):
        return value
    return json.dumps({"released": _text(value, replace(way, role="arguments"))})


def _id(value: Any, way: _Way) -> str:
    """Return an id of ours, the same for the same one: a client may have written anything there."""
    if not isinstance(value, str):
        raise RefusedError("the id of a call must be text.")
    return way.ids.setdefault(value, f"call{len(way.ids):05}")


def _tools(value: Any, way: _Way) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedError("'tools' must be a list.")
    return [way.tools.declared(each, "function") for each in value]


def _tool_name(value: Any, way: _Way) -> str:
    if not isinstance(value, str) or value not in way.tools.names:
        raise RefusedError("a tool that is called must be declared public with --public-tools.")
    return value


def _tool_choice(value: Any, way: _Way) -> Any:
    if isinstance(value, dict) and value.keys() == {"type", "function"} and isinstance(value["function"], dict):
        return {"type": "function", "function": {"name": _tool_name(value["function"].get("name"), way)}}
    return _one_of("none", "auto", "required").leaves(value, way)


def _response_format(value: Any, way: _Way) -> Any:
    if isinstance(value, dict) and value.get("type") == "json_schema":
        return way.tools.declared(value, "json_schema")
    return _one_of({"type": "text"}, {"type": "json_object"}).leaves(value, way)


def _model(value: Any, _: _Way) -> str:
    if isinstance(value, str) and _MODEL.fullmatch(value):
        return value
    raise RefusedError("'model' must be a name of letters, digits and . _ : / @ + - only.")


def _number(value: Any, _: _Way) -> float:
    if isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _LARGEST:
        return value
    raise RefusedError(f"{', '.join(_NUMBERS)} must be numbers, true or false.")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _one_of(*choices: Any) -> Field:
    """Return a field that is one of a few public values: what leaves is ours, not the request's."""
    listed = {_canonical(each): each for each in choices}
    shown = ", ".join(listed)

    def leaves(value: Any, _: _Way) -> Any:
        if _canonical(value) in listed:
            return listed[_canonical(value)]
        raise RefusedError(f"a field must be one of {shown}; {_NOT_COVERED}.")

    return Field(KIND, f"one of `{'`, `'.join(listed)}`", leaves)


_DROPPED = Field(LEFT_OUT, "names persons, or keeps or repeats texts", lambda value, way: None)
_OURS = Field(OURS, "numbered afresh in each request", _id)

FIELDS: dict[str, dict[str, Field]] = {
    "request": {
        "model": Field(KIND, "a name of letters, digits and . _ : / @ + -", _model),
        "messages": Field(RELEASED, "a list of messages", lambda value, way: _each(value, "message", way)),
        **dict.fromkeys(_NUMBERS, Field(KIND, "a number, true or false", _number)),
        "response_format": Field(DECLARED, "text, json_object, or a declared JSON schema", _response_format),
        "tools": Field(DECLARED, "declared tools", _tools),
        "tool_choice": Field(DECLARED, "none, auto, required, or the name of a declared tool", _tool_choice),
        "stream_options": _one_of({"include_usage": True}, {"include_usage": False}),
        "reasoning_effort": _one_of("none", "minimal", "low", "medium", "high", "xhigh"),
        "verbosity": _one_of("low", "medium", "high"),
        **dict.fromkeys(_REMOVED, _DROPPED),
    },
    "message": {
        "role": _one_of(*_ROLES),
        "content": Field(
            RELEASED, "a text, or text parts; verbatim if declared public, or the reply to all before it", _content
        ),
        "tool_calls": Field(RELEASED, "a list of calls", lambda value, way: _each(value, "call", way)),
        "tool_call_id": _OURS,
        **dict.fromkeys(_REMOVED_OF_MESSAGE, _DROPPED),
    },
    "part of a message": {"type": _one_of("text"), "text": Field(RELEASED, "a text, as above", _text)},
    "call": {
        "id": _OURS,
        "type": _one_of("function"),
        "function": Field(RELEASED, "an object", lambda value, way: _object(value, "called function", way)),
    },
    "called function": {
        "name": Field(DECLARED, "the name of a declared tool", _tool_name),
        "arguments": Field(
            RELEASED, "a text; verbatim as the vendor wrote it, else an object with the release", _arguments
        ),
    },
}
"""Place in a request -> its fields. A field that is not here is refused, and the whole request with it."""


TOKEN_HEADER = "x-wordveil-token"
ROUTES = (
    ("POST", "/v1/chat/completions", "complete", "the body, field by field as below, and a key"),
    ("GET", "/v1/models", "models", "a key"),
    ("GET", "/v1/promise", "promise", "nothing"),
    ("POST", "/v1/found", "found", "nothing; answers with `--found` only"),
)
"""All that the proxy answers: method, path, name of what answers, and what of a request goes to the vendor."""

BESIDE = (
    ("any other route", "everything", REFUSED, "404"),
    ("any route", f"header `{TOKEN_HEADER}`", LEFT_OUT, "the token: without it, nothing else of a request is read"),
    ("any route", "header `authorization`", PASSED, "a `Bearer` key, unless it holds the token or the proxy has one"),
    ("any route", "any other header, the query", LEFT_OUT, "not passed on"),
    ("reply", "status, content-type, every byte", PASSED, "to the client; what it says is remembered as digests"),
    ("other ways to the vendor", "everything", UNSEEN, "whatever a client sends past the proxy"),
)
"""What else a client may send: place, field, what becomes of it, and why."""


def turns(messages: list[Any]) -> Iterator[str]:
    """Return a digest of what stands before each message, and, at the end, of all: the places of replies."""
    return accumulate(
        messages, lambda before, each: sha256((before + _canonical(each)).encode()).hexdigest(), initial=""
    )


def spoken(reply: bytes, place: str) -> list[tuple[str, str]]:
    """Return what the first choice of a reply says, whole or streamed, and the arguments of its calls, with places.

    Nothing of a reply that cannot be read: then it is not known again, and is released like any other text.
    """
    texts = defaultdict[str, str](str)
    events = [line[5:].strip() for line in reply.splitlines() if line.startswith(b"data:")]
    try:
        for data in events or [reply]:
            choices = json.loads(data).get("choices") if data != b"[DONE]" else None
            for choice in choices or ():
                said = choice.get("message") or choice.get("delta") or {}
                if choice.get("index", 0) == 0:
                    texts[place] += said.get("content") or ""
                    for i, call in enumerate(said.get("tool_calls") or ()):
                        texts[f"{place} call {call.get('index', i)}"] += call["function"].get("arguments") or ""
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return []
    return [(text, at) for at, text in texts.items() if text][:_SPOKEN]
