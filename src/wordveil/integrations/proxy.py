"""A local proxy between chat clients and a vendor: `wordveil proxy`, for anything that speaks chat completions.

    client --private request--> proxy --release--> vendor --reply--> proxy --the same bytes--> client

Fails closed: whatever goes wrong before the request is released, and whatever it holds that is not covered, the vendor
gets nothing. Nothing of a request is written to a log, and no error says more than which field or kind is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

from wordveil.errors import InputWarning, MissingExtraError, WordveilError
from wordveil.integrations.chat import (
    ROUTES,
    SHAPE,
    TOKEN_HEADER,
    PublicTools,
    private_messages,
    released_request,
    spoken,
    turns,
)
from wordveil.integrations.conversation import Conversation

try:
    import httpx
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError as missing:
    raise MissingExtraError("the proxy", str(missing.name), "proxy") from missing

_LARGEST_REQUEST = _LARGEST_REPLY = 1 << 24  # bytes; of a larger reply nothing is known again
_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/=-]+)")  # as RFC 6750 has it
DECLARED = ("tools", "tool_choice", "functions", "function_call", "response_format")
_PATIENCE = 600.0  # seconds that a vendor may be silent


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A proxy to one vendor."""

    conversation: Conversation  # releases requests; each client's key has one like it
    upstream: str = field(repr=False)  # the vendor's address, up to and with "/v1"
    token: str = field(repr=False)  # what clients must show, as their api key or in the header `TOKEN_HEADER`
    # sent to the vendor; None passes on the client's own, unless that is the token
    api_key: str | None = field(default=None, repr=False)
    tools: PublicTools = field(default_factory=PublicTools)  # tools and schemas that are declared public
    found: bool = False  # whether clients may ask which private values a reply holds the surrogates of
    transport: httpx.AsyncBaseTransport | None = None  # what carries requests; None is the network
    # names that clients may call it by: a web page under another name, which leads here too, is refused
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")

    def app(self) -> Starlette:
        vendor = httpx.AsyncClient(
            base_url=self.upstream.rstrip("/") + "/",
            headers={"user-agent": "wordveil", "accept-encoding": "identity"},
            timeout=_PATIENCE,
            transport=self.transport,
            trust_env=False,  # neither another proxy nor .netrc
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none is kept: clients would share them
            follow_redirects=False,
        )

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            await vendor.aclose()

        answers = {"complete": self._complete, "models": self._models, "promise": self._promise}
        answers |= {"found": self._found} if self.found else {}

        def answering(name: str) -> Callable[[Request], Awaitable[Response]]:
            async def answer(request: Request) -> Response:
                return await _answered(answers[name](request, vendor))

            return answer

        routes = [Route(path, answering(name), methods=[method]) for method, path, name, _ in ROUTES if name in answers]
        known = Middleware(TrustedHostMiddleware, allowed_hosts=list(self.hosts), www_redirect=False)
        app = Starlette(routes=routes, lifespan=lifespan, middleware=[known, Middleware(_Door, token=self.token)])
        app.router.redirect_slashes = False
        return app

    def _own_key(self, request: Request) -> str:
        """Return the vendor's key that a client has of its own, which is not the token."""
        key = _BEARER.fullmatch(request.headers.get("authorization", ""))  # in one spelling, so that it is one owner's
        passed = key is not None and self.api_key is None and self.token not in key[1]
        return f"Bearer {key[1]}" if key is not None and passed else ""

    def _headers(self, request: Request) -> dict[str, str]:
        """Return all that the vendor learns beside the release: a key."""
        key = self._own_key(request) if self.api_key is None else f"Bearer {self.api_key}"
        return {"authorization": key} if key else {}

    def _conversation(self, request: Request) -> Conversation:
        return self.conversation.of(hashlib.sha256(self._own_key(request).encode()).hexdigest())

    async def _promise(self, request: Request, _: httpx.AsyncClient) -> Response:
        disclosed = [*self.conversation.disclosed, SHAPE]
        return JSONResponse({"guarantee": self.conversation.guarantee.as_dict(), "disclosed": disclosed})

    async def _models(self, request: Request, vendor: httpx.AsyncClient) -> Response:
        return await _passed_on(vendor, vendor.build_request("GET", "models", headers=self._headers(request)))

    async def _complete(self, request: Request, vendor: httpx.AsyncClient) -> Response:
        body, conversation = await _json(request), self._conversation(request)
        out = await run_in_threadpool(released_request, body, conversation, self.tools)
        written = json.dumps(_sorted(out), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        headers = {**self._headers(request), "content-type": "application/json"}
        sent = vendor.build_request("POST", "chat/completions", content=written, headers=headers)
        *_, place = turns(body["messages"])

        def heard(reply: bytes) -> None:
            for text, at in spoken(reply, place):
                conversation.heard(text, at)

        return await _passed_on(vendor, sent, heard)

    async def _found(self, request: Request, _: httpx.AsyncClient) -> Response:
        body, conversation = await _json(request), self._conversation(request)
        reply = body.pop("reply", None) if isinstance(body, dict) else None
        if not isinstance(reply, str):
            raise WordveilError("the request must hold the messages of a turn, and 'reply', a text.")

        def places() -> list[dict[str, Any]]:
            conversation.release(private_messages(body, conversation, self.tools))
            return [
                {"start": _units(reply[:start]), "end": _units(reply[:end]), "value": value}
                for start, end, value in conversation.found(reply)
            ]

        return JSONResponse({"found": await run_in_threadpool(places)}, headers={"cache-control": "no-store"})


class _Door:
    """Answers 401 to whoever does not show the token, before anything else of a request is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            shown = headers.get(TOKEN_HEADER) or headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(shown.encode(), self._token.encode()):
                refused = "show the token that was printed at start, as the api key or as " + TOKEN_HEADER
                await _problem(401, f"{refused}.")(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _answered(answer: Awaitable[Response]) -> Response:
    """Return the answer, or what went wrong without a word of the request."""
    try:
        return await answer
    except ClientDisconnect:
        return Response(status_code=499)
    except httpx.HTTPError as error:
        return _problem(502, f"the vendor cannot be reached or did not answer ({type(error).__name__}).")
    except WordveilError as error:
        return _problem(400, f"nothing was sent: {error}")
    except Exception as error:  # noqa: BLE001  # fails closed, and its message may hold private text
        return _problem(500, f"nothing more was sent: {type(error).__name__} in the proxy.")


def _problem(status: int, message: str) -> Response:
    error = {"message": f"wordveil: {message}", "type": "wordveil_error", "code": None, "param": None}
    return JSONResponse({"error": error}, status_code=status)


def _sorted(body: Any) -> Any:
    """Return what is sent with its members in one order, which tells nothing; what is declared public keeps its own."""
    if isinstance(body, list):
        return [_sorted(each) for each in body]
    if isinstance(body, dict):
        return {name: each if name in DECLARED else _sorted(each) for name, each in sorted(body.items())}
    return body


async def _json(request: Request) -> Any:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise WordveilError("the content-type must be application/json.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_REQUEST:
            raise WordveilError(f"a request may have {_LARGEST_REQUEST} bytes.")
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise WordveilError("the request is no JSON.") from None


async def _passed_on(
    vendor: httpx.AsyncClient, request: httpx.Request, heard: Callable[[bytes], None] = lambda reply: None
) -> Response:
    answer = await vendor.send(request, stream=True)
    kind = {"content-type": answer.headers["content-type"]} if "content-type" in answer.headers else {}

    async def pieces() -> AsyncIterator[bytes]:
        reply, early = bytearray(), False
        try:
            async for piece in answer.aiter_bytes():
                reply += piece[: _LARGEST_REPLY - len(reply)]
                if not early and b"[DONE]" in reply[-len(piece) - 8 :]:  # the client may go on before the vendor ends
                    early = True
                    heard(bytes(reply))
                yield piece
            heard(bytes(reply))
        except Exception as error:  # noqa: BLE001  # raised on: an answer that ends looks whole, and this one broke off
            raise WordveilError(f"the vendor's answer broke off ({type(error).__name__}).") from None
        finally:
            await answer.aclose()

    return StreamingResponse(pieces(), status_code=answer.status_code, headers=kind)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def serve(proxy: Proxy, *, host: str, port: int) -> None:
    """Run the proxy until it is stopped."""
    warnings.simplefilter("ignore", InputWarning)  # which tells of a request
    logging.getLogger("uvicorn.error").addFilter(lambda record: not record.exc_info)  # a vendor that broke off
    uvicorn.run(proxy.app(), host=host, port=port, access_log=False, log_level="warning", server_header=False)
