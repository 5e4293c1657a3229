"""What stands before every route: sizes, times, errors of one shape, headers, and a log without a word of a request.

Pure ASGI, so that a stream passes through and nothing of a request is held longer than its route needs it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordveil.service.messages import Error, GuardrailAnswer

__all__ = ["GUARDRAIL_PATH", "HEADERS", "Guard", "Limits", "error_body", "log", "only_texts"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

ROLES = ("system", "developer", "user", "assistant")
GUARDRAIL_PATH = "/beta/litellm_basic_guardrail_api"

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

log = logging.getLogger("wordveil.service")


def error_body(path: str, status: int, error: Error) -> tuple[int, bytes]:
    """Return status and body of an error; to LiteLLM every failure is an answer that blocks.

    A gateway may be set to let a request pass where its guardrail fails; an answer leaves it no choice.
    """
    if path == GUARDRAIL_PATH:
        blocked = GuardrailAnswer(action="BLOCKED", blocked_reason=f"{error.code}: {error.message}")
        return 200, json.dumps(asdict(blocked)).encode()
    return status, json.dumps({"error": asdict(error)}).encode()


def only_texts(messages: list[Any], texts: set[str]) -> bool:
    """Whether messages, as a model's vendor would get them, hold a role and texts among these, and nothing else."""
    for message in messages:
        said = (
            {name: value for name, value in message.items() if value is not None} if isinstance(message, dict) else {}
        )
        content = said.get("content", "")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not said.keys() <= {"role", "content"} or said.get("role") not in ROLES or not isinstance(parts, list):
            return False
        for part in parts:
            if not isinstance(part, dict) or {*part} != {"type", "text"} or part["type"] != "text":
                return False
            if part["text"] and part["text"] not in texts:
                return False
    return True


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and one key, may ask for.

    Attributes:
        largest_body: Bytes of a body.
        seconds: Until an answer begins, the body's arrival included.
        rate: Requests a second of a key.
        burst: Requests of a key at once.
        workers: Requests worked on at once.
        requests: Requests that wait or are worked on at once.
    """

    largest_body: int = 4_000_000
    seconds: float = 60.0
    rate: float = 50.0
    burst: float = 200.0
    workers: int = 8
    requests: int = 1000


class _TooLarge(Exception):  # noqa: N818 - ends a request, within this module
    pass


class Guard:
    """Guards an application.

    Args:
        app: What is guarded.
        limits: Of each request, and of all at once.
        seen: Told of each request's route, status and seconds.
    """

    def __init__(self, app: App, limits: Limits, *, seen: Callable[[str, int, float], None]) -> None:
        self.app, self.limits, self.seen, self.open = app, limits, seen, 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        answer = _Answer(self, scope, receive, send)
        self.open += 1
        try:
            if self.open > self.limits.requests:
                message = "Too many requests at once; wait a second."
                return await answer.fail(503, Error(code="busy", message=message))
            await answer.run()
        except _TooLarge:
            await answer.fail(413, Error(code="too-large", message="The body is larger than this service takes."))
        except TimeoutError:
            message = "The request took too long; if it was charged, asking again under its idempotency key is free."
            await answer.fail(504, Error(code="timeout", message=message))
        except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold private text
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.error("internal %s in %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
            await answer.fail(500, Error(code="internal", message="The service failed; nothing is released."))
        finally:
            self.open -= 1
            answer.told()
        return None


class _Answer:
    """One request on its way."""

    def __init__(self, guard: Guard, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.guard, self.scope, self._receive, self._send = guard, scope, receive, send
        self.began, self.status, self.read = time.monotonic(), 0, 0
        self.clock: asyncio.Timeout | None = None

    async def run(self) -> None:
        """Run the application; until its answer begins, the clock runs too."""
        length = dict(self.scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.guard.limits.largest_body:
            raise _TooLarge
        async with asyncio.timeout(self.guard.limits.seconds) as self.clock:
            await self.guard.app(self.scope, self.receive, self.send)

    async def receive(self) -> Message:
        """Hand on a part of the body, while all parts are not too large together."""
        message = await self._receive()
        self.read += len(message.get("body", b""))
        if self.read > self.guard.limits.largest_body:
            raise _TooLarge
        return message

    async def send(self, message: Message) -> None:
        """Hand on a part of the answer, its headers with ours."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", []), *ENCODED]}
            if self.clock is not None:
                self.clock.reschedule(None)
        await self._send(message)

    async def fail(self, status: int, error: Error) -> None:
        """Answer with an error, unless an answer has begun: that one ends where it stands."""
        if self.status:
            return
        self.clock = None
        status, body = error_body(self.scope["path"], status, error)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def told(self) -> None:
        """Log and count the request by its route, which is no part of what was sent."""
        route = getattr(self.scope.get("route"), "path", "other")
        seconds = time.monotonic() - self.began
        self.guard.seen(route, self.status, seconds)
        log.info("%s %d %.0f ms", route, self.status, 1000 * seconds)
