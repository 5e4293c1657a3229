"""What stands before every route: keys, counts, sizes, times, headers, and a log without a word of a request.

Pure ASGI: whose request it is, is asked of its headers before anything of its body is read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wordveil.errors import WordveilError
from wordveil.service.access import Buckets, Caller, Callers
from wordveil.service.refusals import UNAUTHENTICATED, RequestRefusedError, told

_UNCOUNTED = ("/health", "/ready")
"""What watches over the service asks here: nobody else can be in its way."""

_VISITORS, _UNKNOWN = "visitors", "unknown"
"""Who is counted together: who asks for what anybody may see, and whose key was not seen before."""

_TOO_LARGE = (413, "too-large", "The body is larger than this service takes.")

_HEADERS = {
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

_ENCODED = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

log = logging.getLogger("wordveil.service")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and one key, may ask for."""

    largest_body: int = 1_000_000  # bytes of a body
    seconds: float = 60.0  # until an answer begins, the body's arrival included
    rate: float = 50.0  # requests a second of a key
    burst: float = 200.0  # requests of a key at once
    workers: int = 8  # requests worked on at once
    requests: int = 200  # requests of a key that wait or are worked on at once
    # requests without a key that are answered at once, all of them together; as many keys not seen before
    strangers: int = 50


class Guard:
    """Guards an application, which finds the caller of a request in its state."""

    def __init__(self, app: ASGIApp, limits: Limits, callers: Callers) -> None:
        self.app, self.limits, self.callers = app, limits, callers
        self._buckets = Buckets(limits.rate, limits.burst)
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(self, scope, receive, send)
        try:
            async with asyncio.timeout(self.limits.seconds) as answer.clock:
                await self._serve(answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold private text
            if not isinstance(error, WordveilError | TimeoutError):
                place = traceback.extract_tb(error.__traceback__)[-1]
                log.error("internal %s in %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
            await answer.fail(error)
        finally:
            answer.told()

    async def _serve(self, answer: _Answer) -> None:
        if answer.scope["path"] in _UNCOUNTED:
            return await answer.run()
        path = answer.scope["path"]
        wanted = "read" if path.startswith("/v1/budgets/") else "release" if path.startswith("/v1/") else ""
        if not wanted:  # anybody may
            with self._among(_VISITORS, self.limits.strangers):
                return await answer.run()
        caller = await self._caller(answer.key)
        if wanted not in caller.scopes:
            raise RequestRefusedError(403, "forbidden", f"This key is not for the scope {wanted}.")
        if not self._buckets.take(caller.id):
            raise RequestRefusedError(429, "too-many", "This key asks too often; wait a second.")
        with self._among(caller.id, self.limits.requests):
            answer.scope.setdefault("state", {})["caller"] = caller
            answer.patient = True
            return await answer.run()

    async def _caller(self, key: str) -> Caller:
        if self.callers.known(key) is not None:
            caller = await self.callers.find(key)
        else:
            with self._among(_UNKNOWN, self.limits.strangers):
                caller = await self.callers.find(key)
        if caller is None:
            raise RequestRefusedError(401, "unauthenticated", UNAUTHENTICATED)
        return caller

    @contextmanager
    def _among(self, name: str, most: int) -> Iterator[None]:
        """Count a request among those of a name while it is open; beyond as many as may be, it is refused."""
        if self._open[name] >= most:
            raise RequestRefusedError(503, "busy", "Too many requests at once; wait a second.")
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            self._open += Counter()  # forgets those that have none


class _Answer:
    """One request on its way."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self.guard, self.scope, self._receive, self._send = guard, scope, receive, send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.began, self.status, self.read, self.patient = time.monotonic(), 0, 0, False
        self.clock: asyncio.Timeout | None = None
        self.whole = not {b"content-length", b"transfer-encoding"} & self.headers.keys()

    @property
    def key(self) -> str:
        """The API key that the headers hold; "" for none."""
        kind, _, key = self.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return key.strip() if kind.lower() == "bearer" else ""

    async def run(self) -> None:
        """Run the application; until its answer begins the clock runs, without a key until its end."""
        length = self.headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.guard.limits.largest_body:
            raise RequestRefusedError(*_TOO_LARGE)
        await self.guard.app(self.scope, self.receive, self.send)

    async def receive(self) -> Message:
        """Hand on a part of the body, while all parts are not too large together."""
        message = await self._receive()
        self.read += len(message.get("body", b""))
        if self.read > self.guard.limits.largest_body:
            raise RequestRefusedError(*_TOO_LARGE)
        self.whole = self.whole or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Hand on a part of the answer, its headers with ours."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # Nobody waits for the rest of a body, and whoever has no key gets one answer a connection: a stranger who
            # asks on and on, and reads no answer, would else hold it.
            ending = [] if self.whole and self.patient else [(b"connection", b"close")]
            message = {**message, "headers": [*message.get("headers", []), *_ENCODED, *ending]}
            if self.clock is not None and self.patient:
                self.clock.reschedule(None)
        await self._send(message)

    async def fail(self, error: Exception) -> None:
        """Answer with an error, unless an answer has begun: that one ends where it stands."""
        if self.status:
            return
        self.clock = None
        status, shown = told(error)
        body = json.dumps({"error": asdict(shown)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def told(self) -> None:
        """Log the request by its route, which is no part of what was sent."""
        route = getattr(self.scope.get("route"), "path", "other")
        log.info("%s %d %.0f ms", route, self.status, 1000 * (time.monotonic() - self.began))
