"""Chat completions as many services speak them: what of a request leaves, and restoring of replies.

What is not known to be public or released is refused, and the request goes nowhere: whatever a later version of the
format adds is private until it is listed here. Refusals name what is listed, never what was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from wordveil.errors import WordveilError
from wordveil.integrations.conversation import Conversation, Conversations, Message
from wordveil.integrations.restoring import Restorer

__all__ = ["REMOVED", "RefusedError", "StreamRestorer", "private_messages", "released_request", "restored_response"]

REMOVED = ("user", "metadata", "safety_identifier", "prompt_cache_key", "store")
"""Fields of a request that are left out: they name persons or keep texts."""

_NUMBERS = (
    "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "n", "presence_penalty",
    "frequency_penalty", "repetition_penalty", "seed", "stream",
)  # fmt: skip
_CHOICES: dict[str, tuple[Any, ...]] = {
    "response_format": ({"type": "text"}, {"type": "json_object"}),
    "stream_options": ({"include_usage": True}, {"include_usage": False}),
    "reasoning_effort": ("none", "minimal", "low", "medium", "high", "xhigh"),
    "verbosity": ("low", "medium", "high"),
}
_ROLES = ("system", "developer", "user", "assistant")
_REMOVED_OF_MESSAGE = ("name", "refusal", "annotations", "reasoning", "reasoning_content", "id")
_NOT_COVERED = "tools, tool calls, images, audio, files and other fields are not covered"
_MODEL = re.compile(r"[A-Za-z0-9._:/@+-]{1,128}")
_LARGEST = 2**63


class RefusedError(WordveilError):
    """A request is not sent: it holds something that is neither released nor known to be public."""


def private_messages(body: Any) -> list[Message]:
    """Return every message of a request, a message of several text parts as several.

    Raises:
        RefusedError: If one holds anything but text.
    """
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body["messages"]:
        raise RefusedError("the request must be a JSON object with a list 'messages' that is not empty.")
    return [
        Message(message["role"], text)
        for number, message in enumerate(body["messages"], start=1)
        for text in _texts(message, number)
    ]


def released_request(body: Any, conversations: Conversations, owner: str) -> tuple[dict[str, Any], Conversation]:
    """Return the request as it may leave, and its conversation.

    Args:
        body: The private request.
        conversations: Those of this process.
        owner: Whose request it is.

    Raises:
        RefusedError: If it holds what is neither covered nor public, or anything goes wrong. Nothing may be sent then.
    """
    try:
        return _released(body, conversations, owner)
    except WordveilError:
        raise
    except Exception as error:  # noqa: BLE001  # its message may hold private text, and callers log messages
        raise RefusedError(f"{type(error).__name__} while releasing.") from None


def _released(body: Any, conversations: Conversations, owner: str) -> tuple[dict[str, Any], Conversation]:
    messages = private_messages(body)
    out = {name: _public(name, value) for name, value in body.items() if not _left_out(name, value)}
    conversation, texts = conversations.release(owner, messages)
    released = iter(texts)
    out["messages"] = []
    for number, message in enumerate(body["messages"], start=1):
        parts = [next(released) for _ in _texts(message, number)]
        whole = isinstance(message["content"], str)
        content = parts[0] if whole else [{"type": "text", "text": part} for part in parts]
        out["messages"].append({"role": message["role"], "content": content})
    return out, conversation


def restored_response(body: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
    """Return a whole response with the content of its choices restored; all else is as the vendor wrote it."""
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        if isinstance(message.get("content"), str):
            message["content"] = conversation.restore(message["content"])
    return body


class StreamRestorer:
    """Restores the chunks of a streamed response; its choices may come in any order.

    Args:
        conversation: The conversation of the request.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._open = dict[int, Restorer]()
        self._shape = dict[str, Any]()

    def feed(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Return a chunk with what can be said of its choices so far; a choice that ends is said to its end."""
        self._shape = {name: value for name, value in chunk.items() if name not in ("choices", "usage")}
        for choice in chunk.get("choices") or ():
            index, delta = int(choice.get("index") or 0), choice.setdefault("delta", {}) or {}
            content = delta.get("content")
            said = self.text(index, content) if isinstance(content, str) else ""
            if choice.get("finish_reason") is not None:
                said += self.end(index)
            if said or isinstance(content, str):
                choice["delta"] = {**delta, "content": said}
        return chunk

    def text(self, index: int, piece: str) -> str:
        """Return what can be said after one more piece of a choice."""
        if index not in self._open:
            self._open[index] = self._conversation.reply()
        return self._open[index].feed(piece)

    def end(self, index: int) -> str:
        """Return the rest of a choice."""
        restorer = self._open.pop(index, None)
        return "" if restorer is None else restorer.close()

    def close(self) -> list[dict[str, Any]]:
        """Return chunks with what is left of choices that nobody ended."""
        left = [(index, self.end(index)) for index in sorted(self._open)]
        return [
            {**self._shape, "choices": [{"index": index, "delta": {"content": rest}, "finish_reason": None}]}
            for index, rest in left
            if rest
        ]


def _left_out(name: str, value: Any) -> bool:
    return name == "messages" or name in REMOVED or value is None or value in ([], {})


def _public(name: str, value: Any) -> Any:
    """Return a field of a request that is public by its kind."""
    if name == "model":
        if isinstance(value, str) and _MODEL.fullmatch(value):
            return value
        raise RefusedError("'model' must be a name of letters, digits and . _ : / @ + - only.")
    if name in _NUMBERS:
        if isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _LARGEST:
            return value
        raise RefusedError(f"{name!r} must be a number, true or false.")
    if name in _CHOICES:
        if value in _CHOICES[name]:
            return value
        raise RefusedError(f"{name!r} must be one of {_CHOICES[name]!r}; {_NOT_COVERED}.")
    raise RefusedError(f"the request may hold model, messages, {', '.join((*_NUMBERS, *_CHOICES))}; {_NOT_COVERED}.")


def _texts(message: Any, number: int) -> list[str]:
    """Return the texts of a message."""
    problem = f"message {number} must have a role among {', '.join(_ROLES)} and text as its content; {_NOT_COVERED}."
    if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
        raise RefusedError(problem)
    for name, value in message.items():
        if name not in ("role", "content", *_REMOVED_OF_MESSAGE) and not _left_out("", value):
            raise RefusedError(problem)
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list) or not all(_is_text(part) for part in content):
        raise RefusedError(problem)
    return [part["text"] for part in content]


def _is_text(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"type", "text"}
        and (part["type"], type(part["text"])) == ("text", str)
    )
